"""Host kernels (Numba) that no device has: names, order, columns, shared arrays."""
