"""One array for all ranks of a machine."""

import mmap
import os
import tempfile
from pathlib import Path

import numpy as np

from ..comm import Comm
from ..errors import ConfigError


def share_array(node: Comm, array: np.ndarray | None) -> np.ndarray:
    """Return rank 0's array on every rank of a machine (`Comm.node`).

    The ranks see one copy in shared memory, which is given back when none refers to
    it any more; no rank may change it.

    Raises
    ------
    ConfigError
        If the machine has no room for it.
    """
    if node.size == 1 and array is not None:
        return array
    # A file in memory, not an MPI window: its room can be claimed beforehand, where
    # touching a window that does not fit kills the process.
    path, shape, dtype = Path(), (0,), np.dtype(np.uint8)
    with node.together():
        if array is not None:
            path, shape, dtype = claim(array.nbytes), array.shape, array.dtype
    path, shape, dtype = node.share((path, shape, dtype))
    with path.open("r+b") as file:
        memory = mmap.mmap(file.fileno(), 0)
    shared = np.ndarray(shape, dtype, memory)
    if array is not None:
        shared[...] = array
    node.barrier()
    if array is not None:
        path.unlink()
    return shared


def claim(nbytes: int) -> Path:
    """Return a new file with so much room, in memory if there is enough."""
    for directory in ("/dev/shm", tempfile.gettempdir()):
        try:
            handle, name = tempfile.mkstemp(prefix="mndmst-", dir=directory)
        except OSError:
            continue
        try:
            os.posix_fallocate(handle, 0, max(1, nbytes))
            return Path(name)
        except OSError:
            Path(name).unlink()
        finally:
            os.close(handle)
    raise ConfigError(
        f"no room for {nbytes} bytes that the ranks of a machine share, neither in "
        "/dev/shm nor in the temporary directory. Give the container more shared "
        "memory, point TMPDIR at a larger disk, or start one rank on each machine."
    )
