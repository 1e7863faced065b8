"""Compile missing kernels, then start the devices while the rows are read."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from typing import NamedTuple

import numpy as np

from ..backends.base import Backend
from ..comm.communicator import Comm
from ..graph.model import Rows
from ..graph.order import key_dtype
from ..host.progress import Progress
from ..io.shards.sharded_graph import ShardedGraph
from ..kernels.arc_inspection import ArcFacts
from ..native.cache_dirs import directories, use_directories
from ..native.loader import announced, announcing_compilation
from ..native.precompile import compile_side_by_side, uncompiled


def compile_kernels(
    comm: Comm, user: str, weights: np.dtype | None, progress: Progress
) -> None:
    """Compile missing kernels; the ranks of a host divide them, and use all its cores.

    Collective. For `user` and `weights` see `native.precompile.listed_kernels`.
    If it takes long, a line says so: of `progress` where that is active.
    """
    node = comm.node()
    found = (uncompiled(user, weights), directories()) if node.rank == 0 else None
    left, dirs = node.bcast(found)
    use_directories(dirs)
    if left:
        cores = len(node.cores())
        sharers = min(node.size, cores)
        share = left[node.rank :: sharers] if node.rank < sharers else []
        with ExitStack() as stack:
            if progress.active:
                stack.enter_context(announcing_compilation(progress.say))
            stack.enter_context(announced())
            compile_side_by_side(
                share,
                cores // sharers,
                report=lambda done, count: progress.say(
                    f"compiling kernels: {done} of {count}"
                ),
            )
        node.barrier(politely=True)


class PlacedShare(NamedTuple):
    """Rows that a device has received."""

    ratio: float  # their share of the arcs, as it was chosen
    rows: Rows
    placed: object


class Background:
    """The work of devices while rows are read: start, receive rows, inspect them.

    One thread starts the devices and loads their kernels. Another copies rows
    meanwhile, as a copy needs no kernel; inspection waits for both.
    """

    def __init__(self, load: Callable[[], None]) -> None:
        self._threads = ThreadPoolExecutor(2, "mndmst-devices")
        self._loading = self._threads.submit(load)
        self._placing: Future[tuple[PlacedShare, ArcFacts | None]] | None = None

    def loaded(self) -> None:
        """Wait until the devices can be used."""
        self._loading.result()

    def place(self, backend: Backend, rows: Rows) -> None:
        """Begin to bring rows to a device; they may still be read."""

        def place() -> tuple[PlacedShare, ArcFacts | None]:
            placed = backend.place(rows)
            self.loaded()
            facts = backend.inspect_arcs(placed, rows.num_vertices)
            return PlacedShare(1.0, rows, placed), facts

        self._placing = self._threads.submit(place)

    def place_share(
        self, backend: Backend, share: Callable[[], tuple[float, Rows]]
    ) -> None:
        """Begin to bring the first rows to a device; `share` chooses them there."""

        def place() -> tuple[PlacedShare, None]:
            ratio, rows = share()
            return PlacedShare(ratio, rows, backend.place(rows)), None

        self._placing = self._threads.submit(place)

    def facts(self) -> ArcFacts | None:
        """Wait for the facts of the placed rows; see `ArcInspection`."""
        return self._placing.result()[1] if self._placing else None

    def finish(self) -> None:
        """Wait until the devices have started and all rows are placed."""
        self.loaded()
        if self._placing is not None:
            self._placing.result()

    def placed(self) -> PlacedShare | None:
        """Return the placed rows, once; None if none were begun."""
        placing, self._placing = self._placing, None
        return placing.result()[0] if placing else None


def start_devices(
    comm: Comm,
    backends: list[Backend],
    graph: ShardedGraph,
    progress: Progress,
    compiles: bool = True,
) -> Background:
    """Compile missing kernels, and start the devices in the background.

    Collective. If not `compiles`, devices need few kernels or none.
    """
    keys = key_dtype(graph.weight_dtype)

    def load() -> None:
        for backend in backends:
            backend.start(keys)

    background = Background(load)
    if compiles:
        compile_kernels(comm, "solve", graph.weight_dtype, progress)
    return background
