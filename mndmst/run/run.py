"""What the steps of one run share on a rank."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..backends.base import Backend
from ..comm.communicator import Comm
from ..comm.directory import Directory
from ..comm.network import LOCAL, Network
from ..graph.model import EdgeList, ReducedGraph, Rows
from ..host.memory import Budget
from ..io.shards import ShardedGraph
from ..kernels.threads import ALONE, Threads
from ..steps.boruvka import (
    Contraction,
    ExceptionCondition,
    contract,
    cycle_filter,
    lightest_cut_edge,
)
from ..steps.contract import merge, rename, segment, without_segment
from ..steps.stored import StoredRows
from .checkpoint import Checkpoint
from .config import Config
from .report import Report


@dataclass
class Worker:
    """A device of a rank and the rows it has been given."""

    backend: Backend
    rows: Rows
    placed: object = None


@dataclass
class Run:
    """The state of a run on a rank.

    Attributes
    ----------
    graph : ShardedGraph
        The graph on disk.
    num_edges : int
        Its distinct undirected edges, without loops.
    workers : list of Worker
        One or two devices; together their rows are the rank's, in order.
    stored : StoredRows or None
        The rank's rows, where they pass through memory; the workers have none then.
    ratio : float
        The share of the first worker, where there are two.
    exception : ExceptionCondition
        What contraction leaves to later steps (`hypar.ind_comp`).
    fixed : list of EdgeList
        Forest edges this rank has found, in no order from list to list or within.
    done : int or None
        All bands of weights up to this key are done.
    resumed : bool
        Whether the components of the beginning are a checkpoint's.
    giant : int or None
        The component that the present edges were looked up from outside of: ranks
        with members of it do not know its edges. None if there is none like that.
    rest_done : bool
        Whether ranks have gone through all edges above a band by themselves.
    scattered : bool
        Whether every present edge is on one rank, wherever its ends are at home.
    checkpoint : Checkpoint or None
        What saves this state at safe points.
    renamed : list of (old, new)
        Components contracted here that the directory has not been told of.
    threads : Threads
        This rank's, for what the host does whatever the devices are.
    network : Network
        Between the ranks.
    """

    comm: Comm
    config: Config
    graph: ShardedGraph
    num_edges: int
    directory: Directory
    workers: list[Worker]
    ratio: float
    budget: Budget
    report: Report
    stored: StoredRows | None = None
    exception: ExceptionCondition = lightest_cut_edge
    fixed: list[EdgeList] = field(default_factory=list)
    done: int | None = None
    resumed: bool = False
    giant: int | None = None
    rest_done: bool = False
    scattered: bool = False
    checkpoint: Checkpoint | None = None
    renamed: list[tuple[np.ndarray, np.ndarray]] = field(default_factory=list)
    threads: Threads = ALONE
    network: Network = LOCAL

    @property
    def num_vertices(self) -> int:
        """Vertices of the whole graph."""
        return self.graph.num_vertices

    @property
    def backend(self) -> Backend:
        """The better device of this rank, for graphs that are not divided."""
        return self.workers[0 if self.ratio >= 0.5 else -1].backend

    def settle(self, contraction: Contraction) -> ReducedGraph:
        """Keep what a contraction has fixed; return the graph that is left."""
        self.fixed.append(contraction.fixed)
        self.renamed.append((contraction.old, contraction.new))
        return contraction.graph

    def publish(self) -> None:
        """Tell the directory which components are now part of others. Collective."""
        none = np.empty(0, np.int64)
        old, new = self.renamed[0] if self.renamed else (none, none)
        if len(self.renamed) > 1:
            old, new = (np.concatenate(c) for c in zip(*self.renamed, strict=True))
            # What has kept its name in one contraction may have lost it in another.
            old, new = old[old != new], new[old != new]
            order = np.argsort(old)
            old, new = old[order], new[order]
            # A name that was itself given up since: ghosts ask for one step only.
            while ((newer := present_names(new, old, new)) != new).any():
                new = newer
        self.directory.record(old, new)
        self.renamed.clear()

    def take_forest(self, edges: EdgeList, label: np.ndarray, step: str) -> None:
        """Keep what a step has found all at once. Collective.

        Parameters
        ----------
        edges : EdgeList
            Edges of the graph's forest, each on one rank.
        label : ndarray, shape (vertices at home here,)
            The components of the graph.
        """
        self.fixed.append(edges)
        self.directory.parent[:] = label
        self.report.level(step, 0)
        self.safe_point()

    def safe_point(self) -> None:
        """Save the state, if it is time to: all is published. Collective."""
        if self.checkpoint is not None:
            self.checkpoint.safe_point(self)

    def at_once(self, tasks: list) -> list:
        """Run a task per worker at the same time, each on a thread of its own.

        The report notes when each of them began and ended.
        """

        def run(worker: Worker, task: Callable[[], Any]) -> Any:
            with self.report.work(worker.backend.name):
                return task()

        pairs = list(zip(self.workers, tasks, strict=True))
        if len(pairs) == 1:
            return [run(*pairs[0])]
        with ThreadPoolExecutor(len(pairs), "mndmst-worker") as pool:
            return [f.result() for f in [pool.submit(run, *pair) for pair in pairs]]


def contract_graph(run: Run, graph: ReducedGraph) -> ReducedGraph:
    """Contract a reduced graph on the better device, or on both if it is large.

    The recursion of MND-MST 4.3.3: a graph of more than `recursion_edges` edges is
    dealt out by the ratio once more before one device has all of it.
    """
    if len(run.workers) == 2 and len(graph) > run.config.recursion_edges:
        owned = np.cumsum(graph.own)
        chosen = graph.own & (owned <= run.ratio * owned[-1])
        parts = segment(graph, chosen), without_segment(graph, chosen)
        pairs = zip(run.workers, parts, strict=True)
        graph = merge_contractions(
            run,
            run.at_once([
                lambda backend=worker.backend, part=part: contract(
                    backend, part, run.exception
                )
                for worker, part in pairs
            ]),
        )  # fmt: skip
    return run.settle(contract(run.backend, graph, run.exception))


def merge_contractions(run: Run, contractions: list[Contraction]) -> ReducedGraph:
    """Merge what the workers of a rank have left; their borders become inner edges."""
    for contraction in contractions:
        run.settle(contraction)
    return joined(contractions)


def joined(contractions: list[Contraction]) -> ReducedGraph:
    """Return what the contractions of neighbouring parts have left, as one graph."""
    graphs = [contraction.graph for contraction in contractions]
    if len(graphs) == 1:
        return graphs[0]
    old = np.concatenate([contraction.old for contraction in contractions])
    new = np.concatenate([contraction.new for contraction in contractions])
    order = np.argsort(old)
    old, new = old[order], new[order]
    return merge([rename(g, present_names(g.labels, old, new)) for g in graphs])


def present_names(names: np.ndarray, old: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Return names with those in `old` (ascending) replaced by those in `new`."""
    if len(old) == 0:
        return names
    place = np.minimum(np.searchsorted(old, names), len(old) - 1)
    return np.where(old[place] == names, new[place], names)


def learn_names(run: Run, graph: ReducedGraph) -> ReducedGraph:
    """Learn the present names of ghosts, drop self edges and multi-edges.

    Collective. Tells the directory what has been contracted here, asks it for the
    names of the ghosts, and keeps the forest of what is left.
    """
    run.publish()
    ghosts = ~graph.own
    names = graph.labels.copy()
    names[ghosts] = run.directory.lookup(graph.labels[ghosts])
    if (names == graph.labels).all():
        return graph
    return cycle_filter(run.backend, rename(graph, names))
