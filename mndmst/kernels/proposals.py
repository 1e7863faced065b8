"""A Borůvka round by many workers, each of which owns a range of the components.

Whoever has an edge proposes it to the owners of both its ends, and each owner takes
the lightest for each of its components, batch by batch. Edges have both ends in one
word, and a position, which breaks ties. Proposals to an owner lie side by side, so
nobody writes where others do, and no cache line goes to and fro as with minima in
common memory. One component may be idle, and proposals for it go to nobody: if it has
very many edges, one owner would have most of the work.
"""

from typing import NamedTuple

import numpy as np

from ..native.kernel import kernel
from .hooks import FETCH_AHEAD, HALF, NUMBER
from .intrinsics import choose, prefetch
from .kruskal import LOW

# No component is called so: none is idle.
NOBODY = int(LOW)


class Proposable(NamedTuple):
    """Edges: their keys, both ends in one word, and their positions."""

    key: np.ndarray
    pairs: np.ndarray
    position: np.ndarray


class Room(NamedTuple):
    """Proposals: a component, what is at the other end of its edge, key, position."""

    component: np.ndarray
    other: np.ndarray
    key: np.ndarray
    position: np.ndarray


@kernel
def find_places(pairs, shift, owner, idle, first, places):
    """Find where proposals begin if those to each owner lie side by side.

    Parameters
    ----------
    pairs : ndarray of uint64
        Both ends of each edge.
    shift, owner : int, ndarray of uint32
        A component c belongs to owner[c >> shift].
    idle : int
        A component that gets no proposals.
    first : int
        The place of the first proposal.
    places : ndarray of int64, shape (owners + 2,)
        Set. Behind those of the last owner come those to nobody.
    """
    nobody, none = np.uint32(len(places) - 2), np.uint64(idle)
    places[:] = 0
    for pair in pairs:
        a, b = pair >> HALF, pair & LOW
        places[choose(a == none, nobody, owner[a >> shift]) + 1] += 1
        places[choose(b == none, nobody, owner[b >> shift]) + 1] += 1
    places[0] = first
    for i in range(1, len(places)):
        places[i] += places[i - 1]


@kernel
def propose(edges, shift, owner, idle, places, room):
    """Write the proposals.

    Parameters
    ----------
    edges : Proposable
    places : ndarray of int64, shape (owners + 2,)
        What `find_places` has found.
    room : Room
        Written.
    """
    key, pairs, position = edges
    component, other, keys, of = room
    nobody, none = np.uint32(len(places) - 2), np.uint64(idle)
    place = places.copy()
    for i in range(len(pairs)):
        a, b = pairs[i] >> HALF, pairs[i] & LOW
        for near, far in ((a, b), (b, a)):
            mine = choose(near == none, nobody, owner[near >> shift])
            at = np.uint64(place[mine])
            place[mine] += 1
            component[at], other[at] = near, far
            keys[at], of[at] = key[i], position[i]


@kernel
def mark(least, chosen):
    """Mark the lightest edges of some components; see `decide`."""
    for position in least:
        if np.uint64(position) < np.uint64(len(chosen)):
            chosen[np.uint64(position)] = True


@kernel
def decide(room, places, me, begin, best, least, hook):
    """Hook components of an owner along the lightest edge proposed to each so far.

    Parameters
    ----------
    room : Room
        Proposals to all owners.
    places : ndarray of int64, shape (workers, owners + 2)
        Where those of each worker to each owner are.
    me : int
        This owner; `begin` is its first component.
    best, least : ndarray
        The key and the position of the lightest edge of each of its components,
        updated; the largest ones where there has been none.
    hook : ndarray of uint32
        Set to the other end, where it changes.
    """
    component, other, keys, position = room
    begin = np.uint64(begin)
    for worker in range(len(places)):
        for i in range(
            np.uint64(places[worker, me]), np.uint64(places[worker, me + 1])
        ):
            place = np.uint64(component[i]) - begin
            tie = keys[i] == best[place]
            if keys[i] < best[place] or (tie and position[i] < least[place]):
                best[place], least[place] = keys[i], position[i]
                hook[component[i]] = other[i]


@kernel
def left_apart(u, v, key, pairs, position, step):
    """Give components their numbers after a step; drop edges inside one, in place.

    Returns how many are left.
    """
    count, length = np.uint64(0), np.uint64(len(key))
    for i in range(length):
        if i + FETCH_AHEAD < length:
            prefetch(step, np.intp(pairs[i + FETCH_AHEAD] & LOW))
        a = np.uint64(step[pairs[i] >> HALF] & NUMBER)
        b = np.uint64(step[pairs[i] & LOW] & NUMBER)
        u[count], v[count], key[count] = u[i], v[i], key[i]
        pairs[count], position[count] = (a << HALF) | b, position[i]
        count += np.uint64(a != b)
    return count
