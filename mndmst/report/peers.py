"""Spanning forests of graphs by other packages: inputs, calls and omitted edges.

A peer is imported when it is used, and need not be installed. Nothing here takes NaN,
which `io.edge_file` refuses.
"""

import math
import time
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from ..host.formatting import counted
from ..io.edge_file import MOST_EXACT, Edges

_MOST_INT32 = 2**31 - 1
# Edges that a package leaves out of its forest
ZERO, INFINITE = "weight 0", "infinite weight"


class Answer(NamedTuple):
    """The size and the total weight of a forest."""

    edges: int
    weight: int | float

    def __str__(self) -> str:
        return f"{counted(self.edges, 'edge')} of weight {self.weight}"

    @property
    def verdict(self) -> str:
        """What a table says of a result that agrees."""
        return "same forest"

    def columns(self) -> dict[str, int | float]:
        """Return the answer as columns of a table."""
        return {"forest_edges": self.edges, "forest_weight": self.weight}

    @property
    def tolerance(self) -> float:
        """The largest relative difference of equal totals.

        Peers add weights up in float64 in an order of their own.
        """
        return 1e-9

    def agrees(self, other: "Answer | Clusters") -> bool:
        """Return whether both can describe one forest.

        Integers that float64 holds are compared exactly, others with a tolerance.
        """
        if not isinstance(other, Answer):
            return False
        exact = isinstance(self.weight, int) and abs(self.weight) <= MOST_EXACT
        same = (
            self.weight == other.weight
            if exact
            else math.isclose(self.weight, other.weight, rel_tol=self.tolerance)
        )
        return self.edges == other.edges and same


class TreeAnswer(Answer):
    """The size and the total weight of a tree of points."""

    @property
    def tolerance(self) -> float:
        """The largest relative difference of equal totals: peers compute in float32."""
        return 1e-7


class Clusters(NamedTuple):
    """The number of clusters of points, and of the points outside."""

    clusters: int
    noise: int

    def __str__(self) -> str:
        return f"{counted(self.clusters, 'cluster')}, {self.noise} points of noise"

    @property
    def verdict(self) -> str:
        """What a table says of a result that agrees."""
        return str(self)

    def agrees(self, other: "Answer | Clusters") -> bool:
        """Return whether both are as many clusters.

        Equal distances leave packages a choice, so the points of noise may differ.
        """
        return isinstance(other, Clusters) and self.clusters == other.clusters

    def columns(self) -> dict[str, int | float]:
        """Return the answer as columns of a table."""
        return dict(self._asdict())


# The answers by the names that processes give them
ANSWERS: dict[str, type[Answer | Clusters]] = {
    "forest": Answer,
    "tree": TreeAnswer,
    "clusters": Clusters,
}


class Peer(NamedTuple):
    """A program of a package: forests of edges, or trees or clusters of points."""

    name: str
    package: str  # The package to install
    module: str  # The module to import before times are taken
    # Returns edges, each once, or points in the form that the package takes.
    convert: Callable[[Any], Any]
    solve: Callable[[Any], Any]  # Computes the result of a converted input
    # Takes the converted input and the result of `solve`.
    answer: Callable[[Any, Any], Answer | Clusters]
    # `solve` changes the converted graph, so each turn gets a copy.
    overwrites: bool = False
    omits: str = ""  # Edges that the forest lacks: `ZERO`, `INFINITE` or none

    def timed(self, graph: Any) -> tuple[float, Any]:
        """Return the seconds of `solve` and its result; a copy is not timed."""
        given = graph.copy() if self.overwrites else graph
        begin = time.perf_counter()
        forest = self.solve(given)
        return time.perf_counter() - begin, forest


def csr_matrix(indptr: np.ndarray, indices: np.ndarray, weights: np.ndarray) -> Any:
    """Return the matrix that SciPy's graph routines take: float64, 32-bit indices."""
    n = len(indptr) - 1
    if max(n, len(indices)) > _MOST_INT32:
        raise ValueError("more than 2^31 - 1 vertices or entries of the matrix")
    ids = indices.astype(np.int32), indptr.astype(np.int32)
    arrays = (weights.astype(np.float64), *ids)
    return import_module("scipy.sparse").csr_array(arrays, shape=(n, n))


def _upper_csr(edges: Edges) -> Any:
    degrees = np.bincount(edges.src, minlength=edges.num_vertices)
    indptr = np.concatenate(([0], np.cumsum(degrees)))
    return csr_matrix(indptr, edges.dst, edges.weight)


def solve_scipy(matrix: Any, overwrite: bool = True) -> Any:
    """Return SciPy's forest of a matrix."""
    module = import_module("scipy.sparse.csgraph")
    return module.minimum_spanning_tree(matrix, overwrite=overwrite)


