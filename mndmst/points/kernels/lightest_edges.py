"""The lightest edges that leave components, searched from points of any rank.

Up to `LEAF` points search together, as in `nearest_points`. A group whose points are in
one component skips the subtrees of this component. An edge that one point finds lowers
the bound of all points of its component.
"""

from typing import NamedTuple

import numpy as np

from ...kernels.intrinsics import trailing_zeros
from ...native.kernel import kernel
from ..devices.point_products import NO_POSITION
from .kd_tree import LEAF, NOT_THERE, leaf_of, load_group
from .leaf_vectors import (
    distances_below,
    gaps_below,
    gaps_to_children,
)
from .norms import distance_of, limit_of

MIXED = np.uint32(0xFFFFFFFF)  # the component of a node with points of several
# A component with at least MANY queries first lowers its bound by walks from GUIDES.
MANY, GUIDES = 256, 4


class TreeComponents(NamedTuple):
    """The components of a tree's points and nodes; see `ComponentArrays`."""

    of_position: np.ndarray  # uint32
    of_node: np.ndarray  # uint32; MIXED for several
    cores: np.ndarray  # float64, by point: core distances; zeros for plain distances
    # float64: lower bound of the weights of each point's unknown edges
    reach: np.ndarray
    least_reach: np.ndarray  # float64, by node
    # float64: weight of the lightest known edge that leaves each component
    bound: np.ndarray


class Seekers(NamedTuple):
    """Up to LEAF points that search together for edges that leave their components.

    Other fields are as in `nearest_points.SearchGroup`.
    """

    block: np.ndarray
    box: np.ndarray
    component: np.ndarray  # uint32: the component of each point; its search skips it
    row: np.ndarray  # uint32: the user's number of each point
    core: np.ndarray  # float64
    # float64: of the lightest edge found; or a bound, which all edges exceed
    weight: np.ndarray
    # float64: the reduced distance of `weight`; NOT_THERE without a point
    limits: np.ndarray
    found: np.ndarray  # uint32: the far ends, or NO_POSITION
    out: np.ndarray
    nodes: np.ndarray
    gaps: np.ndarray


@kernel
def sum_up(tree, components):
    """Compute the component and the least reach of each node from its points."""
    of_node, of_position = components.of_node, components.of_position
    reach, least_reach = components.reach, components.least_reach
    for node in range(len(tree.left) - 1, -1, -1):  # children come after their parent
        left = tree.left[node]
        if left >= 0:
            same = of_node[left] == of_node[left + 1]
            of_node[node] = of_node[left] if same else MIXED
            least_reach[node] = min(least_reach[left], least_reach[left + 1])
        else:
            begin, end = np.uint64(tree.begin[node]), np.uint64(tree.end[node])
            first, others = of_position[begin], np.uint32(0)
            least = reach[begin]
            for position in range(begin, end):
                others |= of_position[position] ^ first
                least = min(least, reach[position])
            of_node[node] = MIXED if others else first
            least_reach[node] = least


