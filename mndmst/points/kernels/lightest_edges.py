"""The lightest edges that leave components, searched from points of any rank."""

from typing import NamedTuple

import numpy as np

from ...backends.point_products import NO_POSITION
from ...native.kernel import kernel
from .kd_tree import (
    CHUNK,
    any_below,
    distances_to_chunk,
    gap_between,
    gap_to_point,
    load_point,
)
from .norms import distance_of, limit_of

MIXED = np.uint32(0xFFFFFFFF)  # the component of a node with points of several
STARTS = 32  # most nodes at which a search begins


class TreeComponents(NamedTuple):
    """The components of a tree's points and nodes; see `ComponentArrays`.

    Attributes
    ----------
    of_position : ndarray of uint32, shape (points,)
    of_node : ndarray of uint32, shape (nodes,)
        MIXED for several.
    cores : ndarray of float64, shape (points,)
        Core distances; zeros for plain distances.
    reach : ndarray of float64, shape (points,)
        Lower bound of the weights of each point's unknown edges.
    least_reach : ndarray of float64, shape (nodes,)
    bound : ndarray of float64, shape (components,)
        The weight of the lightest known edge that leaves each component.
    """

    of_position: np.ndarray
    of_node: np.ndarray
    cores: np.ndarray
    reach: np.ndarray
    least_reach: np.ndarray
    bound: np.ndarray


class Query(NamedTuple):
    """A point that searches the lightest edge to another component.

    Attributes
    ----------
    core : float
        The point's core distance.
    row : int
        The user's number of the point.
    component : int
        The point's component, which is skipped.
    target : int
        The only component to search; MIXED for all others.
    bound : float
        No heavier edge is wanted.
    """

    core: float
    row: int
    component: int
    target: int
    bound: float


class Workspace(NamedTuple):
    """Memory of one search: a stack, a chunk of distances, the nodes to begin at."""

    nodes: np.ndarray
    gaps: np.ndarray
    out: np.ndarray
    starts: np.ndarray


@kernel
def sum_up(tree, components):
    """Compute the component and the least reach of each node from its points."""
    of_node, of_position = components.of_node, components.of_position
    reach, least_reach = components.reach, components.least_reach
    for node in range(len(tree.left) - 1, -1, -1):
        left = tree.left[node]
        if left >= 0:
            same = of_node[left] == of_node[left + 1]
            of_node[node] = of_node[left] if same else MIXED
            least_reach[node] = min(least_reach[left], least_reach[left + 1])
        else:
            of_node[node], least = of_position[tree.begin[node]], np.inf
            for position in range(tree.begin[node], tree.end[node]):
                if of_position[position] != of_node[node]:
                    of_node[node] = MIXED
                least = min(least, reach[position])
            least_reach[node] = least


@kernel
def allocate(tree):
    """Return a workspace whose search begins at the root."""
    most = tree.depth + 1 + STARTS
    starts = np.zeros(STARTS, np.int64)
    return Workspace(np.empty(most, np.int64), np.empty(most), np.empty(CHUNK), starts)


@kernel
def search(tree, components, query, point, workspace, count):
    """Return the lightest edge of a query: its far end and its weight.

    The end is NO_POSITION if no edge is within the bound; the weight is the bound then.

    Parameters
    ----------
    query : Query
    point : ndarray of float64, shape (dimensions,)
    workspace : Workspace
    count : int
        Number of nodes in `workspace.starts`.
    """
    nodes, gaps, out, starts = workspace
    of_position, of_node = components.of_position, components.of_node
    cores = components.cores
    reach, least_reach = components.reach, components.least_reach
    own, wanted, weight = query.component, query.target, query.bound
    core, row = query.core, query.row
    found, limit = NO_POSITION, limit_of(tree.norm, weight)
    top = 0
    for i in range(count):
        gap = gap_to_point(tree, starts[i], point)
        if gap < limit:
            nodes[top], gaps[top] = starts[i], gap
            top += 1
    while top:
        top -= 1
        node, gap = nodes[top], gaps[top]
        while gap < limit and tree.left[node] >= 0:
            node = tree.left[node]
            far = node + 1
            gap = beyond = np.inf
            if of_node[node] != own and least_reach[node] <= weight:
                gap = gap_to_point(tree, node, point)
            if of_node[far] != own and least_reach[far] <= weight:
                beyond = gap_to_point(tree, far, point)
            if beyond < gap:
                node, far, gap, beyond = far, node, beyond, gap
            if beyond < limit:
                nodes[top], gaps[top] = far, beyond
                top += 1
        if gap >= limit or of_node[node] == own:
            continue
        if wanted != MIXED and of_node[node] != MIXED and of_node[node] != wanted:
            continue
        for begin in range(tree.begin[node], tree.end[node], CHUNK):
            count = distances_to_chunk(tree, node, begin, point, out)
            if not any_below(out, count, limit):
                continue
            for j in range(count):
                position = begin + j
                if out[j] >= limit or of_position[position] == own:
                    continue
                if reach[position] > weight:
                    continue
                if wanted != MIXED and of_position[position] != wanted:
                    continue
                distance = max(distance_of(tree.norm, out[j]), core, cores[position])
                if distance < weight or (
                    distance == weight
                    and (
                        found == NO_POSITION
                        or _precedes(tree.rows, row, position, found)
                    )
                ):
                    weight, found = distance, np.uint32(position)
                    limit = limit_of(tree.norm, weight)
    return found, weight


