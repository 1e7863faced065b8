"""Edges between owner ranks: grouping by owner, minima of proposals, duplicates."""

import numpy as np

from ..native.kernel import kernel
from .binary_search import first_above


@kernel
def group_by_owner(ids, vtxdist):
    """Group ids by their owner rank; fastest if consecutive ids have one owner.

    Returns positions in `ids`, grouped by rank and ascending within a rank, and the
    number of ids of each rank.
    """
    counts = np.zeros(len(vtxdist) - 1, np.int64)
    owner = np.empty(len(ids), np.int32)
    rank = 0
    for i in range(len(ids)):
        value = np.int64(ids[i])
        if value < vtxdist[rank] or value >= vtxdist[rank + 1]:
            rank = first_above(vtxdist, value) - 1
        owner[i] = rank
        counts[rank] += 1
    position = np.zeros(len(counts), np.int64)
    for rank in range(1, len(counts)):
        position[rank] = position[rank - 1] + counts[rank - 1]
    order = np.empty(len(ids), np.int64)
    for i in range(len(ids)):
        order[position[owner[i]]] = i
        position[owner[i]] += 1
    return order, counts


@kernel
def lightest_proposals(label, u, v, key, first, last):
    """Return the positions of the lightest edge proposed for each component.

    `label` (int64) has the component of each proposal, all in [first, last). The result
    has a position for each component with proposals, in the order of labels.
    """
    best = np.full(last - first, -1, np.int64)
    count = 0
    for i in range(len(label)):
        component = label[i] - first
        other = best[component]
        count += other < 0
        if other < 0 or (key[i], u[i], v[i]) < (key[other], u[other], v[other]):
            best[component] = i
    chosen = np.empty(count, np.int64)
    written = 0
    for i in best:
        if i >= 0:
            chosen[written] = i
            written += 1
    return chosen


@kernel
def mark_shared_pairs(u1, v1, counts1, u2, v2, counts2):
    """Mark the pairs of the first list that are also in the second, slice by slice.

    Pairs are in (u, v) order within each slice.
    """
    shared = np.zeros(len(u1), np.bool_)
    i = j = 0
    for part in range(len(counts1)):
        end1, end2 = i + counts1[part], j + counts2[part]
        while i < end1 and j < end2:
            if u1[i] == u2[j] and v1[i] == v2[j]:
                shared[i] = True
                i += 1
                j += 1
            elif u1[i] < u2[j] or (u1[i] == u2[j] and v1[i] < v2[j]):
                i += 1
            else:
                j += 1
        i, j = end1, end2
    return shared
