"""The chains of a single-linkage dendrogram, found by contracting a tree in parallel.

Edges are in ascending order, and an edge is identified by its rank. Its parent in the
dendrogram is the next edge that leaves the cluster it makes. Every vertex is contracted
along its lightest edge, level by level, as in Borůvka's algorithm. The edges inside a
contracted vertex that are lighter than its lightest edge, and were not so on a lower
level, are a chain of the dendrogram: each is the parent of the one before, and the
lightest edge is the parent of the last (Sao, Prokopenko and Lebrun-Grandié, "PANDORA",
ICPP 2024).

Vertices of all levels have one numbering, level by level, with fewer than 2n numbers.
Threads that own ranges of vertices each read all edges: streams are cheap, and no store
has to be atomic.
"""

from typing import NamedTuple

import numpy as np

from ...host.errors import ConfigError
from ...kernels.edge_columns import ends_of
from ...kernels.threads import Threads, each_range
from ...native.call_columns import PerCall
from ...native.kernel import kernel

LEFT, RIGHT, DISTANCE, SIZE = 0, 1, 2, 3  # columns of a linkage matrix
CYCLE = "the edges of the forest close a cycle; verify it, or solve again"
# Bits of `MergeChains.joins`.
ONE, OTHER = 1, 2


class MergeChains(NamedTuple):
    """A dendrogram as chains of edges: by edge, and by vertex of all levels."""

    one: np.ndarray  # by edge: its ends, vertices of the level where it contracts them
    other: np.ndarray
    joins: np.ndarray  # uint8, by edge: ONE, OTHER or both, whose lightest it is
    chain: np.ndarray  # by edge: the contracted vertex (n or more) whose chain it is in
    # by vertex: its lightest edge; of the last, which has none, a larger number
    lightest: np.ndarray
    distance: np.ndarray  # float64, by edge, ascending
    num_vertices: int  # of all levels


class AscendingTree(NamedTuple):
    """The edges of a tree in ascending order."""

    src: np.ndarray  # of `id_type`
    dst: np.ndarray
    distance: np.ndarray  # float64


class LevelEdges(NamedTuple):
    """Edges between the vertices of a level, in ascending order."""

    rank: np.ndarray  # among all edges
    a: np.ndarray
    b: np.ndarray

    @classmethod
    def empty(cls, count: int, ids: type) -> "LevelEdges":
        """Allocate edges."""
        return cls(*(np.empty(count, ids) for _ in cls._fields))


def id_type(n: int) -> type[np.uint32] | type[np.uint64]:
    """Return the type for the vertices of all levels of a tree of n vertices."""
    return np.uint32 if 2 * n < 1 << 32 else np.uint64


def chains_of_tree(tree: AscendingTree, threads: Threads) -> MergeChains:
    """Return the chains of a tree, whose `src` and `dst` are overwritten.

    About 20 bytes a vertex are needed beside them. Raises ConfigError if the edges
    close a cycle.
    """
    src, dst = tree.src, tree.dst
    n, ids = len(src) + 1, src.dtype.type
    none = np.iinfo(ids).max
    # Levels take few of these numbers, as a rule: what they leave takes no memory.
    lightest, up = np.empty(2 * n, ids), np.empty(2 * n, ids)
    chain, joins = np.empty(n - 1, ids), np.empty(n - 1, np.uint8)
    edges = LevelEdges(np.arange(n - 1, dtype=ids), src, dst)
    base, top = 0, n
    while len(threads.bounds(top - base)) > 2:
        vertices = each_range(base + threads.bounds(top - base))
        loops = threads.run(_find_lightest, edges, *vertices, lightest, up)
        ranges = each_range(threads.bounds(len(edges.rank)))
        pairs, others = threads.run(_mark_joins, edges, *ranges, lightest, joins)
        # Every vertex joins by an edge, the two of a pair by the same one.
        joined = len(edges.rank) - others.sum()
        if np.any(loops) or joined + pairs.sum() < top - base:
            raise ConfigError(CYCLE)
        numbers, begins = ends_of(pairs, top), ends_of(others)
        threads.run(_number_pairs, edges, *ranges, joins, PerCall(numbers[:-1]), up)
        threads.run(_climb, up, *vertices, top)
        further = LevelEdges.empty(begins[-1], ids)
        offset = PerCall(begins[:-1])
        threads.run(
            _contract, edges, *ranges, up, joins, src, dst, chain, offset, further
        )
        edges, base, top = further, top, int(numbers[-1])
    # The other levels are too small for several threads.
    base, top = _contract_alone(edges, base, top, lightest, up, joins, src, dst, chain)
    if base == top:
        raise ConfigError(CYCLE)
    lightest[base:top] = none
    threads.run(_lift, lightest, up, *each_range(threads.bounds(n - 1)), chain)
    return MergeChains(src, dst, joins, chain, lightest[:top], tree.distance, top)


