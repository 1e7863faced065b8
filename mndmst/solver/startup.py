"""Compile missing kernels, then start the devices while the rows are read."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from typing import NamedTuple

import numpy as np

from ..backends.base import Device, RowsOnDevice
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
    """Compile missing kernels on all cores of a host; its ranks divide them.

    Collective. For `user` and `weights` see `native.precompile.listed_kernels`. A long
    compilation prints a line, by `progress` where that is active.
    """
    node = comm.node()
    state = (uncompiled(user, weights), directories()) if node.rank == 0 else None
    missing, dirs = node.bcast(state)
    use_directories(dirs)
    if missing:
        cores = len(node.cores())
        sharers = min(node.size, cores)
        share = missing[node.rank :: sharers] if node.rank < sharers else []
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


class UploadedRows(NamedTuple):
    """Rows with a copy on a device."""

    ratio: float  # the fraction of the rank's arcs that the device was meant to get
    rows: Rows
    on_device: RowsOnDevice  # the copy, as `Backend.upload` returns it
    others: Rows | None = None  # the rank's other rows, if it has any


class Background:
    """Starts devices, uploads rows and inspects their arcs while the rows are read.

    One thread starts the devices and loads their kernels. Another thread copies rows
    meanwhile, because a copy needs no kernel. The inspection waits for both.
    """

    def __init__(self, load: Callable[[], None]) -> None:
        self._threads = ThreadPoolExecutor(2, "mndmst-devices")
        self._loading = self._threads.submit(load)
        self._uploading: Future[tuple[UploadedRows, ArcFacts | None]] | None = None

    def loaded(self) -> None:
        """Wait until the devices can be used."""
        self._loading.result()

    def upload(self, backend: Device, rows: Rows) -> None:
        """Begin to upload rows, which threads may still be reading."""

        def upload_and_inspect() -> tuple[UploadedRows, ArcFacts | None]:
            on_device = backend.upload(rows)
            self.loaded()
            facts = backend.inspect_arcs(on_device, rows.num_vertices)
            return UploadedRows(1.0, rows, on_device), facts

        self._uploading = self._threads.submit(upload_and_inspect)

    def upload_share(
        self, backend: Device, share: Callable[[], tuple[float, Rows, Rows]]
    ) -> None:
        """Begin to upload the rows that `share` chooses on the background thread.

        It returns the ratio, these rows, and the others.
        """

        def choose_and_upload() -> tuple[UploadedRows, None]:
            ratio, rows, others = share()
            return UploadedRows(ratio, rows, backend.upload(rows), others), None

        self._uploading = self._threads.submit(choose_and_upload)

    def facts(self) -> ArcFacts | None:
        """Wait for the facts of the uploaded rows; see `ArcInspection`."""
        return self._uploading.result()[1] if self._uploading else None

    def finish(self) -> None:
        """Wait until the devices have started and the upload is complete."""
        self.loaded()
        if self._uploading is not None:
            self._uploading.result()

    def uploaded(self) -> UploadedRows | None:
        """Return the uploaded rows in the first call; None later or without upload."""
        uploading, self._uploading = self._uploading, None
        return uploading.result()[0] if uploading else None


def start_devices(
    comm: Comm,
    backends: list[Device],
    graph: ShardedGraph,
    progress: Progress,
    compiles: bool = True,
) -> Background:
    """Compile missing kernels, and start the devices in the background.

    Collective. Without `compiles` the first call of each kernel compiles it.
    """
    keys = key_dtype(graph.weight_dtype)

    def load() -> None:
        for backend in backends:
            backend.start(keys)

    background = Background(load)
    if compiles:
        compile_kernels(comm, "solve", graph.weight_dtype, progress)
    return background
