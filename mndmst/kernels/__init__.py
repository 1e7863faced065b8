"""CPU kernels (Numba) that all backends share, and the threads that run kernels."""
