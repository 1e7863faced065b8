"""Kernels that turn tiles of inner products into nearest neighbours and lightest edges.

A tile holds float32 inner products of some rows with some columns, both of which are
points. With the error bounds of `product_search`, a kernel tests a tile by vector
instructions, and computes the float64 distance only of the few pairs that these bounds
leave open.
"""

from typing import NamedTuple

import numpy as np

from ...native.kernel import kernel
from ..devices.point_products import NO_POSITION, PointArrays
from .boruvka_steps import LAST_KEY, edge_key
from .norms import LARGEST

BLOCK = 64  # columns that one vector test covers
UNROLLED = 4  # distances that `fill_distances` adds up at the same time
UNKNOWN = -1.0  # a distance that is not computed yet
LANES = 32  # partial sums of a squared distance, for vector instructions
# Two sums of d squares in different orders differ by less than d * 2^-52 of them. The
# comparison of two distances by such sums allows for both, and twice as much.
SUM_ERROR = 2.0**-50
# The product of a coordinate and a reciprocal differs from two divisions by at most 5
# roundings, which moves a point of length 1 by less than 6 * 2^-53. The comparison of
# two distances allows for both, 16 * 2^-53 in all.
RECIPROCAL_ERROR = 2.0**-49
LEAST_RECIPROCAL, MOST_RECIPROCAL = 2.0**-1000, 2.0**1000  # with all their digits


