"""The ranks of a machine see the arrays of the first, shared or as copies."""

from typing import Any

import numpy as np
import pytest
from thread_ranks import on_ranks

from mndmst.comm.communicator import Comm
from mndmst.host.errors import ConfigError
from mndmst.verify import candidate
from mndmst.verify.candidate import share_arrays

ARRAYS = [np.arange(6, dtype=np.uint32).reshape(3, 2), np.array([2.5]), np.empty(0)]


class NoMemory:
    """Memory of ranks that the system hides from each other."""

    def __init__(self, comm: Comm) -> None:
        self.comm = comm

    def arrays(self, *_: Any) -> None:
        error = ConfigError("no memory to share")
        error.ranks = self.comm.size
        raise error


def test_ranks_that_cannot_share_have_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidate, "SharedMemory", NoMemory)

    def program(comm: Comm) -> list[np.ndarray]:
        own = [array.copy() for array in ARRAYS] if comm.rank == 0 else []
        found = share_arrays(comm, own)
        assert own == []  # rank 0's go one by one
        return found

    for found in on_ranks(3, program):
        for array, expected in zip(found, ARRAYS, strict=True):
            assert array.dtype == expected.dtype and array.shape == expected.shape
            assert np.array_equal(array, expected)


def test_every_rank_is_refused_if_one_has_no_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(candidate, "SharedMemory", NoMemory)
    monkeypatch.setattr(candidate, "room", lambda: 23)

    def program(comm: Comm) -> None:
        with pytest.raises(ConfigError, match="the 2 ranks of a machine have no room"):
            share_arrays(comm, ARRAYS[:1] if comm.rank == 0 else [])

    on_ranks(2, program)
