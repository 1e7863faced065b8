"""Kernels of flat clusters and of the condensed tree of a dendrogram."""

import numpy as np

from ...native.kernel import kernel
from .linkage import DISTANCE, LEFT, RIGHT, SIZE


@kernel
def condense(linkage, least):
    """Return the condensed tree of a dendrogram.

    From the top: where both sides of a merge have at least `least` points the cluster
    has truly split; a smaller side falls out of it, point by point.

    Returns
    -------
    parent, child : ndarray of int64
        Clusters are n, n + 1, ... from the root on; a child below n is a point.
    scale : ndarray of float64
        1 / distance at which the child leaves its parent.
    size : ndarray of int64
    """
    n = len(linkage) + 1
    rows = 3 * n
    parent, child = np.empty(rows, np.int64), np.empty(rows, np.int64)
    scale, size = np.empty(rows), np.empty(rows, np.int64)
    cluster = np.empty(2 * n - 1, np.int64)
    left_at = np.full(2 * n - 1, -1.0)  # where a fallen subtree left; -1: it has not
    cluster[2 * n - 2] = n
    clusters, used = n + 1, 0
    for node in range(2 * n - 2, -1, -1):
        if node < n:
            parent[used], child[used] = cluster[node], node
            scale[used], size[used] = left_at[node], 1
            used += 1
            continue
        distance = linkage[node - n, DISTANCE]
        here = 1 / distance if distance > 0 else np.inf
        sides = (np.int64(linkage[node - n, LEFT]), np.int64(linkage[node - n, RIGHT]))
        sizes = np.ones(2, np.int64)
        for k in range(2):
            if sides[k] >= n:
                sizes[k] = np.int64(linkage[sides[k] - n, SIZE])
        fallen = left_at[node] >= 0
        split = not fallen and min(sizes[0], sizes[1]) >= least
        for k in range(2):
            side = sides[k]
            cluster[side] = cluster[node]
            if fallen:
                left_at[side] = left_at[node]
            elif split:
                parent[used], child[used] = cluster[node], clusters
                scale[used], size[used] = here, sizes[k]
                cluster[side] = clusters
                used += 1
                clusters += 1
                if side < n:
                    left_at[side] = here
            elif sizes[k] < least or side < n:
                left_at[side] = here
    return parent[:used], child[:used], scale[:used], size[:used]


@kernel
def most_stable(parent, stability):
    """Choose clusters of the largest total stability, none inside another.

    Parameters
    ----------
    parent : ndarray of int64, shape (clusters,)
        Smaller than the cluster's own number; the root is 0.
    stability : ndarray of float64, shape (clusters,)
    """
    best = stability.copy()
    below = np.zeros(len(best))
    chosen = np.ones(len(best), np.bool_)
    for cluster in range(len(best) - 1, 0, -1):
        if below[cluster] > best[cluster]:
            chosen[cluster] = False
            best[cluster] = below[cluster]
        below[parent[cluster]] += best[cluster]
    return chosen


@kernel
def owners(parent, chosen):
    """Return for each cluster the topmost chosen one it is in, or -1."""
    owner = np.full(len(chosen), -1)
    for cluster in range(len(chosen)):
        above = owner[parent[cluster]] if cluster else -1
        owner[cluster] = cluster if above < 0 and chosen[cluster] else above
    return owner


@kernel
def raised(parent, birth, chosen, scale):
    """Put clusters born beyond a scale in place by the first above born before it.

    The root is none; one below it stays.
    """
    result = np.zeros(len(chosen), np.bool_)
    for cluster in range(len(chosen)):
        if chosen[cluster]:
            while birth[cluster] > scale and parent[cluster] != 0:
                cluster = parent[cluster]
                if birth[cluster] < scale:
                    break
            result[cluster] = True
    return result
