"""The lightest outgoing edges of components, searched from points of any rank.

Up to `LEAF` points search together, as in `nearest_points`. A group whose points are in
one component skips the subtrees of this component. The edge found for one point lowers
the bound of all points of its component.
"""

from typing import NamedTuple

import numpy as np

from ...kernels.intrinsics import trailing_zeros
from ...native.kernel import kernel
from ..devices.point_products import NO_POSITION
from .boruvka_steps import edge_key
from .kd_tree import EMPTY_LANE, LEAF, leaf_of, load_group
from .leaf_vectors import (
    distances_below,
    gaps_below,
    gaps_to_children,
)
from .norms import distance_of, limit_of

SEVERAL = np.uint32(0xFFFFFFFF)  # in place of a component: points are in several
# The bound of a component with at least MANY queries is lowered first, by walks from
# STARTS of them.
MANY, STARTS = 256, 4


class TreeComponents(NamedTuple):
    """The components of a tree's points and nodes; see `ComponentArrays`."""

    of_position: np.ndarray  # uint32
    of_node: np.ndarray  # uint32, or SEVERAL
    cores: np.ndarray  # float64, by position
    lower_bound: np.ndarray  # float64, by position
    node_lower_bound: np.ndarray  # float64: the least of a node's points
    bound: np.ndarray  # float64, by component


class EdgeSearchGroup(NamedTuple):
    """Up to LEAF points that search their lightest outgoing edges together.

    Other fields are as in `nearest_points.SearchGroup`.
    """

    block: np.ndarray
    box: np.ndarray
    component: np.ndarray  # uint32: the component of each point; its search skips it
    point: np.ndarray  # uint32
    core: np.ndarray  # float64
    # float64: of the lightest edge found; or a bound, which all edges exceed
    weight: np.ndarray
    # float64: the reduced distance of `weight`; EMPTY_LANE without a point
    limits: np.ndarray
    far_end: np.ndarray  # uint32: a position, or NO_POSITION
    out: np.ndarray
    nodes: np.ndarray
    gaps: np.ndarray


@kernel
def fill_nodes(tree, components):
    """Write `of_node` and `node_lower_bound`, from the points of each node."""
    of_node, of_position = components.of_node, components.of_position
    lower_bound, node_lower_bound = components.lower_bound, components.node_lower_bound
    for node in range(len(tree.left) - 1, -1, -1):  # children come after their parent
        left = tree.left[node]
        if left >= 0:
            same = of_node[left] == of_node[left + 1]
            of_node[node] = of_node[left] if same else SEVERAL
            node_lower_bound[node] = min(
                node_lower_bound[left], node_lower_bound[left + 1]
            )
        else:
            begin, end = np.uint64(tree.begin[node]), np.uint64(tree.end[node])
            first, differing_bits = of_position[begin], np.uint32(0)
            least = lower_bound[begin]
            for position in range(begin, end):
                differing_bits |= of_position[position] ^ first
                least = min(least, lower_bound[position])
            of_node[node] = SEVERAL if differing_bits else first
            node_lower_bound[node] = least


@kernel
def _allocate_group(tree):
    """Return a group without points."""
    dimensions = tree.low.shape[1]
    return EdgeSearchGroup(
        np.empty(dimensions * LEAF),
        np.empty((2, dimensions)),
        np.empty(LEAF, np.uint32),
        np.empty(LEAF, np.uint32),
        np.empty(LEAF),
        np.empty(LEAF),
        np.empty(LEAF),
        np.empty(LEAF, np.uint32),
        np.empty(LEAF),
        np.empty(tree.depth + 2, np.int64),
        np.empty(tree.depth + 2),
    )


