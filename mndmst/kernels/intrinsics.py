"""Single instructions that Numba does not expose, for kernels.

`lowering` and `calling` say what each does and make it.
"""

from ..native.kernel import Instruction

_MADE_BY, _CALLING = "mndmst.kernels.lowering", "mndmst.kernels.calling"

add_atomic = Instruction(_MADE_BY, "add_atomic")
bits_to_float = Instruction(_MADE_BY, "bits_to_float")
choose = Instruction(_MADE_BY, "choose")
copy_memory = Instruction(_MADE_BY, "copy_memory")
leading_zeros = Instruction(_MADE_BY, "leading_zeros")
load_atomic = Instruction(_MADE_BY, "load_atomic")
load_byte = Instruction(_MADE_BY, "load_byte")
load_word = Instruction(_MADE_BY, "load_word")
lower_atomic = Instruction(_MADE_BY, "lower_atomic")
make_call = Instruction(_CALLING, "make_call")
multiply_high = Instruction(_MADE_BY, "multiply_high")
prefetch = Instruction(_MADE_BY, "prefetch")
read_file = Instruction(_CALLING, "read_file")
set_bits = Instruction(_MADE_BY, "set_bits")
sleep_while = Instruction(_CALLING, "sleep_while")
store_atomic = Instruction(_MADE_BY, "store_atomic")
trailing_zeros = Instruction(_MADE_BY, "trailing_zeros")
wake = Instruction(_CALLING, "wake")
