"""Graphs in other formats, named by the file's suffix; one module per format.

A format is a function that opens a file as an `EdgeFile`, to be read in pieces of
bounded size by any number of processes, or, for formats that cannot be read so or are
small by nature, one that reads it as `Edges`; and, if it can be written, a function
`write(edges, path)`. To add one, add it to the tables below. Formats whose columns
users may name are in a table of their own.
"""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from ...host.errors import ConfigError, InputError
from ..edge_file import EdgeFile, Edges, EdgesInMemory
from ..named_edge_file import NameableFile, NamedEdgeFile
from ..names import NameKind
from . import (
    binary_graphs,
    delimited_text,
    dimacs,
    graph_files,
    matrix_market,
    metis_adjacency,
    ncol,
    networkx_files,
    networkx_json,
    scipy_npz,
    typed_tables,
    webgraph,
)
from .packed_files import COMPRESSIONS
from .table_columns import ColumnNames, check_no_columns

# A graph of a format: in pieces, or in memory
Opened = EdgeFile | NamedEdgeFile | Edges

_EDGE_LISTS = (
    ".txt", ".el", ".wel", ".tsv", ".csv", ".edges", ".edgelist", ".plain-edgelist"
)  # fmt: skip
# Tables, whose columns a user may name.
_TABLES: dict[str, Callable[[Path, ColumnNames], EdgeFile]] = {
    **dict.fromkeys(_EDGE_LISTS, delimited_text.open_file),
    ".parquet": typed_tables.ParquetFile,
    ".arrow": typed_tables.ArrowFile,
    ".feather": typed_tables.ArrowFile,
    ".json": networkx_json.open_file,
    ".graphml": partial(networkx_files.open_file, "graphml"),
    ".gexf": partial(networkx_files.open_file, "gexf"),
    ".gml": partial(networkx_files.open_file, "gml"),
    ".net": partial(networkx_files.open_file, "pajek"),
    ".leda": partial(networkx_files.open_file, "leda"),
}
_WRITERS: dict[str, Callable[[Edges, Path], None]] = {
    ".gr": dimacs.write,
    ".mtx": matrix_market.write,
    ".npz": scipy_npz.write,
    **dict.fromkeys(_EDGE_LISTS, delimited_text.write),
    ".parquet": typed_tables.write,
    ".json": networkx_json.write,
    ".graphml": partial(networkx_files.write, "graphml"),
    ".gexf": partial(networkx_files.write, "gexf"),
    ".gml": partial(networkx_files.write, "gml"),
    ".net": partial(networkx_files.write, "pajek"),
    ".ncol": ncol.write,
}
# Formats in which vertices have names
_NAMED = (
    ".csv", ".tsv", ".parquet", ".json", ".graphml", ".gexf", ".gml", ".net", ".ncol"
)  # fmt: skip


def _dot_graph(path: Path) -> EdgeFile | Edges:
    """Open a `.graph` file: a BVGraph where its properties are beside it, or METIS."""
    if webgraph.properties_path(path).exists():
        return webgraph.WebGraphFile(path)
    return metis_adjacency.read_metis(path)


def _dot_h5(path: Path) -> EdgeFile | Edges:
    """Open one of the project's own files: a forest or a graph."""
    if path.is_dir() or not graph_files.is_forest(path):
        return graph_files.read_shards(path)
    return graph_files.ForestEdges(path)


_OTHERS: dict[str, Callable[[Path], Opened]] = {
    ".gr": dimacs.open_file,
    ".mtx": matrix_market.open_file,
    ".npz": scipy_npz.open_file,
    ".graph": _dot_graph,
    ".bvgraph": webgraph.WebGraphFile,
    ".metis": metis_adjacency.read_metis,
    ".parhip": binary_graphs.open_parhip,
    ".sg": binary_graphs.open_gap,
    ".wsg": partial(binary_graphs.open_gap, weighted=True),
    ".egr": binary_graphs.open_ecl,
    ".adj": metis_adjacency.read_adjacency,
    ".ncol": ncol.NcolFile,
    ".binary-edgelist": binary_graphs.PairFile,
    ".undirected-binary-edgelist": partial(
        binary_graphs.PairFile, both_directions=False
    ),
    ".h5": _dot_h5,
}
_SUFFIXES = (*_OTHERS, *_TABLES)
NAMES = tuple(suffix[1:] for suffix in _SUFFIXES)


