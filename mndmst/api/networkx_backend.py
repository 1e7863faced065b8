"""A NetworkX backend: `networkx.minimum_spanning_tree(G, backend="mndmst")`.

NetworkX finds it by the entry points of the package, and calls `backend` below.
Graphs of NetworkX are dictionaries, so the loops over edges here are Python's; the
forest itself is computed on arrays.
"""

from collections.abc import Iterator
from functools import partial
from math import isnan
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import networkx

    from .forest import Forest

# Measured (docs/from-scipy-and-networkx.md): with fewer edges NetworkX ends before its
# dictionaries have been read into arrays.
LEAST_EDGES = 2000
ALGORITHMS = ("kruskal", "prim", "boruvka", "borůvka")

_SPANNING = "Ties are decided by the order of the nodes in the graph."
_FUNCTIONS = {
    "minimum_spanning_edges": _SPANNING,
    "maximum_spanning_edges": _SPANNING,
    "minimum_spanning_tree": _SPANNING,
    "maximum_spanning_tree": _SPANNING,
    "connected_components": "Components come in the order of their first nodes.",
    "number_connected_components": "",
    "is_connected": "",
}


def info() -> dict[str, object]:
    """Return the description of the backend for NetworkX's documentation."""
    return {
        "backend_name": "mndmst",
        "project": "mndmst",
        "package": "mndmst",
        "short_summary": "Exact spanning forests on all cores.",
        "functions": {
            name: {"additional_docs": text} for name, text in _FUNCTIONS.items()
        },
    }


class BackendGraph:
    """A graph of NetworkX, its nodes numbered in the order they were added."""

    __networkx_backend__ = "mndmst"

    def __init__(self, graph: "networkx.Graph") -> None:
        self.graph = graph

    def is_directed(self) -> bool:
        """Return whether the edges have a direction."""
        return bool(self.graph.is_directed())

    def is_multigraph(self) -> bool:
        """Return whether two nodes may have several edges."""
        return bool(self.graph.is_multigraph())

    def number_of_edges(self) -> int:
        """Return the number of edges."""
        return int(self.graph.number_of_edges())

    def forest(self, weight: str | None, maximum: bool, ignore_nan: bool) -> "Forest":
        """Return the spanning forest on the nodes' numbers; NaN left out or refused.

        Raises ValueError if a weight is NaN; TypeError if a weight is not a number, as
        NetworkX itself raises.
        """
        from .arrays import minimum_spanning_forest

        nodes = {node: number for number, node in enumerate(self.graph)}
        src, dst, values = [], [], []
        for u, v, data in self.graph.edges(data=True):
            value = 1 if weight is None else data.get(weight, 1)
            if isnan(value):  # or a TypeError, as NetworkX raises for text and None
                if ignore_nan:
                    continue
                raise ValueError(f"NaN found as an edge weight. Edge {(u, v, data)}")
            src.append(nodes[u])
            dst.append(nodes[v])
            values.append(value)
        ends = np.array([src, dst], np.int64)
        weights = comparable(values)
        return minimum_spanning_forest(
            ends[0], ends[1], weights, len(nodes), maximum=maximum
        )


def comparable(values: list[float]) -> np.ndarray:
    """Return an array of numbers that are ordered as the values are.

    The values themselves where 64 bits hold each exactly, else their ranks.
    """
    kinds = set(map(type, values))
    if kinds <= {int, bool} and all(-(1 << 63) <= value < 1 << 63 for value in values):
        return np.array(values, np.int64)
    if kinds == {float}:
        return np.array(values, np.float64)
    ranks = {value: rank for rank, value in enumerate(sorted(set(values)))}
    return np.array([ranks[value] for value in values], np.int64)


def spanning_edges(
    graph: BackendGraph,
    algorithm: str = "kruskal",
    weight: str = "weight",
    keys: bool = True,
    data: bool = True,
    ignore_nan: bool = False,
    *,
    maximum: bool,
) -> Iterator[tuple[object, ...]]:
    """Yield the edges of a spanning forest, as NetworkX's functions of that name do."""
    if algorithm not in ALGORITHMS:
        raise ValueError(f"{algorithm} is not a valid choice for an algorithm.")
    if algorithm.startswith("bor") and graph.is_multigraph():
        import networkx

        raise networkx.NetworkXNotImplemented("not implemented for multigraph type")
    return _edges(graph, weight, keys, data, ignore_nan, maximum)


