"""Open a sharded graph and read its rows; shards and ranks are independent.

`shard_layout` describes the files.
"""

from pathlib import Path

import h5py
import numpy as np

from ...graph.order import WEIGHT_DTYPES
from ...host.errors import InputError
from ...kernels.threads import ALONE, Threads
from ..edges import MAX_VERTICES
from ..file_errors import ascends, open_hdf5, read_attribute, reading
from ..hdf5.checked_datasets import checked_dataset, read_dataset
from ..names import NameKind
from .row_reading import ReadInProgress
from .shard_files import ShardFiles
from .shard_layout import (
    GRAPH_FORMAT,
    INDEX_NAME,
    NAMES,
    ORIGINAL_VERTICES,
    SHARD_FORMAT,
    VERSION,
)
from .shard_writer import ShardWriter


class ShardedGraph(ShardFiles):
    """A graph on disk, in one file or many (see `ShardFiles`)."""

    def read_rows(
        self, begin: int, end: int, threads: Threads = ALONE
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the CSR rows of the vertices [begin, end).

        Parameters
        ----------
        threads : Threads
            Read and check with these.

        Returns
        -------
        indptr : ndarray of int64, shape (end - begin + 1,)
            Starts at 0.
        indices : ndarray of uint32 or int64, shape (arcs,)
            Global ids, ascending within a row; `order.id_dtype` gives the type.
        weights : ndarray of `weight_dtype`, shape (arcs,)

        Raises
        ------
        InputError
            If a part is damaged, an id is out of range, a row does not ascend or a
            weight is not a number.
        """
        rows = ReadInProgress(self, begin, end, threads)
        rows.read(to_keys=False)
        return rows.indptr, rows.indices, rows.weights


__all__ = ["ShardWriter", "ShardedGraph", "open_graph"]


def open_graph(path: str | Path, check: bool = True) -> "ShardedGraph":
    """Open a graph: a directory of shards, its index, or a shard that is all of it.

    Parameters
    ----------
    check : bool
        Open every part once and compare it with the index. Of many ranks one is
        enough to do so: a part is always checked when it is read.

    Raises
    ------
    InputError
        If there is no graph, or a part is missing, damaged or of another graph.
    """
    path = Path(path)
    file = path / INDEX_NAME if path.is_dir() else path
    if path.is_dir() and not file.exists():
        raise InputError(
            f"{path}: has no {INDEX_NAME}, so it is not a graph, or its making was cut "
            "off. Make the graph again."
        )
    with reading(file), open_hdf5(file) as opened:
        readers = {GRAPH_FORMAT: _from_index, SHARD_FORMAT: _from_shard}
        reader = readers.get(read_attribute(opened, "format"))
        if reader is None:
            raise InputError(
                f"{file}: is HDF5, but neither the index nor a shard of a graph. Make "
                'one with "mndmst partition".'
            )
        if opened.attrs["version"] != VERSION:
            raise InputError(
                f"{file}: has version {opened.attrs['version']} of the format, and "
                f"version {VERSION} can be read. Make the graph again."
            )
        graph = reader(file, opened)
    if check:
        for part in range(graph.num_parts):
            graph.check_part(part)
    return graph


def _from_index(path: Path, file: h5py.File) -> ShardedGraph:
    num_parts = int(file.attrs["num_parts"])
    if not 1 <= num_parts <= path.stat().st_size:
        raise InputError(f"{path}: names {num_parts} parts. Make the graph again.")
    names = read_dataset(path, checked_dataset(path, file, "parts", num_parts))
    return ShardedGraph(
        path=path,
        uuid=read_attribute(file, "graph-uuid"),
        weight_dtype=_weight_dtype(path, read_attribute(file, "weight_dtype")),
        vtxdist=_read_bounds(path, file, "vtxdist", "num_vertices"),
        arcdist=_read_bounds(path, file, "arcdist", "num_arcs"),
        parts=tuple(path.parent / Path(name.decode()).name for name in names),
        reordered=bool(read_attribute(file, "reordered")),
        original_vertices=_original_vertices(path, file),
        names=_name_kind(path, file),
    )


def _from_shard(path: Path, file: h5py.File) -> ShardedGraph:
    if file.attrs["num_parts"] != 1:
        raise InputError(
            f"{path}: is one part of {file.attrs['num_parts']}. Open {INDEX_NAME} or "
            "the directory instead."
        )
    weights = checked_dataset(path, file, "graph/data")
    return ShardedGraph(
        path=path,
        uuid=read_attribute(file, "graph-uuid"),
        weight_dtype=_weight_dtype(path, weights.dtype.name),
        vtxdist=np.array([0, file.attrs["num_vertices"]], np.int64),
        arcdist=np.array([0, file.attrs["num_arcs"]], np.int64),
        parts=(path,),
        reordered=bool(read_attribute(file, "reordered")),
        original_vertices=_original_vertices(path, file),
        names=_name_kind(path, file),
    )


def _read_bounds(path: Path, file: h5py.File, name: str, total: str) -> np.ndarray:
    dataset = checked_dataset(path, file, name, int(file.attrs["num_parts"]) + 1)
    bounds = read_dataset(path, dataset).astype(np.int64)
    if bounds[[0, -1]].tolist() != [0, file.attrs[total]] or not ascends(bounds):
        raise InputError(
            f"{path}: {name} does not ascend from 0 to {total}. Make the graph again."
        )
    return bounds


def _original_vertices(path: Path, file: h5py.File) -> int:
    bound = int(read_attribute(file, ORIGINAL_VERTICES) or 0)
    if not 0 <= bound <= MAX_VERTICES:
        raise InputError(
            f"{path}: was made of {bound} vertices; at most 2^48 can be numbered. Make "
            "the graph again."
        )
    return bound


def _name_kind(path: Path, file: h5py.File) -> NameKind | None:
    found = read_attribute(file, NAMES)
    if found is None or found in list(NameKind):
        return None if found is None else NameKind(found)
    raise InputError(
        f"{path}: has names of the kind {found}; known are {', '.join(NameKind)}. Make "
        "the graph again."
    )


def _weight_dtype(file: Path, name: str) -> np.dtype:
    for dtype in WEIGHT_DTYPES:
        if dtype.name == name:
            return dtype
    raise InputError(
        f"{file}: has weights of type {name}; supported are "
        f"{', '.join(dtype.name for dtype in WEIGHT_DTYPES)}. Make the graph again."
    )
