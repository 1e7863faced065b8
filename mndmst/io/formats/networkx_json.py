"""Graphs that networkx has written as JSON [1]: node-link data or adjacency data.

The `id` of a node, or its `key` where nodes have no `id`, is the name of a vertex: a
text, a number, or a list for a tuple of NetworkX. Nodes without edges are kept. An edge
without `weight` has weight 1. JSON is for small graphs: the whole file is objects in
memory.

[1] Hagberg, Schult and Swart: Exploring Network Structure, Dynamics, and Function
    using NetworkX. SciPy 2008; networkx.readwrite.json_graph.
"""

import json
from dataclasses import replace
from itertools import chain
from math import isinf
from operator import itemgetter, methodcaller
from pathlib import Path
from typing import Any

import numpy as np

from ...host.counted import counted
from ...host.errors import InputError
from ..edges import Edges, checked_edges, narrow_integers
from ..names import NameKind
from ..whole_file import whole_file
from .files import read_bytes
from .nodes import Nodes, number_nodes

# An empty object of two letters takes 64 bytes, one with a name of none 184.
COPIES = 40
_ROWS = 1 << 16  # edges that are written at a time
_weight = methodcaller("get", "weight", 1)


def read(path: Path) -> Edges:
    """Read a `.json` file; see `formats.read_edges`."""
    text = read_bytes(path, COPIES)
    try:
        graph = json.loads(text, parse_float=_real)
        field = "id"
        if graph["nodes"] and not any("id" in node for node in graph["nodes"]):
            field = "key"
        nodes = number_nodes(path, list(map(itemgetter(field), graph["nodes"])))
        if "adjacency" in graph:
            src, dst, records = _of_adjacency(graph, nodes, field)
        else:
            src, dst, records = _of_links(graph, nodes)
        weight = _weights(list(map(_weight, records)))
    except RecursionError as error:
        raise InputError(f"{path}: is no graph (nested too deeply).") from error
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise InputError(
            f"{path}: is no node-link or adjacency data of networkx, or damaged "
            f"({type(error).__name__}: {error}). Write it with json.dump("
            "networkx.node_link_data(graph), file)."
        ) from error
    edges = checked_edges(path, nodes.count, src, dst, weight, directed=True)
    return replace(edges, names=nodes.names)


def write(edges: Edges, path: Path) -> None:
    """Write node-link data, which networkx.node_link_graph reads."""
    count = edges.num_vertices
    ids = list(map(str, range(count)))
    if edges.names is not None:
        ids = edges.names.texts()
        if edges.names.kind is NameKind.TEXT:
            ids = [json.dumps(text, ensure_ascii=False) for text in ids]
    with whole_file(path) as temporary, temporary.open("w", encoding="utf-8") as file:
        file.write('{"directed": false, "multigraph": false, "graph": {}, "nodes": [')
        file.write(",".join(f'\n{{"id": {i}}}' for i in ids))
        file.write('\n], "edges": [')
        separator = ""
        for low in range(0, len(edges), _ROWS):
            columns = (edges.src, edges.dst, edges.weight)
            held = (column[low : low + _ROWS].tolist() for column in columns)
            lines = [
                f'\n{{"source": {ids[u]}, "target": {ids[v]}, "weight": {_shown(w)}}}'
                for u, v, w in zip(*held, strict=True)
            ]
            file.write(separator + ",".join(lines))
            separator = ","
        file.write("\n]}\n")


def _shown(weight: int | float) -> str:
    """Return a weight as Python's json reads it."""
    return json.dumps(weight)


def _of_links(
    graph: dict[str, Any], nodes: Nodes
) -> tuple[np.ndarray, np.ndarray, list[Any]]:
    links = graph["edges"] if "edges" in graph else graph["links"]
    src, dst = (
        nodes.numbers(list(map(itemgetter(end), links))) for end in ("source", "target")
    )
    return src, dst, links


def _of_adjacency(
    graph: dict[str, Any], nodes: Nodes, field: str
) -> tuple[np.ndarray, np.ndarray, list[Any]]:
    rows = graph["adjacency"]
    if len(rows) != nodes.count:
        raise ValueError(
            f"{counted(len(rows), 'row')} for {counted(nodes.count, 'node')}"
        )
    links = list(chain.from_iterable(rows))
    tails = nodes.numbers(list(map(itemgetter(field), graph["nodes"])))
    src = np.repeat(tails, list(map(len, rows)))
    return src, nodes.numbers(list(map(itemgetter(field), links))), links


def _real(text: str) -> float:
    """Return a number; raise ValueError if it is beyond the largest float64."""
    number = float(text)
    if isinf(number):
        raise ValueError(f"{text} is beyond the largest float64, 1.8e308")
    return number


def _weights(numbers: list[Any]) -> np.ndarray:
    """Return numbers as integers if all are, else as float64."""
    kinds = set(map(type, numbers))
    if not kinds <= {int, float}:
        raise TypeError("a weight is no number")
    if kinds <= {int}:
        return narrow_integers(np.array(numbers, np.int64))
    return np.array(numbers, np.float64)
