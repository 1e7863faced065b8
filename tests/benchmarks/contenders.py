"""Contenders: kernels of the project and other packages, solving a graph in memory."""

import json
import math
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mndmst.backends.base import LabelledForest
from mndmst.backends.cpu.backend import CpuBackend
from mndmst.graph.model import Rows
from mndmst.graph.order import keys_to_weights
from mndmst.host.cores import usable_cores
from mndmst.host.formatting import counted
from mndmst.host.memory import free_bytes
from mndmst.io.results.digest_and_total import ExactSum
from mndmst.kernels.freed_memory import KEPT_SHARE, keep_freed
from mndmst.native.compiled_kernel import CompiledKernel

from .graphs import BenchGraph

# The largest range in which float64, which most peers compute in, has all integers.
_EXACT = 1 << 53
_TOLERANCE = 1e-9


class Answer(NamedTuple):
    """The size and the total weight of a forest."""

    edges: int
    weight: int | float

    def agrees(self, other: "Answer") -> bool:
        """Return whether both can describe one forest.

        Integers that float64 holds are compared exactly, other totals to a relative
        1e-9, since peers add them up in float64 in an order of their own.
        """
        exact = isinstance(self.weight, int) and abs(self.weight) <= _EXACT
        same = (
            self.weight == other.weight
            if exact
            else math.isclose(self.weight, other.weight, rel_tol=_TOLERANCE)
        )
        return self.edges == other.edges and same


class Contender(ABC):
    """One row of the table. Making it converts the graph into the form it wants."""

    name: str

    @abstractmethod
    def solve(self) -> Any:
        """Compute the forest: the timed part."""

    @abstractmethod
    def answer(self, forest: Any) -> Answer:
        """Return the size and the weight of the result of `solve`."""

    def timed(self) -> tuple[float, Any]:
        """Return the milliseconds of `solve`, and its result."""
        begin = time.perf_counter()
        forest = self.solve()
        return 1e3 * (time.perf_counter() - begin), forest


RANKS = 2
PROBE = f"{__package__}.kernel_probe"
_PACKAGE_PARENT = Path(__file__).parents[2]


