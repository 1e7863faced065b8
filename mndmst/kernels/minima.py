"""What edges do in a Borůvka round: they lower the minima of their components.

A minimum is a word: the key of an edge, and its place, which breaks ties. It is read
first, and lowered only where the edge is lighter. Keys of 64 bits leave no room for the
place, which is then lowered in a step of its own (`settle`).
"""

from typing import NamedTuple

import numpy as np

from ..graph.light_edges import LARGEST_SHARE
from ..native.kernel import kernel
from .intrinsics import lower_atomic, prefetch
from .kruskal import HALF, LOW

NONE = ~np.uint64(0)
# Edges from the one in use to the one whose components are fetched, and edges that are
# named before their minima are lowered.
FETCH_AHEAD = 24
BLOCK = 256
# Keys that are looked at to tell light edges, and their largest share.
KEY_SAMPLE = 1024


class PairEdgeList(NamedTuple):
    """Edges between components.

    Attributes
    ----------
    key : ndarray of uint32 or uint64
    pairs : ndarray of uint64
        The components at both ends of each, in one word.
    """

    key: np.ndarray
    pairs: np.ndarray


class Rounds(NamedTuple):
    """What the members share.

    Attributes
    ----------
    key, pairs, position : ndarray
        The edges that are left (`PairEdgeList`), and where they were at first (uint32).
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
def take(edges, shared, begin, end, least, most):
    """Take the edges of a range with some keys; return how many there are.

    They are in the front of the range in `shared`.
    """
    source_key, source_pairs = edges
    key, pairs, position = shared.key, shared.pairs, shared.position
    taken = np.uint64(begin)
    for i in range(np.uint64(begin), np.uint64(end)):
        key[taken], pairs[taken], position[taken] = source_key[i], source_pairs[i], i
        taken += np.uint64(least <= source_key[i] <= most)
    return taken - np.uint64(begin)


@kernel
def name(shared, begin, end):
    """Name the edges of a range, drop those inside a component, and lower minima.

    Returns how many are left; they move to the front of the range.
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
def settle(shared, begin, end):
    """Lower the places of the edges whose keys are minima."""
    key, pairs, best, least = shared.key, shared.pairs, shared.best, shared.least
    idle = np.uint64(shared.idle[0])
    for i in range(np.uint64(begin), np.uint64(end)):
        word = np.uint64(key[i])
        for end_of in (pairs[i] >> HALF, pairs[i] & LOW):
            if word == best[end_of] and i < least[end_of] and end_of != idle:
                lower_atomic(least, np.intp(end_of), i)


def light_cuts(key: np.ndarray, components: int) -> np.ndarray:
    """Return the largest key of the light edges, and the largest of all.

    The number of light edges is about that of components, and at most half of all.
    """
    largest = np.iinfo(key.dtype).max
    sample = np.sort(key[:: 1 + len(key) // KEY_SAMPLE])
    light = int(len(sample) * min(LARGEST_SHARE, components / max(1, len(key))))
    return np.unique(np.append(sample[light : light + 1], key.dtype.type(largest)))
