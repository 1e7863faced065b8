"""Kernels that turn tiles of inner products into nearest neighbours and lightest edges.

A tile holds float32 inner products of some rows with some columns. With the bounds of
`product_search` a kernel passes over a tile with vector instructions, and computes the
float64 distance of the few pairs alone that the bounds cannot tell apart.
"""

from typing import NamedTuple

import numpy as np

from ...native.kernel import kernel
from ..devices.point_products import NO_POSITION, PointArrays
from .boruvka_steps import LAST_KEY
from .certified_edges import key_of_rows
from .norms import LARGEST

BLOCK = 64  # columns that one vector test covers
TOGETHER = 4  # distances whose sums run side by side
UNKNOWN = -1.0  # a distance that is not computed yet


# Indices of `Bounds.numbers`: the relative and the absolute part of the error bound,
# and the power of two by which scores exceed squared distances.
GAMMA, ABSOLUTE, UNIT = range(3)


class Bounds(NamedTuple):
    """The error bounds of scores; see `product_search`."""

    square: np.ndarray  # float64: squared lengths of the float32 points, by position
    half: np.ndarray  # float32: half of each square, less its part of the error bound
    # float64 [3], at `GAMMA`, `ABSOLUTE` and `UNIT`: an array, because the interpreter
    # calls kernels that take floating-point arguments.
    numbers: np.ndarray


class Candidates(NamedTuple):
    """The candidates of the rows of a tile for their nearest neighbours."""

    # float32, shape (rows, capacity): larger scores are nearer points
    score: np.ndarray
    position: np.ndarray  # uint32, shape (rows, capacity)
    # float64, shape (rows, capacity): squared distances, or UNKNOWN
    distance: np.ndarray
    count: np.ndarray  # type: ignore[assignment]  # int64, by row
    # float32, by row: a column with a smaller score is not a neighbour
    threshold: np.ndarray


class QueryRows(NamedTuple):
    """The points of rows, which are the columns themselves or other points."""

    exact: PointArrays
    square: np.ndarray  # as in `Bounds`, of all points in `exact`
    positions: np.ndarray  # uint32: the position in `exact` of each row
    # whether `exact` are the columns: then no row is its own neighbour
    are_columns: bool


class Tile(NamedTuple):
    """Inner products of some rows with some columns."""

    product: np.ndarray  # float32, shape (rows, columns)
    first_row: int  # its index among the queries
    first_column: int  # its position among the points


@kernel
def fill_squares(points, square, first, last):
    """Compute the squared lengths of the float32 points [first, last)."""
    for position in range(first, last):
        total = 0.0
        for d in range(points.shape[1]):
            x = np.float64(points[position, d])
            total += x * x
        square[position] = total


@kernel
def filter_near(tile, queries, exact, bounds, lists, neighbours, first, last):
    """Add the columns of a tile to the candidates of its rows [first, last).

    `exact` and `bounds` describe the columns; `neighbours` is the k of the search.
    """
    product, first_column = tile.product, tile.first_column
    columns = product.shape[1]
    half = bounds.half[first_column : first_column + columns]
    room = np.empty((TOGETHER + 1, exact.values.shape[1]))
    best = np.empty(neighbours)
    for row in range(first, last):
        own = queries.positions[tile.first_row + row]
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
                if score < threshold or (
                    queries.are_columns and first_column + c == own
                ):
                    continue
                threshold = _add_candidate(
                    lists,
                    row,
                    own,
                    score,
                    first_column + c,
                    queries,
                    exact,
                    bounds,
                    best,
                    room,
                )


@kernel
def filter_near_columns(tile, queries, exact, bounds, lists, neighbours, first, last):
    """Add the rows of a tile to the candidates of its columns [first, last).

    No point is both a row and one of these columns. Here `queries` are the columns, and
    `lists` has the candidates of all columns of the tile.
    """
    product, first_column = tile.product, tile.first_column
    room = np.empty((TOGETHER + 1, exact.values.shape[1]))
    best = np.empty(neighbours)
    for row in range(product.shape[0]):
        position = tile.first_row + row
        half = bounds.half[position]
        for begin in range(first, last, BLOCK):
            end = min(begin + BLOCK, last)
            above = 0
            for c in range(np.uint64(begin), np.uint64(end)):
                above += product[row, c] - half >= lists.threshold[c]
            if above == 0:
                continue
            for c in range(begin, end):
                score = product[row, c] - half
                if score >= lists.threshold[c]:
                    _add_candidate(
                        lists,
                        c,
                        first_column + c,
                        score,
                        position,
                        queries,
                        exact,
                        bounds,
                        best,
                        room,
                    )


