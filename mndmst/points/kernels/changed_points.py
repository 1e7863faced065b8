"""The steps that follow a change of points: whom it reaches, and which edges it gives.

Searches start from a few points, which need not be in the tree, one walk for each. They
return whatever pairs lie within bounds that differ from point to point of the tree, so
a node has the largest bound of its points.
"""

from typing import NamedTuple

import numpy as np

from ...kernels.intrinsics import trailing_zeros
from ...native.kernel import kernel
from .boruvka_steps import edge_key
from .kd_tree import EMPTY_LANE, LEAF, load_group
from .leaf_vectors import distances_below, gaps_below, gaps_to_children
from .lightest_edges import SEVERAL
from .nearest_points import nearest_to_queries
from .norms import LARGEST, add_gap, distance_of, limit_of


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


class TreeVertices(NamedTuple):
    """The vertices of a tree's points, and their components and bounds."""

    row: np.ndarray  # uint32, by position
    vertex: np.ndarray  # uint32, by position
    of_vertex: np.ndarray  # uint32: the component
    of_node: np.ndarray  # uint32: the component of all points of a node, or SEVERAL
    cores: np.ndarray  # float64, by position


@kernel
def load_query(points, i, block):
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
def find_leaf_reach(tree, reach, of_node, first, last):
    """Write the largest reach of the points of the leaves [first, last)."""
    for leaf in range(first, last):
        node, largest = tree.leaves[leaf], -1.0
        begin, end = np.uint64(tree.begin[node]), np.uint64(tree.end[node])
        for position in range(begin, end):
            largest = max(largest, reach[position])
        of_node[node] = largest


@kernel
def find_node_reach(tree, of_node):
    """Write the largest reach of the points of each node that is not a leaf."""
    for node in range(len(tree.left) - 1, -1, -1):  # children come after their parent
        left = tree.left[node]
        if left >= 0:
            of_node[node] = max(of_node[left], of_node[left + 1])


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
        load_query(points, i, block)
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
