"""Write an HDF5 file of columns from all ranks in turn, so that none gathers them."""

import secrets
from contextlib import suppress
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from ..comm.communicator import Comm
from ..host.errors import OutputError
from .layout import HDF5_LAYOUT, settle, writing
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
        _remove(comm, probe)


def write_columns(
    comm: Comm,
    path: str | Path,
    columns: dict[str, np.ndarray],
    attributes: dict[str, Any],
    dtypes: dict[str, np.dtype] | None = None,
) -> None:
    """Write columns that are spread over the ranks; every rank calls it.

    The ranks append in turn to a file with a temporary name. It gets its final name
    when it is whole and on disk.

    Parameters
    ----------
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
        On every rank, if any of them could not write; nothing is left behind.
    """
    path = Path(path)
    temporary = _temporary_name(comm, path)
    kinds = {name: column.dtype for name, column in columns.items()} | (dtypes or {})
    lengths = {name: comm.sum(len(column)) for name, column in columns.items()}
    places = {name: comm.prefix(len(column)) for name, column in columns.items()}
    try:
        with comm.together(), writing(path):
            if comm.rank == 0:
                with h5py.File(temporary, "x", libver=HDF5_LAYOUT) as file:
                    for name in columns:
                        _create_dataset(file, name, lengths[name], kinds[name])
                    file.attrs.update(attributes)
        for turn in range(comm.size):
            # `together` lets the next rank open the file when this one has closed it.
            with comm.together(), writing(path):
                if turn == comm.rank:
                    _append(temporary, columns, places)
        with comm.together(), writing(path):
            if comm.rank == 0:
                settle(temporary)
                temporary.replace(path)
    finally:
        _remove(comm, temporary)


def _temporary_name(comm: Comm, path: Path) -> Path:
    """Return one name beside `path` that this run alone uses, on all ranks."""
    return path.with_name(f"{path.name}.tmp-{comm.share(secrets.token_hex(6))}")


def _remove(comm: Comm, temporary: Path) -> None:
    """Remove a temporary file, if it is there and may be removed."""
    if comm.rank == 0:
        with suppress(OSError):
            temporary.unlink()


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