# Indices of `Bounds.numbers`: the relative and the absolute part of the error bound,
# and the factor of squared distances in scores, a power of two.
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
    """The points of a tile's rows: some of the columns, or other points."""

    exact: PointArrays
    square: np.ndarray  # as in `Bounds`, of all points in `exact`
    positions: np.ndarray  # uint32: the position in `exact` of each row
    # whether `exact` are the columns: then a row must not become its own neighbour
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

    `exact` and `bounds` describe the columns; the search lists `neighbours` of each
    row.
    """
    product, first_column = tile.product, tile.first_column
    columns = product.shape[1]
    half = bounds.half[first_column : first_column + columns]
    buffer = np.empty((UNROLLED + 1, exact.values.shape[1]))
    best, capacity = np.empty(neighbours), lists.score.shape[1]
    for row in range(first, last):
        query = queries.positions[tile.first_row + row]
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
                # The score of a removed column, NaN, is not above any threshold.
                if not score >= threshold or (
                    queries.are_columns and first_column + c == query
                ):
                    continue
                if lists.count[row] == capacity:
                    threshold = _shorten(
                        lists, row, query, queries, exact, bounds, best, buffer
                    )
                    if score < threshold:
                        continue
                _add_candidate(lists, row, score, first_column + c)


@kernel
def filter_near_columns(tile, queries, exact, bounds, lists, neighbours, first, last):
    """Add the rows of a tile to the candidates of its columns [first, last).

    No point is both a row and one of these columns. Here `queries` are the columns, and
    `lists` has the candidates of all columns of the tile.
    """
    product, first_column = tile.product, tile.first_column
    buffer = np.empty((UNROLLED + 1, exact.values.shape[1]))
    best, capacity = np.empty(neighbours), lists.score.shape[1]
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
                    if lists.count[c] == capacity:
                        threshold = _shorten(
                            lists,
                            c,
                            first_column + c,
                            queries,
                            exact,
                            bounds,
                            best,
                            buffer,
                        )
                        if score < threshold:
                            continue
                    _add_candidate(lists, c, score, position)


@kernel(inline="always")
def _add_candidate(lists, row, score, position):
    """Add a position to the candidates of a row, whose list is not full.

    Inlined, because a call that passes so many arrays takes as long as a distance.
    """
    count = lists.count[row]
    lists.score[row, count] = score
    lists.position[row, count] = position
    lists.distance[row, count] = UNKNOWN
    lists.count[row] = count + 1


@kernel
def _shorten(lists, row, query, queries, exact, bounds, best, buffer):
    """Shorten a full list of candidates; return the threshold of its row.

    `query` is the position of the row's point.
    """
    _raise_threshold(lists, row, queries.square[query], bounds, best)
    if 2 * lists.count[row] > lists.score.shape[1]:
        _keep_nearest(lists, row, query, queries, exact, bounds, best, buffer)
    return lists.threshold[row]


@kernel
def finish_near(
    first_row, queries, exact, bounds, lists, distances, positions, first, last
):
    """Write the nearest neighbours of the rows [first, last) of a tile.

    Rows of `distances` become squared distances, ascending; a row with fewer than k
    neighbours ends with infinity and NO_POSITION.
    """
    k = distances.shape[1]
    buffer = np.empty((UNROLLED + 1, exact.values.shape[1]))
    best = np.empty(k)
    for row in range(first, last):
        query = queries.positions[first_row + row]
        _raise_threshold(lists, row, queries.square[query], bounds, best)
        _keep_nearest(lists, row, query, queries, exact, bounds, best, buffer)
        for j in range(k):
            listed = j < lists.count[row]
            distances[first_row + row, j] = lists.distance[row, j] if listed else np.inf
            positions[first_row + row, j] = (
                lists.position[row, j] if listed else NO_POSITION
            )


@kernel
def limit_near(first_row, queries, bounds, lists, limits, first, last):
    """Set the thresholds of rows that search within squared distances."""
    for row in range(first, last):
        query = queries.positions[first_row + row]
        lists.threshold[row] = threshold_of(
            bounds, queries.square[query], limits[first_row + row]
        )


@kernel
def _raise_threshold(lists, row, square, bounds, best):
    """Raise the threshold of a row as far as its candidates allow; drop those below.

    The k candidates with the largest lower bounds of scores are all nearer than a point
    whose upper bound is below these. `square` is the squared length of the row's point;
    `best` is a buffer of k.
    """
    k = len(best)
    size = 0
    for i in range(lists.count[row]):
        other = lists.position[row, i]
        low = lists.score[row, i] - bounds.numbers[GAMMA] * bounds.square[other]
        if size == k and low <= best[k - 1]:
            continue
        j = size if size < k else k - 1
        while j > 0 and best[j - 1] < low:
            best[j] = best[j - 1]
            j -= 1
        best[j] = low
        size = min(size + 1, k)
    if size < k:
        return
    gamma, absolute = bounds.numbers[GAMMA], bounds.numbers[ABSOLUTE]
    limit = best[k - 1] - gamma * square - 2 * absolute
    threshold = max(lists.threshold[row], below(limit))
    count = 0
    for i in range(lists.count[row]):
        if lists.score[row, i] >= threshold:
            lists.score[row, count] = lists.score[row, i]
            lists.position[row, count] = lists.position[row, i]
            lists.distance[row, count] = lists.distance[row, i]
            count += 1
    lists.count[row], lists.threshold[row] = count, threshold


@kernel
def below(limit):
    """Return a float32 that is at most a float64."""
    return np.float32(limit - abs(limit) * 1.2e-7 - 1e-45)


@kernel
def _keep_nearest(lists, row, query, queries, exact, bounds, best, buffer):
    """Compute the distances of a row's candidates, and keep the k nearest, in order."""
    k, count = len(best), lists.count[row]
    load_point(queries.exact, query, buffer[UNROLLED])
    if count > k:
        count = _drop_farther(lists, row, exact, buffer[UNROLLED], best)
    indices = np.empty(UNROLLED, np.int64)
    loaded = 0
    for i in range(count + 1):
        if i < count and lists.distance[row, i] == UNKNOWN:
            load_point(exact, lists.position[row, i], buffer[loaded])
            indices[loaded] = i
            loaded += 1
        if loaded == UNROLLED or (i == count and loaded):
            fill_distances(buffer, indices, loaded, lists.distance[row])
            loaded = 0
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
        limit = threshold_of(bounds, queries.square[query], lists.distance[row, k - 1])
        lists.threshold[row] = max(lists.threshold[row], limit)


