"""One array for all ranks of a machine."""

import mmap
import os
import tempfile
from pathlib import Path

import numpy as np

from ..comm.communicator import Comm
from ..host.errors import ConfigError


def share_array(node: Comm, array: np.ndarray | None) -> np.ndarray:
    """Return rank 0's array on every rank of a machine (`Comm.node`).

    The ranks see one copy in shared memory, which is freed when no rank refers to it
    any more; no rank may change it.

    Raises
    ------
    ConfigError
        On every rank, if the machine has no room for it.
    """
    if node.size == 1 and array is not None:
        return array
    facts = None if array is None else (array.nbytes, array.shape, array.dtype)
    nbytes, shape, dtype = node.bcast(facts)
    # A file in memory, not an MPI window: its room can be reserved beforehand, while
    # touching a window that does not fit kills the process.
    handle = claim(node, nbytes)
    memory = mmap.mmap(handle, 0)
    os.close(handle)
    shared = np.ndarray(shape, dtype, memory)
    if array is not None:
        shared[...] = array
    node.barrier()
    return shared


def claim(node: Comm, nbytes: int) -> int:
    """Return a new file with so much room, open on all ranks. Collective.

    It is in memory if there is enough. Its name is removed before room is reserved, so
    that the room is free again when the ranks end, however they end.

    Raises
    ------
    ConfigError
        On every rank, if there is no room.
    """
    for directory in ("/dev/shm", tempfile.gettempdir()):
        handle = _new_file(node, directory)
        if handle is None:
            continue
        if node.bcast(node.rank == 0 and _has_room(handle, max(1, nbytes))):
            return handle
        os.close(handle)
    raise ConfigError(
        f"no room for {nbytes} bytes that the ranks of a machine share, neither in "
        "/dev/shm nor in the temporary directory. Give the container more shared "
        "memory, point TMPDIR at a larger disk, or start one rank on each machine."
    )


def _new_file(node: Comm, directory: str) -> int | None:
    """Return an empty file without a name, open on all ranks, or None on all."""
    made = _made(directory) if node.rank == 0 else None
    handle = _opened(node.bcast(made))
    everywhere = node.min(int(handle is not None))
    if made is not None:
        made.unlink()
    if handle is not None and not everywhere:
        os.close(handle)
    return handle if everywhere else None


def _made(directory: str) -> Path | None:
    try:
        handle, name = tempfile.mkstemp(prefix="mndmst-", dir=directory)
    except OSError:
        return None
    os.close(handle)
    return Path(name)


def _opened(path: Path | None) -> int | None:
    try:
        return None if path is None else os.open(path, os.O_RDWR)
    except OSError:
        return None


def _has_room(handle: int, nbytes: int) -> bool:
    try:
        os.posix_fallocate(handle, 0, nbytes)
    except OSError:
        return False
    return True
