"""The steps of a Borůvka round over components of points."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...kernels.kruskal import unite
from ...kernels.sorting import merge_ascents
from ...native.kernel import kernel

NO_EDGE = -1
LAST_KEY = np.uint64(0xFFFFFFFFFFFFFFFF)
INFINITE = np.float64(np.inf).view(np.uint64)
# Walks of a tree from at most this fraction of the points (1 / 4) are cheap.
CHEAP_SHARE = 4
# If this fraction of the components (1 / 8) need no search, only these join.
CERTAIN_SHARE = 8


class PointEdges(NamedTuple):
    """Edges between vertices: positions of points, or components."""

    a: np.ndarray  # uint32
    b: np.ndarray  # uint32
    weight: np.ndarray  # float64
    # uint64: the two points, the smaller in the upper half: the order of edges of equal
    # weight
    key: np.ndarray

    def take(self, chosen: np.ndarray | slice) -> "PointEdges":
        """Return the chosen edges."""
        return PointEdges(*(column[chosen] for column in self))

    @classmethod
    def empty(cls, count: int) -> "PointEdges":
        """Return uninitialized edges."""
        a, b = np.empty((2, count), np.uint32)
        return cls(a, b, np.empty(count), np.empty(count, np.uint64))

    @classmethod
    def concatenate(cls, parts: Sequence["PointEdges"]) -> "PointEdges":
        """Return the edges of all parts, of which there is at least one."""
        return cls(*map(np.concatenate, zip(*parts, strict=True)))


def edge_keys(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return the keys of edges between pairs of points; see `PointEdges`."""
    low, high = np.minimum(one, other), np.maximum(one, other)
    return low.astype(np.uint64) << np.uint64(32) | high


@kernel(inline="always")
def edge_key(one, other):
    """Return the key of an edge between two points; see `PointEdges`."""
    return np.uint64(min(one, other)) << np.uint64(32) | np.uint64(max(one, other))


@kernel
def empty_edges(count):
    """Return uninitialized edges."""
    a, b = np.empty(count, np.uint32), np.empty(count, np.uint32)
    return PointEdges(a, b, np.empty(count), np.empty(count, np.uint64))


@kernel
def first_edges(edges, count):
    """Return the first `count` edges."""
    return PointEdges(
        edges.a[:count], edges.b[:count], edges.weight[:count], edges.key[:count]
    )


@kernel
def name_components(parent, of_vertex):
    """Number the components 0, 1, ... by their first vertices; return their count.

    A vertex's parent is never larger than the vertex; a root is its own parent.
    """
    count = np.uint32(0)
    for vertex in range(len(parent)):
        if parent[vertex] == vertex:
            of_vertex[vertex] = count
            count += np.uint32(1)
        else:
            of_vertex[vertex] = of_vertex[parent[vertex]]
    return np.int64(count)


@kernel
def keep_leaving(edges, of_vertex):
    """Move the edges between components to the front; return their number."""
    count = 0
    for i in range(len(edges.a)):
        if of_vertex[edges.a[i]] != of_vertex[edges.b[i]]:
            edges.a[count], edges.b[count] = edges.a[i], edges.b[i]
            edges.weight[count], edges.key[count] = edges.weight[i], edges.key[i]
            count += 1
    return count


@kernel
def find_first_edges(edges, of_vertex, first):
    """Write each component's first outgoing edge to `first`, by component.

    Edges are compared by (weight, key). `a` becomes a vertex of the component, `b` one
    of another. A component without an edge gets an infinite weight and LAST_KEY.
    """
    best = np.full(len(first.a), NO_EDGE)
    for i in range(len(edges.weight)):
        x, y = of_vertex[edges.a[i]], of_vertex[edges.b[i]]
        if x != y:
            for component in (x, y):
                j = best[component]
                if (
                    j == NO_EDGE
                    or edges.weight[i] < edges.weight[j]
                    or (
                        edges.weight[i] == edges.weight[j]
                        and edges.key[i] < edges.key[j]
                    )
                ):
                    best[component] = i
    for vertex in range(len(of_vertex)):
        first.a[of_vertex[vertex]] = vertex
    for component in range(len(best)):
        i = best[component]
        other, weight, key = np.uint32(0), np.inf, LAST_KEY
        if i != NO_EDGE:
            a, b, weight, key = edges.a[i], edges.b[i], edges.weight[i], edges.key[i]
            other = b if of_vertex[a] == component else a
        first.b[component], first.weight[component] = other, weight
        first.key[component] = key


@kernel
def begin_round(known, parent, of_vertex, first):
    """Name the components, and find the first known edge of each.

    `first` may have more entries than there are components. Returns the numbers of
    components and of edges between them; these edges are moved to the front.
    """
    count, leaving = name_components(parent, of_vertex), keep_leaving(known, of_vertex)
    find_first_edges(first_edges(known, leaving), of_vertex, first_edges(first, count))
    return count, leaving