def open_edges(
    path: str | Path,
    format: str | None = None,
    columns: str | Mapping[str, str] | ColumnNames | None = None,
) -> EdgeFile | NamedEdgeFile:
    """Open a graph in any of the formats, compressed (`.gz`, `.xz`, `.zst`) or not.

    The suffix of the path names the format, unless `format`, one of `NAMES`, does; a
    directory is taken for shards. `columns` names a table's columns; see `ColumnNames`.
    Weights keep their type; those in text are integers, or float64 if one of them is
    not an integer. Formats that cannot be read in pieces have been read whole. `notes`
    says which columns of a table are read. Raises ConfigError if there is no such
    format, or no such column; InputError if the suffix is not known, or the file is
    missing, damaged or wrong; MissingExtraError if the format needs a package that is
    not installed.
    """
    path = Path(path)
    if not path.exists():
        raise InputError(f"{path}: no such file or directory.")
    if format is not None and format not in NAMES:
        raise ConfigError(f"--format {format}: known are {', '.join(NAMES)}.")
    suffix = _suffix(path, format)
    if suffix not in _SUFFIXES:
        reason = f"unknown suffix {suffix}" if suffix else "has no suffix"
        raise InputError(
            f"{path}: {reason}. Name the format with --format, or rename the file: "
            f"{', '.join(_SUFFIXES)}, each also with {', '.join(COMPRESSIONS)}."
        )
    asked = ColumnNames.of(columns)
    if suffix in _EDGE_LISTS and path.stat().st_size == 0:
        raise InputError(
            f"{path}: is empty (0 bytes). Check the program that wrote it; a graph "
            "without edges has a line with a comment, such as # or names of columns."
        )
    if suffix in _TABLES:
        file = _TABLES[suffix](path, asked)
        if isinstance(file, NameableFile) and file.text_ends:
            return file.named(NameKind.TEXT)
        return file
    check_no_columns(path, asked)
    opened = _OTHERS[suffix](path)
    return EdgesInMemory(str(path), opened) if isinstance(opened, Edges) else opened


def read_edges(
    path: str | Path,
    format: str | None = None,
    columns: str | Mapping[str, str] | ColumnNames | None = None,
) -> Edges:
    """Read a graph into memory; see `open_edges`."""
    return open_edges(path, format, columns).read()


def write_edges(edges: Edges, path: str | Path) -> None:
    """Write a graph, whole or not at all, under one of the suffixes of `_WRITERS`.

    It is a ConfigError if the suffix is none of these, or has no place for names of
    vertices.
    """
    path = Path(path)
    check_writer(path)
    if edges.names is not None and path.suffix not in _NAMED:
        raise ConfigError(
            f"{path}: the vertices have names, for which {path.suffix} has no place. "
            f"Give a name in {', '.join(_NAMED)}, or --numbers for numbers."
        )
    _WRITERS[path.suffix](edges, path)


def check_writer(path: Path) -> None:
    """Raise a ConfigError if no format is written under the suffix of a name."""
    if path.suffix not in _WRITERS:
        raise ConfigError(
            f"{path}: cannot write {path.suffix or 'a file without suffix'}; give one "
            f"of {', '.join(_WRITERS)}."
        )


def is_table(path: Path, format: str | None = None) -> bool:
    """Return whether a file is a table of edges, whose columns a user may name."""
    return _suffix(path, format) in _TABLES


def _suffix(path: Path, format: str | None) -> str:
    """Return the suffix of a file's format, given or by its name."""
    if format is not None:
        return f".{format}"
    if path.is_dir():
        return ".h5"
    suffixes = path.suffixes
    if suffixes and suffixes[-1] in COMPRESSIONS:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""
