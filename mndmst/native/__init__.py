"""Kernels as machine code: compiled once, kept by content, called without a compiler.

Numba compiles them. Where that is done, a run needs llvmlite alone, which loads
object code in milliseconds where Numba takes half a second to be imported.
"""