@kernel
def _add_candidate(
    lists, row, own, score, position, queries, exact, bounds, best, room
):
    """Add a position to the candidates of a row; return the threshold of the row."""
    count = lists.count[row]
    if count == lists.score.shape[1]:
        _raise_threshold(lists, row, queries.square[own], bounds, best)
        if 2 * lists.count[row] > count:
            _keep_nearest(lists, row, own, queries, exact, bounds, best, room)
        count = lists.count[row]
        if score < lists.threshold[row]:
            return lists.threshold[row]
    lists.score[row, count] = score
    lists.position[row, count] = position
    lists.distance[row, count] = UNKNOWN
    lists.count[row] = count + 1
    return lists.threshold[row]


@kernel
def finish_near(
    first_row, queries, exact, bounds, lists, distances, positions, first, last
):
    """Write the nearest neighbours of the rows [first, last) of a tile.

    Rows of `distances` become squared distances, ascending; infinity where there are
    too few.
    """
    k = distances.shape[1]
    room = np.empty((TOGETHER + 1, exact.values.shape[1]))
    best = np.empty(k)
    for row in range(first, last):
        own = queries.positions[first_row + row]
        _raise_threshold(lists, row, queries.square[own], bounds, best)
        _keep_nearest(lists, row, own, queries, exact, bounds, best, room)
        for j in range(k):
            there = j < lists.count[row]
            distances[first_row + row, j] = lists.distance[row, j] if there else np.inf
            positions[first_row + row, j] = (
                lists.position[row, j] if there else NO_POSITION
            )


@kernel
def limit_near(first_row, queries, bounds, lists, limits, first, last):
    """Set the thresholds of rows that look for points within squared distances."""
    for row in range(first, last):
        own = queries.positions[first_row + row]
        lists.threshold[row] = threshold_of(
            bounds, queries.square[own], limits[first_row + row]
        )


@kernel
def _raise_threshold(lists, row, own_square, bounds, best):
    """Raise the threshold of a row to what its candidates allow; drop those below.

    Each of the k candidates with the largest lower bounds is nearer than any point
    whose upper bound is below all of these.
    """
    k = len(best)
    found = 0
    for i in range(lists.count[row]):
        other = lists.position[row, i]
        low = lists.score[row, i] - bounds.numbers[GAMMA] * bounds.square[other]
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
    gamma, absolute = bounds.numbers[GAMMA], bounds.numbers[ABSOLUTE]
    limit = best[k - 1] - gamma * own_square - 2 * absolute
    threshold = max(lists.threshold[row], below(limit))
    kept = 0
    for i in range(lists.count[row]):
        if lists.score[row, i] >= threshold:
            lists.score[row, kept] = lists.score[row, i]
            lists.position[row, kept] = lists.position[row, i]
            lists.distance[row, kept] = lists.distance[row, i]
            kept += 1
    lists.count[row], lists.threshold[row] = kept, threshold


@kernel
def below(limit):
    """Return a float32 that is at most a float64."""
    return np.float32(limit - abs(limit) * 1.2e-7 - 1e-45)


