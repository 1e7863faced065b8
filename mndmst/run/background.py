"""Start the devices while the rows are read; before, compile what is missing."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from ..backends.base import Backend
from ..comm.communicator import Comm
from ..graph.model import Rows
from ..graph.order import id_dtype, key_dtype
from ..host.progress import Progress
from ..io.shards import ShardedGraph
from .compile import compile_kernels


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


def start_devices(
    comm: Comm, backends: list[Backend], graph: ShardedGraph, progress: Progress
) -> Background:
    """Start the devices beside what follows; compile what nobody has compiled.

    Collective.
    """
    ids, keys = id_dtype(graph.num_vertices), key_dtype(graph.weight_dtype)
    alone = comm.size == len(backends) == 1

    def load() -> None:
        for backend in backends:
            backend.start(ids, keys, whole=alone)

    background = Background(load)
    compile_kernels(comm, "solve", graph.weight_dtype, progress.say)
    return background
