"""Instructions that Numba does not expose, as intrinsics for kernels.

Compilation imports this file; `intrinsics` declares its contents.
"""

import platform

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import intrinsic

from ..native.compiled_kernel import DONE, DONE_WITH_NONE, HEAD_WORDS, MOST_WORDS


def _data(context, builder, kind, array):
    """Return the address of an array's first item."""
    return context.make_array(kind)(context, builder, array).data


def address_of(context, builder, signature, args):
    """Return the address of array[index], the first two arguments."""
    return builder.gep(_data(context, builder, signature.args[0], args[0]), [args[1]])


@intrinsic
def trailing_zeros(typingctx, word):
    """Return the position of the lowest set bit of a uint64 that is not 0."""

    def codegen(context, builder, signature, args):
        known_nonzero = ir.Constant(ir.IntType(1), 1)
        return builder.cttz(args[0], known_nonzero)

    return types.uint64(types.uint64), codegen


@intrinsic
def set_bits(typingctx, word):
    """Return the number of set bits of a uint64."""

    def codegen(context, builder, signature, args):
        return builder.ctpop(args[0])

    return types.uint64(types.uint64), codegen


@intrinsic
def choose(typingctx, condition, one, other):
    """Return one of two values of a type, without a branch.

    LLVM makes a branch of a choice that depends on memory. Processors mispredict an
    unpredictable branch half of the time.
    """
    if one != other:
        return None

    def codegen(context, builder, signature, args):
        choice = builder.select(*args)
        choice.set_metadata("unpredictable", builder.module.add_metadata([]))
        return choice

    return one(types.boolean, one, one), codegen


@intrinsic
def prefetch(typingctx, array, index):
    """Ask for the cache line of array[index]; never faults, returns nothing."""

    def codegen(context, builder, signature, args):
        address = address_of(context, builder, signature, args)
        i8_pointer = ir.PointerType(ir.IntType(8))
        i32 = ir.IntType(32)
        function_type = ir.FunctionType(ir.VoidType(), [i8_pointer, i32, i32, i32])
        function = builder.module.declare_intrinsic(
            "llvm.prefetch", [i8_pointer], function_type
        )
        read, keep_everywhere, data = (ir.Constant(i32, value) for value in (0, 3, 1))
        pointer = builder.bitcast(address, i8_pointer)
        builder.call(function, [pointer, read, keep_everywhere, data])
        return context.get_dummy_value()

    return types.void(array, types.intp), codegen


@intrinsic
def copy_memory(typingctx, into, of, count):
    """Copy the first `count` entries of an array to one of its type, not overlapping.

    An assignment goes byte by byte where they are bytes, and takes three to four times
    as long. Of other types it takes Numba long to compile.
    """
    if into.dtype != of.dtype:
        raise TypingError(f"{of} is not to be copied to {into}")

    def codegen(context, builder, signature, args):
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(64)
        pointers = [
            builder.bitcast(_data(context, builder, kind, array), byte)
            for kind, array in zip(signature.args[:2], args[:2], strict=True)
        ]
        item = context.get_abi_sizeof(context.get_data_type(into.dtype))
        nbytes = builder.mul(args[2], ir.Constant(word, item))
        copy = builder.module.declare_intrinsic("llvm.memcpy", [byte, byte, word])
        builder.call(copy, [*pointers, nbytes, ir.Constant(ir.IntType(1), 0)])
        return context.get_dummy_value()

    return types.void(into, of, types.int64), codegen


# Values that a vector operation of leaves takes at once, and the codes of norms; see
# `points.kernels.kd_tree`, whose leaves have a column of LANES values per dimension.
LANES = 32
_MANHATTAN, _EUCLIDEAN, _CHEBYSHEV = 1, 2, 3
_WORD, _DOUBLE = ir.IntType(64), ir.DoubleType()
_LANES = ir.VectorType(_DOUBLE, LANES)


def _vector_at(builder, data, index, vector=_LANES):
    """Return the pointer to the vector that begins at data[index]."""
    return builder.bitcast(builder.gep(data, [index]), vector.as_pointer())


def _splat(builder, value, lanes):
    """Return a vector of equal values."""
    one = ir.Constant(ir.VectorType(value.type, 1), ir.Undefined)
    one = builder.insert_element(one, value, ir.Constant(ir.IntType(32), 0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), lanes), [0] * lanes)
    return builder.shuffle_vector(one, one, zeros)