def chains_of_linkage(linkage: np.ndarray) -> MergeChains:
    """Return a linkage matrix as chains of one edge each."""
    n = len(linkage) + 1
    ids = id_type(n)
    one, other = (linkage[:, side].astype(ids) for side in (LEFT, RIGHT))
    row = np.arange(n - 1, dtype=ids)
    chain = np.arange(n, 2 * n - 1, dtype=ids)
    lightest = np.full(2 * n - 1, np.iinfo(ids).max, ids)
    lightest[one], lightest[other] = row, row
    joins = np.full(n - 1, ONE | OTHER, np.uint8)
    distance = np.ascontiguousarray(linkage[:, DISTANCE])
    return MergeChains(one, other, joins, chain, lightest, distance, 2 * n - 1)


def link_chains(chains: MergeChains, threads: Threads) -> np.ndarray:
    """Return the linkage matrix of a tree, as SciPy has it; `chains` is overwritten.

    Row i has the smaller and the larger id of the clusters that merge into cluster
    n + i, their distance, and its size.
    """
    n = len(chains.chain) + 1
    parent = np.empty(n - 1, chains.chain.dtype)
    linkage = np.empty((n - 1, 4))
    linkage[:, LEFT] = -1
    linkage[:, DISTANCE] = chains.distance
    edges = each_range(threads.bounds(n - 1))
    above = each_range(n + threads.bounds(chains.num_vertices - n))
    threads.run(_climb_chains, chains.chain, *above, chains.lightest, parent)
    threads.run(_adopt, chains.lightest, parent, *edges, linkage)
    _add_sizes(linkage)
    return linkage


@kernel
def take_edges(order, src, dst, weight, begin, end, tree):
    """Bring the edges of the ranks in [begin, end) into their order, in `tree`."""
    for rank in range(np.uint64(begin), np.uint64(end)):
        position = order[rank]
        tree.src[rank], tree.dst[rank] = src[position], dst[position]
        tree.distance[rank] = weight[position]


@kernel
def _find_lightest(edges, begin, end, lightest, up):
    """Find the lightest edge of the vertices in [begin, end), and its other end.

    Returns whether an edge is a loop.
    """
    rank, a, b = edges
    begin, span = np.uint64(begin), np.uint64(end) - np.uint64(begin)
    lightest[begin : begin + span] = ~lightest.dtype.type(0)
    loop = False
    for j in range(len(rank) - 1, -1, -1):
        x, y = np.uint64(a[j]), np.uint64(b[j])
        loop |= x == y
        if x - begin < span:
            lightest[x], up[x] = rank[j], y
        if y - begin < span:
            lightest[y], up[y] = rank[j], x
    return loop


@kernel
def _mark_joins(edges, begin, end, lightest, joins):
    """Find whose lightest edges those in [begin, end) are.

    Returns how many are that of both ends, and how many of none.
    """
    rank, a, b = edges
    pairs = others = 0
    for j in range(np.uint64(begin), np.uint64(end)):
        edge = rank[j]
        joined = ONE * (lightest[a[j]] == edge) + OTHER * (lightest[b[j]] == edge)
        joins[edge] = joined
        pairs += joined == ONE + OTHER
        others += joined == 0
    return pairs, others