@kernel
def _keep_nearest(lists, row, own, queries, exact, bounds, best, room):
    """Compute the distances of a row's candidates, and keep the k nearest, in order."""
    k, count = len(best), lists.count[row]
    _load(queries.exact, own, room[TOGETHER])
    waiting = np.empty(TOGETHER, np.int64)
    found = 0
    for i in range(count + 1):
        if i < count and lists.distance[row, i] == UNKNOWN:
            _load(exact, lists.position[row, i], room[found])
            waiting[found] = i
            found += 1
        if found == TOGETHER or (i == count and found):
            _fill_distances(room, waiting, found, lists.distance[row])
            found = 0
    for i in range(1, count):
        score, position = lists.score[row, i], lists.position[row, i]
        distance = lists.distance[row, i]
        j = i
        while j > 0 and (
            lists.distance[row, j - 1] > distance
            or (
                lists.distance[row, j - 1] == distance
                and exact.point[lists.position[row, j - 1]] > exact.point[position]
            )
        ):
            lists.score[row, j] = lists.score[row, j - 1]
            lists.position[row, j] = lists.position[row, j - 1]
            lists.distance[row, j] = lists.distance[row, j - 1]
            j -= 1
        lists.score[row, j], lists.position[row, j] = score, position
        lists.distance[row, j] = distance
    if count >= k:
        lists.count[row] = k
        limit = threshold_of(bounds, queries.square[own], lists.distance[row, k - 1])
        lists.threshold[row] = max(lists.threshold[row], limit)


@kernel
def threshold_of(bounds, own_square, square):
    """Return a score that no point within a squared distance of a row is below."""
    gamma, absolute = bounds.numbers[GAMMA], bounds.numbers[ABSOLUTE]
    needed = (own_square - square * bounds.numbers[UNIT] * (1 + 1e-15)) / 2
    return below(needed - gamma / 2 * own_square - absolute)


@kernel
def _load(exact, position, out):
    """Copy the coordinates of a position, as distances take them."""
    row = exact.source[position]
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

    Each is added up in the order of the dimensions, as by `distances_below`.
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


class Searches(NamedTuple):
    """Rows that look for the lightest edge that leaves their component."""

    component: np.ndarray  # uint32, by position of the queries
    cores: np.ndarray  # float64, by position of the queries
    # uint32, by row: the far end of the lightest edge so far, or NO_POSITION
    others: np.ndarray
    # float64: its weight; or the bound, which all edges seen so far exceed
    weight: np.ndarray
    bounded: bool  # whether edges above the bounds of components are left out


@kernel
def filter_leaving(tile, queries, searches, components, exact, bounds, first, last):
    """Lower the lightest edges of the rows [first, last) by the columns of a tile.

    `components` describes the columns. The kernel lowers the bounds of components to
    the weights of edges that it finds. Another thread may overwrite a bound by a larger
    one that is valid, too.
    """
    product, first_column = tile.product, tile.first_column
    columns = product.shape[1]
    half = bounds.half[first_column : first_column + columns]
    room = np.empty((TOGETHER + 1, exact.values.shape[1]))
    distance, waiting = np.empty(1), np.zeros(1, np.int64)
    room[:TOGETHER] = 0.0
    for row in range(first, last):
        i = tile.first_row + row
        own = queries.positions[i]
        own_square, number = queries.square[own], queries.exact.point[own]
        component, core = searches.component[own], searches.cores[own]
        weight, end_of_edge = searches.weight[i], searches.others[i]
        if searches.bounded and components.bound[component] < weight:
            # All edges within the new bound are still to come: the one found, if any,
            # is heavier, and those before it were.
            weight, end_of_edge = components.bound[component], NO_POSITION
        threshold = _threshold_within(bounds, own_square, weight)
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
                    or components.of_position[other] == component
                    or components.reach[other] > weight
                    or components.cores[other] > weight
                ):
                    continue
                if not loaded:
                    _load(queries.exact, own, room[TOGETHER])
                    loaded = True
                _load(exact, other, room[0])
                _fill_distances(room, waiting, 1, distance)
                heavy = max(np.sqrt(distance[0]), core, components.cores[other])
                if heavy < weight or (
                    heavy == weight
                    and (
                        end_of_edge == NO_POSITION
                        or precedes(exact.point, number, other, end_of_edge)
                    )
                ):
                    weight, end_of_edge = heavy, np.uint32(other)
                    threshold = _threshold_within(bounds, own_square, weight)
        searches.weight[i], searches.others[i] = weight, end_of_edge
        if end_of_edge != NO_POSITION and weight < components.bound[component]:
            components.bound[component] = weight


class PairTile(NamedTuple):
    """Inner products (float32) of points sorted by component, and their positions."""

    product: np.ndarray
    rows: np.ndarray
    columns: np.ndarray


