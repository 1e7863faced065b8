"""Other packages that compute minimum spanning forests, each if it is installed.

All of them compute in float64. Conversion to the form a peer wants is not timed.
None of the graphs has an edge of weight zero, which SciPy would drop from a forest.
Peers that use several threads choose their number themselves.
"""

from abc import abstractmethod
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from .contender import Answer, Contender
from .graphs import BenchGraph


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
