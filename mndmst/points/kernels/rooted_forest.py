"""The steps from the rooted forest of a version to that of the next one.

Each point has an edge towards the root of its tree. So a lost edge is found at its
lower end, and the paths between changed points are walked up from these.
"""

from typing import NamedTuple

import numpy as np

from ...kernels.intrinsics import add_atomic, copy_memory, lower_atomic
from ...kernels.kruskal import unite
from ...native.kernel import kernel
from ..devices.point_products import NO_POSITION
from .boruvka_steps import NO_EDGE, edge_key, name_components

# `contract_certain` ends where fewer than this fraction of the components join (1 / 8).
PROGRESS = 8
# Rows of which the number of removed ones is looked up, and not counted.
BLOCK, ONE = np.uint64(64), np.uint64(1)


class EdgesByKey(NamedTuple):
    """The edges of a forest in the order of their keys."""

    src: np.ndarray  # int64
    dst: np.ndarray  # int64
    weight: np.ndarray  # float64


class RowNumbers(NamedTuple):
    """The rows of a version that the next one removes; the others keep their order."""

    removed: np.ndarray  # uint64, ascending; at last one that is larger than all rows
    # uint32, by BLOCK rows: the number of removed rows before them
    earlier: np.ndarray


class LeafColumns(NamedTuple):
    """The edges of a rooted forest, and which vertices are not contracted."""

    up: np.ndarray  # uint32
    weight: np.ndarray  # uint64: the bits of float64
    stays: np.ndarray  # bool


class PositionColumns(NamedTuple):
    """The columns of a `FollowedForest` by position."""

    row: np.ndarray  # uint32
    radius: np.ndarray  # float64
    up: np.ndarray  # uint32
    up_weight: np.ndarray  # float64


@kernel
def find_positions(row, radius, positions, begin, end):
    """Write the positions [begin, end) by row, but those of removed points.

    These have a negative radius.
    """
    for position in range(begin, end):
        if radius[position] >= 0:
            positions[row[position]] = position


@kernel
def list_positions(row, radius, wanted, begin, end, positions):
    """List the positions in [begin, end) of points whose rows are wanted.

    `positions` has one more entry than the list. Returns their number.
    """
    count = np.uint64(0)
    for position in range(np.uint64(begin), np.uint64(end)):
        positions[count] = position
        count += np.uint64(wanted[row[position]] & (radius[position] >= 0))
    return np.int64(count)


