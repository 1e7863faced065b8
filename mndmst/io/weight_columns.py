"""Further weights of a graph: files beside its shards, one for each column.

`GRAPH/columns/NAME.h5`::

    @ format "mndmst-column", version, creator
    @ graph-uuid, num_edges      of the graph
    weight                       any type of weights [edges]

The weights are in the order of edges: by (src, dst) with src < dst, each edge once. A
graph that stores parallel edges has a weight for each of them.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..graph.order import WEIGHT_DTYPES
from ..host.errors import ConfigError, InputError
from ..host.version import __version__
from .datasets import checked_dataset, read_dataset
from .hdf5_file import hdf5_file
from .layout import open_hdf5, read_attribute, reading, write_attributes, writing
from .part_writer import Column
from .shard_files import ShardFiles
from .whole_file import whole_file

FORMAT = "mndmst-column"
VERSION = 1
FOLDER = "columns"


@dataclass(frozen=True)
class WeightColumn:
    """A column on disk.

    Attributes
    ----------
    path : Path
    dtype : dtype
    num_edges : int
    """

    path: Path
    dtype: np.dtype
    num_edges: int

    def read(self, begin: int, end: int) -> np.ndarray:
        """Return the weights of the edges [begin, end).

        Raises
        ------
        InputError
            If the file is damaged, or of another number of edges.
        """
        with _reading(self.path), open_hdf5(self.path) as file:
            dataset = checked_dataset(self.path, file, "weight", self.num_edges)
            if dataset.dtype != self.dtype or end > self.num_edges:
                raise InputError(
                    f"{self.path}: has {self.num_edges} weights of type "
                    f"{dataset.dtype}, not as many as the graph has edges. Write the "
                    "column again."
                )
            return np.asarray(read_dataset(self.path, dataset, begin, end))


def find_columns(graph: ShardFiles) -> dict[str, WeightColumn]:
    """Return the columns beside the shards of a graph, by name.

    Raises
    ------
    InputError
        If one of them is damaged or belongs to another graph.
    """
    folder = graph.path.parent / FOLDER
    if not folder.is_dir():
        return {}
    return {path.stem: _open(path, graph) for path in sorted(folder.glob("*.h5"))}


def write_column(graph: ShardFiles, name: str, weights: np.ndarray) -> Path:
    """Write a column beside the shards of a graph, whole or not at all.

    Parameters
    ----------
    weights : ndarray, one of `WEIGHT_DTYPES`
        In the order of edges.

    Raises
    ------
    ConfigError
        If a column of that name is there.
    OutputError
        If it cannot be written.
    """
    folder = graph.path.parent / FOLDER
    target = folder / f"{name}.h5"
    if target.exists():
        raise ConfigError(f"{target}: is there already; remove it, or give a name")
    with writing(target):
        folder.mkdir(exist_ok=True)
    header = {
        "format": FORMAT,
        "version": VERSION,
        "creator": f"mndmst {__version__}",
        "graph-uuid": graph.uuid,
        "num_edges": len(weights),
    }
    with whole_file(target) as path, hdf5_file(path, "w") as file:
        write_attributes(file, header)
        column = Column(file, "weight", len(weights), weights.dtype)
        column.append(weights)
        column.finish()
    return target


def _open(path: Path, graph: ShardFiles) -> WeightColumn:
    with _reading(path), open_hdf5(path) as file:
        if read_attribute(file, "format") != FORMAT or file.attrs["version"] != VERSION:
            raise InputError(f"{path}: is no column of weights. Write it again.")
        if read_attribute(file, "graph-uuid") != graph.uuid:
            raise InputError(
                f"{path}: belongs to another graph. Remove it, or write it again."
            )
        count = int(file.attrs["num_edges"])
        dtype = checked_dataset(path, file, "weight", count).dtype
    if dtype not in WEIGHT_DTYPES:
        raise InputError(f"{path}: has weights of type {dtype}. Write it again.")
    return WeightColumn(path, dtype, count)


def _reading(path: Path):  # type: ignore[no-untyped-def]
    return reading(path, "write the column again")
