"""All patterns of comm.py with a limit so low that everything is cut into pieces.

`messages.PIECE_BYTES` stands for the 2 GiB that some MPI libraries send at most.
"""

from typing import Any

import comm_checks
import numpy as np

from mndmst.comm.communicator import Coded, Comm, messages
from mndmst.comm.directory import Directory
from mndmst.comm.world import world

LIMIT = 104
# The calls that move arrays; all others move a few numbers for each rank.
CUT = ("Isend", "Irecv", "Allgatherv")


class Limited:
    """A communicator of MPI that refuses messages beyond the limit."""

    def __init__(self, mpi: Any) -> None:
        self._mpi = mpi
        self.most = 0

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._mpi, name)
        if name == "Split":
            return lambda *arguments: Limited(found(*arguments))
        return self._checked(found) if name in CUT else found

    def _checked(self, send: Any) -> Any:
        def call(buffer: np.ndarray, *arguments: Any) -> Any:
            assert buffer.nbytes <= LIMIT, f"{send.__name__} of {buffer.nbytes} bytes"
            self.most = max(self.most, buffer.nbytes)
            return send(buffer, *arguments)

        return call


def check_all_patterns(comm: Comm) -> None:
    """Move columns of some thousand bytes in every way."""
    comm_checks.check_alltoallv_of_bytes(comm)
    counts = np.full(comm.size, 50)
    comm_checks.exchange(comm, np.full((comm.size, comm.size), 50))
    sizes = np.full(comm.size, 333)
    data = np.repeat(np.arange(comm.size), sizes).astype(np.uint8)
    _, (came,) = comm.alltoallv(counts, Coded(data, sizes))
    assert came.tolist() == [comm.rank] * len(data)
    left, right = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
    arrays = [np.full(1000 + comm.rank, comm.rank), np.arange(77, dtype=np.uint8)]
    pending = [comm.isendrecv(arrays, left, right) for _ in range(2)]
    for finish in pending:
        mine, other = finish()
        assert mine.tolist() == [right] * (1000 + right)
        assert other.tolist() == list(range(77))
    if comm.rank % 2 == 0 and comm.rank + 1 < comm.size:
        comm.send(arrays, comm.rank + 1)
    elif comm.rank % 2:
        assert comm.recv(comm.rank - 1)[0].tolist() == [left] * (1000 + left)
    for lengths in (counts, np.arange(comm.size) % 3 * 77, np.zeros(comm.size, int)):
        expected = np.repeat(np.arange(comm.size), lengths)
        for dtype in (np.uint8, np.int64):
            own = np.full(lengths[comm.rank], comm.rank, dtype)
            np.testing.assert_array_equal(comm.allgatherv(own), expected)


def check_depth_of_jumps(comm: Comm, n: int = 1 << 12) -> None:
    """Find names at the end of a path each step of which leads to another rank."""
    asked = 0

    class Counting(Directory):
        def lookup(self, ids: np.ndarray) -> np.ndarray:
            nonlocal asked
            asked += 1
            return super().lookup(ids)

    order = np.arange(n).reshape(comm.size, -1).T.ravel()
    above = np.empty(n, np.int64)
    above[order] = np.concatenate([order[:1], order[:-1]])
    directory = Counting(comm, n * np.arange(comm.size + 1) // comm.size)
    directory.parent[:] = above[directory.first : directory.last]
    directory.resolve()
    assert not directory.parent.any()
    assert asked <= n.bit_length() + 1, asked


def main() -> None:
    comm = world()
    check_depth_of_jumps(comm)
    messages.PIECE_BYTES = LIMIT
    limited = Comm(Limited(comm.mpi), comm.shared)
    for limited.shared.polite in (False, True):
        check_all_patterns(limited)
    assert comm.size == 1 or limited.mpi.most > LIMIT // 2


if __name__ == "__main__":
    main()
