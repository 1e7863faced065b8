"""Write a forest file from all ranks in turn, so that no rank gathers the forest."""

import json
import os
import secrets
from pathlib import Path

import h5py
import numpy as np

from .. import __version__
from ..comm import Comm
from ..errors import OutputError
from ..graph import EdgeList
from .forest import FORMAT, VERSION, ForestHeader
from .layout import HDF5_LAYOUT, writing
from .totals import PIECE

_CHUNK_ROWS = 1 << 16


def check_writable(comm: Comm, path: str | Path) -> None:
    """Make sure, before any work is done, that every rank can write at `path`.

    Raises
    ------
    OutputError
        On every rank, if `path` is a directory, or its own directory is missing,
        cannot be written, or is not one that all ranks share.
    """
    path = Path(path)
    probe = _temporary_name(comm, path)
    try:
        with comm.together(), writing(path):
            if path.is_dir():
                raise OutputError(f"{path}: is a directory; give a file in it.")
            if comm.rank == 0:
                probe.touch()
        with comm.together(), writing(path):
            if not probe.exists():
                raise OutputError(
                    f"{path}: rank {comm.rank} does not see what rank 0 writes there. "
                    "Give a directory that all machines share."
                )
            probe.open("r+b").close()
    finally:
        if comm.rank == 0:
            probe.unlink(missing_ok=True)


def write_forest(
    comm: Comm,
    path: str | Path,
    edges: EdgeList,
    weights: np.ndarray,
    header: ForestHeader,
    labels: np.ndarray | None = None,
) -> None:
    """Write a forest whose edges are spread over the ranks; every rank calls it.

    The ranks append in turn to a file with a temporary name. It gets its final name
    when it is whole and on disk.

    Parameters
    ----------
    edges : EdgeList
        This rank's edges; all are sorted by (u, v), also from rank to rank.
    weights : ndarray, shape (edges,)
        Their weights, in the graph's type on every rank.
    labels : ndarray of any integer type, optional
        This rank's slice, in rank order, of the labels of all vertices; given by
        every rank or by none.

    Raises
    ------
    OutputError
        On every rank, if any of them could not write; nothing is left behind.
    """
    path = Path(path)
    temporary = _temporary_name(comm, path)
    columns = {"forest/src": edges.u, "forest/dst": edges.v, "forest/weight": weights}
    if labels is not None:
        columns["labels"] = labels
    lengths = {name: comm.sum(len(column)) for name, column in columns.items()}
    places = {name: comm.prefix(len(column)) for name, column in columns.items()}
    try:
        with comm.together(), writing(path):
            if comm.rank == 0:
                _create(temporary, lengths, weights.dtype, header)
        for turn in range(comm.size):
            # `together` lets the next rank open the file when this one has closed it.
            with comm.together(), writing(path):
                if turn == comm.rank:
                    _append(temporary, columns, places)
        with comm.together(), writing(path):
            if comm.rank == 0:
                with temporary.open("r+b") as file:
                    os.fsync(file.fileno())
                temporary.replace(path)
    finally:
        if comm.rank == 0:
            temporary.unlink(missing_ok=True)


def _temporary_name(comm: Comm, path: Path) -> Path:
    """Return one name beside `path` that this run alone uses, on all ranks."""
    return path.with_name(f"{path.name}.tmp-{comm.share(secrets.token_hex(6))}")


def _create(
    path: Path, lengths: dict[str, int], weight_dtype: np.dtype, header: ForestHeader
) -> None:
    num_edges = lengths["forest/src"]
    total: int | float | str = header.total_weight
    if isinstance(total, int) and not -(1 << 63) <= total < 1 << 63:
        total = str(total)
    with h5py.File(path, "x", libver=HDF5_LAYOUT) as file:
        for name, length in lengths.items():
            dtype = weight_dtype if name == "forest/weight" else np.dtype(np.int64)
            _create_dataset(file, name, length, dtype)
        file.attrs.update(
            {
                "format": FORMAT,
                "version": VERSION,
                "creator": f"mndmst {__version__}",
                "graph-uuid": header.graph_uuid,
                "num_vertices": header.num_vertices,
                "num_edges": num_edges,
                "num_trees": header.num_vertices - num_edges,
                "total_weight": total,
                "weight_dtype": weight_dtype.name,
                "digest": header.digest,
                "config": json.dumps(header.config),
                "report": json.dumps(header.report),
            }
        )


def _create_dataset(file: h5py.File, name: str, length: int, dtype: np.dtype) -> None:
    """Create a dataset with checksums; HDF5 cannot chunk one without elements."""
    chunked = {"chunks": (min(length, _CHUNK_ROWS),), "fletcher32": True}
    file.create_dataset(name, (length,), dtype, **(chunked if length else {}))


def _append(path: Path, columns: dict[str, np.ndarray], places: dict[str, int]) -> None:
    if not any(len(column) for column in columns.values()):
        return
    # Without a chunk cache a full disk fails the write, not the closing of the file.
    with h5py.File(path, "r+", libver=HDF5_LAYOUT, rdcc_nbytes=0) as file:
        for name, column in columns.items():
            for low in range(0, len(column), PIECE):
                piece, begin = column[low : low + PIECE], places[name] + low
                file[name][begin : begin + len(piece)] = piece
