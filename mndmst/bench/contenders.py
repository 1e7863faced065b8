"""Contenders: kernels of the project and other packages, solving a graph in memory."""

import json
import math
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..backends.base import LabelledForest
from ..backends.cpu.backend import CpuBackend
from ..graph.model import Rows
from ..graph.order import keys_to_weights
from ..host.cores import own_cores
from ..host.formatting import counted
from ..io.results.digest_and_total import ExactSum
from ..kernels.freed_memory import keep_freed
from ..native.compiled_kernel import CompiledKernel
from .graphs import BenchGraph

# The largest range in which float64, which most peers compute in, has all integers.
_EXACT = 1 << 53
_TOLERANCE = 1e-9


class Answer(NamedTuple):
    """The size and the total weight of a forest."""

    edges: int
    weight: int | float

    def agrees(self, other: "Answer") -> bool:
        """Return whether both may be of one forest.

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
        """Return what `solve` has found."""

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

    Parameters
    ----------
    rows : Rows
        The whole graph.
    dtype : dtype
        The weights of the keys.

    Attributes
    ----------
    shares : list of float
        For each timed solve, the share of the time outside kernels: the interpreter's
        and NumPy's.
    """

    def __init__(self, rows: Rows, dtype: np.dtype, threads: int) -> None:
        self.name = counted(threads, "thread")
        self.rows = rows
        self.dtype = np.dtype(dtype)
        self.backend = CpuBackend(threads)
        self.shares: list[float] = []
        keep_freed()

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

    Parameters
    ----------
    folder : Path
        As written by `BenchGraph.save`.
    core : int, optional
        The only core it may use.
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
        """Tell it to solve the graph once."""
        assert self.process.stdin is not None
        self.process.stdin.write("solve\n")
        self.process.stdin.flush()

    def end(self) -> dict[str, Any]:
        """Wait for it: its milliseconds, edges, weight and extra bytes (or None)."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            status = self.process.wait()
            raise RuntimeError(f"a process of the benchmark ended with status {status}")
        return json.loads(line)

    def close(self) -> None:
        """End it."""
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

    Neither where there is only one core.
    """
    cores = sorted(own_cores())[:RANKS]
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

    None where the system does not tell.
    """
    process = Process(folder, threads)
    process.begin()
    reply = process.end()
    process.close()
    return reply["extra_bytes"]


class PeerPackage(Contender):
    """A package with a minimum spanning forest.

    Attributes
    ----------
    package : str
        What to install and import.
    max_edges : int or None
        Larger graphs would take minutes.
    """

    package: str
    max_edges: int | None = None

    @abstractmethod
    def __init__(self, graph: BenchGraph) -> None: ...


class ScipyUpper(PeerPackage):
    """SciPy at its fastest: the upper triangle, float64, overwritten."""

    name, package = "scipy", "scipy"

    def __init__(self, graph: BenchGraph) -> None:
        self.matrix = self.convert(graph)
        self.tree = import_module("scipy.sparse.csgraph").minimum_spanning_tree

    def convert(self, graph: BenchGraph) -> Any:
        """Return the matrix to give."""
        u, v, weights = graph.upper()
        degrees = np.bincount(u, minlength=graph.num_vertices)
        indptr = np.concatenate(([0], np.cumsum(degrees)))
        return _csr(indptr, v, weights)

    def timed(self) -> tuple[float, Any]:
        """Time `solve`, but not the copy of the matrix that it overwrites."""
        kept, self.matrix = self.matrix, self.matrix.copy()
        try:
            return super().timed()
        finally:
            self.matrix = kept

    def solve(self) -> Any:
        """Return the forest as a matrix."""
        return self.tree(self.matrix, overwrite=True)

    def answer(self, forest: Any) -> Answer:
        """Count and add up the entries."""
        return Answer(forest.nnz, float(forest.sum()))


class ScipyFull(ScipyUpper):
    """SciPy as most call it, on the symmetric matrix."""

    name = "scipy full"

    def convert(self, graph: BenchGraph) -> Any:
        """Return the matrix to give."""
        return _csr(graph.indptr, graph.indices, graph.weights)

    def solve(self) -> Any:
        """Return the forest as a matrix."""
        return self.tree(self.matrix)


class Igraph(PeerPackage):
    """igraph, which answers with the numbers of the edges."""

    name, package = "igraph", "igraph"

    def __init__(self, graph: BenchGraph) -> None:
        u, v, weights = graph.upper()
        ends = np.column_stack((u, v)).astype(np.int64)
        self.graph = import_module("igraph").Graph(graph.num_vertices, ends)
        self.weights = weights.astype(np.float64)
        self.graph.es["weight"] = self.weights.tolist()

    def solve(self) -> list[int]:
        """Return the forest's edges."""
        return self.graph.spanning_tree(weights="weight", return_tree=False)

    def answer(self, forest: list[int]) -> Answer:
        """Add up the weights of the chosen edges."""
        return Answer(len(forest), float(self.weights[forest].sum()))


