"""Graphs in JSON: node-link and adjacency data of networkx [1], and lists of records.

The attributes of edges are columns, of which `table_columns` finds the ends and the
weight. In data of networkx, the `id` of a node, or its `key` where nodes have no `id`,
is the name of a vertex: a text, a number, or a list for a tuple of networkx. Nodes
without edges are kept, and an edge without the weight has weight 1, as in networkx. In
a list of records, such as pandas writes with orient="records", nothing may be missing.
JSON is for small graphs: the whole file is objects in memory.

[1] Hagberg, Schult and Swart: Exploring Network Structure, Dynamics, and Function
    using NetworkX. SciPy 2008; networkx.readwrite.json_graph.
"""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, repeat
from math import isinf, isnan
from pathlib import Path
from typing import Any

import numpy as np

from ...host.errors import ConfigError, InputError, MndmstError
from ...host.formatting import counted
from ..atomic_output import whole_file
from ..edge_file import (
    MAX_VERTICES,
    EdgeFile,
    Edges,
    EdgesInMemory,
    checked_edges,
    is_sparse,
    narrow_integers,
    number_weights,
)
from ..named_edge_file import is_integer
from ..names import IntegerNames, NameKind, Names, distinct_names, names_of_values
from ..names import shown as shown_name
from .packed_files import read_bytes
from .table_columns import (
    EMPTY,
    NUMBER,
    OTHER,
    TEXT,
    Column,
    ColumnNames,
    TableColumns,
    choose_columns,
    choose_weight,
    shown,
)

# An empty object of two letters takes 64 bytes, one with a name of none 184.
COPIES = 40
_ROWS = 1 << 16  # edges that are written at a time
_FORM = "json.dump(networkx.node_link_data(graph), file), or as a list of records"


def number_nodes(path: Path, ids: list[Any]) -> tuple[np.ndarray, Names | None]:
    """Return the numbers of nodes (int64), and the names they stand for.

    Ids from 0 on stay; others are numbered in ascending order, and are the names.
    """
    names = names_of_values(path, ids)
    ordered, numbers = distinct_names(names)
    if len(ordered) < len(ids):
        twice, _ = Counter(names.texts()).most_common(1)[0]
        raise InputError(
            f"{path}: two nodes have the id {shown_name(twice)}. Give each an id of "
            "its own."
        )
    counted = isinstance(ordered, IntegerNames) and np.array_equal(
        ordered.columns()["integers"], np.arange(len(ids))
    )
    return numbers, None if counted or not ids else ordered


def integers_if_all(ids: list[str]) -> list[Any]:
    """Return texts as integers, if all are integers without zeros in front."""
    return list(map(int, ids)) if all(map(is_integer, ids)) else list(ids)


@dataclass(frozen=True)
class JsonGraph:
    """The edges of a JSON file, their ends as the file has them."""

    # All vertices, of networkx's data; None where only edges name them
    vertices: list[Any] | None
    # Numbers or strings, one for each edge
    src: list[Any]
    dst: list[Any]
    weight: np.ndarray  # int32, int64 or float64 [edges]
    note: str  # says which attributes are read


def open_file(path: Path, asked: ColumnNames | None = None) -> EdgeFile:
    """Read a `.json` file; see `formats.open_edges`."""
    graph = load(path, asked)
    ends = [*graph.src, *graph.dst]
    if graph.vertices is None and _are_numbers(ends):
        names, count = None, 1 + max(ends, default=-1)
        numbers = np.array(ends, np.int64)
    else:
        # In JSON 1, true and 1.0 are three ids
        keys = list(map(json.dumps, ends))
        listed = graph.vertices
        if listed is None:
            listed = list(dict(zip(keys, ends, strict=True)).values())
        found, names = number_nodes(path, listed)
        number = dict(zip(map(json.dumps, listed), found.tolist(), strict=True))
        try:
            numbers, count = np.array([number[key] for key in keys], int), len(listed)
        except KeyError as error:
            raise InputError(
                f"{path}: an edge joins {error.args[0]}, which is not in the list of "
                "nodes. Add it there."
            ) from error
    src, dst = np.split(numbers, 2)
    edges = checked_edges(path, count, src, dst, graph.weight)
    return EdgesInMemory(str(path), replace(edges, names=names), notes=(graph.note,))


def write(edges: Edges, path: Path) -> None:
    """Write node-link data, which networkx.node_link_graph reads."""
    ids = list(map(str, range(edges.num_vertices)))
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
            some = slice(low, low + _ROWS)
            src, dst = edges.src[some].tolist(), edges.dst[some].tolist()
            weights = edges.weight[some].tolist()
            lines = [
                f'\n{{"source": {ids[u]}, "target": {ids[v]}, '
                f'"weight": {json.dumps(w)}}}'
                for u, v, w in zip(src, dst, weights, strict=True)
            ]
            file.write(separator + ",".join(lines))
            separator = ","
        file.write("\n]}\n")


