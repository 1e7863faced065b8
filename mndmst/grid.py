"""Personalised messages of many ranks, by way of a rank between.

If p ranks send something to each other, that is p messages from each, most of them
short. With the ranks in a grid, what goes to a column first goes to the rank of this
column in the sender's row, and from there down or up the column: 2 sqrt(p) messages
from each rank, which carry everything twice (the indirect exchange of KaMSTa; Sanders
and Schimek, IPDPS 2023).
"""

from collections.abc import Callable, Sequence
from math import isqrt

import numpy as np

# Takes for each rank how many bytes of each column go there, and the columns; returns
# how many have come from each rank, and the bytes of each column, ordered by rank.
Direct = Callable[
    [np.ndarray, Sequence[np.ndarray]], tuple[np.ndarray, list[np.ndarray]]
]


def rank_between(rank: int, size: int) -> np.ndarray:
    """Return for every receiver the rank by way of which `rank` sends to it."""
    width = isqrt(max(0, size - 1)) + 1
    between = rank // width * width + np.arange(size) % width
    between[between >= size] -= width  # the last row may be shorter
    return between


def exchange(
    rank: int,
    size: int,
    direct: Direct,
    counts: np.ndarray,
    sizes: np.ndarray,
    columns: Sequence[np.ndarray],
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Send every rank its slices of some columns of bytes; return what all have sent.

    Parameters
    ----------
    counts : ndarray of int64, shape (size,)
        A number that goes with the slices.
    sizes : ndarray of int64, shape (size, columns)
        Bytes of each slice.

    Returns
    -------
    received : ndarray of int64, shape (size,)
        The numbers that have come, 0 from ranks that had nothing to send.
    columns : list of ndarray of uint8
        What has come, ordered by rank.
    """
    dests = np.flatnonzero((counts > 0) | sizes.any(axis=1))
    sources = np.full(len(dests), rank)
    parcels = np.column_stack([sources, dests, counts[dests], sizes[dests]])
    columns = list(columns)
    for towards in (rank_between(rank, size), np.arange(size)):
        parcels, columns = _sorted(parcels, columns, towards[parcels[:, 1]])
        parcels, columns = _sent(direct, parcels, columns, towards)
    parcels, columns = _sorted(parcels, columns, parcels[:, 0])
    received = np.zeros(size, np.int64)
    received[parcels[:, 0]] = parcels[:, 2]
    return received, columns


def _sorted(
    parcels: np.ndarray, columns: list[np.ndarray], by: np.ndarray
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return parcels, and what is in them, in ascending order of something."""
    order = np.argsort(by, kind="stable")
    results = []
    for sizes, column in zip(parcels.T[3:], columns, strict=True):
        slices = np.split(column, np.cumsum(sizes)[:-1]) if len(sizes) else []
        results.append(np.concatenate([column[:0], *(slices[i] for i in order)]))
    return parcels[order], results


def _sent(
    direct: Direct, parcels: np.ndarray, columns: list[np.ndarray], towards: np.ndarray
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Send parcels to the ranks they go towards, in whose order they are."""
    labels = np.ascontiguousarray(parcels).view(np.uint8).ravel()
    width = parcels.shape[1]
    sizes = np.zeros((len(towards), width - 2), np.int64)
    label_bytes = np.full((len(parcels), 1), width * parcels.itemsize)
    np.add.at(sizes, towards[parcels[:, 1]], np.hstack([label_bytes, parcels[:, 3:]]))
    _, (labels, *columns) = direct(sizes, [labels, *columns])
    return labels.view(np.int64).reshape(-1, width), columns