class NetworkitPrim(PeerPackage):
    """NetworKit's Prim, the fastest of its own."""

    name, package, algorithm = "networkit prim", "networkit", "PrimMSF"

    def __init__(self, graph: BenchGraph) -> None:
        networkit = import_module("networkit")
        u, v, weights = graph.upper()
        edges = (weights.astype(np.float64), (u.astype(np.uint64), v.astype(np.uint64)))
        self.graph = networkit.GraphFromCoo(edges, n=graph.num_vertices, weighted=True)
        self.make = getattr(networkit.graph, self.algorithm)

    def solve(self) -> Any:
        """Return the algorithm, which holds its result."""
        return self.make(self.graph).run()

    def answer(self, forest: Any) -> Answer:
        """Ask the algorithm; the weights in its forest are lost."""
        return Answer(forest.getForest().numberOfEdges(), forest.getTotalWeight())


class NetworkitKruskal(NetworkitPrim):
    """NetworKit's Kruskal, which sorts with several threads."""

    name, algorithm = "networkit kruskal", "KruskalMSF"


class Rustworkx(PeerPackage):
    """rustworkx, which asks a Python function for every weight."""

    name, package = "rustworkx", "rustworkx"

    def __init__(self, graph: BenchGraph) -> None:
        rustworkx = import_module("rustworkx")
        self.graph = rustworkx.PyGraph()
        self.graph.add_nodes_from(range(graph.num_vertices))
        self.graph.add_edges_from(_tuples(graph))
        self.edges = rustworkx.minimum_spanning_edges

    def solve(self) -> Any:
        """Return a list of (u, v, weight)."""
        return self.edges(self.graph, weight_fn=float)

    def answer(self, forest: Any) -> Answer:
        """Add up the weights."""
        return Answer(len(forest), float(sum(edge[2] for edge in forest)))


class Networkx(PeerPackage):
    """networkx, in pure Python."""

    name, package, max_edges = "networkx", "networkx", 1 << 19

    def __init__(self, graph: BenchGraph) -> None:
        networkx = import_module("networkx")
        self.graph = networkx.Graph()
        self.graph.add_weighted_edges_from(_tuples(graph))
        self.edges = networkx.minimum_spanning_edges

    def solve(self) -> list:
        """Return a list of (u, v, attributes)."""
        return list(self.edges(self.graph))

    def answer(self, forest: list) -> Answer:
        """Add up the weights."""
        return Answer(len(forest), float(sum(edge[2]["weight"] for edge in forest)))


PEERS: tuple[type[PeerPackage], ...] = (
    *(ScipyUpper, ScipyFull, NetworkitPrim, NetworkitKruskal),
    *(Rustworkx, Igraph, Networkx),
)
PACKAGES = tuple(dict.fromkeys(peer.package for peer in PEERS))


def installed() -> tuple[str, ...]:
    """Return the packages that can be imported here."""
    return tuple(package for package in PACKAGES if find_spec(package))


def of_packages(packages: tuple[str, ...]) -> tuple[type[PeerPackage], ...]:
    """Return the peers that some packages have."""
    return tuple(peer for peer in PEERS if peer.package in packages)


def enter(peers: tuple[type[PeerPackage], ...], graph: BenchGraph) -> list[PeerPackage]:
    """Convert a graph for all peers that it is not too large for."""
    return [
        peer(graph)
        for peer in peers
        if peer.max_edges is None or graph.num_edges <= peer.max_edges
    ]


def _csr(indptr: np.ndarray, indices: np.ndarray, weights: np.ndarray) -> Any:
    n = len(indptr) - 1
    # SciPy's graph routines take 32-bit indices only.
    arrays = (weights.astype(np.float64), indices.view(np.int32), indptr.astype("i4"))
    return import_module("scipy.sparse").csr_array(arrays, shape=(n, n))


def _tuples(graph: BenchGraph) -> list[tuple[int, int, float]]:
    u, v, weights = (column.tolist() for column in graph.upper())
    return list(zip(u, v, map(float, weights), strict=True))