class KernelContender(Contender):
    """The CPU worker's kernel, from CSR rows in memory to the forest's edges.

    The rows are the whole graph; `dtype` is that of the weights of the keys.
    """

    def __init__(self, rows: Rows, dtype: np.dtype, threads: int) -> None:
        self.name = counted(threads, "thread")
        self.rows = rows
        self.dtype = np.dtype(dtype)
        self.backend = CpuBackend(threads)
        # For each timed solve, the share of the time outside kernels: the interpreter's
        # and NumPy's.
        self.shares: list[float] = []
        keep_freed(free_bytes() // KEPT_SHARE)  # as `solve` does

    def solve(self) -> LabelledForest:
        """Return the forest."""
        return self.backend.msf(self.rows)

    def timed(self) -> tuple[float, LabelledForest]:
        """See `Contender.timed`; note the interpreter's share in `shares`."""
        before = CompiledKernel.seconds
        ms, forest = super().timed()
        inside = 1e3 * (CompiledKernel.seconds - before)
        self.shares.append(1 - inside / ms)
        return ms, forest

    def answer(self, forest: LabelledForest) -> Answer:
        """Add up the weights exactly."""
        total = ExactSum(self.dtype)
        total.add(keys_to_weights(forest.edges.key, self.dtype))
        return Answer(len(forest.edges), total.total())


class Process:
    """Another process that solves the graph in a folder on request.

    The folder is as `BenchGraph.save` writes it; the process may use `core` alone, if
    given.
    """

    def __init__(self, folder: Path, threads: int, core: int | None = None) -> None:
        pinned = [] if core is None else [str(core)]
        self.process = subprocess.Popen(
            [sys.executable, "-m", PROBE, str(folder), str(threads), *pinned],
            cwd=_PACKAGE_PARENT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def begin(self) -> None:
        """Start one solve of the graph."""
        assert self.process.stdin is not None
        self.process.stdin.write("solve\n")
        self.process.stdin.flush()

    def end(self) -> dict[str, Any]:
        """Return the solve's milliseconds, edges, weight and extra bytes (or None)."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            status = self.process.wait()
            raise RuntimeError(f"a process of the benchmark ended with status {status}")
        return json.loads(line)

    def close(self) -> None:
        """End the process."""
        self.process.communicate()


class RanksContender(Contender):
    """One-thread processes, each alone on its core with its own graph.

    Their time is that of the slowest.
    """

    def __init__(self, processes: list[Process]) -> None:
        self.name = counted(len(processes), "rank")
        self.processes = processes

    def solve(self) -> list[dict[str, Any]]:
        """Let all of them solve their graph at once."""
        for process in self.processes:
            process.begin()
        return [process.end() for process in self.processes]

    def timed(self) -> tuple[float, Any]:
        """Return the slowest's own time, without the messages in between."""
        replies = self.solve()
        return max(reply["ms"] for reply in replies), replies

    def answer(self, forest: list[dict[str, Any]]) -> Answer:
        """Return the answer of the first; all have the same graph."""
        return Answer(forest[0]["edges"], forest[0]["weight"])


@contextmanager
def ranks(folder: Path) -> Iterator[list[RanksContender]]:
    """Start processes as ranks; give one of them alone, and all of them at once.

    Without a second core there are none.
    """
    cores = sorted(usable_cores())[:RANKS]
    with ExitStack() as stack:
        processes = [Process(folder, 1, core) for core in cores if len(cores) == RANKS]
        for process in processes:
            stack.callback(process.close)
        contenders = (
            [RanksContender(processes[:1]), RanksContender(processes)]
            if processes
            else []
        )
        for contender in contenders:
            contender.solve()  # once untimed
        yield contenders


def extra_bytes(folder: Path, threads: int) -> int | None:
    """Return the peak memory of a solve beyond the rows, in a fresh process.

    None if the system does not report it.
    """
    process = Process(folder, threads)
    process.begin()
    reply = process.end()
    process.close()
    return reply["extra_bytes"]


class Peer(NamedTuple):
    """The spanning forest of another package."""

    name: str
    package: str  # The package to install and import
    # Returns a graph in the form that the package takes; not timed.
    convert: Callable[[BenchGraph], Any]
    solve: Callable[[Any], Any]  # Computes the forest of a converted graph; timed
    # Takes the converted graph and the result of `solve`.
    answer: Callable[[Any, Any], Answer]
    # `solve` changes the converted graph, so each turn gets a copy.
    overwrites: bool = False
    max_edges: int | None = None  # Larger graphs would take minutes


class PeerContender(Contender):
    """A peer and its converted graph."""

    def __init__(self, peer: Peer, graph: BenchGraph) -> None:
        self.name, self.peer, self.graph = peer.name, peer, peer.convert(graph)

    def timed(self) -> tuple[float, Any]:
        """Time `solve`, but not the copy of a graph that it overwrites."""
        kept = self.graph
        if self.peer.overwrites:
            self.graph = kept.copy()
        try:
            return super().timed()
        finally:
            self.graph = kept

    def solve(self) -> Any:
        """Return the forest in the form of the package."""
        return self.peer.solve(self.graph)

    def answer(self, forest: Any) -> Answer:
        """Return the size and the weight of the forest."""
        return self.peer.answer(self.graph, forest)


def _csr(indptr: np.ndarray, indices: np.ndarray, weights: np.ndarray) -> Any:
    n = len(indptr) - 1
    import_module("scipy.sparse.csgraph")  # loaded before it is timed
    # SciPy's graph routines take 32-bit indices only.
    arrays = (weights.astype(np.float64), indices.view(np.int32), indptr.astype("i4"))
    return import_module("scipy.sparse").csr_array(arrays, shape=(n, n))


def _upper_csr(graph: BenchGraph) -> Any:
    u, v, weights = graph.upper()
    degrees = np.bincount(u, minlength=graph.num_vertices)
    return _csr(np.concatenate(([0], np.cumsum(degrees))), v, weights)


def _solve_scipy(matrix: Any, overwrite: bool = True) -> Any:
    module = import_module("scipy.sparse.csgraph")
    return module.minimum_spanning_tree(matrix, overwrite=overwrite)


def _igraph(graph: BenchGraph) -> Any:
    u, v, weights = graph.upper()
    ends = np.column_stack((u, v)).astype(np.int64)
    made = import_module("igraph").Graph(graph.num_vertices, ends)
    made.es["weight"] = weights.astype(np.float64).tolist()
    return made


def _networkit(graph: BenchGraph) -> Any:
    u, v, weights = graph.upper()
    edges = (weights.astype(np.float64), (u.astype(np.uint64), v.astype(np.uint64)))
    coo = import_module("networkit").GraphFromCoo
    return coo(edges, n=graph.num_vertices, weighted=True)


def _solve_networkit(algorithm: str, graph: Any) -> Any:
    return getattr(import_module("networkit").graph, algorithm)(graph).run()


def _rustworkx(graph: BenchGraph) -> Any:
    made = import_module("rustworkx").PyGraph()
    made.add_nodes_from(range(graph.num_vertices))
    made.add_edges_from(_tuples(graph))
    return made


def _networkx(graph: BenchGraph) -> Any:
    made = import_module("networkx").Graph()
    made.add_weighted_edges_from(_tuples(graph))
    return made


def _tuples(graph: BenchGraph) -> list[tuple[int, int, float]]:
    u, v, weights = (column.tolist() for column in graph.upper())
    return list(zip(u, v, map(float, weights), strict=True))


def _matrix_answer(_: Any, forest: Any) -> Answer:
    return Answer(forest.nnz, float(forest.sum()))


def _networkit_answer(_: Any, forest: Any) -> Answer:
    # The edges of its forest lack their weights.
    return Answer(forest.getForest().numberOfEdges(), forest.getTotalWeight())


# SciPy at its fastest: the upper triangle, float64, overwritten.
SCIPY = Peer("scipy", "scipy", _upper_csr, _solve_scipy, _matrix_answer, True)
PEERS = (
    SCIPY,
    Peer(
        "scipy full",  # as in most programs: the symmetric matrix
        "scipy",
        lambda graph: _csr(graph.indptr, graph.indices, graph.weights),
        partial(_solve_scipy, overwrite=False),
        _matrix_answer,
    ),
    *(
        Peer(
            f"networkit {name}",
            "networkit",
            _networkit,
            partial(_solve_networkit, f"{name.capitalize()}MSF"),
            _networkit_answer,
        )
        for name in ("prim", "kruskal")
    ),
    Peer(
        "rustworkx",
        "rustworkx",
        _rustworkx,
        lambda graph: import_module("rustworkx").minimum_spanning_edges(
            graph, weight_fn=float
        ),
        lambda _, forest: Answer(len(forest), sum(weight for *_, weight in forest)),
    ),
    Peer(
        "igraph",
        "igraph",
        _igraph,
        lambda graph: graph.spanning_tree(weights="weight", return_tree=False),
        lambda graph, ids: Answer(len(ids), math.fsum(graph.es[ids]["weight"])),
    ),
    Peer(
        "networkx",
        "networkx",
        _networkx,
        lambda graph: list(import_module("networkx").minimum_spanning_edges(graph)),
        lambda _, forest: Answer(len(forest), sum(d["weight"] for *_, d in forest)),
        max_edges=1 << 19,
    ),
)
PACKAGES = tuple(dict.fromkeys(peer.package for peer in PEERS))


def installed() -> tuple[str, ...]:
    """Return the installed packages."""
    return tuple(package for package in PACKAGES if find_spec(package))


def of_packages(packages: tuple[str, ...]) -> tuple[Peer, ...]:
    """Return the peers of some packages."""
    return tuple(peer for peer in PEERS if peer.package in packages)


def enter(peers: tuple[Peer, ...], graph: BenchGraph) -> list[PeerContender]:
    """Convert a graph for all peers whose `max_edges` it does not exceed."""
    return [
        PeerContender(peer, graph)
        for peer in peers
        if peer.max_edges is None or graph.num_edges <= peer.max_edges
    ]
