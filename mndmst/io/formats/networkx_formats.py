"""Graphs as NetworkX [1] has them: GraphML, GEXF, GML, Pajek, LEDA, and JSON.

The ids of nodes are the names of vertices (of GML the labels, where all nodes have
different ones), and nodes without edges are kept. If all ids are integers, so are the
names. `table_columns` finds the weight among the attributes of edges; an edge without
the weight has weight 1. The direction of edges does not matter. These formats are for
small graphs: the whole file is objects in memory.

NetworkX reads the files but JSON, which is node-link or adjacency data of networkx, or
a list of records, such as pandas writes with orient="records". In JSON the `id` of a
node, or its `key` where nodes have no `id`, is the name: a text, a number, or a list
for a tuple of networkx. In a list of records nothing may be missing, and
`table_columns` finds the ends, too.

[1] Hagberg, Schult and Swart: Exploring Network Structure, Dynamics, and Function
    using NetworkX. SciPy 2008; networkx.readwrite.json_graph.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from io import BytesIO
from itertools import chain, repeat
from math import isinf, isnan
from pathlib import Path
from typing import Any

import numpy as np

from ...host.errors import ConfigError, InputError, MndmstError, optional
from ...host.formatting import counted
from ...host.memory import Budget
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
from ..memory_limit import capped, exceeded
from ..named_edge_file import is_integer
from ..names import (
    IntegerNames,
    NameKind,
    Names,
    distinct_names,
    names_of_values,
    shown,
)
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
)
from .table_columns import shown as column_shown

# Bytes that NetworkX takes for each byte of a file, and for each node and edge.
COPIES = 48
NODE_BYTES, EDGE_BYTES = 500, 900
# The letters that names must not have in a kind of files, and why
_XML = (
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]",
    "has a letter that XML does not allow",
)
_PAJEK = r"""["'\\\n\r\t]""", "has a quote, a backslash or a line break"
_PAJEK_VERTICES = re.compile(rb"^\*vertices[ \t]+(\d+)", re.IGNORECASE | re.MULTILINE)
_REFUSED = {"graphml": _XML, "gexf": _XML, "pajek": _PAJEK}

# An empty JSON object of two letters takes 64 bytes, one with a name of none 184.
JSON_COPIES = 40
_ROWS = 1 << 16  # nodes or edges that are written at a time
_FORM = "json.dump(networkx.node_link_data(graph), file), or as a list of records"


def open_file(
    kind: str, path: Path, budget: Budget, picked: ColumnNames | None = None
) -> EdgeFile:
    """Read a file by `networkx.read_KIND`; see `formats.open_edges`."""
    networkx = optional("networkx", "networkx", "This format needs")
    read = getattr(networkx, f"read_{kind}")
    contents = read_bytes(path, budget, COPIES)
    with _parsing(path, budget, len(contents)):
        graph = _gml(networkx, contents) if kind == "gml" else read(BytesIO(contents))
        ids = list(graph.nodes)
        links = list(graph.edges(data=True))
        listed = _listed_vertices(kind, contents)
    if kind == "pajek":
        _check_listed(path, graph)
    if listed is not None and listed != len(ids):
        raise InputError(
            f"{path}: lists {counted(listed, 'vertex')}, and their labels are "
            f"{len(ids):,} different ones. Give each a label of its own."
        )
    whole = all(isinstance(i, str) and is_integer(i) for i in ids)
    numbers, names = number_nodes(path, list(map(int, ids)) if whole else ids)
    place = dict(zip(ids, numbers.tolist(), strict=True))
    src, dst = (
        np.fromiter((place[link[end]] for link in links), np.int64, len(links))
        for end in (0, 1)
    )
    weight, note = attribute_weights(path, [link[2] for link in links], picked)
    edges = checked_edges(path, len(ids), src, dst, weight)
    return EdgesInMemory(str(path), replace(edges, names=names), notes=(note,))


def _listed_vertices(kind: str, contents: bytearray) -> int | None:
    """Return how many vertices a file lists whose labels NetworkX takes for ids."""
    if kind == "pajek":
        return sum(map(int, _PAJEK_VERTICES.findall(contents)))
    if kind == "leda":
        lines = (line for line in contents.split(b"\n") if line.strip())
        heads = [line for line in lines if not line.startswith(b"#")]
        return int(heads[4])
    return None


def _check_listed(path: Path, graph: Any) -> None:
    """Refuse an edge of a vertex that a Pajek file does not list."""
    for name, place in graph.nodes(data="id"):
        if place is None:
            raise InputError(
                f"{path}: an edge names vertex {shown(str(name))}, which is not in the "
                "list of vertices. Add it there."
            )


def _gml(networkx: Any, contents: bytearray) -> Any:
    """Return a graph with its labels as ids, where all nodes have different ones."""
    graph = networkx.read_gml(BytesIO(contents), label=None)
    labels = dict(graph.nodes(data="label"))
    if None in labels.values() or len(set(labels.values())) < len(labels):
        return graph
    return networkx.relabel_nodes(graph, labels)


@contextmanager
def _parsing(path: Path, budget: Budget, size: int) -> Iterator[None]:
    """Turn any error of NetworkX on a damaged file into an InputError."""
    try:
        with capped(budget):
            yield
    except MndmstError:
        raise
    except MemoryError as error:
        needed = COPIES * size
        raise exceeded(budget, path, needed, "its content", " at least") from error
    except Exception as error:  # the parsers of five formats raise many kinds
        reason = (str(error).splitlines() or [""])[0]
        raise InputError(
            f"{path}: is damaged, or another format than its suffix says "
            f"({type(error).__name__}: {reason}). Write it again, or give --format."
        ) from error


def writing_bytes(edges: Edges) -> int:
    """Return the bytes of NetworkX's graph, which is written from memory."""
    return NODE_BYTES * edges.num_vertices + EDGE_BYTES * len(edges)


def write(kind: str, edges: Edges, path: Path) -> None:
    """Write a file by `networkx.write_KIND`."""
    networkx = optional("networkx", "networkx", "This format needs")
    if kind in _REFUSED and edges.names and not edges.names.kind.is_integer:
        _check_names(path, edges.names, kind)
    ids: list[Any] = list(range(edges.num_vertices))
    if edges.names is not None:
        is_integer = edges.names.kind.is_integer
        ids = edges.names.values() if is_integer else edges.names.texts()
    graph = networkx.Graph()
    graph.add_nodes_from(ids)
    ends = zip(edges.src.tolist(), edges.dst.tolist(), strict=True)
    for (u, v), weight in zip(ends, edges.weight.tolist(), strict=True):
        graph.add_edge(ids[u], ids[v], weight=weight)
    with whole_file(path) as temporary, temporary.open("wb") as file:
        getattr(networkx, f"write_{kind}")(graph, file)


def _check_names(path: Path, names: Names, kind: str) -> None:
    """Raise a ConfigError for the first name that a format cannot hold."""
    refused, why = _REFUSED[kind]
    for text in names.texts():
        if re.search(refused, text):
            raise ConfigError(
                f'{path}: the name "{shown(text)}" {why}. Give a name in .json, .csv '
                "or .parquet."
            )


def number_nodes(path: Path, ids: list[Any]) -> tuple[np.ndarray, Names | None]:
    """Return the numbers of nodes (int64), and the names they stand for.

    Ids from 0 on stay; others are numbered in ascending order, and are the names.
    """
    names = names_of_values(path, ids)
    ordered, numbers = distinct_names(names)
    if len(ordered) < len(ids):
        twice, _ = Counter(names.texts()).most_common(1)[0]
        raise InputError(
            f"{path}: two nodes have the id {shown(twice)}. Give each an id of its own."
        )
    counted = isinstance(ordered, IntegerNames) and np.array_equal(
        ordered.columns()["integers"], np.arange(len(ids))
    )
    return numbers, None if counted or not ids else ordered


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


def open_json(
    path: Path, budget: Budget, picked: ColumnNames | None = None
) -> EdgeFile:
    """Read a `.json` file; see `formats.open_edges`."""
    graph = load(path, budget, picked)
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


def write_json(edges: Edges, path: Path) -> None:
    """Write node-link data, which networkx.node_link_graph reads."""

    def ids(vertices: np.ndarray) -> list[str]:
        if edges.names is None:
            return list(map(str, vertices.tolist()))
        texts = edges.names.take(vertices).texts()
        if edges.names.kind is not NameKind.TEXT:
            return texts
        return [json.dumps(text, ensure_ascii=False) for text in texts]

    with whole_file(path) as temporary, temporary.open("w", encoding="utf-8") as file:
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


def _are_numbers(ends: list[Any]) -> bool:
    """Return whether ends are the numbers of vertices, not integers far apart."""
    if not all(type(end) is int and 0 <= end < MAX_VERTICES for end in ends):
        return False
    return not is_sparse(1 + max(ends, default=-1), len(ends) // 2)


def load(path: Path, budget: Budget, picked: ColumnNames | None = None) -> JsonGraph:
    """Return the edges of a JSON file, their ends as the file has them."""
    text = read_bytes(path, budget, JSON_COPIES)
    try:
        graph = json.loads(text, parse_float=_real)
        if isinstance(graph, list):
            return _of_records(path, graph, picked)
        nodes = graph["nodes"]
        field = "id" if any("id" in node for node in nodes) or not nodes else "key"
        vertices = [node[field] for node in nodes]
        if "adjacency" in graph:
            return _of_adjacency(path, graph, vertices, field, picked)
        return _of_links(path, graph, vertices, picked)
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
    path: Path, records: list[dict[str, Any]], picked: ColumnNames | None
) -> JsonGraph:
    columns = choose_columns(path, _columns_of(records), picked)
    for row, record in enumerate(records):
        for i in columns.wanted:
            if record.get(columns.names[i]) is None:
                raise InputError(
                    f"{path}: {column_shown(columns.names[i])} has no value in record "
                    f"{row} (from 0). Fill it, or leave the record out."
                )
    return _of_columns(path, None, records, columns)


def _of_links(
    path: Path, graph: dict[str, Any], vertices: list[Any], picked: ColumnNames | None
) -> JsonGraph:
    links = graph["edges"] if "edges" in graph else graph["links"]
    described = _columns_of(links)
    if not links:
        return JsonGraph(vertices, [], [], np.empty(0, np.int32), "no edges")
    return _of_columns(path, vertices, links, choose_columns(path, described, picked))


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
    picked: ColumnNames | None,
) -> JsonGraph:
    rows = graph["adjacency"]
    if len(rows) != len(vertices):
        raise ValueError(
            f"{counted(len(rows), 'row')} for {counted(len(vertices), 'node')}"
        )
    links = list(chain.from_iterable(rows))
    if picked and (picked.source or picked.target):
        raise ConfigError(
            f"{path}: adjacency data names the ends of edges itself. Give --columns "
            "the weight alone."
        )
    weight, note = attribute_weights(path, links, picked)
    src = list(chain.from_iterable(map(repeat, vertices, map(len, rows))))
    return JsonGraph(vertices, src, [link[field] for link in links], weight, note)


def attribute_weights(
    path: Path, records: Sequence[dict[str, Any]], picked: ColumnNames | None
) -> tuple[np.ndarray, str]:
    """Return the weights among the attributes of edges, and a note that says which."""
    described = _columns_of(records)
    names = tuple(column.name for column in described)
    weight = choose_weight(path, described, picked=picked.weight if picked else None)
    note = "weight: " + (
        "1 for every edge" if weight is None else column_shown(names[weight])
    )
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
