"""One thread for each product of NumPy's BLAS.

The threads of OpenBLAS spin for a while after each product, on the cores where kernels
run meanwhile. So the own threads multiply pieces, each with one thread of BLAS.
"""

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

_lock = Lock()  # two that set and restore one number in turn would mix theirs up


@functools.cache
def _controller() -> Any:
    """Return the loaded libraries of BLAS; None without the extra `embeddings`."""
    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:
        return None
    return ThreadpoolController().select(user_api="blas")


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread a call; no limit without the extra `embeddings`."""
    controller = _controller()
    if controller is None:
        yield
        return
    with _lock, controller.limit(limits=1):
        yield
