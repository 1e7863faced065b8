"""What the ranks run in test_comm.py: each check is called on all of them."""

import resource
import sys
from typing import Any
from unittest.mock import patch

import numpy as np

from mndmst.comm import messages
from mndmst.comm.communicator import Comm
from mndmst.comm.directory import Directory
from mndmst.comm.exchange import EAGER_BYTES, Coded
from mndmst.comm.shared_memory import SharedMemory
from mndmst.comm.world import world
from mndmst.host.errors import ConfigError, InputError, MndmstError

# `messages.PIECE_BYTES` stands for the 2 GiB that some MPI libraries send at most.
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


def slices(comm: Comm, counts: np.ndarray) -> list[np.ndarray]:
    """Return two columns whose entries say who sends them, to whom, and which."""
    to = np.repeat(np.arange(comm.size), counts)
    nth = np.concatenate([np.arange(count) for count in counts])
    tag = 1_000_000 * comm.rank + 10_000 * to + nth
    return [tag, (tag % 251).astype(np.uint8)]


def exchange(comm: Comm, counts: np.ndarray) -> int:
    """Exchange by a matrix of counts (row: sender); check what comes; return bytes."""
    before = comm.bytes_sent
    received, columns = comm.alltoallv(
        counts[comm.rank], *slices(comm, counts[comm.rank])
    )
    np.testing.assert_array_equal(received, counts[:, comm.rank])
    expected = np.concatenate(
        [
            1_000_000 * sender + 10_000 * comm.rank + np.arange(count)
            for sender, count in enumerate(counts[:, comm.rank])
        ]
    )
    np.testing.assert_array_equal(columns[0], expected)
    np.testing.assert_array_equal(columns[1], expected % 251)
    assert (columns[0].dtype, columns[1].dtype) == (np.int64, np.uint8)
    return comm.bytes_sent - before