def _larger(builder, one, other):
    return builder.select(builder.fcmp_ordered(">", one, other), one, other)


def _sum_of_gaps(builder, norm, dimensions, gap_of, vector=_LANES):
    """Return the reduced distances whose gaps in each dimension `gap_of` returns.

    Gaps are 0 or more. Sums stay in registers: a loop over dimensions for each norm.
    """
    zeros = ir.Constant(vector, [0.0] * vector.count)
    function = builder.function
    after = function.append_basic_block("after")
    default = function.append_basic_block("chebyshev")
    switch = builder.switch(norm, default)
    results = []
    for code in (_MANHATTAN, _EUCLIDEAN, _CHEBYSHEV):
        block = default
        if code != _CHEBYSHEV:
            block = function.append_basic_block("norm")
            switch.add_case(ir.Constant(_WORD, code), block)
        builder.position_at_end(block)
        loop = function.append_basic_block("dimensions")
        builder.branch(loop)
        builder.position_at_end(loop)
        dimension, total = builder.phi(_WORD), builder.phi(vector)
        dimension.add_incoming(ir.Constant(_WORD, 0), block)
        total.add_incoming(zeros, block)
        gap = gap_of(dimension)
        if code == _EUCLIDEAN:
            added = builder.fadd(total, builder.fmul(gap, gap))
        elif code == _MANHATTAN:
            added = builder.fadd(total, gap)
        else:
            added = _larger(builder, total, gap)
        following = builder.add(dimension, ir.Constant(_WORD, 1))
        dimension.add_incoming(following, loop)
        total.add_incoming(added, loop)
        more = builder.icmp_unsigned("<", following, dimensions)
        builder.cbranch(more, loop, after)
        results.append((added, loop))
    builder.position_at_end(after)
    total = builder.phi(vector)
    for result in results:
        total.add_incoming(*result)
    return total


def _mask_below(builder, values, limits):
    """Return a word with a bit for each lane that is below its limit."""
    below = builder.fcmp_ordered("<", values, limits)
    return builder.zext(builder.bitcast(below, ir.IntType(LANES)), _WORD)


@intrinsic
def distances_below(typingctx, norm, blocks, at, dimensions, group, lane, out, limit):
    """Compute the reduced distances of one point to all points of a leaf.

    The coordinates of the leaf begin in `blocks` at `at`, a column of LANES per
    dimension. The point is the column `lane` of `group`, a block of its own. `out`
    becomes the LANES distances. Returns a bit for each point that is nearer than the
    limit.
    """

    def codegen(context, builder, signature, args):
        norm, blocks, at, dimensions, group, lane, out, limit = args
        kinds = signature.args
        blocks = _data(context, builder, kinds[1], blocks)
        group = _data(context, builder, kinds[4], group)
        out = _data(context, builder, kinds[6], out)
        absolute = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(_LANES, [_LANES]), f"llvm.fabs.v{LANES}f64"
        )

        def gap_of(dimension):
            first = builder.mul(dimension, ir.Constant(_WORD, LANES))
            place = _vector_at(builder, blocks, builder.add(at, first))
            x = builder.load(builder.gep(group, [builder.add(lane, first)]))
            column = builder.load(place, align=8)
            gap = builder.fsub(column, _splat(builder, x, LANES))
            return builder.call(absolute, [gap])

        total = _sum_of_gaps(builder, norm, dimensions, gap_of)
        zero = ir.Constant(_WORD, 0)
        builder.store(total, _vector_at(builder, out, zero), align=8)
        return _mask_below(builder, total, _splat(builder, limit, LANES))

    word, number = types.int64, types.float64
    return (
        types.uint64(word, blocks, word, word, group, word, out, number),
        codegen,
    )


