"""The linkage matrix of a dendrogram from its chains, shared between threads."""

import numpy as np

from ...kernels.threads import Threads, each_range
from ...native.kernel import kernel
from .merge_chains import DISTANCE, LEFT, RIGHT, SIZE, MergeChains


def link(chains: MergeChains, threads: Threads) -> np.ndarray:
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
