"""The nearest neighbours of all points of a version, kept from batch to batch.

A removed point leaves all lists, and a new point enters the lists of near points. So a
list shortens and refills, and stays complete up to a distance.
"""

from typing import NamedTuple

import numpy as np

from ...native.kernel import kernel
from ..devices.point_products import NO_POSITION
from .boruvka_steps import edge_key
from .norms import LARGEST
from .product_filter import UNROLLED, fill_distances, load_point


class NeighbourLists(NamedTuple):
    """Neighbours of points, by position; lists of removed points are undefined."""

    # float64, shape (positions, k), ascending: a missing one is at LARGEST
    distance: np.ndarray
    position: np.ndarray  # uint32, shape (positions, k): NO_POSITION for a missing one
    # float64: all points nearer than this are listed; -1 for removed points
    complete: np.ndarray


@kernel
def fill_lists(exact, lists, first, last):
    """Compute the distances in the lists of the points [first, last).

    Their neighbours are known, and in the order of their distances.
    """
    buffer = np.empty((UNROLLED + 1, exact.values.shape[1]))
    square_distance, indices = np.empty(UNROLLED), np.arange(UNROLLED)
    buffer[:UNROLLED] = 0.0
    for i in range(first, last):
        load_point(exact, i, buffer[UNROLLED])
        lists.complete[i] = 0.0
        for begin in range(0, lists.position.shape[1], UNROLLED):
            end = min(begin + UNROLLED, lists.position.shape[1])
            for j in range(begin, end):
                if lists.position[i, j] != NO_POSITION:
                    load_point(exact, lists.position[i, j], buffer[j - begin])
            fill_distances(buffer, indices, UNROLLED, square_distance)
            for j in range(begin, end):
                lists.distance[i, j] = LARGEST
                if lists.position[i, j] != NO_POSITION:
                    lists.distance[i, j] = np.sqrt(square_distance[j - begin])
                    lists.complete[i] = lists.distance[i, j]


@kernel
def copy_present(before, is_gone, radius, first, later, after, is_affected, begin, end):
    """Copy the lists of the positions [begin, end), without removed points.

    `later` has, by old position from `first` on, the new one. Marks points that lose
    one within their radius.
    """
    k = before.position.shape[1]
    for i in range(begin, end):
        to = np.int64(later[i - first]) if i >= first else i
        if is_gone[i] or before.complete[i] < 0:
            if i < first:
                after.complete[i] = -1.0
            continue
        kept = 0
        for j in range(k):
            other, distance = before.position[i, j], before.distance[i, j]
            if other == NO_POSITION:
                break
            if is_gone[other]:
                is_affected[i] |= distance <= radius[i]
                continue
            if other >= first:
                other = later[other - first]
            after.position[to, kept], after.distance[to, kept] = other, distance
            kept += 1
        for j in range(kept, k):
            after.position[to, j], after.distance[to, j] = NO_POSITION, LARGEST
        after.complete[to] = before.complete[i]


@kernel
def list_crossing(lists, positions, vertex, row, cores, begin, end, a, b, weight, key):
    """Write the edges of positions to listed ones of other vertices, which are ends.

    They are those of the `positions` from index `begin` to `end`. Returns the number
    of edges; without room for any, none is written.
    """
    count = 0
    for i in positions[begin:end]:
        if lists.complete[i] < 0:
            continue
        for j in range(lists.position.shape[1]):
            other = lists.position[i, j]
            if other == NO_POSITION:
                break
            if vertex[other] == vertex[i]:
                continue
            if len(key):
                a[count], b[count] = vertex[i], vertex[other]
                weight[count] = max(lists.distance[i, j], cores[i], cores[other])
                key[count] = edge_key(row[i], row[other])
            count += 1
    return count


@kernel
def insert_listed(lists, of, other, distance):
    """Insert `other` points into the lists `of` positions, at some distances."""
    last = lists.position.shape[1] - 1
    for pair in range(len(of)):
        i, between = of[pair], distance[pair]
        if between >= lists.complete[i]:
            continue
        if lists.distance[i, last] < LARGEST:  # the list is full
            beyond = max(between, lists.distance[i, last])
            lists.complete[i] = min(lists.complete[i], beyond)
        if between >= lists.distance[i, last]:
            continue
        j = last
        while j > 0 and lists.distance[i, j - 1] > between:
            lists.distance[i, j] = lists.distance[i, j - 1]
            lists.position[i, j] = lists.position[i, j - 1]
            j -= 1
        lists.distance[i, j], lists.position[i, j] = between, other[pair]