@kernel
def _number_pairs(edges, begin, end, joins, number, up):
    """Number the vertices above, one for each pair with the same lightest edge."""
    rank, a, b = edges
    for j in range(np.uint64(begin), np.uint64(end)):
        if joins[rank[j]] == ONE + OTHER:
            up[min(a[j], b[j])] = number
            number += 1


@kernel
def _climb(up, begin, end, top):
    """Point the vertices in [begin, end) at the numbers above, `top` and more.

    Vertices of a path that are in the range are pointed one step further, as in
    `hooks.compress`.
    """
    begin, span = np.uint64(begin), np.uint64(end) - np.uint64(begin)
    top = np.uint64(top)
    for vertex in range(begin, np.uint64(end)):
        here, above = vertex, np.uint64(up[vertex])
        while above < top:
            further = np.uint64(up[above])
            if here - begin < span:
                up[here] = further
            here, above = above, further
        up[vertex] = above


@kernel
def _contract(edges, begin, end, up, joins, one, other, chain, offset, further):
    """Put the edges in [begin, end) that are a lightest one inside the vertex above.

    The others join vertices of the next level, and are written from `offset` on.
    """
    rank, a, b = edges
    offset = np.uint64(offset)
    for j in range(np.uint64(begin), np.uint64(end)):
        edge, x, y = rank[j], a[j], b[j]
        if joins[edge]:
            one[edge], other[edge], chain[edge] = x, y, up[x]
        else:
            further.rank[offset] = edge
            further.a[offset], further.b[offset] = up[x], up[y]
            offset += np.uint64(1)


@kernel
def _contract_alone(edges, base, top, lightest, up, joins, one, other, chain):
    """Contract the vertices in [base, top), and all levels above them.

    Returns the range of the last vertex; an empty one if the edges close a cycle.
    """
    while len(edges.rank):
        count = len(edges.rank)
        loop = _find_lightest(edges, base, top, lightest, up)
        pairs, others = _mark_joins(edges, 0, count, lightest, joins)
        if loop or count - others + pairs < top - base:
            return top, top
        _number_pairs(edges, 0, count, joins, top, up)
        _climb(up, base, top, top)
        further = LevelEdges(
            np.empty(others, edges.rank.dtype),
            np.empty(others, edges.a.dtype),
            np.empty(others, edges.b.dtype),
        )
        _contract(edges, 0, count, up, joins, one, other, chain, 0, further)
        edges, base, top = further, top, top + pairs
    return base, top


@kernel
def _lift(lightest, up, begin, end, chain):
    """Replace each edge's vertex by its first ancestor with a heavier lightest edge."""
    for edge in range(np.uint64(begin), np.uint64(end)):
        vertex = np.uint64(chain[edge])
        while lightest[vertex] < edge:
            vertex = np.uint64(up[vertex])
        chain[edge] = vertex


@kernel
def _climb_chains(chain, begin, end, last, parent):
    """Find the parents of the edges in the chains of the vertices in [begin, end).

    `last` is the lightest edge of each vertex, and becomes the first of its chain.
    """
    begin, span = np.uint64(begin), np.uint64(end) - np.uint64(begin)
    for edge in range(len(chain) - 1, -1, -1):
        vertex = np.uint64(chain[edge])
        if vertex - begin < span:
            parent[edge] = last[vertex]
            last[vertex] = edge


@kernel
def _adopt(vertex_parent, edge_parent, begin, end, linkage):
    """Fill in both clusters of the rows in [begin, end); LEFT is negative before."""
    n = len(linkage) + 1
    begin, span = np.uint64(begin), np.uint64(end) - np.uint64(begin)
    for child in range(2 * n - 1):
        above = vertex_parent[child] if child < n else edge_parent[child - n]
        row = np.uint64(above)
        if row - begin < span:
            linkage[row, LEFT if linkage[row, LEFT] < 0 else RIGHT] = child


@kernel
def _add_sizes(linkage):
    n = len(linkage) + 1
    for row in range(n - 1):
        size = 0.0
        for side in (linkage[row, LEFT], linkage[row, RIGHT]):
            cluster = np.int64(side)
            size += 1.0 if cluster < n else linkage[cluster - n, SIZE]
        linkage[row, SIZE] = size
