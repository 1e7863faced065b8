"""Vector operations on the points of a leaf and on lists of neighbours, for kernels.

`leaf_vectors_llvm` defines each; it is imported only where kernels are compiled.
"""

from ...native.kernel import Instruction

_LLVM = "mndmst.points.kernels.leaf_vectors_llvm"

distances_below = Instruction(_LLVM, "distances_below")
gaps_below = Instruction(_LLVM, "gaps_below")
gaps_to_children = Instruction(_LLVM, "gaps_to_children")
insert_near = Instruction(_LLVM, "insert_near")
largest_of = Instruction(_LLVM, "largest_of")
smallest_of = Instruction(_LLVM, "smallest_of")