@kernel
def _seekers(tree):
    """Return memory for a group."""
    dimensions = tree.low.shape[1]
    return Seekers(
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
def search(tree, components, group, wanted):
    """Find the lightest edges of a group, within their bounds.

    Only the component `wanted` is searched; with MIXED all others. Bounds of components
    are lowered by the edges found. Threads may overwrite each other's bounds, all of
    which are true.
    """
    of_position, of_node = components.of_position, components.of_node
    cores, reach = components.cores, components.reach
    least_reach, bounds = components.least_reach, components.bound
    block, box, own, row, core, weight, limits, found, out, nodes, gaps = group
    norm, dimensions, rows = tree.norm, tree.low.shape[1], tree.rows
    common, bound, heaviest = MIXED, 0.0, 0.0
    begun = False
    for i in range(LEAF):
        if limits[i] >= 0:
            common = MIXED if begun and own[i] != common else own[i]
            begun = True
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
            # A component named MIXED does not exist, so no node of several is skipped.
            if (of_node[node] != MIXED and of_node[node] == common) or (
                least_reach[node] > heaviest
            ):
                gap = np.inf
            if (of_node[far] != MIXED and of_node[far] == common) or (
                least_reach[far] > heaviest
            ):
                beyond = np.inf
            if beyond < gap:
                node, far, gap, beyond = far, node, beyond, gap
            if beyond < bound:
                nodes[top], gaps[top] = far, beyond
                top += 1
        if gap >= bound:
            continue
        here = of_node[node]
        if here != MIXED and (here == common or (wanted != MIXED and here != wanted)):
            continue
        leaf, begin = -1 - tree.left[node], tree.begin[node]
        asking = gaps_below(norm, block, dimensions, tree.low, tree.high, node, limits)
        lowered = False
        while asking:
            i = np.int64(trailing_zeros(asking))
            asking &= asking - np.uint64(1)
            if here == own[i]:
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
                if of_position[other] == own[i] or reach[other] > weight[i]:
                    continue
                if wanted != MIXED and of_position[other] != wanted:
                    continue
                distance = max(distance_of(norm, out[j]), core[i], cores[other])
                if distance < weight[i] or (
                    distance == weight[i]
                    and (
                        found[i] == NO_POSITION
                        or _precedes(rows, row[i], other, found[i])
                    )
                ):
                    weight[i], found[i] = distance, np.uint32(other)
                    improved = True
            if improved:
                limit = limit_of(norm, weight[i])
                limits[i] = limit
                if weight[i] < bounds[own[i]]:
                    bounds[own[i]] = weight[i]
                # All others of the component want no heavier edge any more.
                for other_lane in range(LEAF):
                    if own[other_lane] == own[i] and weight[other_lane] > weight[i]:
                        weight[other_lane], found[other_lane] = weight[i], NO_POSITION
                        limits[other_lane] = min(limits[other_lane], limit)
                lowered = True
        if lowered:
            bound = heaviest = 0.0
            for i in range(LEAF):
                if limits[i] >= 0:
                    bound, heaviest = max(bound, limits[i]), max(heaviest, weight[i])


@kernel
def _precedes(rows, row, one, other):
    """Return whether the edge from a row to one position precedes that to another."""
    x, y = rows[one], rows[other]
    a, b = min(x, row), min(y, row)
    return a < b or (a == b and max(x, row) < max(y, row))


@kernel
def _load_leaf(tree, leaf, group):
    """Copy the coordinates of a leaf to a group without points."""
    dimensions = tree.low.shape[1]
    for i in range(dimensions * LEAF):
        group.block[i] = tree.blocks[leaf * dimensions * LEAF + i]
    node = tree.leaves[leaf]
    for d in range(dimensions):
        group.box[0, d], group.box[1, d] = tree.low[node, d], tree.high[node, d]
    group.limits[:] = NOT_THERE


@kernel
def _add(tree, group, i, component, row, core, weight):
    """Add a point, whose coordinates are there, to a group."""
    group.component[i], group.row[i], group.core[i] = component, row, core
    group.weight[i], group.found[i] = weight, NO_POSITION
    group.limits[i] = limit_of(tree.norm, weight)


@kernel
def lightest(tree, components, queries, ends, weight, first, last):
    """Find the lightest edges that leave components, of the queries [first, last).

    `queries` are positions, ascending. `ends` become the far ends, or the position
    itself if no edge is within the bound; `weight` becomes the weight of each lightest
    edge, or the bound, which all of them exceed.
    """
    group = _seekers(tree)
    i = first
    while i < last:
        leaf = leaf_of(tree, queries[i])
        node, begun = tree.leaves[leaf], i
        _load_leaf(tree, leaf, group)
        begin, end = tree.begin[node], tree.end[node]
        while i < last and queries[i] < end:
            position = queries[i]
            own = components.of_position[position]
            bound, core = components.bound[own], components.cores[position]
            _add(tree, group, position - begin, own, tree.rows[position], core, bound)
            i += 1
        search(tree, components, group, MIXED)
        for j in range(begun, i):
            lane = queries[j] - begin
            found = group.found[lane]
            ends[j] = queries[j] if found == NO_POSITION else found
            weight[j] = group.weight[lane]


@kernel
def lightest_of_queries(tree, components, queries, ends, first, last):
    """Find the lightest edges of another rank's queries [first, last) into this tree.

    Bounds of components are lowered as in `lightest`. The bound of each query becomes
    the weight found, or a weight that all its edges to points of this tree exceed;
    `ends` become the positions of the far ends, or NO_POSITION.
    """
    group = _seekers(tree)
    for begin in range(first, last, LEAF):
        count = min(last - begin, LEAF)
        load_group(queries.points, begin, count, group.block, group.box)
        group.limits[:] = NOT_THERE
        for i in range(count):
            own = queries.component[begin + i]
            bound = min(queries.bound[begin + i], components.bound[own])
            row, core = queries.point[begin + i], queries.core[begin + i]
            _add(tree, group, i, own, row, core, bound)
        search(tree, components, group, MIXED)
        for i in range(count):
            ends[begin + i] = group.found[i]
            queries.bound[begin + i] = group.weight[i]


@kernel
def guides(queries, of_position, count):
    """Return a few of the queries of each of `count` components that has many."""
    sizes, seen = np.zeros(count, np.int64), np.zeros(count, np.int64)
    for position in queries:
        sizes[of_position[position]] += 1
    most = 0
    for component in range(count):
        most += GUIDES if sizes[component] >= MANY else 0
    chosen, found = np.empty(most, np.uint32), 0
    for position in queries:
        component = of_position[position]
        size, number = sizes[component], seen[component]
        seen[component] = number + 1
        # The first of each of GUIDES ranges of the queries, nearly equally many.
        if size >= MANY and number * GUIDES // size != (number - 1) * GUIDES // size:
            chosen[found] = position
            found += 1
    return chosen


@kernel
def approach(tree, components, positions, first, last):
    """Lower the bounds of components by walks from the positions [first, last).

    A walk goes back and forth across the gap: from the points of its component in a
    leaf to the nearest point of another, from the leaf of this one to the nearest point
    of its own component, and so on, until no edge is lighter.
    """
    group = _seekers(tree)
    for number in range(first, last):
        here = np.uint32(positions[number])
        own, side, wanted = components.of_position[here], MIXED, MIXED
        while here != NO_POSITION:
            leaf = leaf_of(tree, here)
            node, side = tree.leaves[leaf], components.of_position[here]
            _load_leaf(tree, leaf, group)
            wanted = MIXED if side == own else own
            bound = components.bound[own]
            for position in range(tree.begin[node], tree.end[node]):
                if components.of_position[position] == side:
                    lane, core = position - tree.begin[node], components.cores[position]
                    _add(tree, group, lane, side, tree.rows[position], core, bound)
            search(tree, components, group, wanted)
            here = NO_POSITION
            for lane in range(LEAF):
                there, weight = group.found[lane], group.weight[lane]
                if group.limits[lane] >= 0 and there != NO_POSITION and weight < bound:
                    bound, here = weight, there
            if here != NO_POSITION and bound < components.bound[own]:
                components.bound[own] = bound
