"""Spanning forests of other packages: their inputs, calls and omitted edges.

A peer is imported when it is used, and need not be installed. Nothing here takes NaN,
which `io.edge_file` refuses.
"""

import math
import time
from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from ..io.edge_file import MOST_EXACT, Edges

_TOLERANCE = 1e-9
_MOST_INT32 = 2**31 - 1
# Edges that a package leaves out of its forest
ZERO, INFINITE = "weight 0", "infinite weight"


class Answer(NamedTuple):
    """The size and the total weight of a forest."""

    edges: int
    weight: int | float

    def agrees(self, other: "Answer") -> bool:
        """Return whether both can describe one forest.

        Integers that float64 holds are compared exactly, other totals to a relative
        1e-9, since peers add them up in float64 in an order of their own.
        """
        exact = isinstance(self.weight, int) and abs(self.weight) <= MOST_EXACT
        same = (
            self.weight == other.weight
            if exact
            else math.isclose(self.weight, other.weight, rel_tol=_TOLERANCE)
        )
        return self.edges == other.edges and same


class Peer(NamedTuple):
    """The spanning forest of a package."""

    name: str
    package: str  # The package to install
    module: str  # The module to import before times are taken
    # Returns edges, each once, in the form that the package takes.
    convert: Callable[[Edges], Any]
    solve: Callable[[Any], Any]  # Computes the forest of a converted graph
    # Takes the converted graph and the result of `solve`.
    answer: Callable[[Any, Any], Answer]
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
PACKAGES = tuple(dict.fromkeys(peer.package for peer in PEERS))


def installed() -> tuple[str, ...]:
    """Return the installed packages; none is imported."""
    return tuple(package for package in PACKAGES if find_spec(package))


def of_packages(packages: tuple[str, ...]) -> tuple[Peer, ...]:
    """Return the peers of some packages."""
    return tuple(peer for peer in PEERS if peer.package in packages)


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
