"""Kernels that turn tiles of inner products into nearest neighbours and lightest edges.

A tile holds float32 inner products of some rows with some columns. With the bounds of
`product_search` a kernel passes over a tile with vector instructions, and computes the
float64 distance of the few pairs alone that the bounds cannot tell apart.
"""

from typing import NamedTuple

import numpy as np

from ...native.kernel import kernel
from .lightest_edges import NO_POSITION
from .norms import LARGEST

BLOCK = 64  # columns that one vector test covers
TOGETHER = 4  # distances whose sums run side by side
UNKNOWN = -1.0  # a distance that is not computed yet


class Bounds(NamedTuple):
    """The error bounds of scores; see `product_search`.

    Attributes
    ----------
    square : ndarray of float64, shape (points,)
        Squared lengths of the float32 points, by place.
    half : ndarray of float32, shape (points,)
        Half of each square, less its part of the error bound.
    gamma, absolute : float
        The relative part and the absolute part of the bound.
    unit : float
        Scores have squared distances times this power of two.
    """

    square: np.ndarray
    half: np.ndarray
    gamma: float
    absolute: float
    unit: float


class Candidates(NamedTuple):
    """The candidates of the rows of a tile for their nearest neighbours.

    Attributes
    ----------
    score : ndarray of float32, shape (rows, capacity)
        Larger scores are nearer points.
    place : ndarray of uint32, shape (rows, capacity)
    distance : ndarray of float64, shape (rows, capacity)
        Squared distances, or UNKNOWN.
    count : ndarray of int64, shape (rows,)
    threshold : ndarray of float32, shape (rows,)
        A column with a smaller score is no neighbour of the row.
    """

    score: np.ndarray
    place: np.ndarray
    distance: np.ndarray
    count: np.ndarray
    threshold: np.ndarray


class Tile(NamedTuple):
    """Inner products of some rows with some columns.

    Attributes
    ----------
    product : ndarray of float32, shape (rows, columns)
    first_row, first_column : int
        The index of the first row among the queries, and the place of the first
        column.
    """

    product: np.ndarray
    first_row: int
    first_column: int


@kernel
def fill_squares(points, square, first, last):
    """Compute the squared lengths of the float32 points [first, last)."""
    for place in range(first, last):
        total = 0.0
        for d in range(points.shape[1]):
            x = np.float64(points[place, d])
            total += x * x
        square[place] = total


@kernel
def filter_near(tile, exact, bounds, lists, neighbours, first, last):
    """Add the columns of a tile to the candidates of its rows [first, last).

    Parameters
    ----------
    tile : Tile
    exact : PointArrays
    bounds : Bounds
    lists : Candidates
    neighbours : int
        How many are looked for.
    """
    product, first_column = tile.product, tile.first_column
    columns = product.shape[1]
    half = bounds.half[first_column : first_column + columns]
    room = np.empty((TOGETHER + 1, exact.values.shape[1]))
    best = np.empty(neighbours)
    for row in range(first, last):
        own = tile.first_row + row
        threshold = lists.threshold[row]
        for begin in range(0, columns, BLOCK):
            end = min(begin + BLOCK, columns)
            above = 0
            for c in range(np.uint64(begin), np.uint64(end)):
                above += product[row, c] - half[c] >= threshold
            if above == 0:
                continue
            for c in range(begin, end):
                score = product[row, c] - half[c]
                if score < threshold or first_column + c == own:
                    continue
                count = lists.count[row]
                if count == lists.score.shape[1]:
                    _raise_threshold(lists, row, own, bounds, best)
                    if 2 * lists.count[row] > count:
                        _keep_nearest(lists, row, own, exact, bounds, best, room)
                    threshold = lists.threshold[row]
                    count = lists.count[row]
                    if score < threshold:
                        continue
                lists.score[row, count] = score
                lists.place[row, count] = first_column + c
                lists.distance[row, count] = UNKNOWN
                lists.count[row] = count + 1


