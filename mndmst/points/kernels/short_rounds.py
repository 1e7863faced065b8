"""Borůvka rounds of few searches: many rounds in one call of one thread.

A round is of a few dozen steps. Where each takes microseconds, calls from Python would
take longer than the steps.
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
    first_of,
    join,
    keep_leaving,
    list_uncertain,
    name_components,
    raise_reach,
    relabel,
)
from .lightest_edges import TreeComponents, approach, guides, lightest, sum_up

# In more dimensions walks from guides take longer than the bounds save.
GUIDED = 24


class RoundState(NamedTuple):
    """Points and vertices of Borůvka rounds; see `boruvka_rounds.BoruvkaRounds`."""

    cores: np.ndarray
    reach: np.ndarray
    vertex: np.ndarray
    parent: np.ndarray
    present: np.ndarray
    of_position: np.ndarray


@kernel
def join_few(tree, state, known, of_node, least_reach, most, alone, for_pass):
    """Join components in rounds of at most `alone` searches each, and `most` in all.

    Every point is in the tree. `known` edges are overwritten; `of_node` and
    `least_reach` are memory, by node. Returns the edges that join, and the known edges
    that leave a component, each as columns of `PointEdges`. The next round takes more
    searches, or has `for_pass` uncertain points in all components but one, for which a
    pass over all pairs may take less time; or one component is left.
    """
    points, vertices = len(state.vertex), len(state.parent)
    joined, size = empty_edges(vertices), 0
    while True:
        count = name_components(state.parent, state.present)
        known = first_of(known, keep_leaving(known, state.present))
        if count == 1:
            break
        first, counts = empty_edges(count), np.empty(count, np.int64)
        find_first_edges(known, state.present, first)
        bound = first.weight.copy()
        components = ComponentArrays(state.of_position, state.cores, state.reach, bound)
        relabel(state.vertex, state.present, state.reach, components, counts)
        taking_part = choose_components(counts, bound, points // CHEAP_SHARE)
        asked = uncertain = largest = 0
        for component in range(count):
            asked += counts[component] if taking_part[component] else 0
            uncertain += counts[component]
            largest = max(largest, counts[component])
        if asked > min(most, alone) or (asked and uncertain - largest >= for_pass):
            break
        most -= asked
        if asked:
            queries = np.empty(asked + 1, np.uint32)
            list_uncertain(components, state.reach, taking_part, queries)
            found = _search(
                tree, state, components, queries[:asked], of_node, least_reach
            )
            known = _both(known, found)
            find_first_edges(known, state.present, first)
        for component in range(count):
            taking_part[component] &= first.weight[component] < np.inf
        chosen = join(first.a, first.b, taking_part, state.parent)
        _copy(first, chosen, joined, size)
        size += len(chosen)
    joined = first_of(joined, size)
    return (
        joined.a, joined.b, joined.weight, joined.key,
        known.a, known.b, known.weight, known.key,
    )  # fmt: skip


@kernel
def _search(tree, state, components, queries, of_node, least_reach):
    """Return the first edge, within the bound, of each query that has one."""
    summed = TreeComponents(
        components.of_position,
        of_node,
        components.cores,
        components.reach,
        least_reach,
        components.bound,
    )
    sum_up(tree, summed)
    if tree.low.shape[1] <= GUIDED:
        some = guides(queries, components.of_position, len(components.bound))
        approach(tree, summed, some, 0, len(some))
    count = len(queries)
    ends, low = np.empty(count, np.uint32), np.empty(count)
    lightest(tree, summed, queries, ends, low, 0, count)
    found = empty_edges(count)
    edges_of(queries, ends, low, tree.rows, state.vertex, found)
    bits, reach = low.view(np.uint64), state.reach.view(np.uint64)
    return first_of(found, raise_reach(components, queries, bits, reach, found))


@kernel
def _copy(edges, chosen, into, begin):
    """Copy the chosen edges to others, from the place `begin` on."""
    for i in range(len(chosen)):
        j, at = chosen[i], begin + i
        into.a[at], into.b[at] = edges.a[j], edges.b[j]
        into.weight[at], into.key[at] = edges.weight[j], edges.key[j]


@kernel
def _both(one, other):
    """Return the edges of two lists."""
    both = empty_edges(len(one.a) + len(other.a))
    _copy(one, np.arange(len(one.a)), both, 0)
    _copy(other, np.arange(len(other.a)), both, len(one.a))
    return both
