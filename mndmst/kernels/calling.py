"""How Numba makes calls out of a kernel: of the system, and of other kernels.

This file is imported when kernels are compiled; `intrinsics` declares its contents.
"""

import platform

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from ..native.call import HEAD, MOST_WORDS
from .lowering import address_of

# The system call, by machine; little-endian ones, where a word begins with its lower
# half.
_FUTEX = {"x86_64": 202, "aarch64": 98}.get(platform.machine())
_FUTEX = _FUTEX if platform.system() == "Linux" else None
_FUTEX_WAIT, _FUTEX_WAKE = 0, 1


@intrinsic
def make_call(typingctx, address):
    """Make a `native.call.Call`, and note its status.

    All words of a queued call are passed; the code reads the words it takes.
    """

    def codegen(context, builder, signature, args):
        word = ir.IntType(64)
        block = builder.inttoptr(args[0], ir.PointerType(word))
        numbers = [ir.Constant(word, place) for place in range(HEAD + MOST_WORDS)]
        places = [builder.gep(block, [number]) for number in numbers]
        kind = ir.FunctionType(ir.IntType(32), [word] * MOST_WORDS)
        code = builder.inttoptr(builder.load(places[1]), ir.PointerType(kind))
        status = builder.call(code, [builder.load(place) for place in places[HEAD:]])
        builder.store(builder.sext(status, word), places[0])
        return context.get_dummy_value()

    return types.void(types.intp), codegen


@intrinsic
def read_file(typingctx, descriptor, target, begin, count, offset):
    """Read bytes of an open file into target[begin:], an array of bytes; see pread(2).

    Returns how many there were, or -1.
    """

    def codegen(context, builder, signature, args):
        word = ir.IntType(64)
        struct = context.make_array(signature.args[1])(context, builder, args[1])
        address = builder.gep(struct.data, [args[2]])
        number = builder.trunc(args[0], ir.IntType(32))
        kind = ir.FunctionType(word, [number.type, address.type, word, word])
        pread = cgutils.get_or_insert_function(builder.module, kind, "pread")
        return builder.call(pread, [number, address, args[3], args[4]])

    integers = types.int64, target, types.intp, types.int64, types.int64
    return types.int64(*integers), codegen


@intrinsic
def sleep_while(typingctx, array, index, value):
    """Sleep while the lower half of array[index], an int64, is that of a value.

    Until `wake` is called, that is; it may end for other reasons, too.
    """

    def codegen(context, builder, signature, args):
        _futex(context, builder, signature, args[:2], _FUTEX_WAIT, args[2])
        return context.get_dummy_value()

    return types.void(array, types.intp, types.int64), codegen


@intrinsic
def wake(typingctx, array, index, count):
    """Wake `count` threads that sleep on array[index], also of other processes.

    At the most 2^31 - 1.
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
