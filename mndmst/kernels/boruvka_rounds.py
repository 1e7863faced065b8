"""Borůvka rounds by a team: the forest of edges between numbered components.

All rounds are one call of one kernel by every member. Light edges come first (filter-
Kruskal; Osipov, Sanders, Singler, ALENEX 2009): a heavier edge whose ends they connect
is dropped before its first round. In a round

1. *relabel*: each member relabels its edges by present components, drops edges inside a
   component, and lowers the minimum of both components of every other edge;
2. *hook*: every component hooks to the other end of its lightest edge; of two that
   chose the same edge the smaller one becomes the root;
3. *compress*: pointer jumping points every component at its root.

A component that receives a large fraction of all edges stays passive: all members would
contend for its minimum, and its neighbours hook to it anyway.

A minimum is a word: the key of an edge, and its position, which breaks ties. A member
loads the word first and lowers it only if its edge is lighter, because an atomic
minimum costs as much as a hundred loads. A 64-bit key leaves no space for the position,
which a second step lowers (`lower_positions`).
"""

from typing import NamedTuple

import numpy as np

from ..graph.light_edges import LARGEST_SHARE
from ..native.kernel import kernel
from .intrinsics import choose, lower_atomic, prefetch
from .kruskal import HALF, LOW, PairEdgeList, flatten
from .sorting import merge_ascents
from .team import Team, barrier, member_range, post_count, prefix_and_total

# The minimum of a component without edges.
NONE = ~np.uint64(0)
# Edges from the one in use to the one whose components are fetched, and edges that are
# relabelled before minima are lowered.
FETCH_AHEAD, BLOCK = 24, 256
# Components from the one in use to the one whose edge is fetched, and whose other end.
EDGES_AHEAD, ENDS_AHEAD = np.uint64(32), np.uint64(16)
# The largest number of edges: 32 bits hold the position of each, and NONE.
MOST_EDGES = (1 << 32) - 1
# Ends of edges that a member samples. A component is passive if it has at least this
# fraction of the samples: one in PASSIVE_IN.
SAMPLE, PASSIVE_IN = 32, 16
# Keys that are sampled to find the light edges.
KEY_SAMPLE = 1024


class Rounds(NamedTuple):
    """State that the members share."""

    key: np.ndarray  # of the remaining edges
    pairs: np.ndarray  # uint64, as in `PairEdgeList`
    position: np.ndarray  # uint32: original positions of the remaining edges
    parent: np.ndarray  # uint32, by component; flat
    best: np.ndarray  # uint64: the minimum of each component
    # uint64: the position of its edge; the same array if keys have 32 bits
    least: np.ndarray
    alive: np.ndarray  # uint32: the components that may have edges
    sample: np.ndarray  # uint32: components at the ends of some edges
    passive: np.ndarray  # uint32, shape (1,): the passive component
    chosen: np.ndarray  # bool: set at the position of each edge of the forest


def forest_by_rounds(
    team: Team, key: np.ndarray, pairs: np.ndarray, parent: np.ndarray
) -> np.ndarray:
    """Return a mask of the edges that join components; `parent` is updated. Collective.

    There are at most MOST_EDGES edges; see `PairEdgeList` and `Rounds`.
    """
    edges, components = len(key), len(parent)
    new_key, new_pairs, position, alive, sample, passive, chosen, best = team.arrays(
        (edges, key.dtype), (edges, np.uint64), (edges, np.uint32),
        (components, np.uint32), (SAMPLE * team.processes * team.most, np.uint32),
        (1, np.uint32), (edges, np.bool_), (components, np.uint64),
    )  # fmt: skip
    least = best
    if key.itemsize == 8:
        (least,) = team.arrays((components, np.uint64))
    shared = Rounds(
        new_key,
        new_pairs,
        position,
        parent,
        best,
        least,
        alive,
        sample,
        passive,
        chosen,
    )
    cuts = band_limits(key, components)
    team.run(boruvka_rounds, edges, PairEdgeList(key, pairs), shared, cuts)
    return chosen


