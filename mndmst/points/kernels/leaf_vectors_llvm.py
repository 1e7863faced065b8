"""Vector operations on the points of a leaf and on lists of neighbours, by LLVM.

Compilation imports this file; `leaf_vectors` declares its contents. One operation takes
all LEAF values of a column: a leaf of `kd_tree` has a column per dimension.
"""

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from ...kernels.intrinsics_llvm import data_of
from .kd_tree import LEAF
from .norms import CHEBYSHEV, EUCLIDEAN, MANHATTAN

_WORD, _DOUBLE = ir.IntType(64), ir.DoubleType()
_LANES = ir.VectorType(_DOUBLE, LEAF)


def _vector_at(builder, data, index, vector=_LANES):
    """Return the pointer to the vector that begins at data[index]."""
    return builder.bitcast(builder.gep(data, [index]), vector.as_pointer())


def _splat(builder, value, lanes):
    """Return a vector of equal values."""
    one = ir.Constant(ir.VectorType(value.type, 1), ir.Undefined)
    one = builder.insert_element(one, value, ir.Constant(ir.IntType(32), 0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), lanes), [0] * lanes)
    return builder.shuffle_vector(one, one, zeros)


def _maximum(builder, one, other):
    return builder.select(builder.fcmp_ordered(">", one, other), one, other)


def _sum_of_gaps(builder, norm, dimensions, gap_of, vector=_LANES):
    """Return reduced distances, summed over dimensions whose gaps `gap_of` returns.

    Gaps are 0 or more. There is a loop over dimensions for each norm, and sums stay in
    registers.
    """
    zeros = ir.Constant(vector, [0.0] * vector.count)
    function = builder.function
    after = function.append_basic_block("after")
    default = function.append_basic_block("chebyshev")
    switch = builder.switch(norm, default)
    results = []
    for code in (MANHATTAN, EUCLIDEAN, CHEBYSHEV):
        block = default
        if code != CHEBYSHEV:
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
        if code == EUCLIDEAN:
            added = builder.fadd(total, builder.fmul(gap, gap))
        elif code == MANHATTAN:
            added = builder.fadd(total, gap)
        else:
            added = _maximum(builder, total, gap)
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
    return builder.zext(builder.bitcast(below, ir.IntType(LEAF)), _WORD)