@kernel
def search(tree, components, group, target):
    """Find the lightest outgoing edges of a group, within their bounds.

    Searches the component `target` alone, or all others if `target` is SEVERAL. Lowers
    the bounds of components to the edges found. Threads may overwrite each other's
    bounds, all of which are valid.
    """
    of_position, of_node = components.of_position, components.of_node
    cores, lower_bound = components.cores, components.lower_bound
    node_lower_bound, bounds = components.node_lower_bound, components.bound
    block, box, component, point, core, weight, limits, far_end, out, nodes, gaps = (
        group
    )
    norm, dimensions = tree.norm, tree.low.shape[1]
    # The component of all points of the group, or SEVERAL
    common, bound, heaviest = SEVERAL, 0.0, 0.0
    is_first = True
    for i in range(LEAF):
        if limits[i] >= 0:
            same = is_first or component[i] == common
            common = component[i] if same else SEVERAL
            is_first = False
            bound, heaviest = max(bound, limits[i]), max(heaviest, weight[i])
    nodes[0], gaps[0], top = 0, 0.0, 1
    while top:
        top -= 1
        node, gap = nodes[top], gaps[top]
        while gap < bound and tree.left[node] >= 0:
            node = tree.left[node]
            far = node + 1
            gap, beyond = gaps_to_children(
                norm, tree.low, tree.high, node, dimensions, box
            )
            if (of_node[node] != SEVERAL and of_node[node] == common) or (
                node_lower_bound[node] > heaviest
            ):
                gap = np.inf
            if (of_node[far] != SEVERAL and of_node[far] == common) or (
                node_lower_bound[far] > heaviest
            ):
                beyond = np.inf
            if beyond < gap:
                node, far, gap, beyond = far, node, beyond, gap
            if beyond < bound:
                nodes[top], gaps[top] = far, beyond
                top += 1
        if gap >= bound:
            continue
        leaf_component = of_node[node]
        if leaf_component != SEVERAL and (
            leaf_component == common or (target != SEVERAL and leaf_component != target)
        ):
            continue
        leaf, begin = -1 - tree.left[node], tree.begin[node]
        queries = gaps_below(norm, block, dimensions, tree.low, tree.high, node, limits)
        lowered = False
        while queries:
            i = np.int64(trailing_zeros(queries))
            queries &= queries - np.uint64(1)
            if leaf_component == component[i]:
                continue
            near = distances_below(
                norm,
                tree.blocks,
                leaf * dimensions * LEAF,
                dimensions,
                block,
                i,
                out,
                limits[i],
            )
            improved = False
            while near:
                j = np.int64(trailing_zeros(near))
                near &= near - np.uint64(1)
                other = begin + j
                if of_position[other] == component[i] or lower_bound[other] > weight[i]:
                    continue
                if target != SEVERAL and of_position[other] != target:
                    continue
                distance = max(distance_of(norm, out[j]), core[i], cores[other])
                if distance < weight[i] or (
                    distance == weight[i]
                    and (
                        far_end[i] == NO_POSITION
                        or edge_key(point[i], tree.point[other])
                        < edge_key(point[i], tree.point[far_end[i]])
                    )
                ):
                    weight[i], far_end[i] = distance, np.uint32(other)
                    improved = True
            if improved:
                limit = limit_of(norm, weight[i])
                limits[i] = limit
                if weight[i] < bounds[component[i]]:
                    bounds[component[i]] = weight[i]
                # Heavier edges of the component's other points are not wanted any more.
                for lane in range(LEAF):
                    if component[lane] == component[i] and weight[lane] > weight[i]:
                        weight[lane], far_end[lane] = weight[i], NO_POSITION
                        limits[lane] = min(limits[lane], limit)
                lowered = True
        if lowered:
            bound = heaviest = 0.0
            for i in range(LEAF):
                if limits[i] >= 0:
                    bound, heaviest = max(bound, limits[i]), max(heaviest, weight[i])


@kernel
def _load_leaf(tree, leaf, group):
    """Copy the coordinates of a leaf to a group, and empty the group's lanes."""
    dimensions = tree.low.shape[1]
    for i in range(dimensions * LEAF):
        group.block[i] = tree.blocks[leaf * dimensions * LEAF + i]
    node = tree.leaves[leaf]
    for d in range(dimensions):
        group.box[0, d], group.box[1, d] = tree.low[node, d], tree.high[node, d]
    group.limits[:] = EMPTY_LANE


@kernel
def _add(tree, group, i, component, point, core, weight):
    """Add the point whose coordinates lane `i` of the group has."""
    group.component[i], group.point[i], group.core[i] = component, point, core
    group.weight[i], group.far_end[i] = weight, NO_POSITION
    group.limits[i] = limit_of(tree.norm, weight)


