"""One process without MPI gets from itself what one rank of MPI gets."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from mpi4py import MPI

from mndmst.comm.communicator import Comm
from mndmst.comm.exchange import Coded
from mndmst.comm.world import SingleProcess

THREE = np.arange(3.0)
COUNTS = np.array([3], np.int64)
CODED = Coded(np.arange(5, dtype=np.uint8), np.array([5], np.int64))
USES: dict[str, Callable[[Comm], Any]] = {
    "sum": lambda comm: comm.sum(5),
    "sum of an array": lambda comm: comm.sum(THREE),
    "max": lambda comm: comm.max(2.5),
    "min": lambda comm: comm.min(np.int64(7)),
    "allgather": lambda comm: comm.allgather(5),
    "allgather of arrays": lambda comm: comm.allgather(THREE),
    "exscan": lambda comm: comm.exscan(5),
    "exscan of an array": lambda comm: comm.exscan(THREE),
    "bcast": lambda comm: comm.bcast({"a": 1}),
    "gather": lambda comm: comm.gather("a"),
    "allgatherv": lambda comm: comm.allgatherv(THREE),
    "gather_arrays": lambda comm: comm.gather_arrays([THREE]),
    "alltoallv": lambda comm: comm.alltoallv(COUNTS, THREE, CODED),
    "gatherv": lambda comm: comm.gatherv(THREE),
    "reply": lambda comm: comm.reply(COUNTS, COUNTS, THREE),
    "sendrecv": lambda comm: comm.sendrecv([THREE], 0, 0),
    "hosts": lambda comm: comm.hosts(),
    "is_one_host": lambda comm: comm.is_one_host(),
    "cores": lambda comm: comm.cores(),
    "ranks_per_core": lambda comm: comm.ranks_per_core(),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES.keys())
def test_what_one_rank_of_mpi_gets(use: Callable[[Comm], Any]) -> None:
    assert described(use(SingleProcess())) == described(use(Comm(MPI.COMM_SELF)))


def described(value: Any) -> Any:
    """Return a value whose arrays are told by type and entries."""
    if isinstance(value, list | tuple):
        return [described(part) for part in value]
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.tolist()
    return type(value), value


def test_what_arrives_is_a_copy() -> None:
    sent = THREE.copy()
    _, (arrived,) = SingleProcess().alltoallv(COUNTS, sent)
    arrived[0] = 9
    assert sent[0] == 0


def test_a_part_of_one_process_is_one_process_or_none() -> None:
    comm = SingleProcess()
    part = comm.split(4)
    assert part is not None
    assert (part.rank, part.size, part.shared) == (0, 1, comm.shared)
    assert comm.split(None) is None