@kernel
def _drop_farther(lists, row, exact, query, best):
    """Drop candidates of a row that are farther than k others; return how many stay.

    `query` has the coordinates of the row's point, `best` is a buffer of k. Here vector
    instructions add up the squares of a distance in another order than
    `fill_distances`, in a fraction of its time. The two sums differ by few roundings,
    however near the points are to each other, where scores do not tell near copies of
    a point apart.
    """
    k, count = len(best), lists.count[row]
    squares, lanes = np.empty(count), np.empty(LANES)
    divided, dimensions = len(exact.length) > 0, len(query)
    whole = dimensions - dimensions % LANES
    size = 0
    for i in range(count):
        square = lists.distance[row, i]
        # No call in this loop: it would take as long as the sum
        if square == UNKNOWN:
            other = exact.source[lists.position[row, i]]
            factor = 1.0
            if divided:
                factor = 1 / exact.largest[other] / exact.length[other]
                if not LEAST_RECIPROCAL < factor < MOST_RECIPROCAL:
                    squares[i] = 0.0  # stays
                    continue
            for j in range(LANES):
                lanes[j] = 0.0
            for begin in range(0, whole, LANES):
                for j in range(LANES):
                    gap = exact.values[other, begin + j] * factor - query[begin + j]
                    lanes[j] += gap * gap
            square = 0.0
            for d in range(whole, dimensions):
                gap = exact.values[other, d] * factor - query[d]
                square += gap * gap
            for j in range(LANES):
                square += lanes[j]
        squares[i] = square
        if size == k and square >= best[k - 1]:
            continue
        j = size if size < k else k - 1
        while j > 0 and best[j - 1] > square:
            best[j] = best[j - 1]
            j -= 1
        best[j] = square
        size = min(size + 1, k)
    if size < k:
        return count
    limit = best[k - 1]
    if divided:
        limit = (np.sqrt(limit) + RECIPROCAL_ERROR) ** 2
    limit *= 1 + dimensions * SUM_ERROR
    remaining = 0
    for i in range(count):
        if squares[i] <= limit:
            lists.score[row, remaining] = lists.score[row, i]
            lists.position[row, remaining] = lists.position[row, i]
            lists.distance[row, remaining] = lists.distance[row, i]
            remaining += 1
    lists.count[row] = remaining
    return remaining


@kernel
def threshold_of(bounds, square, within):
    """Return a score below which no point is within a squared distance of a row.

    `square` is the squared length of the row's point, `within` the squared distance.
    """
    gamma, absolute = bounds.numbers[GAMMA], bounds.numbers[ABSOLUTE]
    needed = (square - within * bounds.numbers[UNIT] * (1 + 1e-15)) / 2
    return below(needed - gamma / 2 * square - absolute)


@kernel
def load_point(exact, position, out):
    """Copy the float64 coordinates of a position; see `PointArrays`."""
    row = exact.source[position]
    if len(exact.length):
        largest, length = exact.largest[row], exact.length[row]
        for d in range(len(out)):
            out[d] = exact.values[row, d] / largest / length
    else:
        for d in range(len(out)):
            out[d] = exact.values[row, d]


@kernel
def fill_distances(buffer, indices, count, out):
    """Write squared distances between the point in the last row and those before it.

    That of row i of `buffer` is written to out[indices[i]]. Each is added up in the
    order of the dimensions, as by `distances_below`; UNROLLED sums advance together,
    because each addition depends on the one before it.
    """
    query = buffer[UNROLLED]
    a = b = c = e = 0.0
    for d in range(len(query)):
        x = query[d]
        p, q = buffer[0, d] - x, buffer[1, d] - x
        r, s = buffer[2, d] - x, buffer[3, d] - x
        a += p * p
        b += q * q
        c += r * r
        e += s * s
    squares = (a, b, c, e)
    for i in range(count):
        out[indices[i]] = squares[i]


@kernel
def distance_to(exact, position, point):
    """Return the distance of a position to a point; see `fill_distances`."""
    row, square = exact.source[position], 0.0
    if len(exact.length):
        largest, length = exact.largest[row], exact.length[row]
        for d in range(len(point)):
            gap = exact.values[row, d] / largest / length - point[d]
            square += gap * gap
    else:
        for d in range(len(point)):
            gap = exact.values[row, d] - point[d]
            square += gap * gap
    return np.sqrt(square)


class Searches(NamedTuple):
    """Rows that search the lightest outgoing edges of their components."""

    component: np.ndarray  # uint32, by position of the queries
    cores: np.ndarray  # float64, by position of the queries
    # uint32, by row: the far end of the lightest edge so far, or NO_POSITION
    ends: np.ndarray
    # float64: its weight; or the bound, which all edges seen so far exceed
    weight: np.ndarray
    bounded: bool  # whether edges above the bounds of components are left out


