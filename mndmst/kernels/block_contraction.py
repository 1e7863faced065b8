"""Block contraction: each thread contracts blocks of nearby components on its own.

Where vertex numbers follow location, as in road networks and meshes, most edges of a
list in (u, v) order join components with close numbers. The list is divided into blocks
that fit the cache of a core, and the components likewise. Inside
its blocks a member runs Kruskal's algorithm except across borders (`borders`), as ranks
do in their parts of the graph. All members contract the remaining edges together.
"""

from typing import Any, NamedTuple

import numpy as np

from ..native.kernel import kernel
from .borders import NO_BORDER, Bordered, lower_borders, unite_except_borders
from .edge_columns import concatenate
from .kruskal import HALF, LOW, PairEdgeList, flatten
from .sorting import DIGIT, key_range, order_runs, sort_alone
from .team import Team, barrier, member_range
from .threads import Threads, each_range

# Edges of a block, numbered by 16 bits; fewer blocks are not worth the passes.
BLOCK_BITS, LEAST_BLOCKS = 16, 4
DIGITS = -(-(64 - BLOCK_BITS) // DIGIT)
# Sampled edges, and the fraction of these that must be inside blocks.
SAMPLE, INSIDE_FRACTION = 1024, 0.5


class Blocks(NamedTuple):
    """Bounds of blocks: the begin of each, and the end of the last.

    Attributes
    ----------
    edge : ndarray of int64, shape (blocks + 1,)
        In the list of edges.
    component : ndarray of int64, shape (blocks + 1,)
        Among the components.
    """

    edge: np.ndarray
    component: np.ndarray


class Packing(NamedTuple):
    """Packing of a key and a position in a block into one word.

    Attributes
    ----------
    least : same type as the keys
        Subtracted from all keys.
    drop : int
        Number of low bits that do not fit; runs equal in the others are sorted again.
    bits : int
        Number of bits that fit.
    """

    least: Any
    drop: int
    bits: int

    @classmethod
    def of(cls, key: np.ndarray, threads: Threads) -> "Packing":
        """Return the packing for the range of some keys."""
        least, most = key_range(key, threads)
        length = (most - least).bit_length()
        drop = max(0, length - (64 - BLOCK_BITS))
        return cls(key.dtype.type(least), drop, length - drop)


def find_blocks(pairs: np.ndarray, parent: np.ndarray, count: int) -> Blocks | None:
    """Return the blocks of a list of edges; None if few edges are inside one.

    Parameters
    ----------
    pairs : ndarray of uint64
        Both ends of each edge in one word.
    parent : ndarray of uint32
        Of each component; flat.
    count : int
        Number of components in blocks; larger numbers are across a border.
    """
    number = -(-len(pairs) >> BLOCK_BITS)
    if number < LEAST_BLOCKS:
        return None
    edge = np.arange(number + 1) * len(pairs) // number
    first = parent[pairs[edge[:-1]] >> HALF].astype(np.int64)
    first[0] = 0
    component = np.minimum(np.append(np.maximum.accumulate(first), count), count)
    sample = np.arange(SAMPLE) * len(pairs) // SAMPLE
    block = np.searchsorted(edge, sample, "right") - 1
    low, high = component[block], component[block + 1]
    a, b = (parent[end] for end in (pairs[sample] >> HALF, pairs[sample] & LOW))
    inside = (low <= np.minimum(a, b)) & (np.maximum(a, b) < high)
    return Blocks(edge, component) if inside.mean() >= INSIDE_FRACTION else None


def contract_blocks(
    team: Team, edges: PairEdgeList, parent: np.ndarray, blocks: Blocks
) -> np.ndarray:
    """Contract inside blocks; return a mask of the contracted edges. Collective.

    Parameters
    ----------
    parent : ndarray
        Updated; flat again in the end.
    """
    border, final = team.arrays((len(parent), np.uint64), (len(edges.key), np.bool_))
    (words,) = team.arrays((len(edges.key), np.uint64))
    components = Bordered(parent, border, final)
    team.run(
        contract_inside_blocks,
        len(edges.key),
        edges,
        components,
        blocks,
        Packing.of(edges.key, team.threads),
        words,
    )
    return final


def edges_between(
    edges: PairEdgeList, parent: np.ndarray, threads: Threads
) -> tuple[PairEdgeList, np.ndarray]:
    """Return the edges between two present components, and their positions."""
    ranges = each_range(threads.bounds(len(edges.key)))
    found = threads.run(edges_between_range, edges, parent, *ranges)
    key, pairs, position = concatenate(found, threads)
    return PairEdgeList(key, pairs), position


@kernel
def _take_inside(edges, components, block, packing, words):
    """Pack the edges inside a block; return their number.

    The others lower the borders of their components.
    """
    key, pairs = edges
    parent = components.parent
    begin, end, low, high = block
    least, drop, _ = packing
    first, span = np.uint64(low), np.uint64(high) - np.uint64(low)
    count = np.uint64(begin)
    for i in range(np.uint64(begin), np.uint64(end)):
        pair = pairs[i]
        a, b = np.uint64(parent[pair >> HALF]), np.uint64(parent[pair & LOW])
        leading = np.uint64(key[i] - least) >> np.uint64(drop)
        words[count] = (leading << np.uint64(BLOCK_BITS)) | (i - np.uint64(begin))
        if a - first < span and b - first < span:
            count += np.uint64(a != b)
        elif a != b:
            lower_borders(edges, i, a, b, components.border)
    return count - np.uint64(begin)


@kernel
def contract_inside_blocks(member, edges, components, blocks, packing, words):
    """Contract inside blocks; called by all members at once.

    Parameters
    ----------
    member : Member
    edges : Edges
    components : Bordered
        Only the parents are given; they are flat, and again so in the end.
    blocks : Blocks
    packing : Packing
    words : ndarray of uint64, shape (edges,)
        Needs no values.
    """
    edge, component = blocks
    parent, border, final = components
    begin, end = member_range(member, len(edge) - 1)
    low, high = member_range(member, len(parent))
    border[low:high] = NO_BORDER
    final[edge[begin] : edge[end]] = False
    barrier(member)
    counts, longest = np.empty(end - begin, np.int64), 1
    for i in range(begin, end):
        block = edge[i], edge[i + 1], component[i], component[i + 1]
        count = np.int64(_take_inside(edges, components, block, packing, words))
        counts[i - begin] = count
        longest = max(longest, count)
    barrier(member)
    other = np.empty(longest, np.uint64)
    places = np.empty((DIGITS, 1 << DIGIT), np.uint64)
    mask = (np.uint64(1) << np.uint64(BLOCK_BITS)) - np.uint64(1)
    for i in range(begin, end):
        count = counts[i - begin]
        order = words[edge[i] : edge[i] + count]
        order = sort_alone(order, other[:count], BLOCK_BITS, packing.bits, places)
        if packing.drop:
            order_runs(order, edges.key[edge[i] :], BLOCK_BITS, 0, count)
        unite_except_borders(edges, components, order, edge[i], mask)
    barrier(member)
    flatten(parent, low, high)
    barrier(member)


@kernel
def edges_between_range(edges, parent, begin, end):
    """Do `edges_between` for the edges of a range."""
    of_key, of_pairs = edges
    length = end - begin + 1  # one to spare for a write that is undone
    key, pairs = np.empty(length, of_key.dtype), np.empty(length, np.uint64)
    position = np.empty(length, np.uint64)
    count = np.uint64(0)
    for i in range(np.uint64(begin), np.uint64(end)):
        pair = of_pairs[i]
        a, b = np.uint64(parent[pair >> HALF]), np.uint64(parent[pair & LOW])
        key[count], pairs[count], position[count] = of_key[i], (a << HALF) | b, i
        count += np.uint64(a != b)
    return key[:count], pairs[:count], position[:count]


@kernel
def mark_positions(position, marked, kept, begin, end):
    """Mark the positions of the edges in [begin, end) that are marked."""
    for i in range(np.uint64(begin), np.uint64(end)):
        if marked[i]:
            kept[position[i]] = True
