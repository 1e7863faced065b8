"""One thread for each product of NumPy's BLAS.

The threads of OpenBLAS spin for a while after each product, on cores that kernels use
by then. So each thread of a search multiplies a piece, and BLAS starts no threads.
"""

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

_lock = Lock()  # held while the number of BLAS threads, which the process shares, is 1


@functools.cache
def _controller() -> "ThreadpoolController | None":
    """Return the loaded BLAS libraries; None without the extra `embeddings`."""
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
