"""Graphs in formats that NetworkX reads: GraphML, GEXF, GML, Pajek and LEDA.

The ids of nodes are the names of vertices (of GML the labels, where all nodes have
different ones), and nodes without edges are kept. If all ids are integers, so are the
names. `table_columns` finds the weight among the attributes of edges; an edge without
the weight has weight 1. The direction of edges does not matter. These formats are for
small graphs: the whole file is objects in memory.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from ...host.errors import ConfigError, InputError, MndmstError, optional
from ..atomic_output import whole_file
from ..edge_file import EdgeFile, Edges, EdgesInMemory, checked_edges
from ..memory_limit import capped, check_room, exceeded
from ..names import Names, shown
from .networkx_json import attribute_weights, integers_if_all, number_nodes
from .packed_files import read_bytes
from .table_columns import ColumnNames

# Bytes that NetworkX takes for each byte of a file, and for each node and edge.
COPIES = 48
NODE_BYTES, EDGE_BYTES = 500, 900
# The letters that names must not have in a kind of files, and why
_XML = (
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]",
    "has a letter that XML does not allow",
)
_PAJEK = r"""["'\\\n\r\t]""", "has a quote, a backslash or a line break"
_REFUSED = {"graphml": _XML, "gexf": _XML, "pajek": _PAJEK}


def open_file(kind: str, path: Path, asked: ColumnNames | None = None) -> EdgeFile:
    """Read a file by `networkx.read_KIND`; see `formats.open_edges`."""
    networkx = optional("networkx", "networkx", "This format needs")
    read = getattr(networkx, f"read_{kind}")
    contents = read_bytes(path, COPIES)
    with _parsing(path, len(contents)):
        graph = _gml(networkx, contents) if kind == "gml" else read(BytesIO(contents))
        ids = list(graph.nodes)
        links = list(graph.edges(data=True))
    texts = [i for i in ids if isinstance(i, str)]
    new_ids = integers_if_all(texts) if len(texts) == len(ids) else ids
    numbers, names = number_nodes(path, new_ids)
    place = dict(zip(ids, numbers.tolist(), strict=True))
    src, dst = (
        np.fromiter((place[link[end]] for link in links), np.int64, len(links))
        for end in (0, 1)
    )
    weight, note = attribute_weights(path, [link[2] for link in links], asked)
    edges = checked_edges(path, len(ids), src, dst, weight)
    return EdgesInMemory(str(path), replace(edges, names=names), notes=(note,))


def _gml(networkx: Any, contents: bytearray) -> Any:
    """Return a graph with its labels as ids, where all nodes have different ones."""
    graph = networkx.read_gml(BytesIO(contents), label=None)
    labels = dict(graph.nodes(data="label"))
    if None in labels.values() or len(set(labels.values())) < len(labels):
        return graph
    return networkx.relabel_nodes(graph, labels)


@contextmanager
def _parsing(path: Path, size: int) -> Iterator[None]:
    """Turn any error of NetworkX on a damaged file into an InputError."""
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


def write(kind: str, edges: Edges, path: Path) -> None:
    """Write a file by `networkx.write_KIND`."""
    networkx = optional("networkx", "networkx", "This format needs")
    if kind in _REFUSED and edges.names and not edges.names.kind.is_integer:
        _check_names(path, edges.names, kind)
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
