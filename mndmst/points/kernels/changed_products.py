"""The steps that follow a change of points, by tiles of inner products.

As in `product_filter`, a vector test of a tile leaves few pairs, whose float64
distances decide. Here the bound of a pair may depend on the column. So the test
subtracts the bound's part of a score's threshold from the column's term:

    score >= threshold_of(bound) if product - _reaching_half(bound) >= threshold_of(0).

This subtraction rounds the bound's part, too, by at most 2^-24 of it, for which
`_reaching_half` allows. The term of a removed column is NaN, which no test passes.
"""

from typing import NamedTuple

import numpy as np

from ...native.kernel import kernel
from .boruvka_steps import edge_key
from .changed_points import offer_edge
from .norms import LARGEST
from .product_filter import (
    BLOCK,
    UNIT,
    below,
    distance_to,
    load_point,
    threshold_of,
    threshold_within,
)

# Relative allowance for the rounding of a subtraction: 2^-20 is 16 times the error.
ALLOWANCE = 1 + 2.0**-20


class PartVertices(NamedTuple):
    """The vertices of some points of a version, by position, and their components."""

    row: np.ndarray  # uint32
    vertex: np.ndarray  # uint32
    of_group: np.ndarray  # uint32, by group: the vertex of all its points, or SEVERAL
    of_vertex: np.ndarray  # uint32, by vertex: the component
    cores: np.ndarray  # float64
    lower_bound: np.ndarray  # float64: of the edges that a search may find
    vertex_bound: np.ndarray  # float64, by vertex: one of all its points


@kernel
def _reaching_half(half, reach, unit):
    """Return a column's term for pairs within a distance; see the module."""
    within = min(reach * reach * (1 + 1e-15) + 1e-322, LARGEST)
    return below(half - within * unit * (1 + 1e-15) / 2 * ALLOWANCE)


@kernel
def list_reached_columns(tile, queries, exact, bounds, reach, most):
    """Return the pairs of a row and a column of a tile whose reach is as large.

    Returns the indices of the rows' queries, the columns' positions and the distances.
    If more than `most` pairs may exist, the arrays have more entries, without values.
    """
    product, first_column = tile.product, tile.first_column
    rows, columns = product.shape
    half = np.empty(columns, np.float32)
    for c in range(columns):
        position = first_column + c
        half[c] = _reaching_half(
            np.float64(bounds.half[position]), reach[position], bounds.numbers[UNIT]
        )
    size = 0
    for row in range(rows):
        square = queries.square[queries.positions[tile.first_row + row]]
        threshold = threshold_of(bounds, square, 0.0)
        above = 0
        for c in range(np.uint64(columns)):
            above += product[row, c] - half[c] >= threshold
        size += above
    query, position = np.empty(size, np.uint32), np.empty(size, np.uint32)
    distance = np.empty(size)
    if size > most:
        return query, position, distance
    point = np.empty(exact.values.shape[1])
    count = 0
    for row in range(rows):
        at = queries.positions[tile.first_row + row]
        threshold = threshold_of(bounds, queries.square[at], 0.0)
        loaded = False
        for begin in range(0, columns, BLOCK):
            end = min(begin + BLOCK, columns)
            above = 0
            for c in range(np.uint64(begin), np.uint64(end)):
                above += product[row, c] - half[c] >= threshold
            if above == 0:
                continue
            for c in range(begin, end):
                if not product[row, c] - half[c] >= threshold:
                    continue
                if not loaded:
                    load_point(queries.exact, at, point)
                    loaded = True
                other = first_column + c
                between = distance_to(exact, other, point)
                if between <= reach[other]:
                    query[count], position[count] = tile.first_row + row, other
                    distance[count] = between
                    count += 1
    return query[:count], position[:count], distance[:count]


@kernel
def improve_by_products(
    tile, queries, exact, bounds, sources, vertices, component, first, both
):
    """Replace first edges of components by earlier ones from rows to columns.

    The rows of the tile are indices of `sources`, and `component` has the components of
    these. An edge counts for both components if it is within the bound of the row's
    component, or, if `both` is 1, of one of both.
    """
    product, positions = tile.product, tile.columns
    rows, columns = product.shape
    plain, half = np.empty(columns, np.float32), np.empty(columns, np.float32)
    for c in range(columns):
        theirs = vertices.of_vertex[vertices.vertex[positions[c]]]
        reach = first.weight[theirs] if both else 0.0
        plain[c] = bounds.half[positions[c]]
        half[c] = _reaching_half(np.float64(plain[c]), reach, bounds.numbers[UNIT])
    point = np.empty(exact.values.shape[1])
    for row in range(rows):
        i = tile.rows[row]
        at, own, core = queries.positions[i], component[i], sources.core[i]
        square = queries.square[at]
        threshold = threshold_of(bounds, square, 0.0)
        own_threshold = threshold_within(bounds, square, first.weight[own])
        loaded = False
        for begin in range(0, columns, BLOCK):
            end = min(begin + BLOCK, columns)
            above = 0
            for c in range(np.uint64(begin), np.uint64(end)):
                above += (product[row, c] - plain[c] >= own_threshold) | (
                    product[row, c] - half[c] >= threshold
                )
            if above == 0:
                continue
            for c in range(begin, end):
                other = positions[c]
                theirs = vertices.of_vertex[vertices.vertex[other]]
                bound = first.weight[own]
                if both:
                    bound = max(bound, first.weight[theirs])
                if (
                    theirs == own
                    or core > bound
                    or vertices.lower_bound[other] > bound
                    or not product[row, c] - plain[c]
                    >= threshold_within(bounds, square, bound)
                ):
                    continue
                if not loaded:
                    load_point(queries.exact, at, point)
                    loaded = True
                between = distance_to(exact, other, point)
                weight = max(between, core, vertices.cores[other])
                if weight > bound:
                    continue
                key = edge_key(sources.point[i], vertices.row[other])
                one, two = sources.vertex[i], vertices.vertex[other]
                offer_edge(first, own, one, two, weight, key)
                offer_edge(first, theirs, two, one, weight, key)
                own_threshold = threshold_within(bounds, square, first.weight[own])