@kernel
def filter_between(tile, components, least, exact, bounds, first, last):
    """Return the lightest edges of rows [first, last) between pairs of components.

    No edge between two components heavier than in `least`, shape (components,
    components), is wanted; lowered. Threads may overwrite each other's values, which
    are all true. Returns columns as in `PointEdges`, `a` and `b` by position.
    """
    product, rows, columns = tile.product, tile.rows, tile.columns
    of_position, count = components.of_position, len(least)
    half, begins = np.empty(len(columns), np.float32), np.empty(count + 1, np.int64)
    segments = 0
    for c in range(len(columns)):
        half[c] = bounds.half[columns[c]]
        if c == 0 or of_position[columns[c]] != of_position[columns[c - 1]]:
            begins[segments] = c
            segments += 1
    begins[segments] = len(columns)
    runs = 0
    for row in range(first, last):
        runs += row == first or of_position[rows[row]] != of_position[rows[row - 1]]
    a, b = np.empty(runs * segments, np.uint32), np.empty(runs * segments, np.uint32)
    weight, key = np.empty(len(a)), np.empty(len(a), np.uint64)
    room = np.empty((TOGETHER + 1, exact.values.shape[1]))
    distance, waiting = np.empty(1), np.zeros(1, np.int64)
    room[:TOGETHER] = 0.0
    base = -segments  # index of the first edge of the present component
    for row in range(first, last):
        position = rows[row]
        own, core, number = (
            of_position[position],
            components.cores[position],
            exact.point[position],
        )
        if row == first or own != of_position[rows[row - 1]]:
            base += segments
            for s in range(segments):
                key[base + s] = LAST_KEY
                weight[base + s] = least[own, of_position[columns[begins[s]]]]
        loaded = False
        for s in range(segments):
            other_component = of_position[columns[begins[s]]]
            bound = min(weight[base + s], least[own, other_component])
            if other_component == own or components.reach[position] > bound:
                continue
            threshold = _threshold_within(bounds, bounds.square[position], bound)
            above = 0
            for c in range(np.uint64(begins[s]), np.uint64(begins[s + 1])):
                above += product[row, c] - half[c] >= threshold
            if above == 0:
                continue
            for c in range(begins[s], begins[s + 1]):
                other = columns[c]
                if (
                    product[row, c] - half[c] < threshold
                    or components.reach[other] > bound
                    or components.cores[other] > bound
                ):
                    continue
                if not loaded:
                    _load(exact, position, room[TOGETHER])
                    loaded = True
                _load(exact, other, room[0])
                _fill_distances(room, waiting, 1, distance)
                heavy = max(np.sqrt(distance[0]), core, components.cores[other])
                edge = key_of_rows(np.uint64(number), np.uint64(exact.point[other]))
                if heavy < weight[base + s] or (
                    heavy == weight[base + s] and edge < key[base + s]
                ):
                    weight[base + s], key[base + s] = heavy, edge
                    a[base + s], b[base + s] = position, other
                    if heavy < bound:
                        bound = heavy
                        threshold = _threshold_within(
                            bounds, bounds.square[position], bound
                        )
                    if heavy < least[own, other_component]:
                        least[own, other_component] = heavy
                        least[other_component, own] = heavy
    count = 0
    for i in range(len(a)):
        if key[i] != LAST_KEY:
            a[count], b[count], weight[count], key[count] = (
                a[i],
                b[i],
                weight[i],
                key[i],
            )
            count += 1
    return a[:count], b[:count], weight[:count], key[:count]


@kernel
def _threshold_within(bounds, own_square, weight):
    """Return a score that no point within a distance of a row is below."""
    if weight == np.inf:
        return np.float32(-np.inf)
    square = min(weight * weight * (1 + 1e-15) + 1e-322, LARGEST)
    return threshold_of(bounds, own_square, square)


@kernel
def precedes(point, number, one, other):
    """Return whether an edge of a point comes before another: smaller ends first.

    `number` is the point's; the far ends are at the positions `one` and `other`.
    """
    x, y = point[one], point[other]
    a, b = min(x, number), min(y, number)
    return a < b or (a == b and max(x, number) < max(y, number))