@intrinsic
def gaps_below(typingctx, norm, group, dimensions, low, high, node, limits):
    """Return a bit for each point of a group that is nearer to a box than its limit.

    `group` has a column of LANES coordinates per dimension; row `node` of `low` and
    `high` is the box; `limits` are LANES reduced distances.
    """

    def codegen(context, builder, signature, args):
        norm, group, dimensions, low, high, node, limits = args
        kinds = signature.args
        group, low, high, limits = (
            _data(context, builder, kinds[i], args[i]) for i in (1, 3, 4, 6)
        )
        row = builder.mul(node, dimensions)
        zeros = ir.Constant(_LANES, [0.0] * LANES)

        def gap_of(dimension):
            first = builder.mul(dimension, ir.Constant(_WORD, LANES))
            column = builder.load(_vector_at(builder, group, first), align=8)
            place = [builder.add(row, dimension)]
            least = _splat(builder, builder.load(builder.gep(low, place)), LANES)
            most = _splat(builder, builder.load(builder.gep(high, place)), LANES)
            below = builder.fsub(least, column)
            above = builder.fsub(column, most)
            return _larger(builder, _larger(builder, below, above), zeros)

        total = _sum_of_gaps(builder, norm, dimensions, gap_of)
        zero = ir.Constant(_WORD, 0)
        limits = builder.load(_vector_at(builder, limits, zero), align=8)
        return _mask_below(builder, total, limits)

    word = types.int64
    return types.uint64(word, group, word, low, high, word, limits), codegen


@intrinsic
def gaps_to_children(typingctx, norm, low, high, left, dimensions, box):
    """Return the reduced distances of two boxes to a third: of the rows left, left + 1.

    `low` and `high` have the least and the largest coordinates of boxes by row, and
    `box` a row of each. Both gaps are computed at once, in the lanes of a vector.
    """
    pair = ir.VectorType(_DOUBLE, 2)

    def codegen(context, builder, signature, args):
        norm, low, high, left, dimensions, box = args
        low, high, box = (
            _data(context, builder, signature.args[i], args[i]) for i in (1, 2, 5)
        )
        first = builder.mul(left, dimensions)
        lanes = [ir.Constant(ir.IntType(32), lane) for lane in (0, 1)]

        def both(rows, dimension):
            place = builder.add(first, dimension)
            values = ir.Constant(pair, ir.Undefined)
            for lane in lanes:
                value = builder.load(builder.gep(rows, [place]))
                values = builder.insert_element(values, value, lane)
                place = builder.add(place, dimensions)
            return values

        def gap_of(dimension):
            beyond = builder.add(dimensions, dimension)
            least = builder.load(builder.gep(box, [dimension]))
            most = builder.load(builder.gep(box, [beyond]))
            below = builder.fsub(both(low, dimension), _splat(builder, most, 2))
            above = builder.fsub(_splat(builder, least, 2), both(high, dimension))
            zeros = ir.Constant(pair, [0.0, 0.0])
            return _larger(builder, _larger(builder, below, above), zeros)

        total = _sum_of_gaps(builder, norm, dimensions, gap_of, pair)
        gaps = [builder.extract_element(total, lane) for lane in lanes]
        return context.make_tuple(builder, signature.return_type, gaps)

    word = types.int64
    result = types.UniTuple(types.float64, 2)
    return result(word, low, high, word, word, box), codegen


_FOUR, _FOUR_WORDS = ir.VectorType(_DOUBLE, 4), ir.VectorType(_WORD, 4)
# Lists of at most this many vectors of four stay in registers.
_IN_REGISTERS = 4


