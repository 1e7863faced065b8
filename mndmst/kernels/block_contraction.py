"""Block contraction: each thread contracts blocks of nearby components.

If vertex numbers follow location, as in road networks and meshes, most edges of a list
in (u, v) order join components with close numbers. The list is divided into blocks that
fit the cache of a core, and so are the components. Inside its blocks a member runs
Kruskal's algorithm except across borders (`borders`), as ranks do in their parts of the
graph. All members contract the remaining edges together.
"""

from typing import NamedTuple

import numpy as np

from ..native.call_columns import PerCall
from ..native.kernel import kernel
from .borders import NO_BORDER, Bordered, lower_borders, unite_except_borders
from .edge_columns import concatenate, ends_of
from .kruskal import HALF, LOW, PairEdgeList, flatten
from .sorting import DIGIT, key_range, order_runs, sort_by_one_thread
from .team import Team, barrier, member_range
from .threads import Threads

# Bits of an edge's number in its block; the number of blocks from which the method
# pays.
BLOCK_BITS, LEAST_BLOCKS = 16, 4
DIGITS = -(-(64 - BLOCK_BITS) // DIGIT)
# Sampled edges, and the fraction of these that must be inside blocks.
SAMPLE, INSIDE_FRACTION = 256, 0.5

Pieces = tuple[np.ndarray, np.ndarray]


class Blocks(NamedTuple):
    """Blocks of edges and of components."""

    begin: np.ndarray  # int64: the first edge of each block
    end: np.ndarray  # int64
    # int64: the first component of each block, and the end of the last
    component: np.ndarray

    @property
    def ranges(self) -> tuple[PerCall, PerCall]:
        """The edges of each block as arguments of `Threads.run`."""
        return PerCall(self.begin), PerCall(self.end)


class Packing(NamedTuple):
    """Packing of a key and a position in a block into one word."""

    least: np.unsignedinteger  # subtracted from all keys
    drop: int  # low bits that do not fit; runs equal in the others are sorted again
    bits: int  # number of bits that fit

    @classmethod
    def of(cls, key: np.ndarray, blocks: Blocks, threads: Threads) -> "Packing":
        """Return the packing for the range of the keys in blocks."""
        least, most = key_range(key, blocks.ranges, threads)
        length = (most - least).bit_length()
        drop = max(0, length - (64 - BLOCK_BITS))
        return cls(key.dtype.type(least), drop, length - drop)


def find_blocks(
    pairs: np.ndarray, parent: np.ndarray, count: int, pieces: Pieces | None = None
) -> Blocks | None:
    """Return the blocks of edges; None if few edges are inside blocks.

    `pairs` has both ends of each edge in one word; `parent` is flat. Only the first
    `count` components are in blocks: larger numbers are across a border. `pieces` are
    the ranges of `pairs` with edges, by default the whole array.
    """
    begins, ends = pieces or (np.zeros(1, np.int64), np.array([len(pairs)]))
    lengths = ends - begins
    blocks_per_piece = -(-lengths >> BLOCK_BITS)
    if lengths.sum() <= (LEAST_BLOCKS - 1) << BLOCK_BITS:
        return None
    piece = np.repeat(np.arange(len(lengths)), blocks_per_piece)
    block_in_piece = (
        np.arange(len(piece)) - (np.cumsum(blocks_per_piece) - blocks_per_piece)[piece]
    )
    begin, end = (
        begins[piece] + lengths[piece] * cut // blocks_per_piece[piece]
        for cut in (block_in_piece, block_in_piece + 1)
    )
    first = parent[pairs[begin] >> HALF].astype(np.int64)
    first[0] = 0
    component = np.minimum(np.append(np.maximum.accumulate(first), count), count)
    before = ends_of(end - begin)
    sample = np.arange(SAMPLE) * before[-1] // SAMPLE
    block = np.searchsorted(before, sample, "right") - 1
    pair = pairs[sample + (begin - before[:-1])[block]]
    a, b = (parent[vertex] for vertex in (pair >> HALF, pair & LOW))
    low, high = component[block], component[block + 1]
    inside = (low <= np.minimum(a, b)) & (np.maximum(a, b) < high)
    return Blocks(begin, end, component) if inside.mean() >= INSIDE_FRACTION else None


def contract_blocks(
    team: Team, edges: PairEdgeList, parent: np.ndarray, blocks: Blocks
) -> np.ndarray:
    """Contract inside blocks; return a mask of the contracted edges. Collective.

    `parent` is updated and flat afterwards.
    """
    border, final = team.arrays((len(parent), np.uint64), (len(edges.key), np.bool_))
    (words,) = team.arrays((int((blocks.end - blocks.begin).sum()), np.uint64))
    components = Bordered(parent, border, final)
    team.run(
        contract_inside_blocks,
        len(edges.key),
        edges,
        components,
        blocks,
        Packing.of(edges.key, blocks, team.threads),
        words,
    )
    return final


def edges_between(
    edges: PairEdgeList, parent: np.ndarray, blocks: Blocks, threads: Threads
) -> tuple[PairEdgeList, np.ndarray]:
    """Return the remaining edges between components, and their positions."""
    parts = threads.run(edges_between_range, edges, parent, *blocks.ranges)
    key, pairs, position = concatenate(parts, threads)
    return PairEdgeList(key, pairs), position


@kernel
def _take_inside(edges, components, block, packing, words):
    """Pack the edges inside a block; return their number.

    The other edges lower the borders of their components.
    """
    key, pairs = edges
    parent = components.parent
    begin, end, low, high = block
    least, drop, _ = packing
    first, span = np.uint64(low), np.uint64(high) - np.uint64(low)
    count = np.uint64(0)
    for i in range(np.uint64(begin), np.uint64(end)):
        pair = pairs[i]
        a, b = np.uint64(parent[pair >> HALF]), np.uint64(parent[pair & LOW])
        leading = np.uint64(key[i] - least) >> np.uint64(drop)
        words[count] = (leading << np.uint64(BLOCK_BITS)) | (i - np.uint64(begin))
        if a - first < span and b - first < span:
            count += np.uint64(a != b)
        elif a != b:
            lower_borders(edges, i, a, b, components.border)
    return count


@kernel
def contract_inside_blocks(member, edges, components, blocks, packing, words):
    """Contract inside blocks; called by all members at once.

    `components.parent` is flat before and after; the other arrays need no values.
    `words` is a buffer of one word per edge in a block, without gaps, because the
    system maps a large array anew for each solve.
    """
    first, last, component = blocks
    parent, border, final = components
    begin, end = member_range(member, len(first))
    low, high = member_range(member, len(parent))
    border[low:high] = NO_BORDER
    barrier(member)
    counts, longest = np.empty(end - begin, np.int64), 1
    start = (last[:begin] - first[:begin]).sum()
    offset = start
    for i in range(begin, end):
        final[first[i] : last[i]] = False
        block = first[i], last[i], component[i], component[i + 1]
        count = np.int64(
            _take_inside(edges, components, block, packing, words[offset:])
        )
        offset += last[i] - first[i]
        counts[i - begin] = count
        longest = max(longest, count)
    barrier(member)
    other = np.empty(longest, np.uint64)
    digit_offsets = np.empty((DIGITS, 1 << DIGIT), np.uint64)
    mask = (np.uint64(1) << np.uint64(BLOCK_BITS)) - np.uint64(1)
    offset = start
    for i in range(begin, end):
        count = counts[i - begin]
        order = words[offset : offset + count]
        offset += last[i] - first[i]
        order = sort_by_one_thread(
            order, other[:count], BLOCK_BITS, packing.bits, digit_offsets
        )
        if packing.drop:
            order_runs(order, edges.key[first[i] :], BLOCK_BITS, 0, count)
        unite_except_borders(edges, components, order, first[i], mask)
    barrier(member)
    flatten(parent, low, high)
    barrier(member)


@kernel
def edges_between_range(edges, parent, begin, end):
    """Return `edges_between` of the edges in a range."""
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
def mark_positions(position, marked, mask, begin, end):
    """Mark the positions of the edges in [begin, end) that are marked."""
    for i in range(np.uint64(begin), np.uint64(end)):
        if marked[i]:
            mask[position[i]] = True