def _are_numbers(ends: list[Any]) -> bool:
    """Return whether ends are the numbers of vertices, not integers far apart."""
    if not all(type(end) is int and 0 <= end < MAX_VERTICES for end in ends):
        return False
    return not is_sparse(1 + max(ends, default=-1), len(ends) // 2)


def load(path: Path, asked: ColumnNames | None = None) -> JsonGraph:
    """Return the edges of a JSON file, their ends as the file has them."""
    text = read_bytes(path, COPIES)
    try:
        graph = json.loads(text, parse_float=_real)
        if isinstance(graph, list):
            return _of_records(path, graph, asked)
        nodes = graph["nodes"]
        field = "id" if any("id" in node for node in nodes) or not nodes else "key"
        vertices = [node[field] for node in nodes]
        if "adjacency" in graph:
            return _of_adjacency(path, graph, vertices, field, asked)
        return _of_links(path, graph, vertices, asked)
    except RecursionError as error:
        raise InputError(f"{path}: is nested too deeply for a graph.") from error
    except MndmstError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise InputError(
            f"{path}: is neither node-link or adjacency data of networkx nor a list of "
            f"records, or damaged ({type(error).__name__}: {error}). Write it with "
            f"{_FORM}."
        ) from error


def _of_records(
    path: Path, records: list[dict[str, Any]], asked: ColumnNames | None
) -> JsonGraph:
    columns = choose_columns(path, _columns_of(records), asked)
    for row, record in enumerate(records):
        for i in columns.wanted:
            if record.get(columns.names[i]) is None:
                raise InputError(
                    f"{path}: {shown(columns.names[i])} has no value in record {row} "
                    "(from 0). Fill it, or leave the record out."
                )
    return _of_columns(path, None, records, columns)


def _of_links(
    path: Path, graph: dict[str, Any], vertices: list[Any], asked: ColumnNames | None
) -> JsonGraph:
    links = graph["edges"] if "edges" in graph else graph["links"]
    described = _columns_of(links)
    if not links:
        return JsonGraph(vertices, [], [], np.empty(0, np.int32), "no edges")
    return _of_columns(path, vertices, links, choose_columns(path, described, asked))


def _of_columns(
    path: Path,
    vertices: list[Any] | None,
    records: Sequence[dict[str, Any]],
    columns: TableColumns,
) -> JsonGraph:
    """Return the edges whose ends and weights are attributes of records."""
    source, target = (columns.names[i] for i in columns.wanted[:2])
    weight = _weights(path, records, columns.names, columns.weight)
    columns.check_costs(path, weight)
    src, dst = ([record[end] for record in records] for end in (source, target))
    note = columns.text() + _missing(records, columns)
    return JsonGraph(vertices, src, dst, weight, note)


def _of_adjacency(
    path: Path,
    graph: dict[str, Any],
    vertices: list[Any],
    field: str,
    asked: ColumnNames | None,
) -> JsonGraph:
    rows = graph["adjacency"]
    if len(rows) != len(vertices):
        raise ValueError(
            f"{counted(len(rows), 'row')} for {counted(len(vertices), 'node')}"
        )
    links = list(chain.from_iterable(rows))
    if asked and (asked.source or asked.target):
        raise ConfigError(
            f"{path}: adjacency data names the ends of edges itself. Give --columns "
            "the weight alone."
        )
    weight, note = attribute_weights(path, links, asked)
    src = list(chain.from_iterable(map(repeat, vertices, map(len, rows))))
    return JsonGraph(vertices, src, [link[field] for link in links], weight, note)


def attribute_weights(
    path: Path, records: Sequence[dict[str, Any]], asked: ColumnNames | None
) -> tuple[np.ndarray, str]:
    """Return the weights among the attributes of edges, and a note that says which."""
    described = _columns_of(records)
    names = tuple(column.name for column in described)
    weight = choose_weight(path, described, asked=asked.weight if asked else None)
    note = "weight: " + ("1 for every edge" if weight is None else shown(names[weight]))
    return _weights(path, records, names, weight), note


def _columns_of(records: Sequence[dict[str, Any]]) -> list[Column]:
    """Return the attributes of all records as columns."""
    kinds: dict[str, set[type]] = {}
    for record in records:
        for name, value in record.items():
            kinds.setdefault(name, set()).add(type(value))
    return [Column(name, _kind_of(types)) for name, types in kinds.items()]


def _kind_of(types: set[type]) -> str:
    types = types - {type(None)}
    if not types:
        return EMPTY
    if types <= {int, float}:
        return NUMBER
    return TEXT if str in types else OTHER


def _missing(links: Sequence[dict[str, Any]], columns: TableColumns) -> str:
    """Return a note on edges without the weight, if there are some."""
    if columns.weight is None:
        return ""
    name = columns.names[columns.weight]
    missing = sum(link.get(name) is None for link in links)
    return f"; {counted(missing, 'edge')} without it: 1" if missing else ""


def _real(text: str) -> float:
    """Return a number; raise ValueError if it is beyond the largest float64."""
    number = float(text)
    if isinf(number):
        raise ValueError(f"{text} is beyond the largest float64, 1.8e308")
    return number


def _weights(
    path: Path,
    records: Sequence[dict[str, Any]],
    names: Sequence[str],
    weight: int | None,
) -> np.ndarray:
    """Return weights as integers if all are, else as float64; 1 where there is none."""
    if weight is None:
        return np.ones(len(records), np.int32)
    values = [record.get(names[weight]) for record in records]
    numbers = [1 if value is None else value for value in values]
    for row, number in enumerate(numbers):
        if type(number) not in (int, float) or isnan(number):
            raise InputError(
                f"{path}: {names[weight]} of edge {row} (from 0) is "
                f"{json.dumps(number)}, not a number. Fix it, or leave the edge out."
            )
    weights = number_weights(path, numbers)
    return narrow_integers(weights) if weights.dtype == np.int64 else weights
