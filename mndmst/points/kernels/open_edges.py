"""The edges of new points that may be in the forest: those that end no short cycle.

The last edge of a cycle is in no minimum spanning forest. A point's near neighbours are
detours to others: where the edges to a detour, and from it, both precede an edge, they
close a cycle of three with it. A walk of a tree leaves out all nodes behind detours.
"""

from typing import NamedTuple

import numpy as np

from ...kernels.intrinsics import trailing_zeros
from ...native.kernel import kernel
from ..devices.point_products import NO_POSITION
from .boruvka_steps import edge_key
from .changed_points import load_query
from .kd_tree import LEAF, gap_to_point
from .leaf_vectors import distances_below
from .norms import CHEBYSHEV, EUCLIDEAN, LARGEST, add_gap, distance_of, limit_of

# More than the relative error of any two distances, in few dimensions.
MARGIN = 1e-9
# Smaller reduced distances are not compared with a margin: they may have underflowed.
LEAST_GAP = 1e-280


class NearPoints(NamedTuple):
    """Points that list edges, and the nearest neighbours that each one has."""

    points: np.ndarray  # float64, shape (points, dimensions)
    row: np.ndarray  # uint32
    core: np.ndarray  # float64
    within: np.ndarray  # float64: no edge that is longer is listed
    near: np.ndarray  # float64, shape (points, neighbours, dimensions)
    near_row: np.ndarray  # uint32, shape (points, neighbours)
    near_core: np.ndarray  # float64
    weight: np.ndarray  # float64: of the edge to each; infinite for a missing one


class Detours(NamedTuple):
    """Up to LEAF points: an edge may close a cycle through one of them."""

    # float64: coordinates, dimension by dimension, in columns of LEAF
    block: np.ndarray
    row: np.ndarray  # uint32
    core: np.ndarray  # float64
    weight: np.ndarray  # float64: of the edge from the point to each
    # float64: negative only if all points of a box are nearer to it than to the point
    excess: np.ndarray


@kernel
def _allocate_detours(dimensions):
    return Detours(
        np.zeros(dimensions * LEAF),
        np.empty(LEAF, np.uint32),
        np.empty(LEAF),
        np.empty(LEAF),
        np.empty(LEAF),
    )


@kernel
def _closing_detour(norm, detours, count, first, own_row, other, row, core, weight):
    """Return the index of a detour with which an edge is the last one of a cycle.

    The edge from the point at `own_row` leads to the point `other`, which has a row and
    a core distance. Detours are tried from index `first` on; -1 if there is none.
    """
    key = edge_key(own_row, row)
    for step in range(count):
        i = first + step
        i -= count * np.int64(i >= count)
        there = detours.weight[i]
        if (
            there > weight
            or detours.row[i] == row
            or (there == weight and edge_key(own_row, detours.row[i]) > key)
        ):
            continue
        total = 0.0
        for d in range(len(other)):
            total = add_gap(norm, total, abs(detours.block[d * LEAF + i] - other[d]))
        on = max(distance_of(norm, total), detours.core[i], core)
        if on < weight or (on == weight and edge_key(detours.row[i], row) < key):
            return i
    return -1


@kernel
def weigh_listed(near, listed, rows, cores, begin, end):
    """Weigh the edges from the points [begin, end) to their listed neighbours.

    `listed` has their positions; `rows` and `cores` are by position. On entry
    `near.weight` has the distances.
    """
    for i in range(begin, end):
        own, core = near.row[i], near.core[i]
        for j in range(listed.shape[1]):
            other = listed[i, j]
            if other == NO_POSITION or rows[other] == own:
                near.near_row[i, j], near.near_core[i, j] = own, 0.0
                near.weight[i, j] = np.inf
                continue
            near.near_row[i, j], near.near_core[i, j] = rows[other], cores[other]
            near.weight[i, j] = max(near.weight[i, j], core, cores[other])


