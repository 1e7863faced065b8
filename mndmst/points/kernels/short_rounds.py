"""Borůvka rounds with few searches: many rounds in one kernel call on one thread.

A round has a few dozen steps. Where each takes microseconds, calling the steps from
Python would take longer than the steps.
"""

from typing import NamedTuple

import numpy as np

from ...native.kernel import kernel
from ..devices.point_products import ComponentArrays
from .boruvka_steps import (
    CHEAP_SHARE,
    choose_components,
    edges_of,
    empty_edges,
    find_first_edges,
    first_edges,
    join,
    keep_leaving,
    list_uncertain,
    name_components,
    raise_lower_bounds,
    relabel,
)
from .lightest_edges import (
    TreeComponents,
    fill_nodes,
    lightest,
    lower_bounds_by_walks,
    walk_starts,
)

# In more dimensions the walks that lower bounds take longer than the bounds save.
MOST_WALKED = 24


class RoundState(NamedTuple):
    """Points and vertices of Borůvka rounds.

    A vertex is a component of points before the first round.
    """

    cores: np.ndarray  # float64, by position: core distances; zeros for plain distances
    # float64, by position: lower bound of a point's unlisted edges, raised by searches;
    # infinity for a point that need not search
    lower_bound: np.ndarray
    vertex: np.ndarray  # uint32, by position
    parent: np.ndarray  # uint32, by vertex: links of the components' union-find
    of_vertex: np.ndarray  # uint32: the component of each vertex
    of_position: np.ndarray  # uint32: the component of each point


@kernel
def join_few(
    tree, state, known, of_node, node_lower_bound, most, most_of_round, pass_threshold
):
    """Join components in rounds of at most `most_of_round` searches, `most` in all.

    Every point is in the tree. `known` edges are overwritten; `of_node` and
    `node_lower_bound` are buffers, by node. Returns the edges that join, and the known
    edges between the remaining components, each as columns of `PointEdges`.

    Ends where one component is left; where the next round takes more searches; or where
    all components but the most uncertain one have at least `pass_threshold` uncertain
    points, so that a pass over all pairs may take less time.
    """
    points, vertices = len(state.vertex), len(state.parent)
    joined, size = empty_edges(vertices), 0
    while True:
        count = name_components(state.parent, state.of_vertex)
        known = first_edges(known, keep_leaving(known, state.of_vertex))
        if count == 1:
            break
        first, counts = empty_edges(count), np.empty(count, np.int64)
        find_first_edges(known, state.of_vertex, first)
        bound = first.weight.copy()
        components = ComponentArrays(
            state.of_position, state.cores, state.lower_bound, bound
        )
        relabel(state.vertex, state.of_vertex, state.lower_bound, components, counts)
        taking_part = choose_components(counts, bound, points // CHEAP_SHARE)
        searches = uncertain = largest = 0
        for component in range(count):
            searches += counts[component] if taking_part[component] else 0
            uncertain += counts[component]
            largest = max(largest, counts[component])
        if searches > min(most, most_of_round) or (
            searches and uncertain - largest >= pass_threshold
        ):
            break
        most -= searches
        if searches:
            queries = np.empty(searches + 1, np.uint32)
            list_uncertain(components, state.lower_bound, taking_part, queries)
            edges = _search(
                tree, state, components, queries[:searches], of_node, node_lower_bound
            )
            known = _concatenate(known, edges)
            find_first_edges(known, state.of_vertex, first)
        for component in range(count):
            taking_part[component] &= first.weight[component] < np.inf
        chosen = join(first.a, first.b, taking_part, state.parent)
        _copy(first, chosen, joined, size)
        size += len(chosen)
    joined = first_edges(joined, size)
    return (
        joined.a, joined.b, joined.weight, joined.key,
        known.a, known.b, known.weight, known.key,
    )  # fmt: skip


@kernel
def _search(tree, state, components, queries, of_node, node_lower_bound):
    """Return the first edge, within the bound, of each query that has one."""
    of_tree = TreeComponents(
        components.of_position,
        of_node,
        components.cores,
        components.lower_bound,
        node_lower_bound,
        components.bound,
    )
    fill_nodes(tree, of_tree)
    if tree.low.shape[1] <= MOST_WALKED:
        starts = walk_starts(queries, components.of_position, len(components.bound))
        lower_bounds_by_walks(tree, of_tree, starts, 0, len(starts))
    count = len(queries)
    ends, weight = np.empty(count, np.uint32), np.empty(count)
    lightest(tree, of_tree, queries, ends, weight, 0, count)
    edges = empty_edges(count)
    edges_of(queries, ends, weight, tree.point, state.vertex, edges)
    searched, lower_bound = weight.view(np.uint64), state.lower_bound.view(np.uint64)
    return first_edges(
        edges, raise_lower_bounds(components, queries, searched, lower_bound, edges)
    )


@kernel
def _copy(edges, chosen, output, begin):
    """Copy the chosen edges to `output`, from index `begin` on."""
    for i in range(len(chosen)):
        j, at = chosen[i], begin + i
        output.a[at], output.b[at] = edges.a[j], edges.b[j]
        output.weight[at], output.key[at] = edges.weight[j], edges.key[j]


@kernel
def _concatenate(one, other):
    """Return the edges of two lists."""
    both = empty_edges(len(one.a) + len(other.a))
    _copy(one, np.arange(len(one.a)), both, 0)
    _copy(other, np.arange(len(other.a)), both, len(one.a))
    return both