@kernel
def finish_near(first_row, exact, bounds, lists, distances, places, first, last):
    """Write the nearest neighbours of the rows [first, last) of a tile.

    Parameters
    ----------
    distances : ndarray of float64, shape (points, neighbours)
        Filled with squared distances, ascending.
    places : ndarray of uint32, shape (points, neighbours)
    """
    k = distances.shape[1]
    room = np.empty((TOGETHER + 1, exact.values.shape[1]))
    best = np.empty(k)
    for row in range(first, last):
        own = first_row + row
        _raise_threshold(lists, row, own, bounds, best)
        _keep_nearest(lists, row, own, exact, bounds, best, room)
        for j in range(k):
            distances[own, j] = lists.distance[row, j]
            places[own, j] = lists.place[row, j]


@kernel
def _raise_threshold(lists, row, own, bounds, best):
    """Raise the threshold of a row to what its candidates allow; drop those below.

    Each of the k candidates with the largest lower bounds is nearer than any point
    whose upper bound is below all of these.
    """
    k = len(best)
    found = 0
    for i in range(lists.count[row]):
        other = lists.place[row, i]
        low = lists.score[row, i] - bounds.gamma * bounds.square[other]
        if found == k and low <= best[k - 1]:
            continue
        j = found if found < k else k - 1
        while j > 0 and best[j - 1] < low:
            best[j] = best[j - 1]
            j -= 1
        best[j] = low
        found = min(found + 1, k)
    if found < k:
        return
    limit = best[k - 1] - bounds.gamma * bounds.square[own] - 2 * bounds.absolute
    threshold = max(lists.threshold[row], below(limit))
    kept = 0
    for i in range(lists.count[row]):
        if lists.score[row, i] >= threshold:
            lists.score[row, kept] = lists.score[row, i]
            lists.place[row, kept] = lists.place[row, i]
            lists.distance[row, kept] = lists.distance[row, i]
            kept += 1
    lists.count[row], lists.threshold[row] = kept, threshold


@kernel
def below(limit):
    """Return a float32 that is no larger than a float64."""
    return np.float32(limit - abs(limit) * 1.2e-7 - 1e-45)


@kernel
def _keep_nearest(lists, row, own, exact, bounds, best, room):
    """Compute the distances of a row's candidates, and keep the k nearest, in order."""
    k, count = len(best), lists.count[row]
    _load(exact, own, room[TOGETHER])
    waiting = np.empty(TOGETHER, np.int64)
    found = 0
    for i in range(count + 1):
        if i < count and lists.distance[row, i] == UNKNOWN:
            _load(exact, lists.place[row, i], room[found])
            waiting[found] = i
            found += 1
        if found == TOGETHER or (i == count and found):
            _fill_distances(room, waiting, found, lists.distance[row])
            found = 0
    for i in range(1, count):
        score, place = lists.score[row, i], lists.place[row, i]
        distance = lists.distance[row, i]
        j = i
        while j > 0 and (
            lists.distance[row, j - 1] > distance
            or (
                lists.distance[row, j - 1] == distance
                and exact.number[lists.place[row, j - 1]] > exact.number[place]
            )
        ):
            lists.score[row, j] = lists.score[row, j - 1]
            lists.place[row, j] = lists.place[row, j - 1]
            lists.distance[row, j] = lists.distance[row, j - 1]
            j -= 1
        lists.score[row, j], lists.place[row, j] = score, place
        lists.distance[row, j] = distance
    if count >= k:
        lists.count[row] = k
        limit = threshold_of(bounds, own, lists.distance[row, k - 1])
        lists.threshold[row] = max(lists.threshold[row], limit)


@kernel
def threshold_of(bounds, own, square):
    """Return a score that no point within a squared distance of a place is below."""
    needed = (bounds.square[own] - square * bounds.unit * (1 + 1e-15)) / 2
    return below(needed - bounds.gamma / 2 * bounds.square[own] - bounds.absolute)


@kernel
def _load(exact, place, out):
    """Copy the coordinates of a place, as distances take them."""
    row = exact.number[place]
    if len(exact.length):
        largest, length = exact.largest[row], exact.length[row]
        for d in range(len(out)):
            out[d] = exact.values[row, d] / largest / length
    else:
        for d in range(len(out)):
            out[d] = exact.values[row, d]