@intrinsic
def distances_below(typingctx, norm, blocks, at, dimensions, group, lane, out, limit):
    """Compute the reduced distances of one point to all points of a leaf.

    The coordinates of the leaf, float64 or float32, begin at blocks[at]: a column of
    LEAF per dimension. The point is lane `lane` of the block `group`. `out` becomes the
    LEAF distances. Returns a word whose bit i says whether point i is nearer than the
    limit.
    """

    def codegen(context, builder, signature, args):
        norm, blocks, at, dimensions, group, lane, out, limit = args
        kinds = signature.args
        lanes = ir.VectorType(context.get_data_type(kinds[1].dtype), LEAF)
        blocks = data_of(context, builder, kinds[1], blocks)
        group = data_of(context, builder, kinds[4], group)
        out = data_of(context, builder, kinds[6], out)
        absolute = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(_LANES, [_LANES]), f"llvm.fabs.v{LEAF}f64"
        )

        def gap_of(dimension):
            first = builder.mul(dimension, ir.Constant(_WORD, LEAF))
            address = _vector_at(builder, blocks, builder.add(at, first), lanes)
            x = builder.load(builder.gep(group, [builder.add(lane, first)]))
            column = builder.load(address, align=kinds[1].dtype.bitwidth // 8)
            if lanes != _LANES:
                column = builder.fpext(column, _LANES)
            gap = builder.fsub(column, _splat(builder, x, LEAF))
            return builder.call(absolute, [gap])

        total = _sum_of_gaps(builder, norm, dimensions, gap_of)
        zero = ir.Constant(_WORD, 0)
        builder.store(total, _vector_at(builder, out, zero), align=8)
        return _mask_below(builder, total, _splat(builder, limit, LEAF))

    word, number = types.int64, types.float64
    return (
        types.uint64(word, blocks, word, word, group, word, out, number),
        codegen,
    )


@intrinsic
def gaps_below(typingctx, norm, group, dimensions, low, high, node, limits):
    """Return a word whose bit i says if point i of a group is nearer than its limit.

    Distances are to the box of a node: row `node` of `low` and `high`. `group` has a
    column of LEAF coordinates per dimension; `limits` are LEAF reduced distances.
    """

    def codegen(context, builder, signature, args):
        norm, group, dimensions, low, high, node, limits = args
        kinds = signature.args
        group, low, high, limits = (
            data_of(context, builder, kinds[i], args[i]) for i in (1, 3, 4, 6)
        )
        row = builder.mul(node, dimensions)
        zeros = ir.Constant(_LANES, [0.0] * LEAF)

        def gap_of(dimension):
            first = builder.mul(dimension, ir.Constant(_WORD, LEAF))
            column = builder.load(_vector_at(builder, group, first), align=8)
            index = [builder.add(row, dimension)]
            least = _splat(builder, builder.load(builder.gep(low, index)), LEAF)
            most = _splat(builder, builder.load(builder.gep(high, index)), LEAF)
            below = builder.fsub(least, column)
            above = builder.fsub(column, most)
            return _maximum(builder, _maximum(builder, below, above), zeros)

        total = _sum_of_gaps(builder, norm, dimensions, gap_of)
        zero = ir.Constant(_WORD, 0)
        limits = builder.load(_vector_at(builder, limits, zero), align=8)
        return _mask_below(builder, total, limits)

    word = types.int64
    return types.uint64(word, group, word, low, high, word, limits), codegen


@intrinsic
def gaps_to_children(typingctx, norm, low, high, left, dimensions, box):
    """Return the reduced distances of the nodes `left` and `left` + 1 to a box.

    `low` and `high` have the least and the largest coordinates of each node, `box` a
    row of each. Both distances are computed at once, in the lanes of a vector.
    """
    pair = ir.VectorType(_DOUBLE, 2)

    def codegen(context, builder, signature, args):
        norm, low, high, left, dimensions, box = args
        low, high, box = (
            data_of(context, builder, signature.args[i], args[i]) for i in (1, 2, 5)
        )
        first = builder.mul(left, dimensions)
        lanes = [ir.Constant(ir.IntType(32), lane) for lane in (0, 1)]

        def both(coordinates, dimension):
            index = builder.add(first, dimension)
            values = ir.Constant(pair, ir.Undefined)
            for lane in lanes:
                value = builder.load(builder.gep(coordinates, [index]))
                values = builder.insert_element(values, value, lane)
                index = builder.add(index, dimensions)
            return values

        def gap_of(dimension):
            beyond = builder.add(dimensions, dimension)
            least = builder.load(builder.gep(box, [dimension]))
            most = builder.load(builder.gep(box, [beyond]))
            below = builder.fsub(both(low, dimension), _splat(builder, most, 2))
            above = builder.fsub(_splat(builder, least, 2), both(high, dimension))
            zeros = ir.Constant(pair, [0.0, 0.0])
            return _maximum(builder, _maximum(builder, below, above), zeros)

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
    """Insert values into a sorted list of fixed length, which keeps the smallest ones.

    The list is values[begin : begin + size]; `size` is a multiple of 4. Bit i of `near`
    says whether out[i] is inserted, i < LEAF; `numbers` has first + i beside it.

    An insertion does not search its index: every entry becomes itself, the entry before
    it or the new value, four at a time and without branches.
    """

    def codegen(context, builder, signature, args):
        near, out, first, values, numbers, begin, size = args
        out, values, numbers = (
            data_of(context, builder, signature.args[i], args[i]) for i in (1, 3, 4)
        )
        function = builder.function
        after = function.append_basic_block("inserted")
        zero, one = ir.Constant(_WORD, 0), ir.Constant(_WORD, 1)

        def addresses(vector):
            at = builder.add(begin, ir.Constant(_WORD, 4 * vector))
            return (
                _vector_at(builder, values, at, _FOUR),
                _vector_at(builder, numbers, at, _FOUR_WORDS),
            )

        def each(rest, done):
            """Begin a loop's body; return a value, its number and remaining bits."""
            body = function.append_basic_block("next_value")
            builder.cbranch(builder.icmp_unsigned("!=", rest, zero), body, done)
            builder.position_at_end(body)
            lane = builder.cttz(rest, ir.Constant(ir.IntType(1), 1))
            value = builder.load(builder.gep(out, [lane]))
            following = builder.and_(rest, builder.sub(rest, one))
            return value, builder.add(first, lane), following

        # Lists of more than _IN_REGISTERS vectors stay in memory.
        longer = function.append_basic_block("longer")
        switch = builder.switch(size, longer)
        for count in range(1, _IN_REGISTERS + 1):
            start = function.append_basic_block(f"list_of_{4 * count}")
            switch.add_case(ir.Constant(_WORD, 4 * count), start)
            builder.position_at_end(start)
            pairs = [addresses(vector) for vector in range(count)]
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
            for phi, address in zip(
                state, (p for pair in pairs for p in pair), strict=True
            ):
                builder.store(phi, address, align=8)
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
        address = builder.add(begin, at)
        targets = (
            _vector_at(builder, values, address, _FOUR),
            _vector_at(builder, numbers, address, _FOUR_WORDS),
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
    """Return a word with bits for the `count` smallest of LEAF values, and a few more.

    The values are eight rows of four. Each column is sorted; then the largest value of
    the first rows with `count` values together bounds the smallest ones. Infinite
    values have no bit. `memory` is a buffer of LEAF values.
    """

    def codegen(context, builder, signature, args):
        values = data_of(context, builder, signature.args[0], args[0])
        memory = data_of(context, builder, signature.args[2], args[2])
        four, count = ir.Constant(_WORD, 4), args[1]
        starts = [ir.Constant(_WORD, 4 * row) for row in range(LEAF // 4)]
        addresses = [_vector_at(builder, values, start, _FOUR) for start in starts]
        given = [builder.load(address, align=8) for address in addresses]
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
        one, other = (_maximum(builder, *pair) for pair in (lanes[:2], lanes[2:]))
        bound = _maximum(builder, one, other)
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
    """Return the largest of LEAF values."""

    def codegen(context, builder, signature, args):
        values = data_of(context, builder, signature.args[0], args[0])
        zero = ir.Constant(_WORD, 0)
        rest = builder.load(_vector_at(builder, values, zero), align=8)
        lanes = LEAF
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
            rest = _maximum(builder, *halves)
        return builder.extract_element(rest, ir.Constant(ir.IntType(32), 0))

    return types.float64(values), codegen


# Stands before the first entries of a list: smaller than every value.
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
    lower = builder.select(smaller, new[0], here[0])
    lower_number = builder.select(smaller, new[1], here[1])
    return (
        _maximum(builder, moved, lower),
        builder.select(later, moved_number, lower_number),
    )
