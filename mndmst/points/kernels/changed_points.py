"""The steps that follow a change of points: whom it reaches, and which edges it gives.

Searches start from a few points, which need not be in the tree, one walk for each. They
return whatever pairs lie within bounds that differ from point to point of the tree, so
a node has the largest bound of its points.
"""

from typing import NamedTuple

import numpy as np

from ...kernels.intrinsics import trailing_zeros
from ...kernels.kruskal import unite
from ...native.kernel import kernel
from ..devices.point_products import NO_POSITION
from .boruvka_steps import NO_EDGE, edge_key, name_components
from .kd_tree import EMPTY_LANE, LEAF, gap_to_point, load_group
from .leaf_vectors import distances_below, gaps_below, gaps_to_children
from .lightest_edges import SEVERAL
from .nearest_points import nearest_to_queries
from .norms import (
    CHEBYSHEV,
    EUCLIDEAN,
    LARGEST,
    add_gap,
    distance_of,
    limit_of,
)

# `contract_certain` ends where fewer than this fraction of the components join (1 / 8).
PROGRESS = 8
# More than the relative error of any two distances, in few dimensions.
MARGIN = 1e-9
# Smaller reduced distances are not compared with a margin: they may have underflowed.
LEAST_GAP = 1e-280


class Reach(NamedTuple):
    """How far each point of a tree, and each node's points at most, are reached."""

    of_position: np.ndarray  # float64: a distance; negative for a removed point
    of_node: np.ndarray  # float64: the largest of its points


class EdgeSources(NamedTuple):
    """Points that search edges between components."""

    points: np.ndarray  # float64, shape (sources, dimensions)
    point: np.ndarray  # uint32: their rows
    core: np.ndarray  # float64
    vertex: np.ndarray  # uint32


class GroupedPoints(NamedTuple):
    """The vertices and lower bounds of points, and of groups of consecutive ones.

    No edge that is not listed, and leaves the component of a point, weighs less than
    the point's lower bound.
    """

    begin: np.ndarray  # int64, by group: its first position; then the end of the last
    vertex: np.ndarray  # uint32, by position
    of_group: np.ndarray  # uint32: the vertex of all points of a group, or SEVERAL
    lower_bound: np.ndarray  # float64, by position
    least: np.ndarray  # float64, by group: no lower bound of its points is less
    of_vertex: np.ndarray  # float64, by vertex: a lower bound of each of its points


class EdgesByKey(NamedTuple):
    """The edges of a forest in the order of their keys."""

    src: np.ndarray  # int64
    dst: np.ndarray  # int64
    weight: np.ndarray  # float64


class PositionColumns(NamedTuple):
    """The columns of a `FollowedForest` by position."""

    row: np.ndarray  # uint32
    radius: np.ndarray  # float64
    up: np.ndarray  # uint32
    up_weight: np.ndarray  # float64


class TreeVertices(NamedTuple):
    """The vertices of a tree's points, and their components and bounds."""

    row: np.ndarray  # uint32, by position
    vertex: np.ndarray  # uint32, by position
    of_vertex: np.ndarray  # uint32: the component
    of_node: np.ndarray  # uint32: the component of all points of a node, or SEVERAL
    cores: np.ndarray  # float64, by position


@kernel
def _load_point(points, i, block):
    """Copy a point to the first lane of a block; see `distances_below`."""
    for d in range(points.shape[1]):
        block[d * LEAF] = points[i, d]


