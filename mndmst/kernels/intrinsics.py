"""Single instructions that Numba does not expose, for kernels.

`intrinsics_llvm` defines each; it is imported only where kernels are compiled.
"""

from ..native.kernel import Instruction

_LLVM = "mndmst.kernels.intrinsics_llvm"

add_atomic = Instruction(_LLVM, "add_atomic")
call_function = Instruction(_LLVM, "call_function")
choose = Instruction(_LLVM, "choose")
copy_memory = Instruction(_LLVM, "copy_memory")
load_atomic = Instruction(_LLVM, "load_atomic")
lower_atomic = Instruction(_LLVM, "lower_atomic")
make_call = Instruction(_LLVM, "make_call")
prefetch = Instruction(_LLVM, "prefetch")
read_file = Instruction(_LLVM, "read_file")
set_bits = Instruction(_LLVM, "set_bits")
sleep_while = Instruction(_LLVM, "sleep_while")
store_atomic = Instruction(_LLVM, "store_atomic")
trailing_zeros = Instruction(_LLVM, "trailing_zeros")
wake = Instruction(_LLVM, "wake")