@kernel
def _precedes(rows, row, one, other):
    """Return whether the edge from a row to one position precedes that to another."""
    x, y = rows[one], rows[other]
    a, b = min(x, row), min(y, row)
    return a < b or (a == b and max(x, row) < max(y, row))


@kernel
def lower(components, component, weight):
    """Lower the bound of a component to a weight."""
    if weight < components.bound[component]:
        components.bound[component] = weight


@kernel
def lightest(tree, components, queries, ends, weight, first, last):
    """Find the lightest edges that leave components, of the queries [first, last).

    Bounds are lowered by the edges found. Threads may overwrite each other's bounds,
    all of which are true.

    Parameters
    ----------
    queries : ndarray of uint32
        The positions to search from, ascending.
    ends : ndarray of uint32
        Become the far ends; the position itself if no edge is within the bound.
    weight : ndarray of float64
        Becomes the weight of each lightest edge; or the bound, which all of them
        exceed.
    """
    point, workspace = np.empty(tree.low.shape[1]), allocate(tree)
    leaf, end, count, within = np.int64(0), np.int64(0), 0, np.inf
    for i in range(first, last):
        position = queries[i]
        if position >= end:
            leaf = _leaf_of(tree, position)
            end = tree.end[leaf]
            count, within = _list_near(tree, components, leaf, workspace.starts)
        component = components.of_position[position]
        # Another thread may have raised the bound since the nodes were listed.
        ends[i], weight[i] = position, min(components.bound[component], within)
        if count:
            load_point(tree, leaf, position, point)
            query = Query(
                components.cores[position],
                tree.rows[position],
                component,
                MIXED,
                weight[i],
            )
            found = search(tree, components, query, point, workspace, count)
            weight[i] = found[1]
            if found[0] != NO_POSITION:
                ends[i] = found[0]
                lower(components, component, weight[i])


@kernel
def lightest_of_queries(tree, components, queries, ends, first, last):
    """Find the lightest edges of another rank's queries [first, last) into this tree.

    Parameters
    ----------
    components : TreeComponents
        Their bounds are lowered by the edges found, as in `lightest`.
    queries : RemoteQueries
        Each bound becomes the weight found; or a weight that all edges of the query to
        points of this tree exceed.
    ends : ndarray of uint32
        Become the positions of the far ends, or NO_POSITION.
    """
    point, workspace = np.empty(tree.low.shape[1]), allocate(tree)
    for number in range(first, last):
        for d in range(len(point)):
            point[d] = queries.points[number, d]
        component = queries.component[number]
        bound = min(queries.bound[number], components.bound[component])
        query = Query(
            queries.core[number], queries.row[number], component, MIXED, bound
        )
        found, weight = search(tree, components, query, point, workspace, 1)
        ends[number], queries.bound[number] = found, weight
        if found != NO_POSITION:
            lower(components, component, weight)


@kernel
def _list_near(tree, components, leaf, starts):
    """List nodes that hold all points of others within the bound of a leaf's component.

    The root, within any bound, for a leaf of several components.

    Returns
    -------
    int
        Number of nodes listed.
    float
        The bound.
    """
    own = components.of_node[leaf]
    starts[0] = 0
    if own == MIXED:
        return 1, np.inf
    bound = components.bound[own]
    count, i = 1, 0
    while i < count:
        left = tree.left[starts[i]]
        if left < 0 or count == len(starts):
            i += 1
            continue
        one = _is_near(tree, components, leaf, left, bound)
        other = _is_near(tree, components, leaf, left + 1, bound)
        if one and other:
            starts[i], starts[count] = left, left + 1
            count += 1
        elif one or other:
            starts[i] = left if one else left + 1
        else:
            count -= 1
            starts[i] = starts[count]
    return count, bound


@kernel
def _is_near(tree, components, leaf, node, bound):
    """Return whether a node may have a point of others within the bound of a leaf."""
    if components.of_node[node] == components.of_node[leaf]:
        return False
    if components.least_reach[node] > bound:
        return False
    return gap_between(tree, leaf, node) < limit_of(tree.norm, bound)


@kernel
def approach(tree, components, positions, first, last):
    """Lower the bounds of components by walks from the positions [first, last)."""
    point, workspace = np.empty(tree.low.shape[1]), allocate(tree)
    for i in range(first, last):
        _walk(tree, components, positions[i], point, workspace)


@kernel
def _walk(tree, components, start, point, workspace):
    """Lower the bound of a point's component by a walk back and forth across the gap.

    The walk goes to the nearest point of another component, from there to the nearest
    point of the own one, and so on, until two points are nearest to each other.
    """
    own, wanted, here = components.of_position[start], MIXED, start
    side = own
    while True:
        load_point(tree, _leaf_of(tree, here), here, point)
        query = Query(
            components.cores[here],
            tree.rows[here],
            side,
            wanted,
            components.bound[own],
        )
        other, weight = search(tree, components, query, point, workspace, 1)
        if other == NO_POSITION or not weight < components.bound[own]:
            break
        lower(components, own, weight)
        here, side = other, components.of_position[other]
        wanted = MIXED if side == own else own


@kernel
def _leaf_of(tree, position):
    """Return the leaf that contains a position."""
    low, high = 0, len(tree.leaves)
    while high - low > 1:
        middle = (low + high) // 2
        if tree.begin[tree.leaves[middle]] <= position:
            low = middle
        else:
            high = middle
    return tree.leaves[low]
