"""Borůvka rounds by a team: the forest of edges between numbered components.

All rounds are one call of one kernel by every member. In a round

1. each member gives the edges of its share the present names of their components,
   drops those inside one, and lowers the minimum of both components of each other edge;
2. every component hooks to the other end of its lightest edge; of two that have chosen
   the same edge the smaller one becomes the root;
3. every component is pointed at its root.

A minimum is a word: the key of an edge, and its place, which breaks ties. It is read
first, and lowered only where the edge is lighter. Keys of 64 bits leave no room for the
place, which is then lowered in a step of its own. One component, to which very many
edges lead, makes no choice: all members would write its minimum again and again. The
other ends of its edges choose.
"""

from typing import NamedTuple

import numpy as np

from ..native.kernel import kernel
from .intrinsics import lower_atomic, prefetch
from .kruskal import HALF, LOW
from .team import Team, meet, said, say, share_of

NONE = ~np.uint64(0)
# Edges from the one in use to the one whose components are fetched, and edges that are
# named before their minima are lowered.
FETCH_AHEAD = 24
BLOCK = 256
# Ends of edges that a member looks at, and which share of all of these a component must
# be for it to make no choice.
SAMPLE, IDLE_SHARE = 32, 16


class Rounds(NamedTuple):
    """What the members share.

    Attributes
    ----------
    key, pairs, position : ndarray
        Edges: keys of uint32 or uint64, the components at both ends in one word of
        uint64, and where they were at first (uint32). Overwritten.
    parent : ndarray of uint32
        Of each component; flat.
    best, least : ndarray of uint64
        The minimum of each component, and the place of its edge. With keys of 32 bits
        these are one array.
    alive : ndarray of uint32
        The components that may have edges.
    sample : ndarray of uint32
        Components at the ends of some edges.
    idle : ndarray of uint32, shape (1,)
        The component that makes no choice.
    chosen : ndarray of bool
        Set at the position of each edge of the forest.
    """

    key: np.ndarray
    pairs: np.ndarray
    position: np.ndarray
    parent: np.ndarray
    best: np.ndarray
    least: np.ndarray
    alive: np.ndarray
    sample: np.ndarray
    idle: np.ndarray
    chosen: np.ndarray


@kernel
def _lower(key, place, component, idle, best):
    """Lower the minimum of a component, unless it makes no choice."""
    if component == idle:
        return
    word = np.uint64(key[place])
    if key.itemsize == 4:
        word = (word << HALF) | place
    if word < best[component]:
        lower_atomic(best, np.intp(component), word)


@kernel
def _name(shared, begin, end):
    """Name and drop the edges of a range, and lower minima; return how many are left.

    Those that are left move to the front of the range.
    """
    key, pairs, position = shared.key, shared.pairs, shared.position
    parent, best, idle = shared.parent, shared.best, np.uint64(shared.idle[0])
    left = np.uint64(begin)
    for block in range(np.uint64(begin), np.uint64(end), np.uint64(BLOCK)):
        done = left
        for i in range(block, min(block + np.uint64(BLOCK), np.uint64(end))):
            if i + np.uint64(FETCH_AHEAD) < np.uint64(end):
                ahead = pairs[i + np.uint64(FETCH_AHEAD)]
                prefetch(parent, np.intp(ahead >> HALF))
                prefetch(parent, np.intp(ahead & LOW))
            pair = pairs[i]
            a, b = np.uint64(parent[pair >> HALF]), np.uint64(parent[pair & LOW])
            prefetch(best, np.intp(a))
            prefetch(best, np.intp(b))
            key[left], position[left] = key[i], position[i]
            pairs[left] = (a << HALF) | b
            left += np.uint64(a != b)
        for i in range(done, left):
            _lower(key, i, pairs[i] >> HALF, idle, best)
            _lower(key, i, pairs[i] & LOW, idle, best)
    return left - np.uint64(begin)


@kernel
def _settle(shared, begin, end):
    """Lower the places of the edges whose keys are minima."""
    key, pairs, best, least = shared.key, shared.pairs, shared.best, shared.least
    idle = np.uint64(shared.idle[0])
    for i in range(np.uint64(begin), np.uint64(end)):
        word = np.uint64(key[i])
        for end_of in (pairs[i] >> HALF, pairs[i] & LOW):
            if word == best[end_of] and i < least[end_of] and end_of != idle:
                lower_atomic(least, np.intp(end_of), i)


@kernel
def _hook(shared, alive):
    """Hook components along their edges, and mark these; return how many are alive.

    Those without an edge are finished, and dropped.
    """
    pairs, position, parent = shared.pairs, shared.position, shared.parent
    least, chosen, idle = shared.least, shared.chosen, np.uint64(shared.idle[0])
    left = np.uint64(0)
    for i in range(np.uint64(len(alive))):
        component = np.uint64(alive[i])
        place = least[component]
        if component == idle:
            alive[left] = component
            left += np.uint64(1)
        elif place != NONE:
            alive[left] = component
            left += np.uint64(1)
            pair = pairs[place & LOW]
            other = (pair >> HALF) ^ (pair & LOW) ^ component
            # Of two that have chosen one edge, the smaller one is the root.
            if not (component < other and least[other] == place and other != idle):
                parent[component] = other
                chosen[position[place & LOW]] = True
    return left


