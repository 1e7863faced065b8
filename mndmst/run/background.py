"""Start the devices and load the kernels while the rows are read."""

import sys
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from ..backends.base import Backend
from ..backends.warmup import kernels_cached, warm_up_kernels
from ..comm.communicator import Comm
from ..graph.model import Rows
from ..graph.order import id_dtype, key_dtype
from ..host.progress import Progress
from ..io.shards import ShardedGraph


class Background:
    """What the devices do while the rows are read: start, and receive the rows.

    Parameters
    ----------
    load : callable
        Starts the devices and loads their kernels.
    """

    def __init__(self, load: Callable[[], None]) -> None:
        self._thread = ThreadPoolExecutor(1, "mndmst-devices")
        self._loading = self._thread.submit(load)
        self._placing: Future[object] | None = None

    def loaded(self) -> None:
        """Wait until the devices can be used."""
        self._loading.result()

    def place(self, backend: Backend, rows: Rows) -> None:
        """Begin to bring rows to a device; they may still be read."""
        self._placing = self._thread.submit(backend.place, rows)

    def finish(self) -> None:
        """Wait until all that has been begun is done."""
        self.loaded()
        if self._placing is not None:
            self._placing.result()

    def placed(self) -> object | None:
        """Return the placed rows, once; None if none were begun."""
        placing, self._placing = self._placing, None
        return placing.result() if placing else None


def warm_up(
    comm: Comm, backends: list[Backend], graph: ShardedGraph, progress: Progress
) -> Background:
    """Load the kernels, which also starts the devices, beside what follows.

    If some are missing, one rank of a machine compiles them first, and nothing goes on
    beside it. Collective.
    """
    ids, keys = id_dtype(graph.num_vertices), key_dtype(graph.weight_dtype)

    def load() -> None:
        # Who reads meanwhile needs the interpreter often, but for a moment only.
        interval = sys.getswitchinterval()
        sys.setswitchinterval(interval / 10)
        try:
            for backend in backends:
                warm_up_kernels(backend, ids, keys, progress.say)
        finally:
            sys.setswitchinterval(interval)

    node = comm.node()
    cached = all(kernels_cached(backend, ids, keys) for backend in backends)
    all_at_once = node.min(int(cached))
    if node.rank > 0 and not all_at_once:
        node.barrier()
    background = Background(load)
    if not all_at_once:
        background.loaded()
        if node.rank == 0:
            node.barrier()
    node.free()
    return background
