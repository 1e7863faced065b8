"""Further weights of a graph: files beside its shards, one for each column.

docs/files.md describes them.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...graph.order import WEIGHT_DTYPES
from ...host.errors import ConfigError, InputError
from ...host.formatting import counted
from ..atomic_output import whole_file
from ..file_access import (
    check_version,
    count_attribute,
    open_hdf5,
    read_attribute,
    reading,
    write_attributes,
    writing,
)
from ..hdf5_reader import checked_dataset, read_dataset
from ..hdf5_writer import ColumnWriter, hdf5_file
from ..kernels.csr_conversion import forward_arcs
from ..output_kinds import COLUMN, check_replaceable, hdf5_mark
from .row_reading import read_rows
from .sharded_graph import ShardedGraph

FORMAT = COLUMN.format
VERSION = 1
REMAKE = "write the column again"
FOLDER = "columns"
# The name that stands for the graph's own weights in place of a column's
OWN = "weight"
# Largest numbers of rows, and of their arcs, that are compared at a time.
_ROWS, _ARCS = 1 << 20, 1 << 22


@dataclass(frozen=True)
class WeightColumn:
    """A column on disk."""

    path: Path
    dtype: np.dtype
    num_edges: int

    def read(self, begin: int, end: int) -> np.ndarray:
        """Return the weights of the edges [begin, end)."""
        with reading(self.path, REMAKE), open_hdf5(self.path) as file:
            dataset = checked_dataset(self.path, file, "weight", self.num_edges)
            if dataset.dtype != self.dtype or end > self.num_edges:
                raise InputError(
                    f"{self.path}: has {counted(self.num_edges, 'weight')} of type "
                    f"{dataset.dtype}, but the graph has another number of edges. "
                    "Write the column again."
                )
            return np.asarray(read_dataset(self.path, dataset, begin, end))


def find_columns(graph: ShardedGraph) -> dict[str, WeightColumn]:
    """Return the columns beside the shards of a graph, by name."""
    folder = graph.path.parent / FOLDER
    if not folder.is_dir():
        return {}
    return {path.stem: _open(path, graph) for path in sorted(folder.glob("*.h5"))}


def write_column(
    graph: ShardedGraph,
    name: str,
    dtype: np.dtype,
    weights: Iterable[np.ndarray],
    overwrite: bool = False,
) -> WeightColumn:
    """Write weights in the order of edges as a column beside the shards of a graph."""
    target = column_target(graph, name)
    with writing(target):
        check_replaceable(target, COLUMN, overwrite)
        target.parent.mkdir(exist_ok=True)
    header = hdf5_mark(FORMAT, VERSION) | {"graph-uuid": graph.uuid}
    with whole_file(target, COLUMN, overwrite) as path, hdf5_file(path, "w") as file:
        column = ColumnWriter(file, "weight", graph.num_arcs // 2, dtype)
        for piece in weights:
            column.append(piece)
        count = column.finish()
        write_attributes(file, header | {"num_edges": count})
    return WeightColumn(target, dtype, count)


def column_target(graph: ShardedGraph, name: str) -> Path:
    """Return the file of a column."""
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) or name == OWN:
        raise ConfigError(
            f"{name!r} cannot name a column. Give letters, digits and underscores, a "
            f"letter first; {OWN!r} is the graph's own."
        )
    return graph.path.parent / FOLDER / f"{name}.h5"


def weights_of_same_edges(
    graph: ShardedGraph, other: ShardedGraph
) -> Iterator[np.ndarray]:
    """Yield the weights of a graph that has the same edges, in the order of edges."""
    sizes = [(g.num_vertices, g.num_arcs // 2) for g in (graph, other)]
    if sizes[0] != sizes[1]:
        (n, m), (other_n, other_m) = sizes
        raise InputError(
            f"{other.path}: has {counted(other_n, 'vertex')} and "
            f"{counted(other_m, 'edge')}, and {graph.path} has {n:,} and {m:,}. Give a "
            "graph with the same edges."
        )
    for begin, end in graph.pieces(_ROWS, _ARCS):
        indptr, indices, _ = read_rows(graph, begin, end)
        other_indptr, other_indices, weights = read_rows(other, begin, end)
        pairs = (indptr, other_indptr), (indices, other_indices)
        same = all(np.array_equal(*pair) for pair in pairs)
        if not (same and _same_names(graph, other, begin, end)):
            raise InputError(
                f"{other.path}: has other edges than {graph.path} at the vertices "
                f"from {begin:,} to {end - 1:,}. Give a graph with the same edges and "
                "ids, such as one made with the same options."
            )
        yield forward_arcs(begin, indptr, indices, weights)[2]


def _same_names(graph: ShardedGraph, other: ShardedGraph, begin: int, end: int) -> bool:
    """Return whether some vertices have the same names, or ids in the graphs' files."""
    if graph.names != other.names:
        return False
    if graph.names is None:
        ids, other_ids = (g.read_original_ids(begin, end) for g in (graph, other))
        return np.array_equal(ids, other_ids)
    columns, others = (g.read_names(begin, end).columns() for g in (graph, other))
    return all(np.array_equal(columns[name], others[name]) for name in columns)


def _open(path: Path, graph: ShardedGraph) -> WeightColumn:
    with reading(path, REMAKE), open_hdf5(path) as file:
        if read_attribute(file, "format") != FORMAT:
            raise InputError(f"{path}: is not a column of weights. Write it again.")
        check_version(path, file, VERSION, REMAKE)
        if read_attribute(file, "graph-uuid") != graph.uuid:
            raise InputError(
                f"{path}: belongs to another graph. Remove it, or write it again."
            )
        count = count_attribute(file, "num_edges")
        dtype = checked_dataset(path, file, "weight", count).dtype
    if dtype not in WEIGHT_DTYPES:
        raise InputError(f"{path}: has weights of type {dtype}. Write it again.")
    return WeightColumn(path, dtype, count)
