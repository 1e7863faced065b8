"""Instructions that Numba does not expose, as intrinsics for kernels.

Compilation imports this file; `intrinsics` declares its contents.
"""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import intrinsic

from ..native.compiled_kernel import DONE, DONE_WITH_NONE, HEAD_WORDS


def data_of(context, builder, kind, array):
    """Return the address of an array's first item."""
    return context.make_array(kind)(context, builder, array).data


def address_of(context, builder, signature, args):
    """Return the address of array[index], the first two arguments."""
    return builder.gep(data_of(context, builder, signature.args[0], args[0]), [args[1]])


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
    """Copy the first `count` entries to an array of the same type, not overlapping.

    Numba's assignment copies bytes one by one, which takes three to four times as long;
    for other types it takes long to compile.
    """
    if into.dtype != of.dtype:
        raise TypingError(f"{of} is not to be copied to {into}")

    def codegen(context, builder, signature, args):
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(64)
        pointers = [
            builder.bitcast(data_of(context, builder, kind, array), byte)
            for kind, array in zip(signature.args[:2], args[:2], strict=True)
        ]
        item = context.get_abi_sizeof(context.get_data_type(into.dtype))
        nbytes = builder.mul(args[2], ir.Constant(word, item))
        copy = builder.module.declare_intrinsic("llvm.memcpy", [byte, byte, word])
        builder.call(copy, [*pointers, nbytes, ir.Constant(ir.IntType(1), 0)])
        return context.get_dummy_value()

    return types.void(into, of, types.int64), codegen


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


# The number of Linux's system call futex(2) by machine. All are little-endian: the
# lower half of a word comes first.
_FUTEX_BY_MACHINE = {"x86_64": 202, "aarch64": 98}
_FUTEX_WAIT, _FUTEX_WAKE = 0, 1


@intrinsic
def make_call(typingctx, address):
    """Make the queued call at an address (`CompiledKernel.call_all`).

    Its status is stored.
    """

    def codegen(context, builder, signature, args):
        word = ir.IntType(64)
        block = builder.inttoptr(args[0], ir.PointerType(word))
        address, row = (
            builder.gep(block, [ir.Constant(word, at)]) for at in (1, HEAD_WORDS)
        )
        kind = ir.FunctionType(ir.IntType(32), [row.type])
        code = builder.inttoptr(builder.load(address), ir.PointerType(kind))
        status = builder.call(code, [row])
        none = builder.icmp_signed(
            "==", status, ir.Constant(status.type, DONE_WITH_NONE)
        )
        status = builder.select(none, ir.Constant(status.type, DONE), status)
        builder.store(builder.sext(status, word), block)
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
        target = data_of(context, builder, signature.args[1], args[1])
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


def _futex(context, builder, signature, element, operation, value):
    """Call futex(2), or sched_yield on systems without it."""
    word = ir.IntType(64)
    machine, _, system = builder.module.triple.partition("-")
    futex = _FUTEX_BY_MACHINE.get(machine) if "linux" in system else None
    if futex is None:
        kind = ir.FunctionType(ir.IntType(32), [])
        library = cgutils.get_or_insert_function(builder.module, kind, "sched_yield")
        builder.call(library, [])
        return
    address = builder.ptrtoint(address_of(context, builder, signature, element), word)
    numbers = [ir.Constant(word, number) for number in (futex, operation, 0)]
    kind = ir.FunctionType(word, [word] * 5)
    library = cgutils.get_or_insert_function(builder.module, kind, "syscall")
    builder.call(library, [numbers[0], address, numbers[1], value, numbers[2]])
