"""Arrays of one rank for all ranks of a machine."""

import math

import numpy as np

from ..comm.communicator import Comm
from ..comm.shared_memory import SharedMemory
from ..host.errors import ConfigError
from ..io.memory_limit import room


def share_arrays(node: Comm, arrays: list[np.ndarray]) -> list[np.ndarray]:
    """Return rank 0's arrays on every rank of a machine (`Comm.node`). Collective.

    The ranks see one copy, which is freed when no rank refers to it any more; no rank
    may change it. Where the system hides ranks from each other, as it may in
    containers, each has a copy of its own.

    Parameters
    ----------
    arrays : list of ndarray
        Emptied, so that rank 0's own go one by one; on other ranks it is empty.

    Raises
    ------
    ConfigError
        On every rank, if the machine has no room for them.
    """
    if node.size == 1:
        return arrays
    kinds = node.bcast([(array.shape, array.dtype) for array in arrays])
    memory = SharedMemory(node)
    shared = [
        _share(memory, arrays.pop(0) if arrays else None, *kind) for kind in kinds
    ]
    node.barrier()
    return shared


def _share(
    memory: SharedMemory, own: np.ndarray | None, shape: tuple, dtype: np.dtype
) -> np.ndarray:
    node, length = memory.comm, math.prod(shape)
    # Asked before, since a process that touches more than there is ends.
    _check_room(node, length * dtype.itemsize)
    try:
        (shared,) = memory.arrays((length, dtype))
    except ConfigError:  # on all ranks
        _check_room(node, (node.size - 1) * length * dtype.itemsize)
        return _copy(node, own).reshape(shape)
    if own is not None:
        shared[:] = own.ravel()
    return shared.reshape(shape)


def _copy(node: Comm, own: np.ndarray | None) -> np.ndarray:
    """Return rank 0's array, the other ranks a copy of it."""
    if own is None:
        return node.recv(0)[0]
    for rank in range(1, node.size):
        node.send([own.ravel()], rank)
    return own


def require(nbytes: int, ranks: int) -> None:
    """Raise a ConfigError if a rank of a machine may not take some bytes."""
    if nbytes > room():
        who = f"the {ranks} ranks of a machine have" if ranks > 1 else "there is"
        raise ConfigError(
            f"{who} no room for {nbytes:,} more bytes of the forest; {room():,} are "
            "free. Use a machine with more memory"
            + (", or start one rank on each." if ranks > 1 else ".")
        )


def _check_room(node: Comm, nbytes: int) -> None:
    """Raise an error on all ranks if one of them may not take some bytes."""
    with node.raise_on_all():
        require(nbytes, node.size)