@kernel
def filter_leaving(tile, queries, searches, components, exact, bounds, first, last):
    """Lower the lightest edges of the rows [first, last) by the columns of a tile.

    `components` describes the columns. Lowers the bounds of components to the edges
    found. Another thread may overwrite a bound with a larger one that is also valid.
    """
    product, first_column = tile.product, tile.first_column
    columns = product.shape[1]
    half = bounds.half[first_column : first_column + columns]
    point = np.empty(exact.values.shape[1])
    for row in range(first, last):
        i = tile.first_row + row
        query = queries.positions[i]
        square, own = queries.square[query], queries.exact.point[query]
        component, core = searches.component[query], searches.cores[query]
        weight, end = searches.weight[i], searches.ends[i]
        if searches.bounded and components.bound[component] < weight:
            # All edges seen so far are heavier than the new bound.
            weight, end = components.bound[component], NO_POSITION
        threshold = threshold_within(bounds, square, weight)
        loaded = False
        for begin in range(0, columns, BLOCK):
            block_end = min(begin + BLOCK, columns)
            above = 0
            for c in range(np.uint64(begin), np.uint64(block_end)):
                above += product[row, c] - half[c] >= threshold
            if above == 0:
                continue
            for c in range(begin, block_end):
                other = first_column + c
                if (
                    product[row, c] - half[c] < threshold
                    or components.of_position[other] == component
                    or components.lower_bound[other] > weight
                    or components.cores[other] > weight
                ):
                    continue
                if not loaded:
                    load_point(queries.exact, query, point)
                    loaded = True
                between = distance_to(exact, other, point)
                this = max(between, core, components.cores[other])
                if this < weight or (
                    this == weight
                    and (
                        end == NO_POSITION
                        or edge_key(own, exact.point[other])
                        < edge_key(own, exact.point[end])
                    )
                ):
                    weight, end = this, np.uint32(other)
                    threshold = threshold_within(bounds, square, weight)
        searches.weight[i], searches.ends[i] = weight, end
        if end != NO_POSITION and weight < components.bound[component]:
            components.bound[component] = weight


class PairTile(NamedTuple):
    """Inner products (float32) of points sorted by component, and their positions."""

    product: np.ndarray
    rows: np.ndarray
    columns: np.ndarray


@kernel
def filter_between(tile, components, least, exact, bounds, first, last):
    """Return the lightest edges of rows [first, last) between pairs of components.

    `least`, shape (components, components), has upper bounds on the edges between two
    components; heavier edges are left out, and the bounds are lowered. Threads may
    overwrite each other's values, all of which are valid. Returns columns as in
    `PointEdges`, in which `a` and `b` are positions.
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
    point = np.empty(exact.values.shape[1])
    base = -segments  # index of the first edge of the current row's component
    for row in range(first, last):
        position = rows[row]
        component, core = of_position[position], components.cores[position]
        if row == first or component != of_position[rows[row - 1]]:
            base += segments
            for s in range(segments):
                key[base + s] = LAST_KEY
                weight[base + s] = least[component, of_position[columns[begins[s]]]]
        loaded = False
        for s in range(segments):
            other_component = of_position[columns[begins[s]]]
            bound = min(weight[base + s], least[component, other_component])
            if other_component == component or components.lower_bound[position] > bound:
                continue
            threshold = threshold_within(bounds, bounds.square[position], bound)
            above = 0
            for c in range(np.uint64(begins[s]), np.uint64(begins[s + 1])):
                above += product[row, c] - half[c] >= threshold
            if above == 0:
                continue
            for c in range(begins[s], begins[s + 1]):
                other = columns[c]
                if (
                    product[row, c] - half[c] < threshold
                    or components.lower_bound[other] > bound
                    or components.cores[other] > bound
                ):
                    continue
                if not loaded:
                    load_point(exact, position, point)
                    loaded = True
                between = distance_to(exact, other, point)
                this = max(between, core, components.cores[other])
                this_key = edge_key(exact.point[position], exact.point[other])
                if this < weight[base + s] or (
                    this == weight[base + s] and this_key < key[base + s]
                ):
                    weight[base + s], key[base + s] = this, this_key
                    a[base + s], b[base + s] = position, other
                    if this < bound:
                        bound = this
                        threshold = threshold_within(
                            bounds, bounds.square[position], bound
                        )
                    if this < least[component, other_component]:
                        least[component, other_component] = this
                        least[other_component, component] = this
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
def threshold_within(bounds, square, weight):
    """Return `threshold_of` for the distance `weight`."""
    if weight == np.inf:
        return np.float32(-np.inf)
    within = min(weight * weight * (1 + 1e-15) + 1e-322, LARGEST)
    return threshold_of(bounds, square, within)
