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
from .boruvka_steps import NO_EDGE, edge_key, name_components
from .kd_tree import EMPTY_LANE, LEAF, gap_to_point, load_group
from .leaf_vectors import distances_below, gaps_below, gaps_to_children
from .lightest_edges import SEVERAL
from .norms import LARGEST, add_gap, distance_of, limit_of

# `contract_certain` ends where fewer than this fraction of the components join (1 / 8).
PROGRESS = 8


class Reach(NamedTuple):
    """How far each point of a tree, and each node's points at most, are reached."""

    of_position: np.ndarray  # float64: a distance; negative for a removed point
    of_node: np.ndarray  # float64: the least of the negated distances, as `fill_nodes`


class EdgeSources(NamedTuple):
    """Points that search edges between components."""

    points: np.ndarray  # float64, shape (sources, dimensions)
    point: np.ndarray  # uint32: their rows
    core: np.ndarray  # float64
    vertex: np.ndarray  # uint32


class TreeVertices(NamedTuple):
    """The components of a tree's points, and their bounds."""

    row: np.ndarray  # uint32, by position
    vertex: np.ndarray  # uint32, by position
    of_position: np.ndarray  # uint32: the component
    of_node: np.ndarray  # uint32: the component of all points of a node, or SEVERAL
    cores: np.ndarray  # float64, by position
    # float64, by node: the least of the negated bounds of its points' components
    node_bound: np.ndarray


@kernel
def _load_point(points, i, block):
    """Copy a point to the first lane of a block; see `distances_below`."""
    for d in range(points.shape[1]):
        block[d * LEAF] = points[i, d]


@kernel
def list_reached(tree, reach, points, query, position, distance):
    """List the pairs of a point and a point of the tree whose reach is as large.

    Writes the index in `points`, the position and the distance of each pair, as many as
    fit in; returns their number, which is larger than that of the entries if more may
    exist.
    """
    norm, dimensions = tree.norm, tree.low.shape[1]
    block, out = np.empty(dimensions * LEAF), np.empty(LEAF)
    stack = np.empty(tree.depth + 2, np.int64)
    count, most = 0, len(query)
    for i in range(len(points)):
        _load_point(points, i, block)
        stack[0], top = 0, 1
        while top:
            top -= 1
            node = stack[top]
            limit = limit_of(norm, -reach.of_node[node])
            if reach.of_node[node] > 0 or gap_to_point(tree, node, points[i]) >= limit:
                continue
            left = tree.left[node]
            if left >= 0:
                stack[top], stack[top + 1] = left + 1, left
                top += 2
                continue
            at = (-1 - left) * dimensions * LEAF
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
def improve_first_edges(tree, vertices, sources, starts, component, first):
    """Replace first edges of components by earlier ones from sources to the tree.

    `component` has the component of each source. An edge counts for both components if
    it is within the bounds of the tree's nodes, and for that of the source in any case.
    Up to LEAF sources from each index in `starts` to the next search together.
    """
    norm, dimensions = tree.norm, tree.low.shape[1]
    block, out = np.empty(dimensions * LEAF), np.empty(LEAF)
    box, limits = np.empty((2, dimensions)), np.empty(LEAF)
    stack = np.empty(tree.depth + 2, np.int64)
    of_node, of_position = vertices.of_node, vertices.of_position
    for group in range(len(starts) - 1):
        begin, end = starts[group], starts[group + 1]
        load_group(sources.points, begin, end - begin, block, box)
        common, bound = _common(component, first, begin, end)
        limits[:] = EMPTY_LANE
        stack[0], top = 0, 1
        while top:
            top -= 1
            node = stack[top]
            limit = limit_of(norm, max(bound, -vertices.node_bound[node]))
            if (of_node[node] != SEVERAL and of_node[node] == common) or _gap_to_box(
                tree, node, box
            ) >= limit:
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
                limits[i - begin] = limit_of(
                    norm,
                    max(first.weight[component[i]], -vertices.node_bound[node]),
                )
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
                    theirs = of_position[other]
                    if theirs == own or not out[j] < LARGEST:
                        continue
                    weight = max(distance_of(norm, out[j]), core, vertices.cores[other])
                    if weight > max(first.weight[own], first.weight[theirs]):
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
def contract_certain(a, b, weight, flagged, least, vertex, lower_bound, kept):
    """Contract a graph along edges that no unlisted edge precedes.

    Edges between the rows `a` and `b` are in their order at equal weights. A component
    without a `flagged` row joins another along its first edge if this is lighter than
    `least` at all of its rows. Writes the number of each row's final component to
    `vertex`, and marks the edges in `kept`. `lower_bound` of a row that is not flagged
    is raised to the weight of the first edge of the row's last
    component that is not flagged, if a flagged one follows; else it stays. Returns the
    number of final components.
    """
    rows = len(vertex)
    # Nodes of the hierarchy of components; those of a level are consecutive. All levels
    # but the last two have at most 8 / 9 of the nodes of the one before.
    nodes = (PROGRESS + 3) * rows
    up, bound = np.empty(nodes, np.uint32), np.empty(nodes)
    has_flag = np.empty(nodes, np.bool_)
    flags, limit = flagged.copy(), least.copy()
    x, y = a.copy(), b.copy()
    index = np.arange(len(a)).astype(np.uint32)
    size, count, base, joined = len(a), rows, 0, rows
    while True:
        enough = PROGRESS * joined >= count
        best, lightest = np.full(count, NO_EDGE), np.full(count, np.inf)
        for i in range(size):
            w, one, two = weight[index[i]], x[i], y[i]
            if w < lightest[one]:
                best[one], lightest[one] = i, w
            if w < lightest[two]:
                best[two], lightest[two] = i, w
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
