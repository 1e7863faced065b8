"""Graphs in other formats, named by the file's suffix; one module per format.

A format is a function that opens a file as an `EdgeFile`, to be read in pieces of
bounded size by any number of processes, or, for formats that cannot be read so or are
small by nature, one that reads it as `Edges`; and, if it can be written, a function
`write(edges, path, files)`. `_FORMATS` registers it: commands, their help and messages
take all that they know of formats from there.

A reader knows the number of vertices from the file (`num_vertices`, None if no header
says it), and gives whole numbers in text as the narrowest type that holds all of them:
`EdgeFile.weight_dtype` is None then, or `edge_file.narrow_integers` has been called.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from ...host.errors import ConfigError, InputError
from ...host.memory import FREE_MEMORY, Budget
from ..atomic_output import AtomicOutput
from ..edge_file import EdgeFile, Edges, EdgesInMemory
from ..memory_limit import check_room
from ..named_edge_file import NameableFile, NamedEdgeFile
from ..names import IdRange, NameKind
from . import (
    binary_graphs,
    delimited_text,
    graph_files,
    json_graphs,
    metis_adjacency,
    networkx_files,
    pajek,
    scipy_npz,
    typed_tables,
    webgraph,
)
from .packed_files import COMPRESSIONS, readable, unpacked_suffix
from .table_columns import ColumnNames, check_no_columns


class Format(NamedTuple):
    """The functions of a format."""

    # Opens a path under a budget, as a list in pieces or in memory; a table also takes
    # `ColumnNames`
    open: Callable[..., EdgeFile | NamedEdgeFile | Edges]
    write: Callable[[Edges, Path, AtomicOutput], None] | None = None
    is_table: bool = False  # whether a user may name the columns
    named: bool = False  # whether a written file has the names of vertices
    lists_vertices: bool = False  # whether a written file lists all vertices
    # Bytes of memory that a graph takes while it is written; None if they are few
    writing_bytes: Callable[[Edges], int] | None = None
    # The id of the first vertex in a written file, where the format says it
    first_id: int | None = None


def _dot_graph(path: Path, budget: Budget) -> EdgeFile | Edges:
    """Open a `.graph` file: a BVGraph where its properties are beside it, or METIS."""
    if webgraph.properties_path(path).exists():
        return webgraph.WebGraphFile(path, budget)
    return metis_adjacency.read_metis(path, budget)


def _dot_h5(path: Path, budget: Budget) -> EdgeFile | Edges:
    """Open one of the project's own files: a forest or a graph."""
    if path.is_dir() or not graph_files.is_forest(path):
        edges, maximum = graph_files.read_shards(path, budget)
        return EdgesInMemory(str(path), edges, maximum=maximum)
    return graph_files.ForestEdges(path, budget)


def _by_networkx(kind: str) -> Format:
    """Return a format that NetworkX reads and writes."""
    write = partial(networkx_files.write, kind)
    read = partial(networkx_files.open_file, kind)
    return Format(read, write, True, True, True, networkx_files.writing_bytes)


_EDGE_LISTS = (
    ".txt", ".el", ".wel", ".tsv", ".csv", ".edges", ".edgelist", ".plain-edgelist"
)  # fmt: skip
_EDGE_LIST = Format(delimited_text.open_file, delimited_text.write, is_table=True)
_UNDIRECTED_PAIRS = partial(binary_graphs.PairFile, both_directions=False)
_FORMATS: dict[str, Format] = {
    ".gr": Format(delimited_text.open_dimacs, delimited_text.write_dimacs, first_id=1),
    ".mtx": Format(
        delimited_text.open_matrix_market,
        delimited_text.write_matrix_market,
        first_id=1,
    ),
    ".npz": Format(scipy_npz.open_file, scipy_npz.write, first_id=0),
    ".graph": Format(_dot_graph),
    ".bvgraph": Format(webgraph.WebGraphFile),
    ".metis": Format(metis_adjacency.read_metis),
    ".parhip": Format(binary_graphs.open_parhip),
    ".sg": Format(binary_graphs.open_gap),
    ".wsg": Format(partial(binary_graphs.open_gap, weighted=True)),
    ".egr": Format(binary_graphs.open_ecl),
    ".adj": Format(metis_adjacency.read_adjacency),
    ".ncol": Format(delimited_text.NcolFile, delimited_text.write_ncol, named=True),
    ".binary-edgelist": Format(binary_graphs.PairFile),
    ".undirected-binary-edgelist": Format(_UNDIRECTED_PAIRS),
    ".h5": Format(_dot_h5),
    **dict.fromkeys(_EDGE_LISTS, _EDGE_LIST),
    ".tsv": _EDGE_LIST._replace(named=True),
    ".csv": _EDGE_LIST._replace(named=True),
    ".parquet": Format(typed_tables.ParquetFile, typed_tables.write, True, True),
    ".arrow": Format(typed_tables.ArrowFile, is_table=True),
    ".feather": Format(typed_tables.ArrowFile, is_table=True),
    ".json": Format(json_graphs.open_file, json_graphs.write, True, True, True),
    ".graphml": _by_networkx("graphml"),
    ".gexf": _by_networkx("gexf"),
    ".gml": _by_networkx("gml"),
    ".net": Format(pajek.open_file, pajek.write, True, True, True, pajek.writing_bytes),
    ".leda": _by_networkx("leda")._replace(write=None, named=False),
}
NAMES = tuple(suffix[1:] for suffix in _FORMATS)


