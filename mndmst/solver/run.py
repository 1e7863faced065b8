"""Data that the steps of a run share on a rank: constants, and the state.

`Run` is frozen. `State` is the content of a checkpoint, and nothing else.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from ..backends.base import Device, RowsOnDevice
from ..comm.communicator import Comm
from ..comm.directory import Directory
from ..graph.model import EdgeList, Rows
from ..host.memory import Budget
from ..io.shards.row_reading import StoredRows
from ..io.shards.sharded_graph import ShardedGraph
from ..kernels.threads import ALONE, Threads
from .config import Config
from .run_report import Report

ResultT = TypeVar("ResultT")


@dataclass(frozen=True)
class Worker:
    """A device of a rank and its rows."""

    backend: Device
    rows: Rows
    # The device's copy of the rows (`Backend.upload`), unless `upload_rows` follows
    on_device: RowsOnDevice | None = None

    @property
    def uploaded(self) -> RowsOnDevice:
        """The device's copy of the rows, for the steps of `backend`."""
        assert self.on_device is not None
        return self.on_device


@dataclass
class State:
    """The progress of a run: the content of a checkpoint."""

    directory: Directory  # The present component of every vertex
    # Edges of the minimum spanning forest that this rank has computed, in no order.
    forest_edges: list[EdgeList] = field(default_factory=list)
    done: int | None = None  # All edges up to this key are done


@dataclass(frozen=True)
class Run:
    """Constants of a run while it computes."""

    comm: Comm
    config: Config
    graph: ShardedGraph  # The graph on disk
    num_edges: int  # Its distinct undirected edges, without self-loops
    state: State
    # One or two devices with consecutive rows, together all that are in memory.
    workers: tuple[Worker, ...]
    ratio: float  # The share of the first worker, where there are two
    budget: Budget
    report: Report
    # The rows that stay in their file. All rows of all ranks are stored, or none.
    stored: StoredRows
    one_host: bool = True  # Whether all ranks are on one host
    resumed: bool = False  # Whether the initial state is from a checkpoint
    # Called with the state at safe points; may save it (`Checkpoint.safe_point`).
    save: Callable[[State], None] | None = None
    threads: Threads = ALONE  # Threads of this rank, for work on the host
    # Memory that the ranks of this host share, for the next solve of the same graph.
    shared: list[np.ndarray] = field(default_factory=list)

    @property
    def num_vertices(self) -> int:
        """Vertices of the whole graph."""
        return self.graph.num_vertices

    @property
    def directory(self) -> Directory:
        """The directory of the state."""
        return self.state.directory

    @property
    def backend(self) -> Device:
        """The faster device of this rank, for graphs that are not divided."""
        return self.workers[0 if self.ratio >= 0.5 else -1].backend

    def safe_point(self) -> None:
        """Save the state if a checkpoint is due. Collective.

        All names must have been published.
        """
        if self.save is not None:
            self.save(self.state)

    def at_once(self, tasks: Sequence[Callable[[], ResultT]]) -> list[ResultT]:
        """Run a task per worker at the same time, each in its own thread.

        The report notes when each task began and ended.
        """

        def run(worker: Worker, task: Callable[[], ResultT]) -> ResultT:
            with self.report.work(worker.backend.name):
                return task()

        pairs = list(zip(self.workers, tasks, strict=True))
        if len(pairs) == 1:
            return [run(*pairs[0])]
        with ThreadPoolExecutor(len(pairs), "mndmst-worker") as pool:
            return [f.result() for f in [pool.submit(run, *pair) for pair in pairs]]