@intrinsic
def insert_near(typingctx, near, out, first, values, numbers, begin, size):
    """Insert values into a sorted list, which keeps its length and the smallest ones.

    The place of a value is not searched: every entry becomes itself, the one before it
    or the new one, four at a time, without a branch that is mispredicted.

    `near` has a bit for each of the LANES values of `out` to insert; they are numbered
    from `first` on, and a number moves with its value. The list is values[begin : begin
    + size]; `size` is a multiple of 4.
    """

    def codegen(context, builder, signature, args):
        near, out, first, values, numbers, begin, size = args
        out, values, numbers = (
            _data(context, builder, signature.args[i], args[i]) for i in (1, 3, 4)
        )
        function = builder.function
        after = function.append_basic_block("inserted")
        zero, one = ir.Constant(_WORD, 0), ir.Constant(_WORD, 1)

        def places(vector):
            at = builder.add(begin, ir.Constant(_WORD, 4 * vector))
            return (
                _vector_at(builder, values, at, _FOUR),
                _vector_at(builder, numbers, at, _FOUR_WORDS),
            )

        def each(rest, done):
            """Begin the body of a loop over bits; return the value, number and rest."""
            body = function.append_basic_block("next_value")
            builder.cbranch(builder.icmp_unsigned("!=", rest, zero), body, done)
            builder.position_at_end(body)
            lane = builder.cttz(rest, ir.Constant(ir.IntType(1), 1))
            value = builder.load(builder.gep(out, [lane]))
            following = builder.and_(rest, builder.sub(rest, one))
            return value, builder.add(first, lane), following

        # Longer lists are moved in memory.
        longer = function.append_basic_block("longer")
        switch = builder.switch(size, longer)
        for count in range(1, _IN_REGISTERS + 1):
            start = function.append_basic_block(f"list_of_{4 * count}")
            switch.add_case(ir.Constant(_WORD, 4 * count), start)
            builder.position_at_end(start)
            pairs = [places(vector) for vector in range(count)]
            loaded = [builder.load(p, align=8) for pair in pairs for p in pair]
            loop = function.append_basic_block("values")
            done = function.append_basic_block("store")
            builder.branch(loop)
            builder.position_at_end(loop)
            rest = builder.phi(_WORD)
            state = [builder.phi(value.type) for value in loaded]
            value, number, following = each(rest, done)
            new = _splat(builder, value, 4), _splat(builder, number, 4)
            before, moved = _BEFORE_ALL, []
            for here in zip(state[::2], state[1::2], strict=True):
                moved += _inserted(builder, new, here, before)
                before = here
            end = builder.block
            builder.branch(loop)
            for phi, old, later in zip(
                [rest, *state], [near, *loaded], [following, *moved], strict=True
            ):
                phi.add_incoming(old, start)
                phi.add_incoming(later, end)
            builder.position_at_end(done)
            for phi, place in zip(
                state, (p for pair in pairs for p in pair), strict=True
            ):
                builder.store(phi, place, align=8)
            builder.branch(after)
        builder.position_at_end(longer)
        loop = function.append_basic_block("values")
        builder.branch(loop)
        builder.position_at_end(loop)
        rest = builder.phi(_WORD)
        rest.add_incoming(near, longer)
        value, number, following = each(rest, after)
        new = _splat(builder, value, 4), _splat(builder, number, 4)
        body = builder.block
        vectors = function.append_basic_block("vectors")
        builder.branch(vectors)
        builder.position_at_end(vectors)
        at = builder.phi(_WORD)
        before = builder.phi(_FOUR), builder.phi(_FOUR_WORDS)
        place = builder.add(begin, at)
        targets = (
            _vector_at(builder, values, place, _FOUR),
            _vector_at(builder, numbers, place, _FOUR_WORDS),
        )
        here = tuple(builder.load(target, align=8) for target in targets)
        for moved, target in zip(
            _inserted(builder, new, here, before), targets, strict=True
        ):
            builder.store(moved, target, align=8)
        beyond = builder.add(at, ir.Constant(_WORD, 4))
        for phi, old, later in zip(
            (at, *before), (zero, *_BEFORE_ALL), (beyond, *here), strict=True
        ):
            phi.add_incoming(old, body)
            phi.add_incoming(later, vectors)
        again = function.append_basic_block("next")
        builder.cbranch(builder.icmp_unsigned("<", beyond, size), vectors, again)
        builder.position_at_end(again)
        rest.add_incoming(following, again)
        builder.branch(loop)
        builder.position_at_end(after)
        return context.get_dummy_value()

    word = types.int64
    kinds = types.void(types.uint64, out, word, values, numbers, word, word)
    return kinds, codegen


# Pairs of eight rows to compare, in order, so that each column becomes sorted.
_SORTED_BY = (
    (0, 2), (1, 3), (4, 6), (5, 7), (0, 4), (1, 5), (2, 6), (3, 7), (0, 1), (2, 3),
    (4, 5), (6, 7), (2, 4), (3, 5), (1, 4), (3, 6), (1, 2), (3, 4), (5, 6),
)  # fmt: skip