def matrices(size: int) -> dict[str, np.ndarray]:
    """Return count matrices: everything, nothing, one talker, one pair, a ring."""
    random = np.random.default_rng(7)
    one_talker, pair = np.zeros((2, size, size), int)
    one_talker[size - 1] = random.integers(0, 50, size)
    pair[0, size // 2] = 99
    return {
        "dense": random.integers(0, 50, (size, size)),
        "sparse": random.integers(0, 50, (size, size))
        * (random.random((size, size)) < 0.2),
        "nothing": np.zeros((size, size), int),
        "one talker": one_talker,
        "pair": pair,
        "ring": 70 * np.roll(np.eye(size, dtype=int), 1, axis=1),
    }


def check_alltoallv(comm: Comm) -> None:
    comm.shared.sparse_from = comm.size + 1
    for counts in matrices(comm.size).values():
        for messages.PIECE_BYTES in (1, 100, 64 << 20):
            sent = exchange(comm, counts)
            others = counts[comm.rank].sum() - counts[comm.rank, comm.rank]
            assert sent == 9 * others + 3 * 8 * (comm.size - 1)


def check_gatherv(comm: Comm) -> None:
    ids, tags = np.full(comm.rank, comm.rank), np.arange(comm.rank, dtype=np.uint8)
    ids, tags = comm.gatherv(ids, tags)
    every = range(comm.size) if comm.rank == 0 else ()
    assert ids.tolist() == [rank for rank in every for _ in range(rank)]
    assert tags.tolist() == [number for rank in every for number in range(rank)]
    assert (ids.dtype, tags.dtype) == (np.int64, np.uint8)


def check_exchange_by_consensus(comm: Comm) -> None:
    """Messages go to partners only, small slices in the message of their sizes."""
    comm.shared.sparse_from, many = 1, 5000  # more than a small message
    for counts in matrices(comm.size).values():
        for factor in (1, many):
            before = comm.messages_sent
            sent = exchange(comm, counts * factor)
            others = np.delete(counts[comm.rank] * factor, comm.rank)
            partners = np.count_nonzero(others)
            assert sent == 9 * others.sum() + 3 * 8 * partners
            if factor == 1:
                assert comm.messages_sent - before == partners
    for turn in range(50):  # ranks run ahead of each other by an exchange
        counts = np.roll(np.eye(comm.size, dtype=int), turn, axis=1) * (turn % 3)
        exchange(comm, counts)


def check_reply(comm: Comm) -> None:
    """Ranks that were asked reply, without a synchronization of all ranks."""
    for counts in matrices(comm.size).values():
        for factor in (1, 5000):
            asked, (tags, _) = comm.alltoallv(
                counts[comm.rank] * factor, *slices(comm, counts[comm.rank] * factor)
            )
            replied, (got,) = comm.reply(counts[comm.rank], asked, tags)
            np.testing.assert_array_equal(replied, counts[comm.rank] * factor)
            expected = slices(comm, counts[comm.rank] * factor)[0]
            np.testing.assert_array_equal(got, expected)


def check_alltoallv_takes_no_columns(comm: Comm) -> None:
    counts = np.full(comm.size, comm.rank, np.int32)
    received, columns = comm.alltoallv(counts)
    np.testing.assert_array_equal(received, np.arange(comm.size))
    assert columns == []


def check_alltoallv_of_bytes(comm: Comm) -> None:
    counts = np.arange(comm.size)
    sizes = counts + comm.rank  # unlike the counts of the plain columns
    plain = np.repeat(counts, counts)
    received, columns = comm.alltoallv(
        counts, plain, Coded(np.repeat(counts, sizes).astype(np.uint8), sizes)
    )
    np.testing.assert_array_equal(received, np.full(comm.size, comm.rank))
    assert columns[0].tolist() == [comm.rank] * comm.rank * comm.size
    assert len(columns[1]) == (comm.rank + counts).sum()
    assert (columns[1] == comm.rank).all()


def check_sendrecv(comm: Comm) -> None:
    left, right = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
    arrays = [np.full(1000 + comm.rank, comm.rank), np.empty(0, np.uint8)]
    for messages.PIECE_BYTES in (100, 64 << 20):
        got = comm.sendrecv(arrays, left, right)
        np.testing.assert_array_equal(got[0], np.full(1000 + right, right))
        assert (len(got[1]), got[1].dtype) == (0, np.uint8)


def check_isendrecv(comm: Comm) -> None:
    left, right = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
    arrays = [np.full(1 << 16, 2 * comm.rank + turn) for turn in (0, 1)]
    pending = [comm.isendrecv([array], left, right) for array in arrays]
    assert comm.sum(1) == comm.size
    assert [set(finish()[0]) for finish in pending] == [{2 * right}, {2 * right + 1}]


def check_waiting_politely(comm: Comm) -> None:
    polite = comm.shared.polite
    for comm.shared.polite in (False, True):
        assert comm.sum(1) == comm.size
        check_alltoallv_of_bytes(comm)
    comm.shared.polite = polite


def check_gather_arrays(comm: Comm) -> None:
    # Those of odd ranks travel with their kinds, the others in messages of their own.
    lengths = 100_000 + EAGER_BYTES, 1000
    mine = [np.arange(comm.rank), np.full(lengths[comm.rank % 2], comm.rank, np.uint8)]
    before = comm.messages_sent
    found = comm.gather_arrays(mine)
    if comm.rank:
        assert comm.messages_sent - before == (1 if comm.rank % 2 else 2)
    assert len(found) == (0 if comm.rank else comm.size - 1)
    for rank, (numbers, long) in enumerate(found, start=1):
        assert numbers.tolist() == list(range(rank))
        assert len(long) == lengths[rank % 2]
        assert (long == rank).all()


def check_send_and_receive(comm: Comm) -> None:
    arrays = [np.arange(1000, dtype=np.uint32), np.linspace(0, 1, 77)]
    arrays += [np.empty(0, np.int64), np.arange(100, dtype=np.int64)[::3]]
    for messages.PIECE_BYTES in (1, 64, 64 << 20):
        if comm.rank + 1 < comm.size and comm.rank % 2 == 0:
            comm.send(arrays, comm.rank + 1)
        elif comm.rank % 2:
            for got, array in zip(comm.recv(comm.rank - 1), arrays, strict=True):
                assert got.dtype == array.dtype
                np.testing.assert_array_equal(got, array)


def check_reductions(comm: Comm) -> None:
    ranks = range(comm.size)
    assert comm.sum(comm.rank) == sum(ranks)
    assert comm.max(comm.rank) == comm.size - 1
    assert comm.min(float(comm.rank)) == 0.0
    assert isinstance(comm.sum(2**40), int)
    np.testing.assert_array_equal(
        comm.sum(np.array([1, comm.rank])), [comm.size, sum(ranks)]
    )


def check_exscan(comm: Comm) -> None:
    assert comm.exscan(comm.rank + 1) == sum(range(comm.rank + 1))
    assert comm.exscan(2**50) == comm.rank * 2**50
    two = np.array([1, comm.rank])
    expected = [comm.rank, sum(range(comm.rank))]
    np.testing.assert_array_equal(comm.exscan(two), expected)


def check_shared_memory(comm: Comm) -> None:
    memory = SharedMemory(comm)
    mine, bits, none = memory.arrays((comm.size, np.int64), (3, np.bool_), (0, float))
    assert not mine.any() and len(none) == 0
    comm.barrier()
    mine[comm.rank] = comm.rank + 1
    bits[comm.rank % 3] = True
    comm.barrier()
    np.testing.assert_array_equal(mine, np.arange(comm.size) + 1)
    assert bits.tolist() == [place < comm.size for place in range(3)]
    for length in (3 << 20, (comm.size << 17) + 5):  # several files, the last one short
        (words,) = memory.arrays((length, np.int64))
        assert not words.any()
        comm.barrier()
        words[comm.rank :: comm.size] = np.arange(comm.rank, length, comm.size)
        comm.barrier()
        np.testing.assert_array_equal(words, np.arange(length))


def check_kept_shared_memory(comm: Comm) -> None:
    kept: list[np.ndarray] = []
    first = SharedMemory(comm, reused=kept)
    (large,), (small,) = (first.arrays((n, np.int64)) for n in (3 << 20, 1 << 10))
    large[comm.rank] = small[comm.rank] = 1
    places = {array.ctypes.data for array in (large, small)}
    for count in (2, 3, 1):  # a block that fits is found in any order, and no other
        comm.barrier()
        second = SharedMemory(comm, reused=kept)
        found = [second.arrays((n, np.int64))[0] for n in (1 << 9, 3 << 20, 64)[:count]]
        assert {array.ctypes.data for array in found[:2]} <= places
        assert len(kept) == count
        found[-1][comm.rank] = comm.rank + count
        comm.barrier()
        assert found[-1][: comm.size].tolist() == [r + count for r in range(comm.size)]


def check_memory_that_cannot_be_shared(comm: Comm) -> None:
    memory = SharedMemory(comm)
    limits = resource.getrlimit(resource.RLIMIT_AS)
    if comm.rank == comm.size - 1:  # cannot have that much
        resource.setrlimit(resource.RLIMIT_AS, (1 << 40, limits[1]))
    try:
        memory.arrays((1 << 41, np.uint8))
        raise AssertionError
    except ConfigError as error:
        assert "--merge replicated" in str(error)
    resource.setrlimit(resource.RLIMIT_AS, limits)


def check_bcast_and_gather(comm: Comm) -> None:
    root = comm.size - 1
    assert comm.bcast({"rank": comm.rank}, root) == {"rank": root}
    all_ranks = list(range(comm.size))
    assert comm.gather(comm.rank, root) == (all_ranks if comm.rank == root else None)


def check_allgatherv(comm: Comm) -> None:
    own = np.full(comm.rank % 3, comm.rank, np.uint64)
    expected = np.repeat(np.arange(comm.size), np.arange(comm.size) % 3)
    np.testing.assert_array_equal(comm.allgatherv(own), expected)
    assert comm.allgatherv(own).dtype == np.uint64
    assert len(comm.allgatherv(own[:0])) == 0


def check_names_are_resolved_at_once(comm: Comm) -> None:
    random = np.random.default_rng(5)
    for count, reach in ((comm.size, 2), (400, 3), (400, 40), (400, 400)):
        # Long ways to the roots, that leave a rank and come back
        parent = np.arange(count)
        above = parent - random.integers(0, reach, count)
        parent = np.where(random.random(count) < 0.95, np.maximum(above, 0), parent)
        place = random.permutation(count)
        shuffled = np.empty(count, np.int64)
        shuffled[place] = place[parent]
        expected = shuffled
        while (expected != shuffled[expected]).any():
            expected = shuffled[expected]
        directory = Directory(comm, count * np.arange(comm.size + 1) // comm.size)
        here = slice(directory.first, directory.last)
        directory.parent[:] = shuffled[here]
        directory.resolve()
        np.testing.assert_array_equal(directory.parent, expected[here])


def check_split(comm: Comm) -> None:
    part = comm.split(comm.rank % 2 if comm.rank < 3 else None)
    assert (part is None) == (comm.rank >= 3)
    if part is not None:
        members = [r for r in range(min(3, comm.size)) if r % 2 == comm.rank % 2]
        before = comm.bytes_sent
        assert part.gather(comm.rank) in (members, None)
        assert part.rank == members.index(comm.rank)
        part.sum(np.zeros(10))
        # What a part sends counts for the whole.
        assert comm.bytes_sent - before == (80 if part.size > 1 else 0)
        part.free()


def check_node(comm: Comm) -> None:
    assert comm.node().size == comm.size  # the tests run on one machine
    assert comm.node() is comm.node()


def check_hosts_are_named_by_their_first_ranks(comm: Comm) -> None:
    assert not comm.hosts().any()
    assert comm.is_one_host()
    for host_of, first_of in (
        (lambda rank: rank // 3, lambda rank: rank // 3 * 3),
        (lambda rank: rank % 2, lambda rank: rank % 2),
    ):
        with patch.object(
            Comm, "node", lambda comm, of=host_of: comm.split(of(comm.rank))
        ):
            assert comm.hosts().tolist() == [*map(first_of, range(comm.size))]
            assert comm.is_one_host() == (comm.hosts().max() == 0)


def check_raise_on_all(comm: Comm) -> None:
    with comm.raise_on_all():
        pass
    for culprits in ({comm.size - 1}, set(range(comm.size))):
        try:
            with comm.raise_on_all():
                if comm.rank in culprits:
                    raise InputError(f"rank {comm.rank} cannot read")
        except MndmstError as error:
            assert isinstance(error, InputError)
            assert str(error) == f"rank {min(culprits)} cannot read"
            assert error.ranks == comm.size
        else:
            raise AssertionError("the error is missing on this rank")
    comm.barrier()
    assert ConfigError("raised by one rank").ranks == 1


def check_depth_of_jumps(comm: Comm) -> None:
    """Find names at the end of a path each step of which leads to another rank."""
    n, asked = comm.size << 10, 0

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


def move_columns(comm: Comm) -> None:
    """Move columns of some thousand bytes in every way."""
    check_alltoallv_of_bytes(comm)
    counts = np.full(comm.size, 50)
    exchange(comm, np.full((comm.size, comm.size), 50))
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


def check_no_message_is_longer_than_the_limit(comm: Comm) -> None:
    """Cut everything into pieces by a limit that is low."""
    shared = comm.shared
    kept = shared.polite, shared.sparse_from
    messages.PIECE_BYTES, shared.sparse_from = LIMIT, messages.SPARSE_FROM
    limited = Comm(Limited(comm.mpi), shared)
    for shared.polite in (False, True):
        move_columns(limited)
    shared.polite, shared.sparse_from = kept
    assert comm.size == 1 or limited.mpi.most > LIMIT // 2


def main() -> None:
    """Run all checks, in the order of the file, and name them."""
    comm = world()
    piece = messages.PIECE_BYTES
    for name, check in list(globals().items()):
        if name.startswith("check_"):
            messages.PIECE_BYTES = piece
            check(comm)
            comm.barrier()
            if comm.rank == 0:
                sys.stdout.write(f"{name} on {comm.size}\n")


if __name__ == "__main__":
    main()
