"""Graphs in JSON: node-link and adjacency data of NetworkX, and lists of records.

The `id` of a node, or its `key` where nodes have no `id` (Graphology, Gephi), is the
name of a vertex: a text, a number, or a list for a tuple of NetworkX. A list of records
is what pandas writes with orient="records". `table_columns` finds the ends and the
weight of edges by the names of their attributes, where either all edges have the weight
or none. The direction of edges does not matter. The whole file is objects in memory.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from math import isinf
from pathlib import Path
from typing import TypeGuard

import numpy as np

from ...host.errors import ConfigError, InputError, MndmstError
from ...host.formatting import counted
from ...host.memory import Budget
from ...host.memory_costs import JSON_COPIES
from ..atomic_output import AtomicOutput
from ..edge_file import (
    MAX_VERTICES,
    EdgeFile,
    Edges,
    EdgesInMemory,
    checked_edges,
    is_sparse,
)
from ..names import NameKind
from .attributed_graph import edges_of_nodes
from .edge_attributes import (
    Attributes,
    columns_of,
    find_weight,
    unnested,
    values_of,
    weights_of,
)
from .packed_files import read_bytes
from .table_columns import ColumnNames, choose_columns, titled

_ROWS = 1 << 16  # nodes or edges that are written at a time
_FORM = "json.dump(networkx.node_link_data(graph), file), or as a list of records"


@dataclass(frozen=True)
class JsonGraph:
    """The edges of a JSON file, their ends as the file has them."""

    # All vertices, where the file lists them; None where only edges name them
    vertices: list[object] | None
    # Numbers or strings, one for each edge
    src: list[object]
    dst: list[object]
    weight: np.ndarray  # int32, int64 or float64 [edges]
    note: str  # says which attributes are read
    weight_name: str = ""  # the attribute that is the weight, if there is one


def open_file(
    path: Path, budget: Budget, picked: ColumnNames | None = None
) -> EdgeFile:
    """Read a `.json` file; see `formats.open_edges`."""
    graph = _load(path, budget, picked)
    ends = [*graph.src, *graph.dst]
    if graph.vertices is None and _are_numbers(ends):
        src, dst = np.split(np.array(ends, np.int64), 2)
        edges = checked_edges(path, 1 + max(ends, default=-1), src, dst, graph.weight)
    else:
        listed = graph.vertices
        if listed is None:
            listed = list(dict(zip(map(json.dumps, ends), ends, strict=True)).values())
        edges = edges_of_nodes(path, listed, graph.src, graph.dst, graph.weight)
    return EdgesInMemory(
        str(path), edges, notes=(graph.note,), weight_name=graph.weight_name
    )


def write(edges: Edges, path: Path, files: AtomicOutput) -> None:
    """Write node-link data, which networkx.node_link_graph reads."""

    def ids(vertices: np.ndarray) -> list[str]:
        if edges.names is None:
            return list(map(str, vertices.tolist()))
        texts = edges.names.take(vertices).texts()
        if edges.names.kind is not NameKind.TEXT:
            return texts
        return [json.dumps(text, ensure_ascii=False) for text in texts]

    with files.file(path) as temporary, temporary.open("w", encoding="utf-8") as file:
        file.write('{"directed": false, "multigraph": false, "graph": {}, "nodes": [')
        separator = ""
        for low in range(0, edges.num_vertices, _ROWS):
            some_ids = ids(np.arange(low, min(low + _ROWS, edges.num_vertices)))
            file.write(separator + ",".join(f'\n{{"id": {i}}}' for i in some_ids))
            separator = ","
        file.write('\n], "edges": [')
        separator = ""
        for low in range(0, len(edges), _ROWS):
            some = slice(low, low + _ROWS)
            src, dst = ids(edges.src[some]), ids(edges.dst[some])
            weights = edges.weight[some].tolist()
            lines = [
                f'\n{{"source": {u}, "target": {v}, "weight": {json.dumps(w)}}}'
                for u, v, w in zip(src, dst, weights, strict=True)
            ]
            file.write(separator + ",".join(lines))
            separator = ","
        file.write("\n]}\n")


def _are_numbers(ends: list[object]) -> TypeGuard[list[int]]:
    """Return whether ends are the numbers of vertices, not integers far apart."""
    if not all(type(end) is int and 0 <= end < MAX_VERTICES for end in ends):
        return False
    most = max(ends, default=-1)  # type: ignore[type-var]
    return not is_sparse(1 + most, len(ends) // 2)  # type: ignore[operator]


def _load(path: Path, budget: Budget, picked: ColumnNames | None) -> JsonGraph:
    """Return the edges of a JSON file, their ends as the file has them."""
    text = read_bytes(path, budget, JSON_COPIES)
    try:
        graph = json.loads(text, parse_float=_real, object_pairs_hook=_object)
        if isinstance(graph, list):
            return _of_records(path, None, graph, picked, "record")
        nodes = graph["nodes"]
        field = "id" if any("id" in node for node in nodes) or not nodes else "key"
        vertices = [node[field] for node in nodes]
        lists = [name for name in ("edges", "links", "adjacency") if name in graph]
        if len(lists) > 1:
            raise ValueError(f"has both {lists[0]} and {lists[1]}")
        if lists == ["adjacency"]:
            return _of_adjacency(path, graph["adjacency"], vertices, field, picked)
        links = graph[lists[0] if lists else "links"]
        if not links:
            return JsonGraph(vertices, [], [], np.empty(0, np.int32), "no edges")
        return _of_records(path, vertices, links, picked, "edge")
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
    path: Path,
    vertices: list[object] | None,
    records: Sequence[Attributes],
    picked: ColumnNames | None,
    what: str,
) -> JsonGraph:
    """Return the edges whose ends and weights are fields of records."""
    records = unnested(path, records, picked.weight if picked else None)
    columns = choose_columns(path, columns_of(records), picked)
    for number, record in enumerate(records):
        for i in columns.wanted:
            if record.get(columns.names[i]) is None:
                raise InputError(
                    f"{path}: {titled(columns.names[i])} has no value in {what} "
                    f"{number} (from 0). Fill it, leave the {what} out, or give "
                    "--columns weight= for weight 1 of every edge."
                )
    source, target = (columns.names[i] for i in columns.wanted[:2])
    name = None if columns.weight is None else columns.names[columns.weight]
    weight = weights_of(path, name or "", values_of(path, records, name, str))
    columns.check_costs(path, weight)
    src, dst = ([record[end] for record in records] for end in (source, target))
    return JsonGraph(vertices, src, dst, weight, columns.text(), name or "")


def _of_adjacency(
    path: Path,
    rows: list[list[Attributes]],
    vertices: list[object],
    field: str,
    picked: ColumnNames | None,
) -> JsonGraph:
    if len(rows) != len(vertices):
        raise ValueError(
            f"{counted(len(rows), 'row')} for {counted(len(vertices), 'node')}"
        )
    if picked and (picked.source or picked.target):
        raise ConfigError(
            f"{path}: adjacency data names the ends of edges itself. Give --columns "
            "the weight alone."
        )
    src = list(chain.from_iterable(map(repeat, vertices, map(len, rows))))
    given = picked.weight if picked else None
    links = unnested(path, list(chain.from_iterable(rows)), given)
    dst = [link[field] for link in links]
    name = find_weight(path, links, given)
    values = values_of(path, links, name, lambda i: f"{src[i]} to {dst[i]}")
    weight = weights_of(path, name or "", values)
    note = f"weight: {'1 for every edge' if name is None else titled(name)}"
    return JsonGraph(vertices, src, dst, weight, note, name or "")


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return a JSON object; raise ValueError if a name occurs twice in it."""
    fields = dict(pairs)
    if len(fields) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"an object has {twice} twice")
    return fields


def _real(text: str) -> float:
    """Return a number; raise ValueError if it is beyond the largest float64."""
    number = float(text)
    if isinf(number):
        raise ValueError(f"{text} is beyond the largest float64, 1.8e308")
    return number