@kernel
def _fill_distances(room, waiting, count, out):
    """Compute squared distances of loaded points from the one in the last row.

    Each is added up in the order of the dimensions, as by `distances_to_chunk`.
    Four sums run side by side, since one addition waits for the one before it.
    """
    own = room[TOGETHER]
    a = b = c = e = 0.0
    for d in range(len(own)):
        x = own[d]
        p, q, r, s = room[0, d] - x, room[1, d] - x, room[2, d] - x, room[3, d] - x
        a += p * p
        b += q * q
        c += r * r
        e += s * s
    found = (a, b, c, e)
    for i in range(count):
        out[waiting[i]] = found[i]


class Asking(NamedTuple):
    """Places that look for the lightest edge that leaves their component.

    Attributes
    ----------
    places : ndarray of uint32
    others : ndarray of uint32
        The far end of the lightest edge so far, or NO_POSITION.
    weight : ndarray of float64
        Its weight; or the bound, which all edges seen so far exceed.
    """

    places: np.ndarray
    others: np.ndarray
    weight: np.ndarray


@kernel
def filter_leaving(tile, asking, components, exact, bounds, first, last):
    """Lower the lightest edges of the rows [first, last) by the columns of a tile.

    Bounds of components are lowered by what is found; other threads may overwrite them
    by what they have found, which is as true.

    Parameters
    ----------
    tile : Tile
        Its rows are those of the places `asking.places[tile.first_row :]`.
    asking : Asking
    components : ComponentArrays
    exact : PointArrays
    bounds : Bounds
    """
    product, first_column = tile.product, tile.first_column
    columns = product.shape[1]
    half = bounds.half[first_column : first_column + columns]
    room = np.empty((TOGETHER + 1, exact.values.shape[1]))
    distance, waiting = np.empty(1), np.zeros(1, np.int64)
    room[:TOGETHER] = 0.0
    for row in range(first, last):
        i = tile.first_row + row
        own = asking.places[i]
        component = components.of_place[own]
        if components.bound[component] < asking.weight[i]:
            # All edges within the new bound are still to come: the one found, if any,
            # is heavier, and those before it were.
            asking.weight[i] = components.bound[component]
            asking.others[i] = NO_POSITION
        threshold = _threshold_within(bounds, own, asking.weight[i])
        loaded = False
        for start in range(0, columns, BLOCK):
            end = min(start + BLOCK, columns)
            above = 0
            for c in range(np.uint64(start), np.uint64(end)):
                above += product[row, c] - half[c] >= threshold
            if above == 0:
                continue
            for c in range(start, end):
                other = first_column + c
                if (
                    product[row, c] - half[c] < threshold
                    or components.of_place[other] == component
                    or components.reach[other] > asking.weight[i]
                    or components.cores[other] > asking.weight[i]
                ):
                    continue
                if not loaded:
                    _load(exact, own, room[TOGETHER])
                    loaded = True
                _load(exact, other, room[0])
                _fill_distances(room, waiting, 1, distance)
                weight = max(
                    np.sqrt(distance[0]),
                    components.cores[own],
                    components.cores[other],
                )
                if weight < asking.weight[i] or (
                    weight == asking.weight[i]
                    and (
                        asking.others[i] == NO_POSITION
                        or precedes(exact.number, own, other, asking.others[i])
                    )
                ):
                    asking.weight[i], asking.others[i] = weight, other
                    threshold = _threshold_within(bounds, own, weight)
        if asking.others[i] != NO_POSITION:
            component = components.of_place[own]
            if asking.weight[i] < components.bound[component]:
                components.bound[component] = asking.weight[i]


@kernel
def _threshold_within(bounds, own, weight):
    """Return a score that no point within a distance of a place is below."""
    if weight == np.inf:
        return np.float32(-np.inf)
    square = min(weight * weight * (1 + 1e-15) + 1e-322, LARGEST)
    return threshold_of(bounds, own, square)


@kernel
def precedes(number, own, one, other):
    """Return whether the edge from a place to one comes before that to another."""
    row, x, y = number[own], number[one], number[other]
    a, b = min(x, row), min(y, row)
    return a < b or (a == b and max(x, row) < max(y, row))
