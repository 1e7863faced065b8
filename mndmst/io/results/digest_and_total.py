"""Digest and exact total weight of a forest, for any distribution of its edges.

The digest is the SHA-256 of the sorted (src, dst) pairs. The total is exact:
Python integers carry it, for floats as multiples of the smallest step there is
(Kulisch's long accumulator), and only the final result is rounded, once.
"""

import hashlib
import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from ...comm.communicator import Comm
from ...graph.order import keys_to_weights
from ...kernels.threads import Threads
from ..kernels.exact_sum import EXPONENTS, LOW_BITS, add_floats

PIECE = 1 << 17  # entries held or sent at a time
# The fewest pieces of integers that a thread adds: waking it takes as long as few.
PIECES_OF_THREAD = 8

# A float is an integer of 53 bits times a power of two not below 2**-_POINT.
_POINT = 1074


class PairDigest:
    """SHA-256 of rows of one or more columns, such as pairs, as little-endian int64."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def add(self, *columns: np.ndarray) -> None:
        """Go on with more pairs, in order."""
        length = len(columns[0])
        pairs = np.empty((min(length, PIECE), len(columns)), "<i8")
        for low in range(0, length, PIECE):
            count = min(PIECE, length - low)
            for position, column in enumerate(columns):
                pairs[:count, position] = column[low : low + PIECE]
            self._hash.update(pairs[:count].data)

    def hexdigest(self) -> str:
        """Return the digest of all pairs so far."""
        return self._hash.hexdigest()


class ExactSum:
    """An exact sum of weights of one type.

    `units` is the sum of all finite weights, for floats in units of 2**-1074; `special`
    the sum of the infinite ones: 0, an infinity, or NaN for both.
    """

    def __init__(self, dtype: np.dtype) -> None:
        self.dtype = np.dtype(dtype)
        self.floating = self.dtype.kind == "f"
        self.units = 0
        self.special = 0.0

    def add(self, weights: np.ndarray) -> None:
        """Add weights, an array of the type, in any order."""
        for low in range(0, len(weights), PIECE):
            piece = weights[low : low + PIECE]
            if self.floating:
                self._add_floats(piece.astype(np.float64))
            else:
                self.units += _sum_of_integers(piece)

    def add_keys(self, keys: np.ndarray, descending: bool) -> None:
        """Add weights given as at most `PIECE` keys (`order.weights_to_keys`)."""
        if self.floating:
            self.add(keys_to_weights(keys, self.dtype, descending))
            return
        # A key is the weight plus a constant; descending keys have flipped bits
        above = (1 << 8 * keys.itemsize) * len(keys)
        total = _sum_of_integers(keys)
        total = above - len(keys) - total if descending else total
        self.units += total - (above >> 1 if self.dtype.kind == "i" else 0)

    def _add_floats(self, weights: np.ndarray) -> None:
        finite = np.isfinite(weights)
        if not finite.all():
            self.special += sum(set(weights[~finite].tolist()))
            weights = weights[finite]
        low, high = np.zeros((2, EXPONENTS), np.int64)
        add_floats(weights.view(np.uint64), low, high)
        for exponent in np.flatnonzero((low != 0) | (high != 0)).tolist():
            part = (int(high[exponent]) << LOW_BITS) + int(low[exponent])
            self.units += part << max(exponent - 1, 0)

    def join(self, other: "ExactSum") -> None:
        """Add another sum."""
        self.units += other.units
        self.special += other.special

    def total(self) -> int | float:
        """Return the exact integer, or the float nearest to the exact sum."""
        if not self.floating:
            return self.units
        if self.special != 0:
            return self.special
        try:
            return self.units / (1 << _POINT)  # correctly rounded by Python
        except OverflowError:
            return math.inf if self.units > 0 else -math.inf


def _sum_of_integers(piece: np.ndarray) -> int:
    """Return the exact sum of at most `PIECE` integers of 32 or 64 bits."""
    if piece.itemsize == 4:
        return int(piece.sum(dtype=np.dtype(f"{piece.dtype.kind}8")))
    # Halves of 32 bits: the sum of a piece of them cannot overflow.
    return (int((piece >> 32).sum()) << 32) + int((piece & 0xFFFFFFFF).sum())


def begin_digest(comm: Comm, *columns: np.ndarray) -> Callable[[], str]:
    """Begin the digest of columns spread over the ranks in order; return how to end it.

    Both are collective. The columns, such as u and v of edges sorted from rank to rank,
    must not change meanwhile.
    """
    # A thread of rank 0 hashes its own edges, then the edges that the other ranks
    # send in turn, in pieces: no rank holds more than its own edges and two pieces
    counts = comm.gather(len(columns[0]))
    if counts is None:

        def send() -> str:
            for low in range(0, len(columns[0]), PIECE):
                comm.send([column[low : low + PIECE] for column in columns], dest=0)
            return str(comm.bcast(None))

        return send
    digest = PairDigest()
    thread = ThreadPoolExecutor(1, "mndmst-digest")
    begun = thread.submit(digest.add, *columns)

    def finish() -> str:
        last = begun
        for source in range(1, comm.size):
            for _ in range(0, counts[source], PIECE):
                piece = comm.recv(source)
                last.result()
                last = thread.submit(digest.add, *piece)
        last.result()
        thread.shutdown()
        return str(comm.bcast(digest.hexdigest()))

    return finish


def forest_digest(comm: Comm, *columns: np.ndarray) -> str:
    """Return the digest of a forest; see `begin_digest`."""
    return begin_digest(comm, *columns)()


def exact_total(comm: Comm, weights: np.ndarray) -> int | float:
    """Return the sum of the weights of all ranks: exact, or for floats the nearest."""
    part = ExactSum(weights.dtype)
    part.add(weights)
    return _total_of_ranks(comm, part)


def total_of_keys(
    comm: Comm,
    lists: Sequence[np.ndarray],
    dtype: np.dtype,
    threads: Threads,
    descending: bool = False,
) -> int | float:
    """Return the exact total of weights given as lists of keys.

    `descending` says that keys descend with weights.
    """
    # Threads add pieces that stay in the cache
    pieces = [
        keys[low : low + PIECE] for keys in lists for low in range(0, len(keys), PIECE)
    ]

    def work(begin: int, end: int) -> ExactSum:
        part = ExactSum(dtype)
        for keys in pieces[begin:end]:
            part.add_keys(keys, descending)
        return part

    total = ExactSum(dtype)
    grain = 1 if total.floating else PIECES_OF_THREAD
    for part in threads.map(work, threads.ranges(len(pieces), grain)):
        total.join(part)
    return _total_of_ranks(comm, total)


def _total_of_ranks(comm: Comm, total: ExactSum) -> int | float:
    parts = comm.gather((total.units, total.special))
    if parts is not None:
        total.units = sum(units for units, _ in parts)
        total.special = sum(special for _, special in parts)
    return comm.bcast(total.total())


def same_total(one: int | float, other: int | float) -> bool:
    """Return whether two totals are the same, of one type; NaN is the same as NaN."""
    both_nan = one != one and other != other
    return type(one) is type(other) and (one == other or both_nan)
