"""Personalised messages of many ranks, by way of a rank between.

If p ranks send something to each other, that is p messages from each, most of them
short. With the ranks in a grid, what goes to a column first goes to the rank of this
column in the sender's row, and from there along the column: 2 sqrt(p) messages from
each rank, which carry everything twice (the indirect exchange of KaMSTa; Sanders and
Schimek, IPDPS 2023). Only the ranks of a row, and of a column, ever tell each other how
much there is.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from math import isqrt
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from .communicator import Comm

# Takes ranks, for each of them how many entries of each column go there, and the
# columns; returns the columns that have come, ordered by rank.
Direct = Callable[["Comm", np.ndarray, Sequence[np.ndarray]], list[np.ndarray]]

# The label of a parcel: who sends it, to whom, a number, and the bytes of each column.
SOURCE, DEST, NUMBER, SIZES = 0, 1, 2, 3


def width_of(size: int) -> int:
    """Return how many columns a grid of so many ranks has, the shorter of its sides."""
    return next(width for width in range(isqrt(size), 0, -1) if size % width == 0)


class Grid:
    """The ranks beside this one, and those above and below it. Collective."""

    def __init__(self, comm: "Comm") -> None:
        self.rank, self.size, self.width = comm.rank, comm.size, width_of(comm.size)
        row, column = divmod(comm.rank, self.width)
        self.row, self.column = comm.part(row), comm.part(column)

    def free(self) -> None:
        """Give the communicators back to MPI."""
        self.row.free()
        self.column.free()

    def exchange(
        self,
        direct: Direct,
        numbers: np.ndarray,
        sizes: np.ndarray,
        columns: Sequence[np.ndarray],
    ) -> tuple[np.ndarray, list[np.ndarray]]:
        """Send every rank its slices of some columns; return what all have sent.

        Parameters
        ----------
        numbers : ndarray of int64, shape (size,)
            Go with the slices.
        sizes : ndarray of int64, shape (size, columns)
            Bytes of each slice.
        columns : list of ndarray of uint8

        Returns
        -------
        received : ndarray of int64, shape (size,)
            The numbers that have come, 0 from ranks that had nothing to send.
        columns : list of ndarray of uint8
            What has come, ordered by rank.
        """
        dests = np.flatnonzero((numbers > 0) | sizes.any(axis=1))
        sources = np.full(len(dests), self.rank)
        labels = np.column_stack([sources, dests, numbers[dests], sizes[dests]])
        slices = [_cut(c, s) for c, s in zip(columns, labels.T[SIZES:], strict=True)]
        parcels = _joined(chain.from_iterable(zip(*slices, strict=True)))

        column = labels[:, DEST] % self.width
        labels, parcels = _sent(direct, self.row, column, labels, parcels)
        row = labels[:, DEST] // self.width
        labels, parcels = _sent(direct, self.column, row, labels, parcels)

        labels, parcels = _sorted(labels[:, SOURCE], labels, parcels)
        received = np.zeros(self.size, np.int64)
        received[labels[:, SOURCE]] = labels[:, NUMBER]
        parts = _cut(parcels, labels[:, SIZES:].ravel())
        every = range(len(columns))
        return received, [_joined(parts[i :: len(columns)]) for i in every]


def _sent(
    direct: Direct,
    part: "Comm",
    towards: np.ndarray,
    labels: np.ndarray,
    parcels: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Send parcels on to some ranks of a part; return those that come."""
    width = labels.shape[1]
    leaving = np.zeros((part.size, 2), np.int64)
    np.add.at(leaving[:, 0], towards, width)
    np.add.at(leaving[:, 1], towards, _bytes(labels))
    labels, parcels = _sorted(towards, labels, parcels)
    labels, parcels = direct(part, leaving, [labels.ravel(), parcels])
    return labels.reshape(-1, width), parcels


def _sorted(
    by: np.ndarray, labels: np.ndarray, parcels: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return labels and parcels in ascending order of something."""
    order = np.argsort(by, kind="stable")
    slices = _cut(parcels, _bytes(labels))
    return labels[order], _joined(slices[i] for i in order)


def _bytes(labels: np.ndarray) -> np.ndarray:
    return labels[:, SIZES:].sum(axis=1)


def _cut(column: np.ndarray, sizes: np.ndarray) -> list[np.ndarray]:
    """Return slices of some lengths, one after the other."""
    return np.split(column, np.cumsum(sizes))[:-1]


def _joined(slices: Iterable[np.ndarray]) -> np.ndarray:
    return np.concatenate([np.empty(0, np.uint8), *slices])
