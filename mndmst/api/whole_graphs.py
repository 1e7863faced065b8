"""Graphs of other packages as columns: NetworkX, igraph, rustworkx, edge lists.

Each gives its edges in its own order, so that a position in the columns is a position
there: in `G.edges` of NetworkX, of `es` in igraph, in `edge_indices()` of rustworkx.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..host.errors import ConfigError, InputError, InputTypeError

# The attribute that NetworkX and igraph weigh edges by.
WEIGHT = "weight"


@dataclass(frozen=True)
class GraphColumns:
    """The edges of a graph, by the names of their ends.

    Attributes
    ----------
    src, dst : sequence of vertex names, one per edge
    weight : array-like of numbers, shape (edges,)
    nodes : sequence or None
        The names of all vertices; None if the edges have them all.
    """

    src: Any
    dst: Any
    weight: Any
    nodes: Sequence[Any] | None


def package_of(value: Any) -> str:
    """Return the name of the package that defines a value's class, or a base of it."""
    for kind in type(value).__mro__:
        package = kind.__module__.partition(".")[0]
        if package in READERS:
            return package
    return ""


def is_edge_list(value: Any) -> bool:
    """Return whether a value is a list of tuples."""
    return isinstance(value, list) and all(isinstance(edge, tuple) for edge in value)


def read_graph(graph: Any, weight: str | None) -> GraphColumns:
    """Return the edges of a graph of NetworkX, igraph or rustworkx.

    Parameters
    ----------
    weight : str, optional
        The attribute of edges that is their weight; ``"weight"`` by default. If no edge
        has an attribute that is a number, each weighs 1.

    Raises
    ------
    ConfigError
        If `weight` is no attribute of the edges, or not given and attributes other than
        ``"weight"`` are numbers.
    InputError
        If an edge lacks a weight.
    """
    if weight is not None and not isinstance(weight, str):
        raise ConfigError("of a graph, weight is the name of an attribute of its edges")
    return READERS[package_of(graph)](graph, weight)


def read_edge_list(edges: list[tuple[Any, ...]]) -> GraphColumns:
    """Return the edges of a list of (source, target, weight).

    Raises
    ------
    InputError
        If an edge is no such tuple.
    """
    for position, edge in enumerate(edges):
        if len(edge) != 3:
            raise InputError(
                f"edge {position} of the list is {edge!r}; give (source, target, "
                "weight)"
            )
    src, dst, weights = map(list, zip(*edges, strict=True)) if edges else ([], [], [])
    return GraphColumns(src, dst, weights, None)


def _read_networkx(graph: Any, weight: str | None) -> GraphColumns:
    src, dst, attributes = [], [], []
    for u, v, data in graph.edges(data=True):
        src.append(u)
        dst.append(v)
        attributes.append(data)
    weights = _weights(attributes, weight, lambda i: f"({src[i]!r}, {dst[i]!r})")
    return GraphColumns(src, dst, weights, list(graph))


def _read_igraph(graph: Any, weight: str | None) -> GraphColumns:
    ends = graph.get_edgelist()
    names: Sequence[Any] = range(graph.vcount())
    if "name" in graph.vs.attributes():
        names = graph.vs["name"]
    attributes = [edge.attributes() for edge in graph.es]
    weights = _weights(attributes, weight, lambda i: f"{i} {ends[i]}")
    src, dst = [names[u] for u, _ in ends], [names[v] for _, v in ends]
    return GraphColumns(src, dst, weights, list(names))


def _read_rustworkx(graph: Any, weight: str | None) -> GraphColumns:
    edges = graph.weighted_edge_list()
    src, dst = [u for u, _, _ in edges], [v for _, v, _ in edges]
    payloads = [payload for _, _, payload in edges]
    nodes = list(graph.node_indices())
    if weight is None and not any(isinstance(one, Mapping) for one in payloads):
        alone = all(payload is None for payload in payloads)
        return GraphColumns(src, dst, [1] * len(edges) if alone else payloads, nodes)
    for position, payload in enumerate(payloads):
        if not isinstance(payload, Mapping):
            raise InputTypeError(
                f"edge {position} ({src[position]}, {dst[position]}) has a payload of "
                f"type {type(payload).__name__}, without attributes; give dicts"
            )
    weights = _weights(payloads, weight, lambda i: f"{i} ({src[i]}, {dst[i]})")
    return GraphColumns(src, dst, weights, nodes)


READERS: dict[str, Callable[[Any, str | None], GraphColumns]] = {
    "networkx": _read_networkx,
    "igraph": _read_igraph,
    "rustworkx": _read_rustworkx,
}


def _weights(
    attributes: Sequence[Mapping[str, Any]],
    weight: str | None,
    name_of: Callable[[int], str],
) -> list[Any]:
    """Return the weights of edges from their attributes; see `read_graph`."""
    if weight is None:
        weight = _known_weight(attributes)
        if weight is None:
            return [1] * len(attributes)
    values = [data.get(weight) for data in attributes]
    missing = next((i for i, value in enumerate(values) if value is None), None)
    if missing is None:
        return values
    if not any(weight in data for data in attributes):
        known = sorted({name for data in attributes for name in data})
        raise ConfigError(
            f"no edge has an attribute {weight!r}; known: {', '.join(known) or 'none'}"
        )
    raise InputError(
        f"the edge {name_of(missing)} has no {weight}; give it one, or leave it out"
    )


def _known_weight(attributes: Sequence[Mapping[str, Any]]) -> str | None:
    """Return the attribute that edges are weighed by; None if none is a number.

    Raises
    ------
    ConfigError
        If attributes are numbers, none of them with a known name.
    """
    if any(WEIGHT in data for data in attributes):
        return WEIGHT
    numeric = dict.fromkeys(name for data in attributes for name in _numeric(data))
    if not numeric:
        return None
    raise ConfigError(
        f"edges have no attribute 'weight', but {', '.join(numeric)}; give one of them "
        f"as weight={next(iter(numeric))!r}"
    )


def _numeric(data: Mapping[str, Any]) -> Iterator[str]:
    for name, value in data.items():
        if isinstance(value, int | float) and not isinstance(value, bool):
            yield str(name)
