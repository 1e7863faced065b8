"""The single-linkage dendrogram of a tree, its steps shared between threads.

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

import numpy as np

from ...kernels.edge_columns import concatenate, ends_of
from ...kernels.threads import Threads, each_range
from ...native.call_columns import ArrayPieces, PerCall
from ...native.kernel import kernel

LEFT, RIGHT, DISTANCE, SIZE = 0, 1, 2, 3


def link(
    src: np.ndarray, dst: np.ndarray, distance: np.ndarray, threads: Threads
) -> np.ndarray:
    """Return the linkage matrix of a tree, as SciPy has it.

    Edges are in ascending order. Row i has the smaller and the larger id of the
    clusters that merge into cluster n + i, their distance, and its size. The peak is 40
    bytes a vertex more than the matrix.
    """
    n = len(src) + 1
    ids = np.uint32 if 2 * n < 1 << 32 else np.uint64
    none = np.iinfo(ids).max
    lightest, up = np.full(2 * n, none, ids), np.empty(2 * n, ids)
    chain = np.empty(n - 1, ids)
    columns = [np.arange(n - 1, dtype=ids), src.astype(ids), dst.astype(ids)]
    base, top = 0, n
    while len(columns[0]):
        columns, size = _contract(columns, (base, top), lightest, up, chain, threads)
        base, top = top, top + size
    parent = np.empty(n - 1, ids)
    linkage = np.empty((n - 1, 4))
    linkage[:, LEFT] = -1
    linkage[:, DISTANCE] = distance
    edges, above = each_range(threads.bounds(n - 1)), each_range(n + threads.bounds(n))
    threads.run(_find_chains, lightest, up, *edges, chain)
    threads.run(_climb_chains, chain, *above, lightest, parent)
    threads.run(_adopt, lightest, parent, *edges, linkage)
    _add_sizes(linkage)
    return linkage


def _contract(
    columns: list[np.ndarray],
    level: tuple[int, int],
    lightest: np.ndarray,
    up: np.ndarray,
    chain: np.ndarray,
    threads: Threads,
) -> tuple[list[np.ndarray], int]:
    """Contract a level; return the edges of the next, and its number of vertices."""
    base, top = level
    vertices = each_range(base + threads.bounds(top - base))
    threads.run(_find_lightest, *columns, *vertices, lightest, up)
    numbers = ends_of(threads.run(_count_roots, lightest, up, *vertices), top)
    threads.run(_number_roots, lightest, up, *vertices, PerCall(numbers[:-1]))
    threads.run(_climb, up, *vertices, top)
    bounds = threads.bounds(len(columns[0]))
    parts = [ArrayPieces.of(column, bounds) for column in columns]
    counts = threads.run(_contract_edges, *parts, lightest, up, chain)
    columns = concatenate([part.first(counts) for part in parts], threads)
    return columns, int(numbers[-1]) - top


@kernel
def _find_lightest(rank, a, b, begin, end, lightest, up):
    """Find the lightest edge of the vertices in [begin, end), and its other end."""
    begin, span = np.uint64(begin), np.uint64(end) - np.uint64(begin)
    for j in range(len(rank) - 1, -1, -1):
        x, y = np.uint64(a[j]), np.uint64(b[j])
        if x - begin < span:
            lightest[x], up[x] = rank[j], y
        if y - begin < span:
            lightest[y], up[y] = rank[j], x


@kernel
def _is_root(lightest, up, vertex):
    """Return whether a vertex is the smaller of two with the same lightest edge."""
    other = np.uint64(up[vertex])
    return (lightest[other] == lightest[vertex]) & (vertex < other)


@kernel
def _count_roots(lightest, up, begin, end):
    count = 0
    for vertex in range(np.uint64(begin), np.uint64(end)):
        count += _is_root(lightest, up, vertex)
    return count


@kernel
def _number_roots(lightest, up, begin, end, number):
    for vertex in range(np.uint64(begin), np.uint64(end)):
        if _is_root(lightest, up, vertex):
            up[vertex] = number
            number += 1


@kernel
def _climb(up, begin, end, top):
    """Point the vertices in [begin, end) at their roots' numbers, `top` and above.

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
def _contract_edges(rank, a, b, lightest, up, chain):
    """Keep, in place, the edges that are not the lightest edge of a vertex.

    They move to the front, with vertices of the next level as ends; returns their
    number. `chain` of another edge becomes the vertex that contains it.
    """
    count = np.uint64(0)
    for j in range(np.uint64(len(rank))):
        edge, x, y = rank[j], a[j], b[j]
        if lightest[x] == edge or lightest[y] == edge:
            chain[edge] = up[x]
        else:
            rank[count], a[count], b[count] = edge, up[x], up[y]
            count += np.uint64(1)
    return count


@kernel
def _find_chains(lightest, up, begin, end, chain):
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