def band_limits(key: np.ndarray, components: int) -> np.ndarray:
    """Return the largest key of the light edges, and the largest of all.

    The number of light edges is about that of components, and at most half of all.
    """
    largest = np.iinfo(key.dtype).max
    sample = np.sort(key[:: 1 + len(key) // KEY_SAMPLE])
    light = int(len(sample) * min(LARGEST_SHARE, components / max(1, len(key))))
    lighter = sample[light : light + 1]
    return np.append(lighter[lighter < largest], key.dtype.type(largest))


@kernel
def copy_band(edges, shared, begin, end, least, most):
    """Copy the edges of a range with keys in [least, most]; return their number.

    The copies are at the front of the range in `shared`.
    """
    source_key, source_pairs = edges
    key, pairs, position = shared.key, shared.pairs, shared.position
    end_of_band = np.uint64(begin)
    for i in range(np.uint64(begin), np.uint64(end)):
        key[end_of_band], pairs[end_of_band], position[end_of_band] = (
            source_key[i],
            source_pairs[i],
            i,
        )
        end_of_band += np.uint64(least <= source_key[i] <= most)
    return end_of_band - np.uint64(begin)


@kernel
def _lower(key, position, component, passive, best):
    """Lower the minimum of a component, unless it is passive."""
    if component == passive:
        return
    word = np.uint64(key[position])
    if key.itemsize == 4:
        word = (word << HALF) | position
    if word < best[component]:
        lower_atomic(best, np.intp(component), word)


@kernel
def relabel(shared, begin, end):
    """Relabel the edges of a range, drop edges inside a component, and lower minima.

    Returns the number of remaining edges, which move to the front of the range.
    """
    key, pairs, position = shared.key, shared.pairs, shared.position
    parent, best, passive = shared.parent, shared.best, np.uint64(shared.passive[0])
    remaining = np.uint64(begin)
    for block in range(np.uint64(begin), np.uint64(end), np.uint64(BLOCK)):
        done = remaining
        for i in range(block, min(block + np.uint64(BLOCK), np.uint64(end))):
            if i + np.uint64(FETCH_AHEAD) < np.uint64(end):
                ahead = pairs[i + np.uint64(FETCH_AHEAD)]
                prefetch(parent, np.intp(ahead >> HALF))
                prefetch(parent, np.intp(ahead & LOW))
            pair = pairs[i]
            a, b = np.uint64(parent[pair >> HALF]), np.uint64(parent[pair & LOW])
            prefetch(best, np.intp(a))
            prefetch(best, np.intp(b))
            key[remaining], position[remaining] = key[i], position[i]
            pairs[remaining] = (a << HALF) | b
            remaining += np.uint64(a != b)
        for i in range(done, remaining):
            _lower(key, i, pairs[i] >> HALF, passive, best)
            _lower(key, i, pairs[i] & LOW, passive, best)
    return remaining - np.uint64(begin)


@kernel
def lower_positions(shared, begin, end):
    """Lower the positions of the edges whose keys are minima."""
    key, pairs, best, least = shared.key, shared.pairs, shared.best, shared.least
    passive = np.uint64(shared.passive[0])
    for i in range(np.uint64(begin), np.uint64(end)):
        word = np.uint64(key[i])
        for end_of in (pairs[i] >> HALF, pairs[i] & LOW):
            if word == best[end_of] and i < least[end_of] and end_of != passive:
                lower_atomic(least, np.intp(end_of), i)


@kernel
def _hook(shared, alive):
    """Hook components along their edges, and mark these; return how many are alive.

    Components without an ahead_edge are finished, and dropped; the passive one stays.
    """
    pairs, position, parent = shared.pairs, shared.position, shared.parent
    least, chosen, passive = shared.least, shared.chosen, np.uint64(shared.passive[0])
    remaining = np.uint64(0)
    for i in range(np.uint64(len(alive))):
        if i + EDGES_AHEAD < np.uint64(len(alive)):
            ahead_edge = np.intp(least[alive[i + EDGES_AHEAD]] & LOW)
            prefetch(pairs, ahead_edge)
            prefetch(position, ahead_edge)
        if i + ENDS_AHEAD < np.uint64(len(alive)):
            ahead = np.uint64(alive[i + ENDS_AHEAD])
            if least[ahead] != NONE:
                pair = pairs[least[ahead] & LOW]
                prefetch(least, np.intp((pair >> HALF) ^ (pair & LOW) ^ ahead))
                prefetch(chosen, np.intp(position[least[ahead] & LOW]))
        component = np.uint64(alive[i])
        edge = least[component]
        alive[remaining] = component
        remaining += np.uint64((edge != NONE) | (component == passive))
        if edge != NONE:
            pair = pairs[edge & LOW]
            other = (pair >> HALF) ^ (pair & LOW) ^ component
            # Of two that have chosen one ahead_edge, the smaller one is the root.
            root = (component < other) & (least[other] == edge)
            parent[component] = np.uint32(choose(root, component, other))
            chosen[position[edge & LOW]] = True
    return remaining


@kernel
def _compress(shared, alive, begin, end):
    """Point components at their roots; return the number of roots.

    Roots move to the front of `alive`, and their minima are cleared. Components of the
    path that are in [begin, end) are pointed further up. Other members may follow the
    old or the new link, because both lead to the root.
    """
    parent, best, least = shared.parent, shared.best, shared.least
    first, span = np.uint64(begin), np.uint64(end) - np.uint64(begin)
    remaining = np.uint64(0)
    for i in range(np.uint64(len(alive))):
        if i + ENDS_AHEAD < np.uint64(len(alive)):
            prefetch(parent, np.intp(parent[alive[i + ENDS_AHEAD]]))
        component = np.uint64(alive[i])
        here, above = component, np.uint64(parent[component])
        if above == component:
            best[component] = least[component] = NONE
            alive[remaining] = component
            remaining += np.uint64(1)
            continue
        top = np.uint64(parent[above])
        while top != above:
            if here - first < span:
                parent[here] = top
            here, above = above, top
            top = np.uint64(parent[above])
        parent[component] = above
    return remaining


@kernel
def _sample(member, shared, begin, edges):
    """Sample ends of a member's edges."""
    first_sample = np.uint64(SAMPLE * member.number)
    for i in range(np.uint64(SAMPLE)):
        shared.sample[first_sample + i] = LOW
    if edges == 0:
        return
    for i in range(np.uint64(SAMPLE // 2)):
        pair = shared.pairs[np.uint64(begin) + edges * i // np.uint64(SAMPLE // 2)]
        shared.sample[first_sample + np.uint64(2) * i] = pair >> HALF
        shared.sample[first_sample + np.uint64(2) * i + np.uint64(1)] = pair & LOW


@kernel
def _choose_passive(member, shared):
    """Choose the component with most sampled ends as passive, if these are many."""
    sample, parent = shared.sample[: SAMPLE * member.size], shared.parent
    for i in range(len(sample)):
        if sample[i] != LOW:
            root = np.uint64(sample[i])
            while parent[root] != root:
                root = np.uint64(parent[root])
            sample[i] = root
    merge_ascents(sample, sample.copy())
    shared.passive[0] = LOW
    run = most = 0
    for i in range(len(sample)):
        run = run + 1 if i and sample[i] == sample[i - 1] else 1
        if sample[i] != LOW and run > most:
            most = run
            if run * PASSIVE_IN >= len(sample):
                shared.passive[0] = sample[i]


@kernel
def _rounds(member, shared, begin, end):
    """Do rounds until no edges are remaining in the ranges of all members."""
    low, high = member_range(member, len(shared.parent))
    best, least, parent = shared.best, shared.least, shared.parent
    alive = shared.alive[low:high]
    count = np.uint64(0)
    for component in range(np.uint64(low), np.uint64(high)):
        alive[count] = component
        count += np.uint64(parent[component] == component)
        best[component] = least[component] = NONE
    alive = alive[:count]
    barrier(member)
    while True:
        remaining = relabel(shared, begin, end)
        end = begin + np.int64(remaining)
        _sample(member, shared, begin, remaining)
        post_count(member, np.int64(remaining))
        barrier(member)
        if prefix_and_total(member, member.size)[1] == 0:
            return
        if shared.key.itemsize == 8:
            lower_positions(shared, begin, end)
            barrier(member)
        alive = alive[: _hook(shared, alive)]
        barrier(member)
        if member.number == 0:
            _choose_passive(member, shared)
        alive = alive[: _compress(shared, alive, low, high)]
        barrier(member)


@kernel
def _name_by_smallest(member, parent, smallest):
    """Rename every component to the smallest component merged into it.

    The root among them depends on the number of members. `parent` is flat; `smallest`
    (uint64) is NONE for each root.
    """
    begin, end = member_range(member, len(parent))
    for component in range(np.uint64(begin), np.uint64(end)):
        root = np.intp(parent[component])
        if component < smallest[root]:
            lower_atomic(smallest, root, component)
    barrier(member)
    for component in range(np.uint64(begin), np.uint64(end)):
        parent[component] = smallest[parent[component]]
    barrier(member)


@kernel
def boruvka_rounds(member, edges, shared, cuts):
    """Find the forest of edges; called by all members at once.

    Edges are distinct in the order (key, position), so the forest is unique, and the
    same for any number of members.

    `shared.parent` is input and output, flat: each component's smallest member. The
    other arrays of `shared` need no values. `cuts` has the largest key of each
    consecutive band.
    """
    begin, end = member_range(member, len(edges.key))
    shared.chosen[begin:end] = False
    shared.passive[0] = LOW  # by all members: none reads it before the next barrier
    least = edges.key.dtype.type(0)
    low, high = member_range(member, len(shared.parent))
    for most in cuts:
        copied = copy_band(edges, shared, begin, end, least, most)
        _rounds(member, shared, begin, begin + np.int64(copied))
        flatten(shared.parent, low, high)
        barrier(member)
        least = most + edges.key.dtype.type(1)
    _name_by_smallest(member, shared.parent, shared.best)