@kernel(inline="always")
def new_row(shift, row):
    """Return the row (uint64) of a point in the next version, where it stays."""
    earlier = np.uint64(shift.earlier[row // BLOCK])
    while shift.removed[earlier] < row:
        earlier += ONE
    return row - earlier


@kernel
def write_new_rows(shift, rows, new):
    """Write the rows in the next version of points that stay."""
    for i in range(np.uint64(len(rows))):
        new[i] = new_row(shift, np.uint64(rows[i]))


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
def copy_positions(before, shift, later, first, after, begin, end):
    """Copy the columns of the positions [begin, end), which stay in the next version.

    `shift` has the rows that go, and `later` has, by old position from `first` on, the
    new one. Edges towards the root are copied with the new position of their end.
    Removed points have the row 0, which is also 0 in the next version.
    """
    count = end - begin
    copy_memory(after.radius[begin:], before.radius[begin:], count)
    copy_memory(after.up[begin:], before.up[begin:], count)
    copy_memory(after.up_weight[begin:], before.up_weight[begin:], count)
    for position in range(np.uint64(begin), np.uint64(end)):
        after.row[position] = new_row(shift, np.uint64(before.row[position]))
    for position in range(np.uint64(begin), np.uint64(end)):
        if after.up[position] >= first:
            after.up[position] = later[after.up[position] - first]


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
def name_paths(up, starts, name, vertices):
    """Name the vertices on the paths of a rooted forest from some ones to the roots.

    Names are 0, 1, ...; on entry `name` is NO_POSITION for all vertices. Writes the
    vertices by name; returns their number.
    """
    count = np.uint32(0)
    for start in starts:
        vertex = start
        while name[vertex] == NO_POSITION:
            name[vertex], vertices[count] = count, vertex
            count += np.uint32(1)
            vertex = up[vertex]
    return np.int64(count)


@kernel
def write_upward_edges(columns, vertices, name, lower, edges):
    """Write the upward edges of some vertices of a rooted forest, and their lower ends.

    The ends of the edges are names. Returns the number of edges.
    """
    count = 0
    for i in range(np.uint64(len(vertices))):
        vertex = vertices[i]
        above = columns.up[vertex]
        if above == vertex:
            continue
        lower[count] = vertex
        edges.a[count], edges.b[count] = i, name[above]
        edges.weight[count] = columns.up_weight[vertex]
        edges.key[count] = edge_key(columns.row[vertex], columns.row[above])
        count += 1
    return count


@kernel
def count_children(up, children, begin, end):
    """Count the vertices [begin, end) of a rooted forest in those above them."""
    for vertex in range(begin, end):
        above = up[vertex]
        if above != vertex:
            add_atomic(children, np.intp(above), np.int64(1))


@kernel
def strip_leaves(columns, is_leaf, children, inside, least, begin, end):
    """Contract leaves of a rooted forest along edges that no unlisted edge precedes.

    A vertex that does not stay, and of which only the edge towards the root is left, is
    contracted if that edge is lighter than its `least`, which its vertex above gets if
    it is smaller. Makes `inside` False for contracted vertices. Weights are bits.

    Threads begin at the vertices [begin, end) without children, which `is_leaf` marks.
    The thread that takes the last of the `children` of a vertex goes on with it.
    """
    up, weight, stays = columns.up, columns.weight, columns.stays
    for start in range(begin, end):
        vertex, is_last = np.uint32(start), is_leaf[start]
        while (
            is_last
            and inside[vertex]
            and not stays[vertex]
            and up[vertex] != vertex
            and weight[vertex] < least[vertex]
        ):
            above = up[vertex]
            inside[vertex] = False
            lower_atomic(least, np.intp(above), least[vertex])
            is_last = add_atomic(children, np.intp(above), np.int64(-1)) == 1
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
def write_next_forest(before, shift, gone, changed, new, new_after, after):
    """Write the edges of a forest after a change, in the order of their keys.

    `before` has the old edges, and `shift` the rows that go. The keys `gone` are those
    of edges that go, `changed.key` those of edges that stay with other weights; both
    are of rows before the change, and ascend. `new` is sorted by key, with rows after
    the change, and follows the old edges up to the keys `new_after`.
    """
    out = i = at_gone = at_changed = at_new = 0
    while True:
        next_gone, next_changed = (
            _key_at(gone, at_gone),
            _key_at(changed.key, at_changed),
        )
        next_new = _key_at(new_after, at_new)
        least = min(next_gone, next_changed)
        end = _first_edge_from(
            before, i, least if least <= next_new else next_new + ONE
        )
        for edge in range(np.uint64(i), np.uint64(end)):
            _write_old(before, edge, shift, after, out)
            after.weight[out] = before.weight[edge]
            out += 1
        i = end
        if next_new < least:
            _write_new(new, at_new, after, out)
            at_new, out = at_new + 1, out + 1
        elif i == len(before.src):
            break
        else:
            if next_gone != least:
                _write_old(before, np.uint64(i), shift, after, out)
                after.weight[out] = changed.weight[at_changed]
                out += 1
            at_gone += next_gone == least
            at_changed += next_changed == least
            i += 1


@kernel
def _key_at(keys, i):
    """Return a key, or after the last one a larger one than all."""
    return keys[i] if i < len(keys) else ~np.uint64(0)


@kernel
def _first_edge_from(edges, begin, key):
    """Return the index of the first edge from `begin` on whose key is not below `key`.

    It is searched by steps that double, then by halves.
    """
    low, high, step = begin - 1, begin, 1
    while high < len(edges.src) and edge_key(edges.src[high], edges.dst[high]) < key:
        low, high, step = high, high + step, 2 * step
    high = min(high, len(edges.src))
    while high - low > 1:
        middle = (low + high) // 2
        if edge_key(edges.src[middle], edges.dst[middle]) < key:
            low = middle
        else:
            high = middle
    return high


@kernel
def _write_old(before, i, shift, after, out):
    after.src[out] = new_row(shift, np.uint64(before.src[i]))
    after.dst[out] = new_row(shift, np.uint64(before.dst[i]))


@kernel
def _write_new(new, i, after, out):
    key = new.key[i]
    after.src[out] = key >> np.uint64(32)
    after.dst[out] = key & np.uint64(0xFFFFFFFF)
    after.weight[out] = new.weight[i]


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