@kernel
def _climb(shared, alive, begin, end):
    """Point components at their roots; return how many roots there are.

    Roots move to the front of `alive`, and their minima are cleared. On the way,
    components in [begin, end) are pointed further: others may follow the old or the new
    link, which both lead to the root.
    """
    parent, best, least = shared.parent, shared.best, shared.least
    first, span = np.uint64(begin), np.uint64(end) - np.uint64(begin)
    left = np.uint64(0)
    for i in range(np.uint64(len(alive))):
        component = np.uint64(alive[i])
        here, above = component, np.uint64(parent[component])
        if above == component:
            best[component] = least[component] = NONE
            alive[left] = component
            left += np.uint64(1)
            continue
        top = np.uint64(parent[above])
        while top != above:
            if here - first < span:
                parent[here] = top
            here, above = above, top
            top = np.uint64(parent[above])
        parent[component] = above
    return left


@kernel
def _sample(member, shared, begin, left):
    """Look at ends of some of a member's edges."""
    mine = np.uint64(SAMPLE * member.number)
    for i in range(np.uint64(SAMPLE)):
        shared.sample[mine + i] = LOW
    if left == 0:
        return
    for i in range(np.uint64(SAMPLE // 2)):
        pair = shared.pairs[np.uint64(begin) + left * i // np.uint64(SAMPLE // 2)]
        shared.sample[mine + np.uint64(2) * i] = pair >> HALF
        shared.sample[mine + np.uint64(2) * i + np.uint64(1)] = pair & LOW


@kernel
def _choose_idle(member, shared):
    """Find the component that most sampled ends are in, if these are very many."""
    sample, parent = shared.sample[: SAMPLE * member.size], shared.parent
    for i in range(len(sample)):
        if sample[i] != LOW:
            root = np.uint64(sample[i])
            while parent[root] != root:
                root = np.uint64(parent[root])
            sample[i] = root
    sample.sort()
    shared.idle[0] = LOW
    run = most = 0
    for i in range(len(sample)):
        run = run + 1 if i and sample[i] == sample[i - 1] else 1
        if sample[i] != LOW and run > most:
            most = run
            if run * IDLE_SHARE >= len(sample):
                shared.idle[0] = sample[i]


@kernel
def boruvka_rounds(member, shared):
    """Find the forest of edges; called by all members at once.

    Edges are distinct in the order (key, place), so the forest is unique, and the same
    for any number of members.

    Parameters
    ----------
    member : Member
    shared : Rounds
        The keys, pairs and parents are given; the rest needs no values.
    """
    begin, end = share_of(member, len(shared.key))
    for i in range(np.uint64(begin), np.uint64(end)):
        shared.position[i], shared.chosen[i] = i, False
    low, high = share_of(member, len(shared.parent))
    best, least, parent = shared.best, shared.least, shared.parent
    alive = shared.alive[low:high]
    count = np.uint64(0)
    for component in range(np.uint64(low), np.uint64(high)):
        alive[count] = component
        count += np.uint64(parent[component] == component)
        best[component] = least[component] = NONE
    alive = alive[:count]
    if member.number == 0:
        shared.idle[0] = LOW
    meet(member)
    while True:
        left = _name(shared, begin, end)
        end = begin + np.int64(left)
        _sample(member, shared, begin, left)
        say(member, np.int64(left))
        meet(member)
        if said(member)[1] == 0:
            break
        if shared.key.itemsize == 8:
            _settle(shared, begin, end)
            meet(member)
        alive = alive[: _hook(shared, alive)]
        meet(member)
        if member.number == 0:
            _choose_idle(member, shared)
        alive = alive[: _climb(shared, alive, low, high)]
        meet(member)
    for component in range(np.uint64(low), np.uint64(high)):
        root = np.uint64(parent[component])
        while parent[root] != root:
            root = np.uint64(parent[root])
        parent[component] = root
    meet(member)


def forest_by_rounds(
    team: Team,
    key: np.ndarray,
    pairs: np.ndarray,
    parent: np.ndarray,
    chosen: np.ndarray,
) -> None:
    """Mark the edges that join components; `parent` is updated. Collective.

    Parameters
    ----------
    key, pairs, parent, chosen : ndarray
        See `Rounds`; there are fewer than 2^32 - 1 edges. All are the team's.
    """
    edges, components = len(key), len(parent)
    position, best, alive, sample, idle = team.arrays(
        (edges, np.uint32), (components, np.uint64), (components, np.uint32),
        (SAMPLE * team.processes * team.most, np.uint32), (1, np.uint32),
    )  # fmt: skip
    least = best
    if key.itemsize == 8:
        (least,) = team.arrays((components, np.uint64))
    shared = Rounds(
        key, pairs, position, parent, best, least, alive, sample, idle, chosen
    )
    team.run(lambda member: boruvka_rounds(member, shared), edges)
