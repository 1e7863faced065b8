"""Kernels as machine code: compiled once by Numba, cached, called without Numba.

A run whose kernels are cached imports neither Numba nor LLVM. It links object code in
milliseconds; the import of Numba alone takes half a second.
"""