@kernel
def sort_by_ends(weight, key, points):
    """Return both ends (int64) and the weights of edges, in the order of their keys.

    Ends are below `points`. Two counting sorts: by the larger end, then by the smaller;
    the second keeps the order of edges with equal smaller ends.
    """
    count, larger = len(key), np.uint64(0xFFFFFFFF)
    # Index in the sorted output of the next edge of each end.
    output, order = np.zeros(points + 1, np.uint32), np.empty(count, np.uint32)
    for i in range(np.uint64(count)):
        output[(key[i] & larger) + np.uint64(1)] += np.uint32(1)
    for end in range(np.uint64(1), np.uint64(points)):
        output[end] += output[end - np.uint64(1)]
    for i in range(np.uint64(count)):
        end = key[i] & larger
        order[output[end]] = i
        output[end] += np.uint32(1)
    output[:] = 0
    for i in range(np.uint64(count)):
        output[(key[i] >> np.uint64(32)) + np.uint64(1)] += np.uint32(1)
    for end in range(np.uint64(1), np.uint64(points)):
        output[end] += output[end - np.uint64(1)]
    src, dst = np.empty(count, np.int64), np.empty(count, np.int64)
    sorted_weight = np.empty(count)
    for i in order:
        end = key[i] >> np.uint64(32)
        at = output[end]
        src[at], dst[at], sorted_weight[at] = end, key[i] & larger, weight[i]
        output[end] = at + np.uint32(1)
    return src, dst, sorted_weight


@kernel
def relabel(vertex, of_vertex, lower_bound, components, counts):
    """Write the points' components, and count the uncertain points of each component.

    A point is uncertain if its lower bound is finite and at most its component's bound:
    an unlisted edge may be the component's lightest. `vertex` is the vertex of each
    point, `of_vertex` the component of each vertex. Writes `components.of_position` and
    `counts`.
    """
    counts[:] = 0
    # Consecutive positions are most often in one component: its points are counted in a
    # local variable, which is added to `counts` where the component changes.
    last, count, bound = np.uint32(0), 0, components.bound[0]
    for position in range(len(vertex)):
        component = of_vertex[vertex[position]]
        components.of_position[position] = component
        if component != last:
            counts[last] += count
            last, count, bound = component, 0, components.bound[component]
        count += np.int64(
            (lower_bound[position] <= bound) & (lower_bound[position] < np.inf)
        )
    counts[last] += count


@kernel
def choose_components(counts, bound, cheap):
    """Return a boolean per component: whether it joins another one in this round.

    `counts` are the components' uncertain points, each of which is a query. The result
    has the components that need no query, if these are a large fraction; else the half
    of all components with the fewest queries, and further ones while all queries
    together are at most `cheap`.
    """
    size, certain = len(counts), 0
    taking_part = np.empty(size, np.bool_)
    for component in range(size):
        known = counts[component] == 0 and bound[component] < np.inf
        taking_part[component] = known
        certain += known
    if CERTAIN_SHARE * certain >= size:
        return taking_part
    queries, order = np.empty(size, np.uint64), np.empty(size, np.uint32)
    for component in range(size):
        queries[component], order[component] = counts[component], component
    merge_ascents(queries, order)
    total = np.uint64(0)
    for i in range(size):
        total += queries[i]
        taking_part[order[i]] = i < (size + 1) // 2 or total <= np.uint64(cheap)
    return taking_part


@kernel
def list_uncertain(components, lower_bound, taking_part, queries):
    """Write the positions of the uncertain points of the components that take part.

    `queries` has one more entry than the list: every position is stored, and the count
    advances only if the position belongs to the list.
    """
    count = np.uint64(0)
    for position in range(len(lower_bound)):
        component = components.of_position[position]
        bound = components.bound[component]
        uncertain = (lower_bound[position] <= bound) & (lower_bound[position] < np.inf)
        queries[count] = position
        count += np.uint64(taking_part[component] & uncertain)


@kernel
def edges_of(queries, ends, weight, point, vertex, edges):
    """Write the edges from queries to their far ends, as edges between vertices.

    `queries` and `ends` are positions; `point` and `vertex` are by position. A query
    that is its own end has no edge: the edge's weight becomes infinite.
    """
    for i in range(len(queries)):
        position, end = queries[i], ends[i]
        edges.a[i], edges.b[i] = vertex[position], vertex[end]
        has_edge = position != end
        edges.weight[i] = weight[i] if has_edge else np.inf
        edges.key[i] = edge_key(point[position], point[end]) if has_edge else LAST_KEY


@kernel
def raise_lower_bounds(components, queries, searched, lower_bound, edges):
    """Raise the lower bounds of queries; move edges within the bounds to the front.

    No edge of a query weighs less than `searched`. `edges` has each query's first edge;
    if it is heavier than `searched`, no edge weighs exactly `searched` either. An edge
    above its component's bound is dropped: the query's lower bound stays at its weight,
    so a later search returns it. `searched` and `lower_bound` are the bits of float64
    weights (uint64): the next larger number has the next larger bits. Returns the
    number of edges in front.
    """
    count = 0
    bits = edges.weight.view(np.uint64)
    for i in range(len(queries)):
        position = queries[i]
        none_equal = (bits[i] > searched[i]) & (searched[i] < INFINITE)
        lower_bound[position] = searched[i] + np.uint64(none_equal)
        weight, component = edges.weight[i], components.of_position[position]
        if weight < np.inf and weight <= components.bound[component]:
            edges.a[count], edges.b[count] = edges.a[i], edges.b[i]
            edges.weight[count], edges.key[count] = weight, edges.key[i]
            count += 1
    return count


@kernel
def join(a, b, taking_part, parent):
    """Unite the vertices a[i] and b[i] for each i that takes part.

    Returns the indices i whose vertices were in different components.
    """
    joined = np.empty(len(a), np.int64)
    count = 0
    for i in range(len(a)):
        if taking_part[i]:
            joined[count] = i
            count += unite(parent, np.uint64(a[i]), np.uint64(b[i]))
    return joined[:count]