def _igraph(edges: Edges) -> Any:
    ends = np.column_stack((edges.src, edges.dst)).astype(np.int64)
    made = import_module("igraph").Graph(edges.num_vertices, ends)
    made.es["weight"] = edges.weight.astype(np.float64).tolist()
    return made


def _networkit(edges: Edges) -> Any:
    ends = edges.src.astype(np.uint64), edges.dst.astype(np.uint64)
    coo = import_module("networkit").GraphFromCoo
    entries = (edges.weight.astype(np.float64), ends)
    return coo(entries, n=edges.num_vertices, weighted=True)


def _solve_networkit(algorithm: str, graph: Any) -> Any:
    return getattr(import_module("networkit").graph, algorithm)(graph).run()


def _networkit_answer(_: Any, forest: Any) -> Answer:
    # The edges of its forest lack their weights.
    return Answer(forest.getForest().numberOfEdges(), forest.getTotalWeight())


def _rustworkx(edges: Edges) -> Any:
    made = import_module("rustworkx").PyGraph()
    made.add_nodes_from(range(edges.num_vertices))
    made.add_edges_from(_tuples(edges))
    return made


def _networkx(edges: Edges) -> Any:
    made = import_module("networkx").Graph()
    made.add_weighted_edges_from(_tuples(edges))
    return made


def _tuples(edges: Edges) -> list[tuple[int, int, float]]:
    weight = map(float, edges.weight.tolist())
    return list(zip(edges.src.tolist(), edges.dst.tolist(), weight, strict=True))


def matrix_answer(_: Any, forest: Any) -> Answer:
    """Return the answer of SciPy, whose forest has no entries of weight 0."""
    return Answer(forest.nnz, float(forest.sum()))


# SciPy at its fastest: the upper triangle, float64, overwritten.
SCIPY = Peer(
    "scipy", "scipy", "scipy.sparse.csgraph", _upper_csr, solve_scipy, matrix_answer,
    overwrites=True, omits=ZERO,
)  # fmt: skip
_PRIM, _KRUSKAL = (
    Peer(
        f"networkit {name}",
        "networkit",
        "networkit",
        _networkit,
        partial(_solve_networkit, f"{name.capitalize()}MSF"),
        _networkit_answer,
    )
    for name in ("prim", "kruskal")
)
PEERS = (
    SCIPY,
    _PRIM._replace(omits=INFINITE),
    _KRUSKAL,
    Peer(
        "rustworkx",
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
        "igraph",
        _igraph,
        lambda graph: graph.spanning_tree(weights="weight", return_tree=False),
        lambda graph, ids: Answer(len(ids), math.fsum(graph.es[ids]["weight"])),
    ),
    Peer(
        "networkx",
        "networkx",
        "networkx",
        _networkx,
        lambda graph: list(import_module("networkx").minimum_spanning_edges(graph)),
        lambda _, forest: Answer(len(forest), sum(d["weight"] for *_, d in forest)),
    ),
)


def installed(peers: Sequence[Peer] = ()) -> tuple[str, ...]:
    """Return the installed packages of programs, by default `PEERS`; import none."""
    modules = {peer.package: peer.module.partition(".")[0] for peer in peers or PEERS}
    return tuple(package for package, module in modules.items() if find_spec(module))


def of_packages(
    packages: Sequence[str], peers: Sequence[Peer] = ()
) -> tuple[Peer, ...]:
    """Return the programs of some packages, by default of `PEERS`."""
    return tuple(peer for peer in peers or PEERS if peer.package in packages)


def _our_forest(threads: int, maximum: bool, edges: Edges) -> Any:
    solve = import_module("mndmst").minimum_spanning_forest
    return solve(
        edges.src, edges.dst, edges.weight, edges.num_vertices,
        threads=threads, maximum=maximum,
    )  # fmt: skip


def ours(name: str, threads: int, maximum: bool) -> Peer:
    """Return the forest of arrays by this package, which takes edges as they are."""
    return Peer(
        name,
        "mndmst",
        "mndmst.api.arrays",
        lambda edges: edges,
        partial(_our_forest, threads, maximum),
        lambda _, forest: Answer(len(forest), forest.total_weight),
    )


def answers_without(forest: Any) -> dict[str, Answer]:
    """Return the answers of our forest: of all edges, and without those peers omit."""
    whole = Answer(len(forest), forest.total_weight)
    zeros = len(forest) - int(np.count_nonzero(forest.weight))
    weight = -forest.weight if forest.maximum else forest.weight
    finite = forest.weight[weight < np.inf]
    return {
        "": whole,
        ZERO: whole._replace(edges=len(forest) - zeros),
        INFINITE: whole
        if len(finite) == len(forest)
        else Answer(len(finite), math.fsum(finite.tolist())),
    }