def open_edges(
    path: str | Path,
    format: str | None = None,
    columns: str | Mapping[str, str] | ColumnNames | None = None,
    budget: Budget = FREE_MEMORY,
) -> EdgeFile | NamedEdgeFile:
    """Open a graph in any of the formats, compressed (`.gz`, `.xz`, `.zst`) or not.

    The suffix of the path names the format, unless `format`, one of `NAMES`, does; a
    directory is taken for shards. `columns` names a table's columns; see `ColumnNames`.
    `budget` bounds the memory for data that are read whole. Weights keep their type;
    those in text are integers, or float64 if one of them is not an integer. Formats
    that cannot be read in pieces have been read whole. `notes` says which columns of a
    table are read. Raises ConfigError if there is no such format, or no such column;
    InputError if the suffix is not known, or the file is missing, damaged or wrong;
    MissingExtraError if the format needs a package that is
    not installed.
    """
    path = Path(path) if isinstance(path, str) else path
    with readable(path):
        path.stat()
    if format is not None and format not in NAMES:
        raise ConfigError(f"--format {format}: known are {', '.join(NAMES)}.")
    suffix = _suffix(path, format)
    if suffix not in _FORMATS:
        reason = f"unknown suffix {suffix}" if suffix else "has no suffix"
        raise InputError(
            f"{path}: {reason}. Name the format with --format, or rename the file: "
            f"{', '.join(_FORMATS)}, each also with {', '.join(COMPRESSIONS)}."
        )
    picked = ColumnNames.of(columns)
    kind = _FORMATS[suffix]
    if not kind.is_table:
        check_no_columns(path, picked)
    given = (path, budget, picked) if kind.is_table else (path, budget)
    opened = kind.open(*given)
    if isinstance(opened, NameableFile) and opened.text_ends:
        return opened.named(NameKind.TEXT)
    return EdgesInMemory(str(path), opened) if isinstance(opened, Edges) else opened


def read_edges(
    path: str | Path,
    format: str | None = None,
    columns: str | Mapping[str, str] | ColumnNames | None = None,
    budget: Budget = FREE_MEMORY,
) -> Edges:
    """Read a graph into memory; see `open_edges`."""
    return open_edges(path, format, columns, budget).read()


def write_edges(edges: Edges, path: str | Path, budget: Budget = FREE_MEMORY) -> None:
    """Write a graph, whole or not at all; see `write_edges_in`."""
    with AtomicOutput() as files:
        write_edges_in(files, edges, Path(path), budget)


def write_edges_in(
    files: AtomicOutput, edges: Edges, path: Path, budget: Budget = FREE_MEMORY
) -> None:
    """Write a graph, in a format that is written, to a file that becomes `path`.

    Vertices keep the ids of `edges.first_id` on, unless the format says which id is the
    first one. It is a ConfigError if the suffix is none of these, has no place for
    names of vertices, or takes more memory than the budget allows.
    """
    kind = check_writer(path)
    if edges.names is not None and not kind.named:
        raise ConfigError(
            f"{path}: the vertices have names, for which {path.suffix} has no place. "
            f"Give a name in {suffixes_with_names()}, or --numbers for numbers."
        )
    if kind.writing_bytes is not None:
        check_room(budget, path, kind.writing_bytes(edges), f"to write {path.suffix}")
    assert kind.write is not None
    if edges.first_id and kind.named:
        ids = IdRange(edges.first_id, edges.num_vertices)
        edges = replace(edges, names=ids, first_id=0)
    kind.write(edges, path, files)


def suffixes_with_names() -> str:
    """Return the suffixes of written formats that have names, for messages."""
    return ", ".join(suffix for suffix in _FORMATS if _FORMATS[suffix].named)


def check_writer(path: Path) -> Format:
    """Return the format of a name; ConfigError if it is not one that is written."""
    kind = _FORMATS.get(path.suffix)
    if kind is None or kind.write is None:
        written = ", ".join(suffix for suffix in _FORMATS if _FORMATS[suffix].write)
        raise ConfigError(
            f"{path}: cannot write {path.suffix or 'a file without suffix'}; give one "
            f"of {written}."
        )
    return kind


def is_table(path: Path, format: str | None = None) -> bool:
    """Return whether a file is a table of edges, whose columns a user may name."""
    kind = _FORMATS.get(_suffix(path, format))
    return kind is not None and kind.is_table


def _suffix(path: Path, format: str | None) -> str:
    """Return the suffix of a file's format, given or by its name."""
    if format is not None:
        return f".{format}"
    if path.is_dir():
        return ".h5"
    return unpacked_suffix(path)
