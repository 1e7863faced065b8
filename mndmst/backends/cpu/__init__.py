"""The CPU backend: Numba kernels, with plain threads that share the arcs."""
