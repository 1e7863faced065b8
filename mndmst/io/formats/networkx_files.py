"""Graphs in formats that NetworkX reads: GraphML, GEXF, GML, Pajek and LEDA.

The ids of nodes are the names of vertices (of GML the labels, where all nodes have
different ones), and nodes without edges are kept. If all ids are integers, so are the
names. `table_columns` finds the weight among the attributes of edges; an edge without
the weight has weight 1. The direction of edges does not matter. These formats are for
small graphs: the whole file is objects in memory.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from ...host.errors import ConfigError, InputError, MndmstError, optional
from ..atomic_output import whole_file
from ..edge_file import EdgeFile, Edges, EdgesInMemory, checked_edges
from ..memory_limit import capped, check_room, exceeded
from ..names import shown
from .networkx_json import attribute_weights, integers_if_all, number_nodes
from .packed_files import read_bytes
from .table_columns import ColumnNames

# What NetworkX takes for each byte of a file, and for each node and edge.
COPIES = 48
NODE_BYTES, EDGE_BYTES = 500, 900
_LONG_LABEL = "label"


def open_graphml(path: Path, asked: ColumnNames | None = None) -> EdgeFile:
    """Read a `.graphml` file; see `formats.open_edges`."""
    return _open(path, lambda nx, file: nx.read_graphml(file), asked)


def open_gexf(path: Path, asked: ColumnNames | None = None) -> EdgeFile:
    """Read a `.gexf` file; see `formats.open_edges`."""
    return _open(path, lambda nx, file: nx.read_gexf(file), asked)


def open_gml(path: Path, asked: ColumnNames | None = None) -> EdgeFile:
    """Read a `.gml` file; see `formats.open_edges`."""
    return _open(path, _gml, asked)


def open_pajek(path: Path, asked: ColumnNames | None = None) -> EdgeFile:
    """Read a `.net` file of Pajek; see `formats.open_edges`."""
    return _open(path, lambda nx, file: nx.read_pajek(file), asked)


def open_leda(path: Path, asked: ColumnNames | None = None) -> EdgeFile:
    """Read a `.leda` file; see `formats.open_edges`."""
    return _open(path, lambda nx, file: nx.read_leda(file), asked)


def write_graphml(edges: Edges, path: Path) -> None:
    """Write a `.graphml` file."""
    _refuse(edges, path, _is_outside_xml, "has a letter that XML does not allow")
    _write(edges, path, lambda nx, graph, file: nx.write_graphml(graph, file))


def write_gexf(edges: Edges, path: Path) -> None:
    """Write a `.gexf` file."""
    _refuse(edges, path, _is_outside_xml, "has a letter that XML does not allow")
    _write(edges, path, lambda nx, graph, file: nx.write_gexf(graph, file))


def write_gml(edges: Edges, path: Path) -> None:
    """Write a `.gml` file."""
    _write(edges, path, lambda nx, graph, file: nx.write_gml(graph, file))


def write_pajek(edges: Edges, path: Path) -> None:
    """Write a `.net` file of Pajek."""
    _refuse(edges, path, _is_outside_pajek, "has a quote, a backslash or a line break")
    _write(edges, path, lambda nx, graph, file: nx.write_pajek(graph, file))


def _networkx() -> Any:
    return optional("networkx", "networkx", "This format needs")


def _open(
    path: Path, parse: Callable[[Any, BytesIO], Any], asked: ColumnNames | None
) -> EdgeFile:
    networkx = _networkx()
    contents = read_bytes(path, COPIES)
    with _parsing(path, len(contents)):
        graph = parse(networkx, BytesIO(contents))
        ids = list(graph.nodes)
        links = list(graph.edges(data=True))
    texts = [i for i in ids if isinstance(i, str)]
    new_ids = integers_if_all(texts) if len(texts) == len(ids) else ids
    nodes = number_nodes(path, new_ids)
    place = dict(zip(ids, nodes.numbers(new_ids).tolist(), strict=True))
    src, dst = (
        np.fromiter((place[link[end]] for link in links), np.int64, len(links))
        for end in (0, 1)
    )
    weight, note = attribute_weights(path, [link[2] for link in links], asked)
    edges = checked_edges(path, nodes.count, src, dst, weight, directed=True)
    file = EdgesInMemory(str(path), replace(edges, names=nodes.names))
    file.notes = (note,)
    return file


def _gml(networkx: Any, file: BytesIO) -> Any:
    graph = networkx.read_gml(file, label=None)
    labels = dict(graph.nodes(data=_LONG_LABEL))
    if None in labels.values() or len(set(labels.values())) < len(labels):
        return graph
    return networkx.relabel_nodes(graph, labels)


@contextmanager
def _parsing(path: Path, size: int) -> Iterator[None]:
    """Turn whatever NetworkX raises on a damaged file into an InputError."""
    try:
        with capped():
            yield
    except MndmstError:
        raise
    except MemoryError as error:
        raise exceeded(path, COPIES * size, "its content", " at least") from error
    except Exception as error:  # the parsers of five formats raise many kinds
        reason = (str(error).splitlines() or [""])[0]
        raise InputError(
            f"{path}: is damaged, or another format than its suffix says "
            f"({type(error).__name__}: {reason}). Write it again, or give --format."
        ) from error


def _write(
    edges: Edges, path: Path, write: Callable[[Any, Any, BinaryIO], None]
) -> None:
    networkx = _networkx()
    nbytes = NODE_BYTES * edges.num_vertices + EDGE_BYTES * len(edges)
    check_room(path, nbytes, f"to write {path.suffix}")
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
        write(networkx, graph, file)


def _refuse(
    edges: Edges, path: Path, is_wrong: Callable[[str], bool], why: str
) -> None:
    """Raise a ConfigError for the first name that a format cannot hold."""
    if edges.names is None or edges.names.kind.is_integer:
        return
    for text in edges.names.texts():
        if is_wrong(text):
            raise ConfigError(
                f'{path}: the name "{shown(text)}" {why}. Give a name in .json, .csv '
                "or .parquet."
            )


def _is_outside_xml(text: str) -> bool:
    return any((c < " " and c not in "\t\n\r") or c in "\ufffe\uffff" for c in text)


def _is_outside_pajek(text: str) -> bool:
    return any(c in "\"'\\\n\r\t" for c in text)
