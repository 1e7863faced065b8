"""Write columns to an HDF5 file rank by rank, so that no rank gathers them."""

from pathlib import Path
from typing import Any

import h5py
import numpy as np

from .hdf5_file import hdf5_file
from .layout import writing
from .outputs import Outputs
from .totals import PIECE

_CHUNK_ROWS = 1 << 16


def write_columns(
    outputs: Outputs,
    path: Path,
    columns: dict[str, np.ndarray],
    attributes: dict[str, Any],
    dtypes: dict[str, np.dtype] | None = None,
) -> None:
    """Write columns that are spread over the ranks; every rank calls it.

    The ranks append, one after the other, to the file that becomes `path` with the
    other outputs.

    Parameters
    ----------
    outputs : Outputs
    path : Path
    columns : dict of str to ndarray
        Under the name of each dataset this rank's part, in rank order; names and
        types are the same on every rank.
    attributes : dict
        Attributes of the root.
    dtypes : dict of str to dtype, optional
        The types to store, where they are not the arrays'.

    Raises
    ------
    OutputError
        On every rank, if any of them could not write.
    """
    comm = outputs.comm
    kinds = {name: column.dtype for name, column in columns.items()} | (dtypes or {})
    lengths = {name: comm.sum(len(column)) for name, column in columns.items()}
    places = {name: comm.exscan(len(column)) for name, column in columns.items()}
    temporary = outputs.begin(path)
    with comm.raise_on_all(), writing(path):
        if comm.rank == 0:
            with hdf5_file(temporary) as file:
                for name in columns:
                    _create_dataset(file, name, lengths[name], kinds[name])
                file.attrs.update(attributes)
    for turn in range(comm.size):
        # `raise_on_all` lets the next rank open the file when this one has closed it.
        with comm.raise_on_all(), writing(path):
            if turn == comm.rank:
                _append(temporary, columns, places)


def _create_dataset(file: h5py.File, name: str, length: int, dtype: np.dtype) -> None:
    """Create a dataset with checksums; HDF5 cannot chunk one without elements."""
    chunked = {"chunks": (min(length, _CHUNK_ROWS),), "fletcher32": True}
    file.create_dataset(name, (length,), dtype, **(chunked if length else {}))


def _append(path: Path, columns: dict[str, np.ndarray], places: dict[str, int]) -> None:
    if not any(len(column) for column in columns.values()):
        return
    with hdf5_file(path, "r+") as file:
        for name, column in columns.items():
            for low in range(0, len(column), PIECE):
                piece, begin = column[low : low + PIECE], places[name] + low
                file[name][begin : begin + len(piece)] = piece
