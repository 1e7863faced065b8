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
# Walks of a tree from one point in CHEAP_SHARE are cheap.
CHEAP_SHARE = 4
# Components of which one in CERTAIN_SHARE needs no search join without any.
CERTAIN_SHARE = 8


class PointEdges(NamedTuple):
    """Edges between vertices: positions of points, or components."""

    a: np.ndarray  # uint32
    b: np.ndarray  # uint32
    weight: np.ndarray  # float64
    # uint64: the users' numbers of the two points, the smaller in the upper half: the
    # order of edges of one weight
    key: np.ndarray

    def take(self, chosen: np.ndarray | slice) -> "PointEdges":
        """Return the chosen edges."""
        return PointEdges(*(column[chosen] for column in self))

    @classmethod
    def empty(cls, count: int) -> "PointEdges":
        """Return memory for edges."""
        a, b = np.empty((2, count), np.uint32)
        return cls(a, b, np.empty(count), np.empty(count, np.uint64))

    @classmethod
    def concatenate(cls, parts: Sequence["PointEdges"]) -> "PointEdges":
        """Return the edges of all parts, of which there is at least one."""
        return cls(*map(np.concatenate, zip(*parts, strict=True)))


@kernel
def empty_edges(count):
    """Return memory for edges."""
    a, b = np.empty(count, np.uint32), np.empty(count, np.uint32)
    return PointEdges(a, b, np.empty(count), np.empty(count, np.uint64))


@kernel
def first_of(edges, count):
    """Return the first edges."""
    return PointEdges(
        edges.a[:count], edges.b[:count], edges.weight[:count], edges.key[:count]
    )


@kernel
def name_components(parent, of_vertex):
    """Number the components 0, 1, ... by their first vertices; return their number."""
    count = np.uint32(0)
    for vertex in range(len(parent)):
        above = parent[vertex]  # never larger
        if above == vertex:
            of_vertex[vertex] = count
            count += np.uint32(1)
        else:
            of_vertex[vertex] = of_vertex[above]
    return np.int64(count)


@kernel
def keep_leaving(edges, of_vertex):
    """Move the edges that leave a component to the front; return their number."""
    count = 0
    for i in range(len(edges.a)):
        if of_vertex[edges.a[i]] != of_vertex[edges.b[i]]:
            edges.a[count], edges.b[count] = edges.a[i], edges.b[i]
            edges.weight[count], edges.key[count] = edges.weight[i], edges.key[i]
            count += 1
    return count


@kernel
def find_first(edges, of_vertex, first):
    """Find the first edge, in the order, that leaves each component.

    `first` becomes an index in `edges`, or NO_EDGE, for each component.
    """
    first[:] = NO_EDGE
    for i in range(len(edges.weight)):
        x, y = of_vertex[edges.a[i]], of_vertex[edges.b[i]]
        if x != y:
            for component in (x, y):
                j = first[component]
                if (
                    j == NO_EDGE
                    or edges.weight[i] < edges.weight[j]
                    or (
                        edges.weight[i] == edges.weight[j]
                        and edges.key[i] < edges.key[j]
                    )
                ):
                    first[component] = i


@kernel
def find_first_edges(edges, of_vertex, first):
    """Write the first edge that leaves each component to `first`, by component.

    Its ends become a vertex of the component and one of another. Without an edge, the
    weight becomes infinite and the key LAST_KEY.
    """
    best = np.empty(len(first.a), np.int64)
    find_first(edges, of_vertex, best)
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
def sort_by_ends(weight, key, points):
    """Return both ends (int64) and the weights of edges, in the order of their keys.

    Ends are numbers below `points`. Counting sorts: by the larger end, then by the
    smaller, which keeps the order of edges of one smaller end.
    """
    count, larger = len(key), np.uint64(0xFFFFFFFF)
    place, order = np.zeros(points + 1, np.uint32), np.empty(count, np.uint32)
    for i in range(np.uint64(count)):
        place[(key[i] & larger) + np.uint64(1)] += np.uint32(1)
    for end in range(np.uint64(1), np.uint64(points)):
        place[end] += place[end - np.uint64(1)]
    for i in range(np.uint64(count)):
        end = key[i] & larger
        order[place[end]] = i
        place[end] += np.uint32(1)
    place[:] = 0
    for i in range(np.uint64(count)):
        place[(key[i] >> np.uint64(32)) + np.uint64(1)] += np.uint32(1)
    for end in range(np.uint64(1), np.uint64(points)):
        place[end] += place[end - np.uint64(1)]
    src, dst = np.empty(count, np.int64), np.empty(count, np.int64)
    sorted_weight = np.empty(count)
    for i in order:
        end = key[i] >> np.uint64(32)
        at = place[end]
        src[at], dst[at], sorted_weight[at] = end, key[i] & larger, weight[i]
        place[end] = at + np.uint32(1)
    return src, dst, sorted_weight