@kernel
def copy_coordinates(tree, leaf_at, start, positions, coordinates, begin, end):
    """Copy the coordinates of the positions [begin, end) of a list that are in a tree.

    The tree's positions are those from `start` on; `leaf_at` has the leaf of each
    LEAF-th one.
    """
    dimensions = tree.low.shape[1]
    for i in range(begin, end):
        position = np.int64(positions[i]) - start
        if position < 0 or position >= tree.end[0]:
            continue
        leaf = np.int64(leaf_at[position // LEAF])
        while position >= tree.end[tree.leaves[leaf]]:
            leaf += 1
        at = leaf * dimensions * LEAF + position - tree.begin[tree.leaves[leaf]]
        for d in range(dimensions):
            coordinates[i, d] = tree.blocks[at + d * LEAF]


@kernel
def nearest_to_groups(tree, points, starts, distances, positions, first, last):
    """Find the points of a tree nearest to each point of the groups [first, last).

    Those of a group, up to LEAF from its index in `starts` to the next, search
    together; see `nearest_to_queries`.
    """
    for group in range(first, last):
        nearest_to_queries(
            tree, points, distances, positions, starts[group], starts[group + 1]
        )


@kernel
def find_node_reach(tree, reach, of_node):
    """Write the largest reach of the points of each node."""
    for node in range(len(tree.left) - 1, -1, -1):  # children come after their parent
        left = tree.left[node]
        if left >= 0:
            of_node[node] = max(of_node[left], of_node[left + 1])
        else:
            largest = -1.0
            begin, end = np.uint64(tree.begin[node]), np.uint64(tree.end[node])
            for position in range(begin, end):
                largest = max(largest, reach[position])
            of_node[node] = largest


@kernel
def list_reached(tree, reach, points, begin, end, query, position, distance):
    """List the pairs of a point and a point of the tree whose reach is as large.

    The first ones are `points` from `begin` to `end`. Writes the index in `points`, the
    position and the distance of each pair, as many as fit in; returns their number,
    which is larger than that of the entries if more may exist.
    """
    norm, dimensions = tree.norm, tree.low.shape[1]
    block, out = np.empty(dimensions * LEAF), np.empty(LEAF)
    stack = np.empty(tree.depth + 2, np.int64)
    box, of_node = np.empty((2, dimensions)), reach.of_node
    count, most = 0, len(query)
    for i in range(begin, end):
        _load_point(points, i, block)
        for d in range(dimensions):
            box[0, d] = box[1, d] = points[i, d]
        stack[0], top = 0, 1
        while top:
            top -= 1
            node = stack[top]
            left = tree.left[node]
            if left >= 0:
                gap, beyond = gaps_to_children(
                    norm, tree.low, tree.high, left, dimensions, box
                )
                # Store unconditionally; advance only if the node may be reached
                stack[top] = left + 1
                limit = limit_of(norm, of_node[left + 1])
                top += np.int64((of_node[left + 1] >= 0) & (beyond < limit))
                stack[top] = left
                limit = limit_of(norm, of_node[left])
                top += np.int64((of_node[left] >= 0) & (gap < limit))
                continue
            at, limit = (-1 - left) * dimensions * LEAF, limit_of(norm, of_node[node])
            near = distances_below(
                norm, tree.blocks, at, dimensions, block, 0, out, limit
            )
            while near:
                j = np.int64(trailing_zeros(near))
                near &= near - np.uint64(1)
                other = tree.begin[node] + j
                between = distance_of(norm, out[j])
                if between <= reach.of_position[other]:
                    if count == most:
                        return most + 1
                    query[count], position[count] = i, other
                    distance[count] = between
                    count += 1
    return count


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
def drop_closed_edges(norm, near, is_open, begin, end):
    """Write whether the edge to each neighbour is not the last one of a cycle of three.

    The third point is one of the first LEAF neighbours. Edges that are not lighter than
    `within` are dropped, too.
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
            if not is_open[i, j]:
                continue
            key = edge_key(own_row, row)
            _load_point(near.near[i], j, block)
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
        _load_point(near.points, i, block)
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


@kernel
def offer_edge(first, component, vertex, other, weight, key):
    """Make an edge a component's first one if it precedes the present one."""
    if weight < first.weight[component] or (
        weight == first.weight[component] and key < first.key[component]
    ):
        first.a[component], first.b[component] = vertex, other
        first.weight[component], first.key[component] = weight, key


@kernel
def find_group_vertices(points, begin, end):
    """Write the vertex and the least lower bound of the groups [begin, end)."""
    vertex, lower_bound = points.vertex, points.lower_bound
    for group in range(begin, end):
        start, stop = np.uint64(points.begin[group]), np.uint64(points.begin[group + 1])
        first, differing_bits = vertex[start], np.uint32(0)
        least = lower_bound[start]
        for position in range(start, stop):
            differing_bits |= vertex[position] ^ first
            least = min(least, lower_bound[position])
        points.of_group[group] = SEVERAL if differing_bits else first
        points.least[group] = least


@kernel
def list_uncertain_points(points, component, bound, begin, end, queries, groups):
    """List the points whose lower bound is finite, and within their component's bound.

    They are points of the groups [begin, end). `component` is that of each vertex.
    Writes positions and the groups of these, and returns their number. Both lists have
    one more entry: every position is stored, and the count advances only if the
    position belongs to the list.
    """
    count = np.uint64(0)
    for group in range(begin, end):
        vertex = points.of_group[group]
        if vertex != SEVERAL:
            least = max(points.least[group], points.of_vertex[vertex])
            if least > bound[component[vertex]] or least == np.inf:
                continue
        elif points.least[group] == np.inf:
            continue
        least = np.inf
        for position in range(
            np.uint64(points.begin[group]), np.uint64(points.begin[group + 1])
        ):
            vertex = points.vertex[position]
            own = max(points.lower_bound[position], points.of_vertex[vertex])
            least = min(least, points.lower_bound[position])
            queries[count], groups[count] = position, group
            count += np.uint64((own <= bound[component[vertex]]) & (own < np.inf))
        points.least[group] = least
    return np.int64(count)


@kernel
def find_node_components(tree, of_leaf, vertices):
    """Write the component of each node.

    `of_leaf` is the vertex of all points of a leaf, or SEVERAL.
    """
    of_node = vertices.of_node
    for node in range(len(tree.left) - 1, -1, -1):  # children come after their parent
        left = tree.left[node]
        if left >= 0:
            same = of_node[left] == of_node[left + 1]
            of_node[node] = of_node[left] if same else SEVERAL
            continue
        vertex = of_leaf[-1 - left]
        if vertex != SEVERAL:
            of_node[node] = vertices.of_vertex[vertex]
            continue
        begin, end = np.uint64(tree.begin[node]), np.uint64(tree.end[node])
        common = vertices.of_vertex[vertices.vertex[begin]]
        differing_bits = np.uint32(0)
        for position in range(begin, end):
            component = vertices.of_vertex[vertices.vertex[position]]
            differing_bits |= component ^ common
        of_node[node] = SEVERAL if differing_bits else common


@kernel
def take_earlier_edges(first, other):
    """Replace the edges of `first` by those of `other` that precede them."""
    for i in range(len(first.a)):
        offer_edge(first, i, other.a[i], other.b[i], other.weight[i], other.key[i])


@kernel
def improve_first_edges(tree, vertices, sources, starts, component, first):
    """Replace first edges of components by earlier ones from sources to the tree.

    `component` has the component of each source, whose bound is its first edge. Up to
    LEAF sources from each index in `starts` to the next search together.
    """
    norm, dimensions = tree.norm, tree.low.shape[1]
    block, out = np.empty(dimensions * LEAF), np.empty(LEAF)
    box, limits = np.empty((2, dimensions)), np.empty(LEAF)
    stack = np.empty(tree.depth + 2, np.int64)
    of_node, of_vertex = vertices.of_node, vertices.of_vertex
    for group in range(len(starts) - 1):
        begin, end = starts[group], starts[group + 1]
        load_group(sources.points, begin, end - begin, block, box)
        common, bound = _common(component, first, begin, end)
        limits[:] = EMPTY_LANE
        stack[0], top = 0, 1
        while top:
            top -= 1
            node = stack[top]
            if (of_node[node] != SEVERAL and of_node[node] == common) or _gap_to_box(
                tree, node, box
            ) >= limit_of(norm, bound):
                continue
            left = tree.left[node]
            if left >= 0:
                gap, beyond = gaps_to_children(
                    norm, tree.low, tree.high, left, dimensions, box
                )
                nearer = np.int64(beyond < gap)
                stack[top], stack[top + 1] = left + 1 - nearer, left + nearer
                top += 2
                continue
            for i in range(begin, end):
                limits[i - begin] = limit_of(norm, first.weight[component[i]])
            queries = gaps_below(
                norm, block, dimensions, tree.low, tree.high, node, limits
            )
            lowered = False
            while queries:
                lane = np.int64(trailing_zeros(queries))
                queries &= queries - np.uint64(1)
                i = begin + lane
                own, core = component[i], sources.core[i]
                if of_node[node] != SEVERAL and of_node[node] == own:
                    continue
                near = distances_below(
                    norm,
                    tree.blocks,
                    (-1 - left) * dimensions * LEAF,
                    dimensions,
                    block,
                    lane,
                    out,
                    limits[lane],
                )
                while near:
                    j = np.int64(trailing_zeros(near))
                    near &= near - np.uint64(1)
                    other = tree.begin[node] + j
                    theirs = of_vertex[vertices.vertex[other]]
                    if theirs == own or not out[j] < LARGEST:
                        continue
                    weight = max(distance_of(norm, out[j]), core, vertices.cores[other])
                    if weight > first.weight[own]:
                        continue
                    key = edge_key(sources.point[i], vertices.row[other])
                    one, two = sources.vertex[i], vertices.vertex[other]
                    offer_edge(first, own, one, two, weight, key)
                    offer_edge(first, theirs, two, one, weight, key)
                    lowered = True
            if lowered:
                bound = 0.0
                for i in range(begin, end):
                    bound = max(bound, first.weight[component[i]])


@kernel
def _common(component, first, begin, end):
    """Return the component of the sources [begin, end), or SEVERAL; the top bound."""
    common, bound = component[begin], 0.0
    for i in range(begin, end):
        common = common if component[i] == common else SEVERAL
        bound = max(bound, first.weight[component[i]])
    return common, bound


@kernel
def _gap_to_box(tree, node, box):
    """Return the reduced distance of a box to that of a node."""
    total = 0.0
    for d in range(tree.low.shape[1]):
        below, above = tree.low[node, d] - box[1, d], box[0, d] - tree.high[node, d]
        total = add_gap(tree.norm, total, max(below, above, 0.0))
    return total


@kernel
def find_positions(row, radius, positions, begin, end):
    """Write the positions [begin, end) by row, but those of removed points.

    These have a negative radius.
    """
    for position in range(begin, end):
        if radius[position] >= 0:
            positions[row[position]] = position


@kernel
def root_forest(a, b, weight, up, up_weight):
    """Root the trees of a forest with edges between `a` and `b`.

    Writes for each vertex the other end of its edge towards the root, or the root
    itself, and the weight of that edge.
    """
    degree, edges = np.zeros(len(up), np.uint32), np.zeros(len(up), np.uint32)
    for i in range(len(a)):
        for end in (a[i], b[i]):
            degree[end] += np.uint32(1)
            edges[end] ^= np.uint32(i)  # at last only one edge is left of it
    for vertex in range(len(up)):
        up[vertex], up_weight[vertex] = vertex, 0.0
    for start in range(len(up)):
        vertex = np.uint32(start)
        while degree[vertex] == 1:
            edge = edges[vertex]
            other = a[edge] ^ b[edge] ^ vertex
            up[vertex], up_weight[vertex] = other, weight[edge]
            degree[vertex] = 0
            degree[other] -= np.uint32(1)
            edges[other] ^= edge
            vertex = other


@kernel
def link_trees(up, up_weight, a, b, weight):
    """Add edges between different trees of a rooted forest; see `root_forest`."""
    for i in range(len(a)):
        one, other = a[i], b[i]
        x, y = one, other
        while up[x] != x and up[y] != y:
            x, y = up[x], up[y]
        if up[x] != x:
            one, other = other, one
        # The path from `one` to its root is not the longer one: reverse its edges.
        below, through = other, weight[i]
        vertex, above = one, up[one]
        while True:
            lifted = up_weight[vertex]
            up[vertex], up_weight[vertex] = below, through
            if above == vertex:
                break
            below, through = vertex, lifted
            vertex, above = above, up[above]


@kernel
def copy_positions(before, new_row, later, first, after, begin, end):
    """Copy the columns of the positions [begin, end), which stay in the next version.

    `new_row` is by old row, and `later` has, by old position from `first` on, the new
    one. Edges towards the root are copied with the new position of their end.
    """
    for position in range(begin, end):
        radius, up = before.radius[position], before.up[position]
        is_present = radius >= 0
        after.row[position] = new_row[before.row[position]] if is_present else 0
        after.radius[position] = radius
        after.up[position] = up if up < first else later[up - first]
        after.up_weight[position] = before.up_weight[position]


@kernel
def list_edges_at(up, chosen, begin, end, vertices):
    """List the vertices in [begin, end) whose edges to the root have a chosen end.

    `vertices` has one more entry than the list. Returns their number.
    """
    count = np.uint64(0)
    for vertex in range(begin, end):
        above = up[vertex]
        vertices[count] = vertex
        count += np.uint64((above != vertex) & (chosen[vertex] | chosen[above]))
    return np.int64(count)


@kernel
def mark_paths(up, starts, is_marked):
    """Mark the paths of a rooted forest from some vertices to the roots."""
    for start in starts:
        vertex = start
        while not is_marked[vertex]:
            is_marked[vertex] = True
            vertex = up[vertex]


@kernel
def strip_leaves(up, up_weight, stays, inside, least):
    """Contract leaves of a rooted forest along edges that no unlisted edge precedes.

    A vertex that does not stay, and of which only the edge towards the root is left, is
    contracted if that edge is lighter than its `least`, which its vertex above gets if
    it is smaller. Makes `inside` False for contracted vertices.
    """
    children = np.zeros(len(up), np.uint32)
    for vertex in range(len(up)):
        children[up[vertex]] += np.uint32(up[vertex] != vertex)
    for start in range(len(up)):
        vertex = np.uint32(start)
        while (
            inside[vertex]
            and not stays[vertex]
            and children[vertex] == 0
            and up[vertex] != vertex
            and up_weight[vertex] < least[vertex]
        ):
            above = up[vertex]
            inside[vertex] = False
            least[above] = min(least[above], least[vertex])
            children[above] -= np.uint32(1)
            vertex = above


@kernel
def spread_to_leaves(up, up_weight, flagged, vertex, lower_bound, begin, end):
    """Write the components and lower bounds of leaves among the vertices [begin, end).

    On entry `vertex` is NO_POSITION for leaves, which are contracted; it becomes 0 for
    removed points. The bound of a flagged vertex does not hold for others. Threads
    write the vertices on the paths of their leaves: the same components, and bounds
    that hold whichever bounds of the vertices above they read.
    """
    path = np.empty(len(up), np.uint32)
    for start in range(begin, end):
        above, count = np.uint32(start), 0
        while vertex[above] == NO_POSITION and up[above] != above:
            path[count] = above
            count += 1
            above = up[above]
        if vertex[above] == NO_POSITION:
            vertex[above] = 0
        for i in range(count - 1, -1, -1):
            leaf = path[i]
            vertex[leaf] = vertex[above]
            bound = max(lower_bound[leaf], up_weight[leaf])
            if not flagged[above]:
                bound = max(bound, lower_bound[above])
            lower_bound[leaf] = bound
            above = leaf


@kernel
def write_next_forest(before, new_row, gone, changed, new, after):
    """Write the edges of a forest after a change, in the order of their keys.

    `before` has the old edges and `new_row` their ends after the change, by row. The
    keys `gone` are those of edges that go, `changed.key` those of edges that stay with
    other weights; both are of rows before the change, and ascend. `new` is sorted by
    key, with rows after the change.
    """
    no_key = ~np.uint64(0)
    out = at_gone = at_changed = at_new = 0
    next_gone = gone[0] if len(gone) else no_key
    next_changed = changed.key[0] if len(changed.key) else no_key
    next_new = new.key[0] if len(new.key) else no_key
    for i in range(len(before.weight)):
        src, dst = np.uint64(before.src[i]), np.uint64(before.dst[i])
        key, weight = src << np.uint64(32) | dst, before.weight[i]
        if key == next_changed:
            weight = changed.weight[at_changed]
            at_changed += 1
            end = at_changed == len(changed.key)
            next_changed = no_key if end else changed.key[at_changed]
        if key == next_gone:
            at_gone += 1
            next_gone = no_key if at_gone == len(gone) else gone[at_gone]
            continue
        one, other = np.uint64(new_row[src]), np.uint64(new_row[dst])
        key = one << np.uint64(32) | other
        while next_new < key:
            out, at_new = _write_new(new, at_new, after, out)
            next_new = no_key if at_new == len(new.key) else new.key[at_new]
        after.src[out], after.dst[out], after.weight[out] = one, other, weight
        out += 1
    while at_new < len(new.key):
        out, at_new = _write_new(new, at_new, after, out)


@kernel
def _write_new(new, i, after, out):
    key = new.key[i]
    after.src[out] = key >> np.uint64(32)
    after.dst[out] = key & np.uint64(0xFFFFFFFF)
    after.weight[out] = new.weight[i]
    return out + 1, i + 1


@kernel
def contract_certain(edges, flagged, least, vertex, lower_bound, kept):
    """Contract a graph along edges that no unlisted edge precedes.

    A component without a `flagged` vertex joins another along its first edge if this is
    lighter than `least` at all of its vertices. Writes the number of each one's final
    component to `vertex`, and marks the edges in `kept`. `lower_bound` of a vertex that
    is not flagged is raised to the weight of the first edge of its last component that
    is not flagged, if a flagged one follows; else it stays. Returns the number of final
    components.
    """
    rows, weight, key = len(vertex), edges.weight, edges.key
    # Nodes of the hierarchy of components; those of a level are consecutive. All levels
    # but the last two have at most 8 / 9 of the nodes of the one before.
    nodes = (PROGRESS + 3) * rows
    up, bound = np.empty(nodes, np.uint32), np.empty(nodes)
    has_flag = np.empty(nodes, np.bool_)
    flags, limit = flagged.copy(), least.copy()
    x, y = edges.a.copy(), edges.b.copy()
    index = np.arange(len(x)).astype(np.uint32)
    size, count, base, joined = len(x), rows, 0, rows
    while True:
        enough = PROGRESS * joined >= count
        best, lightest = np.full(count, NO_EDGE), np.full(count, np.inf)
        for i in range(size):
            w = weight[index[i]]
            for end in (x[i], y[i]):
                if w < lightest[end] or (
                    w == lightest[end]
                    and best[end] != NO_EDGE
                    and key[index[i]] < key[index[best[end]]]
                ):
                    best[end], lightest[end] = i, w
        parent = np.arange(count).astype(np.uint32)
        joined = 0
        for component in range(count):
            i = best[component]
            w = lightest[component]
            bound[base + component], has_flag[base + component] = w, flags[component]
            certain = enough and not flags[component] and w < limit[component]
            if certain and unite(parent, np.uint64(x[i]), np.uint64(y[i])):
                kept[index[i]] = True
                joined += 1
        if joined == 0:
            break
        name = np.empty(count, np.uint32)
        fewer = name_components(parent, name)
        new_flags, new_limit = np.zeros(fewer, np.bool_), np.full(fewer, np.inf)
        for component in range(count):
            n = name[component]
            up[base + component] = base + count + n
            new_flags[n] |= flags[component]
            new_limit[n] = min(new_limit[n], limit[component])
        flags, limit = new_flags, new_limit
        left = 0
        for i in range(size):
            one, two = name[x[i]], name[y[i]]
            x[left], y[left], index[left] = one, two, index[i]
            left += one != two
        size, base, count = left, base + count, fewer
    # From the last level down: the final component and the lower bound of each node.
    for component in range(count):
        up[base + component], bound[base + component] = component, -np.inf
    for node in range(base - 1, -1, -1):
        above = up[node]
        if has_flag[node] or not has_flag[above]:
            bound[node] = bound[above]
        up[node] = up[above]
    for row in range(rows):
        vertex[row] = up[row]
        if not flagged[row]:
            lower_bound[row] = max(lower_bound[row], bound[row])
    return count