def _edges(
    backend_graph: BackendGraph,
    weight: str,
    keys: bool,
    data: bool,
    ignore_nan: bool,
    maximum: bool,
) -> Iterator[tuple[object, ...]]:
    graph = backend_graph.graph
    nodes = list(graph)
    better = max if maximum else min
    for u, v in backend_graph.forest(weight, maximum, ignore_nan).edges.tolist():
        edge: tuple[object, ...] = (nodes[u], nodes[v])
        attributes = graph[nodes[u]][nodes[v]]
        if graph.is_multigraph():
            parallel = {
                key: value
                for key, given in attributes.items()
                if (value := given.get(weight, 1)) == value
            }
            key = better(parallel, key=parallel.__getitem__)
            attributes = attributes[key]
            edge += (key,) if keys else ()
        yield (*edge, attributes) if data else edge


def spanning_tree(
    graph: BackendGraph,
    weight: str = "weight",
    algorithm: str = "kruskal",
    ignore_nan: bool = False,
    *,
    maximum: bool,
) -> "networkx.Graph":
    """Return a spanning forest as a graph, with the attributes of the one given."""
    edges = spanning_edges(
        graph, algorithm, weight, ignore_nan=ignore_nan, maximum=maximum
    )
    tree = graph.graph.__class__()
    tree.graph.update(graph.graph.graph)
    tree.add_nodes_from(graph.graph.nodes.items())
    tree.add_edges_from(edges)
    return tree


def connected_components(graph: BackendGraph) -> Iterator[set[object]]:
    """Yield the nodes of each component."""
    labels = graph.forest(None, False, False).labels
    components: dict[int, set[object]] = {}
    for node, label in zip(graph.graph, labels.tolist(), strict=True):
        components.setdefault(label, set()).add(node)
    yield from components.values()


def number_connected_components(graph: BackendGraph) -> int:
    """Return the number of components."""
    return graph.forest(None, False, False).num_trees


def is_connected(graph: BackendGraph) -> bool:
    """Return whether there is exactly one component."""
    import networkx

    if len(graph.graph) == 0:
        raise networkx.NetworkXPointlessConcept(
            "Connectivity is undefined for the null graph."
        )
    return number_connected_components(graph) == 1


class NetworkXBackend:
    """The interface for NetworkX: conversions, and the functions by their names."""

    minimum_spanning_edges = staticmethod(partial(spanning_edges, maximum=False))
    maximum_spanning_edges = staticmethod(partial(spanning_edges, maximum=True))
    minimum_spanning_tree = staticmethod(partial(spanning_tree, maximum=False))
    maximum_spanning_tree = staticmethod(partial(spanning_tree, maximum=True))
    connected_components = staticmethod(connected_components)
    number_connected_components = staticmethod(number_connected_components)
    is_connected = staticmethod(is_connected)

    @staticmethod
    def convert_from_nx(graph: "networkx.Graph", **_: object) -> BackendGraph:
        """Return a graph of NetworkX as the functions take it."""
        return BackendGraph(graph)

    @staticmethod
    def convert_to_nx(result: object, **_: object) -> object:
        """Return a result as NetworkX has it."""
        return result.graph if isinstance(result, BackendGraph) else result

    @staticmethod
    def can_run(
        name: str,
        args: tuple["networkx.Graph", ...],
        kwargs: dict[str, "networkx.Graph"],
    ) -> bool | str:
        """Return True, or why not: directed graphs have no spanning forest here."""
        graph = args[0] if args else kwargs["G"]
        return "not for directed graphs" if graph.is_directed() else True

    @staticmethod
    def should_run(
        name: str,
        args: tuple["networkx.Graph", ...],
        kwargs: dict[str, "networkx.Graph"],
    ) -> bool | str:
        """Return True, or why NetworkX itself is faster.

        NetworkX asks where it chooses a backend, not where ``backend="mndmst"`` does.
        """
        if "connected" in name:
            return "to read the graph takes longer than to search it"
        graph = args[0] if args else kwargs["G"]
        if graph.number_of_edges() < LEAST_EDGES:
            return f"a graph of fewer than {LEAST_EDGES} edges gains nothing"
        return True


backend: NetworkXBackend = NetworkXBackend()
