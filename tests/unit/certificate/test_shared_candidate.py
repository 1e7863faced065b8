"""The ranks of a machine see the arrays of the first, shared or as copies."""

from typing import Any, ClassVar

import numpy as np
import pytest
from thread_ranks import on_ranks

from mndmst.certificate import candidate
from mndmst.certificate.candidate import share_arrays
from mndmst.comm.communicator import Comm
from mndmst.host.errors import ConfigError

ARRAYS = [np.arange(6, dtype=np.uint32).reshape(3, 2), np.array([2.5]), np.empty(0)]


class NoMemory:
    """Memory of ranks that the system hides from each other."""

    def __init__(self, comm: Comm) -> None:
        self.comm = comm

    def arrays(self, *_: Any) -> None:
        error = ConfigError("no memory to share")
        error.ranks = self.comm.size
        raise error


class OneMemory:
    """Memory that ranks share, as threads do."""

    held: ClassVar[list[np.ndarray]] = []

    def __init__(self, comm: Comm) -> None:
        self.comm, self.number = comm, 0

    def arrays(self, kind: tuple[int, np.dtype]) -> list[np.ndarray]:
        if self.comm.rank == 0:
            self.held.append(np.empty(*kind))
        self.comm.barrier()
        self.number += 1
        return [self.held[self.number - 1]]


def test_ranks_share_the_arrays_of_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidate, "SharedMemory", OneMemory)
    monkeypatch.setattr(OneMemory, "held", [])

    def program(comm: Comm) -> list[np.ndarray]:
        own = [array.copy() for array in ARRAYS] if comm.rank == 0 else []
        return share_arrays(comm, own)

    for found in on_ranks(3, program):
        for array, expected, held in zip(found, ARRAYS, OneMemory.held, strict=True):
            np.testing.assert_array_equal(array, expected)
            assert array.dtype == expected.dtype
            assert np.shares_memory(array, held) or array.size == 0


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


@pytest.mark.parametrize(("room", "needed"), [(23, 24), (24, 48), (47, 48)])
def test_every_rank_is_refused_if_one_has_no_room(
    monkeypatch: pytest.MonkeyPatch, room: int, needed: int
) -> None:
    """Of three ranks two need copies of their own."""
    monkeypatch.setattr(candidate, "SharedMemory", NoMemory)
    monkeypatch.setattr(candidate, "room", lambda budget: room)
    refusal = f"the 3 ranks of a machine have no room for {needed} bytes more"

    def program(comm: Comm) -> None:
        with pytest.raises(ConfigError, match=refusal):
            share_arrays(comm, ARRAYS[:1] if comm.rank == 0 else [])

    on_ranks(3, program)