@kernel
def drop_closed_edges(norm, near, positions, listed, up, is_open, begin, end):
    """Write whether the edge to each neighbour is not the last one of a cycle of three.

    The third point is one of the first LEAF neighbours. Edges that are not lighter than
    `within`, or are in the rooted forest `up`, are dropped, too. The points have
    `positions`, and `listed` those of their neighbours.
    """
    neighbours, dimensions = near.weight.shape[1], near.points.shape[1]
    detours = _allocate_detours(dimensions)
    block, out = np.zeros(dimensions * LEAF), np.empty(LEAF)
    for i in range(begin, end):
        own_row, count = near.row[i], 0
        for j in range(neighbours):
            count = _add_detour(detours, count, near, i, j)
        lanes = (np.uint64(1) << np.uint64(count)) - np.uint64(1)
        for j in range(neighbours):
            weight, row = near.weight[i, j], near.near_row[i, j]
            is_open[i, j] = weight < near.within[i]
            if is_open[i, j]:
                own, other = positions[i], listed[i, j]
                is_open[i, j] = up[own] != other and up[other] != own
            if not is_open[i, j]:
                continue
            key = edge_key(own_row, row)
            load_query(near.near[i], j, block)
            between = lanes & distances_below(
                norm,
                detours.block,
                0,
                dimensions,
                block,
                0,
                out,
                limit_of(norm, weight),
            )
            while between:
                lane = np.int64(trailing_zeros(between))
                between &= between - np.uint64(1)
                there, other = detours.weight[lane], detours.row[lane]
                on = max(
                    distance_of(norm, out[lane]),
                    detours.core[lane],
                    near.near_core[i, j],
                )
                if (
                    other != row
                    and (
                        there < weight
                        or (there == weight and edge_key(own_row, other) < key)
                    )
                    and (on < weight or (on == weight and edge_key(other, row) < key))
                ):
                    is_open[i, j] = False
                    break


@kernel
def _add_detour(detours, count, near, i, j):
    """Add a neighbour to the detours unless these are full; return their number."""
    if count == LEAF or near.near_row[i, j] == near.row[i]:
        return count
    for d in range(near.points.shape[1]):
        detours.block[d * LEAF + count] = near.near[i, j, d]
    detours.row[count], detours.core[count] = near.near_row[i, j], near.near_core[i, j]
    detours.weight[count] = near.weight[i, j]
    return count + 1


@kernel
def _compare_with_box(norm, low, high, detours, point):
    """Write `excess` of each detour for the points of a box, as seen from a point.

    MARGIN covers the rounding of both distances. The difference of the terms of one
    dimension is largest at an end of the box.
    """
    block, excess = detours.block, detours.excess
    excess[:] = 0.0
    if norm == CHEBYSHEV:
        gap = 0.0
        for d in range(len(point)):
            gap = max(gap, low[d] - point[d], point[d] - high[d])
            for j in range(np.uint64(LEAF)):
                x = block[np.uint64(d * LEAF) + j]
                excess[j] = max(excess[j], abs(x - low[d]), abs(x - high[d]))
        gap *= 1 - MARGIN
        for j in range(np.uint64(LEAF)):
            excess[j] = excess[j] * (1 + MARGIN) - gap
        return
    for d in range(len(point)):
        below, above = abs(point[d] - low[d]), abs(point[d] - high[d])
        if norm == EUCLIDEAN:
            below, above = below * below, above * above
        below, above = below * (1 - MARGIN), above * (1 - MARGIN)
        for j in range(np.uint64(LEAF)):
            x = block[np.uint64(d * LEAF) + j]
            one, other = abs(x - low[d]), abs(x - high[d])
            if norm == EUCLIDEAN:
                one, other = one * one, other * other
            excess[j] += max(one * (1 + MARGIN) - below, other * (1 + MARGIN) - above)


@kernel
def _detour_to_node(tree, node, core, gap, near, i, detours, count, lightest):
    """Return the index of a detour that all edges to a node close cycles with, or -1.

    `core` is the largest core distance of the node's points, and `gap` the reduced
    distance of its box. Either the detour's edges to the node are lighter than those
    of the point, or its row is smaller: then its edges precede those of equal weight.
    No detour weighs less than `lightest`.
    """
    if gap < LEAST_GAP:
        return -1
    least = max(distance_of(tree.norm, gap), near.core[i])
    if least <= lightest:
        return -1
    low, high = tree.low[node], tree.high[node]
    _compare_with_box(tree.norm, low, high, detours, near.points[i])
    for j in range(count):
        if (
            detours.excess[j] < 0
            and detours.weight[j] < least
            and (core < least or detours.row[j] < near.row[i])
        ):
            return j
    return -1


@kernel
def _open_lanes(tree, at, lanes, out, weights, detours, count, own_row):
    """Return the lanes of a leaf whose edges close no cycle with most detours.

    `out` and `weights` have the reduced distances and weights of the edges. The rows of
    these detours are smaller than the point's; see `_detour_to_node`.
    """
    norm, dimensions = tree.norm, tree.low.shape[1]
    between = np.empty(LEAF)
    for i in range(count):
        if lanes == 0:
            break
        if detours.row[i] >= own_row:
            continue
        distances_below(
            norm, tree.blocks, at, dimensions, detours.block, i, between, LARGEST
        )
        left = lanes
        while left:
            j = trailing_zeros(left)
            left &= left - np.uint64(1)
            if detours.weight[i] < weights[j] and (
                between[j] <= out[j] or distance_of(norm, between[j]) <= weights[j]
            ):
                lanes &= ~(np.uint64(1) << np.uint64(j))
    return lanes


