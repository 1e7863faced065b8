"""Graphs of other packages as columns: NetworkX, igraph, rustworkx, edge lists.

Each gives its edges in its own order, so that a position in the columns is a position
there: in `G.edges` of NetworkX, of `es` in igraph, in `edge_indices()` of rustworkx.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..host.errors import ConfigError, InputError, InputTypeError, shown
from ..io.formats.table_columns import Column, choose_weight
from .graph_columns import GraphColumns, in_python, kind_of_objects

# The attribute that NetworkX and igraph weigh edges by.
WEIGHT = "weight"


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
        The attribute of edges that is their weight; by default ``"weight"``, else an
        attribute with a known name, as in files. If no edge has an attribute that is a
        number, each weighs 1.

    Raises
    ------
    ConfigError
        If `weight` is not an attribute of the edges.
    InputError
        If an edge lacks a weight, or attributes of unknown meaning are numbers.
    """
    if weight is not None and not isinstance(weight, str):
        raise ConfigError("of a graph, weight is the name of an attribute of its edges")
    return READERS[package_of(graph)](graph, weight)


def read_edge_list(edges: list[tuple[Any, ...]]) -> GraphColumns:
    """Return the edges of a list of (source, target, weight).

    Raises
    ------
    InputError
        If an edge is not such a tuple.
    """
    for position, edge in enumerate(edges):
        if len(edge) != 3:
            raise InputError(
                f"edge {position} of the list is {shown(edge)}; give (source, target, "
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
    weights = _weights(attributes, weight, lambda i: shown((src[i], dst[i])))
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
    InputError
        If several attributes may be meant, or only numbers of unknown meaning exist.
    """
    names = dict.fromkeys(str(name) for data in attributes for name in data)
    if WEIGHT in names:
        return WEIGHT
    columns = [
        Column(name, kind_of_objects(data.get(name) for data in attributes))
        for name in names
    ]
    try:
        found = choose_weight("the graph", columns)
    except InputError as error:
        raise InputError(in_python(str(error))) from None
    return None if found is None else columns[found].name