@intrinsic
def smallest_of(typingctx, values, count, memory):
    """Return a bit for each of LANES values that may be among the `count` smallest.

    These are at least the `count` smallest finite values, and few more: the values are
    eight rows of four, whose columns are sorted; the largest of the first rows that
    have `count` values bounds them all. `memory` is overwritten: LANES values.
    """

    def codegen(context, builder, signature, args):
        values = _data(context, builder, signature.args[0], args[0])
        memory = _data(context, builder, signature.args[2], args[2])
        four, count = ir.Constant(_WORD, 4), args[1]
        starts = [ir.Constant(_WORD, 4 * row) for row in range(LANES // 4)]
        places = [_vector_at(builder, values, start, _FOUR) for start in starts]
        given = [builder.load(place, align=8) for place in places]
        rows = list(given)
        for above, below in _SORTED_BY:
            one, other = rows[above], rows[below]
            smaller = builder.fcmp_ordered("<", one, other)
            rows[above] = builder.select(smaller, one, other)
            rows[below] = builder.select(smaller, other, one)
        for row, start in zip(rows, starts, strict=True):
            builder.store(row, _vector_at(builder, memory, start, _FOUR), align=8)
        last = builder.sub(count, ir.Constant(_WORD, 1))
        last = builder.sub(last, builder.urem(last, four))
        bound = builder.load(_vector_at(builder, memory, last, _FOUR), align=8)
        lanes = [
            builder.extract_element(bound, ir.Constant(ir.IntType(32), lane))
            for lane in range(4)
        ]
        one, other = (_larger(builder, *pair) for pair in (lanes[:2], lanes[2:]))
        bound = _larger(builder, one, other)
        largest = ir.Constant(_DOUBLE, float(np.finfo(np.float64).max))
        below = builder.fcmp_ordered("<", bound, largest)
        bound = _splat(builder, builder.select(below, bound, largest), 4)
        word = ir.Constant(_WORD, 0)
        for row, start in zip(given, starts, strict=True):
            within = builder.fcmp_ordered("<=", row, bound)
            bits = builder.zext(builder.bitcast(within, ir.IntType(4)), _WORD)
            word = builder.or_(word, builder.shl(bits, start))
        return word

    return types.uint64(values, types.int64, memory), codegen


@intrinsic
def largest_of(typingctx, values):
    """Return the largest of LANES values."""

    def codegen(context, builder, signature, args):
        values = _data(context, builder, signature.args[0], args[0])
        zero = ir.Constant(_WORD, 0)
        rest = builder.load(_vector_at(builder, values, zero), align=8)
        lanes = LANES
        while lanes > 1:
            lanes //= 2
            halves = [
                builder.shuffle_vector(
                    rest,
                    rest,
                    ir.Constant(
                        ir.VectorType(ir.IntType(32), lanes),
                        list(range(begin, begin + lanes)),
                    ),
                )
                for begin in (0, lanes)
            ]
            rest = _larger(builder, *halves)
        return builder.extract_element(rest, ir.Constant(ir.IntType(32), 0))

    return types.float64(values), codegen


# Before the first entry of a list is one that is smaller than every value.
_BEFORE_ALL = (
    ir.Constant(_FOUR, [float("-inf")] * 4),
    ir.Constant(_FOUR_WORDS, [0] * 4),
)
_SHIFT = ir.Constant(ir.VectorType(ir.IntType(32), 4), [3, 4, 5, 6])


def _inserted(builder, new, here, before):
    """Return four entries of a list after an insertion, and their numbers.

    Each argument has values and numbers; `before` the four entries before these.
    """
    moved, moved_number = (
        builder.shuffle_vector(*pair, _SHIFT) for pair in zip(before, here, strict=True)
    )
    smaller = builder.fcmp_ordered("<", new[0], here[0])
    later = builder.fcmp_ordered("<", new[0], moved)
    kept = builder.select(smaller, new[0], here[0])
    kept_number = builder.select(smaller, new[1], here[1])
    return (
        _larger(builder, moved, kept),
        builder.select(later, moved_number, kept_number),
    )


@intrinsic
def add_atomic(typingctx, array, index, value):
    """Atomically add to an int64; return the old value.

    A thread that sees the sum also sees all earlier writes of this thread.
    """

    def codegen(context, builder, signature, args):
        address = address_of(context, builder, signature, args)
        return builder.atomic_rmw("add", address, args[2], "seq_cst")

    return types.int64(array, types.intp, types.int64), codegen


@intrinsic
def load_atomic(typingctx, array, index):
    """Atomically load an int64 (acquire)."""

    def codegen(context, builder, signature, args):
        address = address_of(context, builder, signature, args)
        return builder.load_atomic(address, "seq_cst", 8)

    return types.int64(array, types.intp), codegen


@intrinsic
def store_atomic(typingctx, array, index, value):
    """Atomically store an int64 (release)."""

    def codegen(context, builder, signature, args):
        address = address_of(context, builder, signature, args)
        builder.store_atomic(args[2], address, "seq_cst", 8)
        return context.get_dummy_value()

    return types.void(array, types.intp, types.int64), codegen


@intrinsic
def lower_atomic(typingctx, array, index, value):
    """Atomically take the minimum of a uint64 and a value; return the old value."""

    def codegen(context, builder, signature, args):
        address = address_of(context, builder, signature, args)
        return builder.atomic_rmw("umin", address, args[2], "monotonic")

    return types.uint64(array, types.intp, types.uint64), codegen


# The number of the system call futex(2), by machine; little-endian ones, where a word
# begins with its lower half.
_FUTEX_BY_MACHINE = {"x86_64": 202, "aarch64": 98}
_LINUX = platform.system() == "Linux"
_FUTEX = _FUTEX_BY_MACHINE.get(platform.machine()) if _LINUX else None
_FUTEX_WAIT, _FUTEX_WAKE = 0, 1


@intrinsic
def make_call(typingctx, address):
    """Make the call of a row of `CompiledKernel.call_all`; note its status.

    All words of a queued call are passed; the code reads the words it takes.
    """

    def codegen(context, builder, signature, args):
        word = ir.IntType(64)
        block = builder.inttoptr(args[0], ir.PointerType(word))
        numbers = [ir.Constant(word, place) for place in range(HEAD_WORDS + MOST_WORDS)]
        places = [builder.gep(block, [number]) for number in numbers]
        kind = ir.FunctionType(ir.IntType(32), [word] * MOST_WORDS)
        code = builder.inttoptr(builder.load(places[1]), ir.PointerType(kind))
        status = builder.call(
            code, [builder.load(place) for place in places[HEAD_WORDS:]]
        )
        none = builder.icmp_signed(
            "==", status, ir.Constant(status.type, DONE_WITH_NONE)
        )
        status = builder.select(none, ir.Constant(status.type, DONE), status)
        builder.store(builder.sext(status, word), places[0])
        return context.get_dummy_value()

    return types.void(types.intp), codegen


@intrinsic
def call_function(typingctx, address, one, two, three, four):
    """Call a C function that takes up to four words and returns a status (int32)."""

    def codegen(context, builder, signature, args):
        word = ir.IntType(64)
        kind = ir.FunctionType(ir.IntType(32), [word] * 4)
        function = builder.inttoptr(args[0], ir.PointerType(kind))
        return builder.sext(builder.call(function, args[1:]), word)

    return types.int64(*[types.int64] * 5), codegen


@intrinsic
def read_file(typingctx, descriptor, target, begin, count, offset):
    """Read bytes of an open file into target[begin:], an array of bytes; see pread(2).

    Returns how many there were, or -1.
    """

    def codegen(context, builder, signature, args):
        word = ir.IntType(64)
        target = _data(context, builder, signature.args[1], args[1])
        address = builder.gep(target, [args[2]])
        number = builder.trunc(args[0], ir.IntType(32))
        kind = ir.FunctionType(word, [number.type, address.type, word, word])
        pread = cgutils.get_or_insert_function(builder.module, kind, "pread")
        return builder.call(pread, [number, address, args[3], args[4]])

    signature = types.int64(types.int64, target, types.intp, types.int64, types.int64)
    return signature, codegen


@intrinsic
def sleep_while(typingctx, array, index, value):
    """Sleep until `wake`, unless the lower halves of array[index] and a value differ.

    The array is of int64. The sleep may also end without `wake`.
    """

    def codegen(context, builder, signature, args):
        _futex(context, builder, signature, args[:2], _FUTEX_WAIT, args[2])
        return context.get_dummy_value()

    return types.void(array, types.intp, types.int64), codegen


@intrinsic
def wake(typingctx, array, index, count):
    """Wake up to `count` threads of any process that sleep on array[index].

    The count is below 2^31.
    """

    def codegen(context, builder, signature, args):
        _futex(context, builder, signature, args[:2], _FUTEX_WAKE, args[2])
        return context.get_dummy_value()

    return types.void(array, types.intp, types.int64), codegen


def _futex(context, builder, signature, place, operation, value):
    """Call futex(2), or give way to other threads where there is none."""
    word = ir.IntType(64)
    if _FUTEX is None:
        kind = ir.FunctionType(ir.IntType(32), [])
        library = cgutils.get_or_insert_function(builder.module, kind, "sched_yield")
        builder.call(library, [])
        return
    address = builder.ptrtoint(address_of(context, builder, signature, place), word)
    numbers = [ir.Constant(word, number) for number in (_FUTEX, operation, 0)]
    kind = ir.FunctionType(word, [word] * 5)
    library = cgutils.get_or_insert_function(builder.module, kind, "syscall")
    builder.call(library, [numbers[0], address, numbers[1], value, numbers[2]])