@kernel
def _is_equal(block, lane, point):
    """Return whether a point is equal to that in a lane of a block."""
    equal = True
    for d in range(len(point)):
        equal &= block[d * LEAF + lane] == point[d]
    return equal


@kernel
def list_open_edges(
    tree, reach, rows, near, begin, end, most_nodes, query, position, distance
):
    """List edges to the points of a tree that may be in the forest.

    The edges begin at the points [begin, end) of `near`. Each edge that is not the last
    one of a cycle of three is listed. `reach` has core distances, and `rows` is by
    position. Writes the index of the point, the position and the distance of each edge,
    until the arrays are full. Returns the number of edges, which is larger than that of
    the entries if more may exist, or if the walks visit more than `most_nodes` nodes.
    """
    norm, dimensions, cores = tree.norm, tree.low.shape[1], reach.of_position
    detours, other_point = _allocate_detours(dimensions), np.empty(dimensions)
    block, out = np.empty(dimensions * LEAF), np.empty(LEAF)
    weights = np.empty(LEAF)
    stack, gaps = np.empty(tree.depth + 2, np.int64), np.empty(tree.depth + 2)
    size, most, nodes = 0, len(query), 0
    for i in range(begin, end):
        count, first = 0, 0
        for j in range(near.weight.shape[1]):
            count = _add_detour(detours, count, near, i, j)
        point, core = near.points[i], near.core[i]
        # The edges of an equal point with a smaller row precede those of the point.
        within, lightest = near.within[i], np.inf
        for j in range(count):
            if detours.row[j] < near.row[i] and _is_equal(detours.block, j, point):
                within = min(within, detours.weight[j])
            lightest = min(lightest, detours.weight[j])
        limit = limit_of(norm, within)
        load_query(near.points, i, block)
        stack[0], gaps[0], top = 0, gap_to_point(tree, 0, point), 1
        while top:
            top -= 1
            node, gap = stack[top], gaps[top]
            nodes += 1
            if gap >= limit:
                continue
            closing = _detour_to_node(
                tree,
                node,
                reach.of_node[node],
                gap,
                near,
                i,
                detours,
                count,
                lightest,
            )
            if closing >= 0:
                first = closing
                continue
            left = tree.left[node]
            if left >= 0:
                gap = gap_to_point(tree, left, point)
                beyond = gap_to_point(tree, left + 1, point)
                nearer = np.int64(beyond < gap)
                stack[top], gaps[top] = left + 1 - nearer, max(gap, beyond)
                stack[top + 1], gaps[top + 1] = left + nearer, min(gap, beyond)
                top += 2
                continue
            at = (-1 - left) * dimensions * LEAF
            found = distances_below(
                norm, tree.blocks, at, dimensions, block, 0, out, limit
            )
            for j in range(tree.end[node] - tree.begin[node]):
                between = distance_of(norm, out[j])
                weights[j] = max(between, core, cores[tree.begin[node] + j])
            found = _open_lanes(
                tree, at, found, out, weights, detours, count, near.row[i]
            )
            while found:
                j = np.int64(trailing_zeros(found))
                found &= found - np.uint64(1)
                other = tree.begin[node] + j
                row = rows[other]
                if row == near.row[i]:
                    continue
                between, weight = distance_of(norm, out[j]), weights[j]
                for d in range(dimensions):
                    other_point[d] = tree.blocks[at + d * LEAF + j]
                closing = _closing_detour(
                    norm,
                    detours,
                    count,
                    first,
                    near.row[i],
                    other_point,
                    row,
                    cores[other],
                    weight,
                )
                if closing >= 0:
                    first = closing
                    continue
                if size == most:
                    return most + 1
                query[size], position[size], distance[size] = i, other, between
                size += 1
                if count < LEAF:
                    for d in range(dimensions):
                        detours.block[d * LEAF + count] = other_point[d]
                    detours.row[count], detours.core[count] = row, cores[other]
                    detours.weight[count] = weight
                    lightest = min(lightest, weight)
                    count += 1
        if nodes > most_nodes:
            return most + 1
    return size