@kernel
def lightest(tree, components, queries, ends, weight, first, last):
    """Find the lightest outgoing edges of the queries [first, last).

    `queries` are positions, ascending. `ends` become the far ends, or the query itself
    if no edge is within the bound; `weight` becomes the weight of the edge, or the
    bound, which all edges exceed.
    """
    group = _allocate_group(tree)
    i = first
    while i < last:
        leaf = leaf_of(tree, queries[i])
        node, first_of_leaf = tree.leaves[leaf], i
        _load_leaf(tree, leaf, group)
        begin, end = tree.begin[node], tree.end[node]
        while i < last and queries[i] < end:
            position = queries[i]
            component, point = components.of_position[position], tree.point[position]
            core, bound = components.cores[position], components.bound[component]
            _add(tree, group, position - begin, component, point, core, bound)
            i += 1
        search(tree, components, group, SEVERAL)
        for j in range(first_of_leaf, i):
            lane = queries[j] - begin
            far_end = group.far_end[lane]
            ends[j] = queries[j] if far_end == NO_POSITION else far_end
            weight[j] = group.weight[lane]


@kernel
def lightest_of_queries(tree, components, queries, ends, first, last):
    """Find the lightest edges of another rank's queries [first, last) into this tree.

    Lowers bounds of components, as `lightest` does. The bound of each query becomes the
    weight of its lightest edge, or a weight that all its edges to points of this tree
    exceed; `ends` become the positions of the far ends, or NO_POSITION.
    """
    group = _allocate_group(tree)
    for begin in range(first, last, LEAF):
        count = min(last - begin, LEAF)
        load_group(queries.points, begin, count, group.block, group.box)
        group.limits[:] = EMPTY_LANE
        for i in range(count):
            component = queries.component[begin + i]
            bound = min(queries.bound[begin + i], components.bound[component])
            point, core = queries.point[begin + i], queries.core[begin + i]
            _add(tree, group, i, component, point, core, bound)
        search(tree, components, group, SEVERAL)
        for i in range(count):
            ends[begin + i] = group.far_end[i]
            queries.bound[begin + i] = group.weight[i]


@kernel
def walk_starts(queries, of_position, count):
    """Return STARTS queries of each of `count` components that has at least MANY."""
    sizes, seen = np.zeros(count, np.int64), np.zeros(count, np.int64)
    for position in queries:
        sizes[of_position[position]] += 1
    most = 0
    for component in range(count):
        most += STARTS if sizes[component] >= MANY else 0
    starts, count_of_starts = np.empty(most, np.uint32), 0
    for position in queries:
        component = of_position[position]
        size, index = sizes[component], seen[component]
        seen[component] = index + 1
        # The first query of each of STARTS ranges of nearly equal length.
        if size >= MANY and index * STARTS // size != (index - 1) * STARTS // size:
            starts[count_of_starts] = position
            count_of_starts += 1
    return starts


@kernel
def lower_bounds_by_walks(tree, components, starts, first, last):
    """Lower the bounds of components by walks from the positions starts[first : last].

    A walk alternates between a component and its surroundings: from the component's
    points in a leaf to the nearest other point, from the points of that leaf to the
    nearest point of the component, and so on, until no edge is lighter.
    """
    group = _allocate_group(tree)
    for i in range(first, last):
        current = np.uint32(starts[i])
        component, side, target = components.of_position[current], SEVERAL, SEVERAL
        while current != NO_POSITION:
            leaf = leaf_of(tree, current)
            node, side = tree.leaves[leaf], components.of_position[current]
            _load_leaf(tree, leaf, group)
            target = SEVERAL if side == component else component
            bound = components.bound[component]
            for position in range(tree.begin[node], tree.end[node]):
                if components.of_position[position] == side:
                    lane, core = position - tree.begin[node], components.cores[position]
                    _add(tree, group, lane, side, tree.point[position], core, bound)
            search(tree, components, group, target)
            current = NO_POSITION
            for lane in range(LEAF):
                end, weight = group.far_end[lane], group.weight[lane]
                if group.limits[lane] >= 0 and end != NO_POSITION and weight < bound:
                    bound, current = weight, end
            if current != NO_POSITION and bound < components.bound[component]:
                components.bound[component] = bound
