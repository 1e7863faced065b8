"""Numba, set up before the first kernel is defined.

Every file of kernels takes `njit` from here. So compiled kernels are kept in a cache
of these sources, and no kernel loads a library of linear algebra.
"""

from .blas import leave_out_blas
from .cache import use_cache_of_these_sources

leave_out_blas()
use_cache_of_these_sources()

from numba import njit  # noqa: E402, the two settings come first

__all__ = ["njit"]