@kernel
def relabel(vertex, present, reach, components, counts):
    """Find the points' components, and count the uncertain points of each.

    A point is uncertain if it may have an unknown edge within its component's bound;
    never with an infinite reach, even if no edge of the component is known. `present`
    is the component of each vertex; `components.of_position` is written, and `counts`
    becomes the numbers of uncertain points.
    """
    counts[:] = 0
    # Neighbours in position are most often in one component, whose count is written
    # when it ends.
    last, count, bound = np.uint32(0), 0, components.bound[0]
    for position in range(len(vertex)):
        component = present[vertex[position]]
        components.of_position[position] = component
        if component != last:
            counts[last] += count
            last, count, bound = component, 0, components.bound[component]
        count += np.int64((reach[position] <= bound) & (reach[position] < np.inf))
    counts[last] += count


@kernel
def choose_components(counts, bound, cheap):
    """Mark the components that take part in a round, given their numbers of queries.

    All that know their first edge, if these are many; else the half with the fewest
    queries, or more with at most `cheap` queries together.
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
    asked = np.uint64(0)
    for i in range(size):
        asked += queries[i]
        few = i < (size + 1) // 2 or asked <= np.uint64(cheap)
        taking_part[order[i]] = few
    return taking_part


@kernel
def list_uncertain(components, reach, taking_part, queries):
    """List the positions of the uncertain points of the components that take part.

    `queries` is one longer than the list: positions are stored unconditionally, and
    counted if they are in it.
    """
    count = np.uint64(0)
    for position in range(len(reach)):
        component = components.of_position[position]
        bound = components.bound[component]
        uncertain = (reach[position] <= bound) & (reach[position] < np.inf)
        queries[count] = position
        count += np.uint64(taking_part[component] & uncertain)


@kernel
def edges_of(queries, ends, low, rows, vertex, found):
    """Write the edges from queries to their ends, as edges between vertices.

    An end is the position itself without an edge, whose weight becomes infinite; `low`
    are the weights.
    """
    for i in range(len(queries)):
        here, there = queries[i], ends[i]
        one, other = np.uint64(rows[here]), np.uint64(rows[there])
        found.a[i], found.b[i] = vertex[here], vertex[there]
        has = here != there
        found.weight[i] = low[i] if has else np.inf
        key = min(one, other) << np.uint64(32) | max(one, other)
        found.key[i] = key if has else LAST_KEY


@kernel
def raise_reach(components, queries, low, reach, found):
    """Raise the reach of queries; move the edges within the bounds to the front.

    A query's edge that exceeds its component's bound may be forgotten: the reach of the
    query stays at its weight.

    `found` has the first edges of the queries; if one weighs more than `low`, no edge
    weighs as little. `low` and `reach` are bits of float64 weights (uint64): the next
    larger number has the next larger bits. Returns the number of edges in front.
    """
    count = 0
    weights = found.weight.view(np.uint64)
    for i in range(len(queries)):
        here = queries[i]
        step = (weights[i] > low[i]) & (low[i] < INFINITE)
        reach[here] = low[i] + np.uint64(step)
        weight = found.weight[i]
        if weight < np.inf and weight <= components.bound[components.of_position[here]]:
            found.a[count], found.b[count] = found.a[i], found.b[i]
            found.weight[count], found.key[count] = weight, found.key[i]
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
