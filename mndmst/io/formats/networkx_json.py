"""Graphs in JSON: node-link and adjacency data of networkx [1], and lists of records.

The attributes of edges are columns, of which `table_columns` finds the ends and the
weight. In data of networkx, vertices are numbered in the order of their list, and an
edge without the weight has weight 1, as in networkx. In a list of records, such as
pandas writes with orient="records", ends are whole numbers from 0 and nothing may be
missing. JSON is for small graphs: the whole file is objects in memory.

The seam for vertices with names: `load` returns the ends as the file has them, and the
list of vertices where there is one.

[1] Hagberg, Schult and Swart: Exploring Network Structure, Dynamics, and Function
    using NetworkX. SciPy 2008; networkx.readwrite.json_graph.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from math import isinf, isnan
from pathlib import Path
from typing import Any

import numpy as np

from ...host.counted import counted
from ...host.errors import ConfigError, InputError, MndmstError
from ..edge_file import EdgeFile, EdgesInMemory
from ..edges import check_exact, checked_edges, narrow_integers
from .files import read_bytes
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
_FORM = "json.dump(networkx.node_link_data(graph), file), or as a list of records"


@dataclass(frozen=True)
class JsonGraph:
    """The edges of a JSON file, their ends as the file has them.

    Attributes
    ----------
    vertices : list or None
        All vertices, of networkx's data; None where only edges name them.
    src, dst : list
        Numbers or strings, one for each edge.
    weight : ndarray of int32, int64 or float64, shape (edges,)
    note : str
        Says which attributes are read.
    """

    vertices: list[Any] | None
    src: list[Any]
    dst: list[Any]
    weight: np.ndarray
    note: str


def open_file(path: Path, asked: ColumnNames | None = None) -> EdgeFile:
    """Read a `.json` file; see `formats.open_edges`."""
    graph = load(path, asked)
    if graph.vertices is None:
        src, dst = (_ids(path, ends) for ends in (graph.src, graph.dst))
        count = 1 + max(int(src.max(initial=-1)), int(dst.max(initial=-1)))
    else:
        number = {name: i for i, name in enumerate(graph.vertices)}
        try:
            src, dst = (
                np.array([number[end] for end in ends], np.int64)
                for ends in (graph.src, graph.dst)
            )
        except (KeyError, TypeError) as error:
            raise InputError(
                f"{path}: an edge joins {error}, which is not in the list of nodes. "
                "Add it there."
            ) from error
        count = len(number)
    edges = checked_edges(path, count, src, dst, graph.weight, directed=True)
    file = EdgesInMemory(str(path), edges)
    file.notes = (graph.note,)
    return file


def load(path: Path, asked: ColumnNames | None = None) -> JsonGraph:
    """Return the edges of a JSON file, their ends as the file has them.

    Raises
    ------
    InputError
        If it is not such a file, or the rule does not understand its attributes.
    ConfigError
        If the user names an attribute that is not there.
    """
    text = read_bytes(path, COPIES)
    try:
        graph = json.loads(text, parse_float=_real)
        if isinstance(graph, list):
            return _of_records(path, graph, asked)
        vertices = [node["id"] for node in graph["nodes"]]
        hash(tuple(vertices))  # TypeError if an id is a list or an object
        if "adjacency" in graph:
            return _of_adjacency(path, graph, vertices, asked)
        return _of_links(path, graph, vertices, asked)
    except RecursionError as error:
        raise InputError(f"{path}: is no graph (nested too deeply).") from error
    except MndmstError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise InputError(
            f"{path}: is no node-link or adjacency data of networkx and no list of "
            f"records, or damaged ({type(error).__name__}: {error}). Write it with "
            f"{_FORM}."
        ) from error


def _of_records(
    path: Path, records: list[dict[str, Any]], asked: ColumnNames | None
) -> JsonGraph:
    columns = choose_columns(path, _columns_of(records), asked)
    source, target = (columns.names[i] for i in columns.wanted[:2])
    for row, record in enumerate(records):
        for i in columns.wanted:
            if record.get(columns.names[i]) is None:
                raise InputError(
                    f"{path}: {shown(columns.names[i])} has no value in record {row} "
                    "(from 0). Fill it, or leave the record out."
                )
    weight = _weights(path, records, columns.names, columns.weight)
    columns.check_costs(path, weight)
    return JsonGraph(
        None,
        [record[source] for record in records],
        [record[target] for record in records],
        weight,
        columns.text(),
    )


def _of_links(
    path: Path, graph: dict[str, Any], vertices: list[Any], asked: ColumnNames | None
) -> JsonGraph:
    links = graph["edges"] if "edges" in graph else graph["links"]
    described = _columns_of(links)
    if not links:
        return JsonGraph(vertices, [], [], np.empty(0, np.int32), "no edges")
    columns = choose_columns(path, described, asked)
    source, target = (columns.names[i] for i in columns.wanted[:2])
    weight = _weights(path, links, columns.names, columns.weight)
    columns.check_costs(path, weight)
    return JsonGraph(
        vertices,
        [link[source] for link in links],
        [link[target] for link in links],
        weight,
        columns.text() + _missing(links, columns),
    )


def _of_adjacency(
    path: Path, graph: dict[str, Any], vertices: list[Any], asked: ColumnNames | None
) -> JsonGraph:
    rows = graph["adjacency"]
    if len(rows) != len(vertices):
        raise ValueError(
            f"{counted(len(rows), 'row')} for {counted(len(vertices), 'node')}"
        )
    links = list(chain.from_iterable(rows))
    described = _columns_of(links)
    names = tuple(column.name for column in described)
    asked = asked or ColumnNames()
    if asked.source or asked.target:
        raise ConfigError(
            f"{path}: adjacency data names the ends of edges itself. Give --columns "
            "the weight alone."
        )
    weight = choose_weight(path, described, asked=asked.weight)
    note = "weight: " + ("1 for every edge" if weight is None else names[weight])
    return JsonGraph(
        vertices,
        list(chain.from_iterable(map(repeat, vertices, map(len, rows)))),
        [link["id"] for link in links],
        _weights(path, links, names, weight),
        note,
    )


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


def _ids(path: Path, ends: list[Any]) -> np.ndarray:
    """Return the ends of records, which have to be whole numbers."""
    for row, end in enumerate(ends):
        if type(end) is not int or not 0 <= end < 1 << 62:
            raise InputError(
                f"{path}: record {row} (from 0) joins {json.dumps(end)}, and vertices "
                "are whole numbers from 0. Number them first."
            )
    return np.array(ends, np.int64)


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
    whole = [number for number in numbers if type(number) is int]
    if len(whole) == len(numbers):
        return narrow_integers(np.array(numbers, np.int64))
    if whole:
        check_exact(path, min(whole), max(whole))
    return np.array(numbers, np.float64)
