"""A Borůvka round by many workers, each of which owns a range of the components.

Whoever has an edge proposes it to the owners of both its ends, and each owner takes
the lightest for each of its components. Edges have both ends in one word, and a
position, which breaks ties. Proposals to an owner lie side by side, so nobody writes
where others do, and no cache line goes to and fro as with minima in common memory.
"""

import numpy as np
from numba import njit

from .hooks import HALF, NUMBER
from .kruskal import LOW


@njit(nogil=True, cache=True)
def find_places(pairs, shift, owner, first, places):
    """Find where proposals begin if those to each owner lie side by side.

    Parameters
    ----------
    pairs : ndarray of uint64
        Both ends of each edge.
    shift, owner : int, ndarray
        A component c belongs to owner[c >> shift].
    first : int
        The place of the first proposal.
    places : ndarray of int64, shape (owners + 1,)
        Set.
    """
    places[:] = 0
    for pair in pairs:
        places[owner[pair >> HALF >> shift] + 1] += 1
        places[owner[(pair & LOW) >> shift] + 1] += 1
    places[0] = first
    for i in range(1, len(places)):
        places[i] += places[i - 1]


@njit(nogil=True, cache=True)
def propose(key, pairs, first, shift, owner, places, component, other, keys, position):
    """Write the proposals.

    Parameters
    ----------
    first : int
        The position of the first edge.
    places : ndarray of int64, shape (owners + 1,)
        What `find_places` has found.
    component, other, keys, position : ndarray
        Written: the component and what is at the other end of its edge, the edge's
        key, and its position.
    """
    place = places.copy()
    for i in range(len(pairs)):
        a, b = pairs[i] >> HALF, pairs[i] & LOW
        for near, far in ((a, b), (b, a)):
            mine = owner[near >> shift]
            at = np.uint64(place[mine])
            place[mine] += 1
            component[at], other[at] = near, far
            keys[at], position[at] = key[i], first + i


@njit(nogil=True, cache=True)
def decide(component, other, keys, position, places, me, begin, end, hook, chosen):
    """Hook the components in [begin, end) along the lightest edge proposed to each.

    Parameters
    ----------
    component, other, keys, position : ndarray
        Proposals to all owners.
    places : ndarray of int64, shape (workers, owners + 1)
        Where those of each worker to each owner are.
    me : int
        This owner.
    hook : ndarray of uint32
        Set to the other end.
    chosen : ndarray of bool
        Set at the positions of the edges they take.
    """
    none = ~position.dtype.type(0)
    best = np.full(end - begin, ~keys.dtype.type(0), keys.dtype)
    least = np.full(end - begin, none, position.dtype)
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
    for place in range(len(least)):
        if least[place] != none:
            chosen[least[place]] = True


@njit(nogil=True, cache=True)
def left_apart(u, v, key, pairs, step):
    """Give components their numbers after a step; drop edges inside one, in place.

    Returns how many are left.
    """
    count = np.uint64(0)
    for i in range(np.uint64(len(key))):
        a = np.uint64(step[pairs[i] >> HALF] & NUMBER)
        b = np.uint64(step[pairs[i] & LOW] & NUMBER)
        u[count], v[count], key[count] = u[i], v[i], key[i]
        pairs[count] = (a << HALF) | b
        count += np.uint64(a != b)
    return count
