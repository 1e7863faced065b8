"""Distribution of the weights of edges to both arcs of each edge.

Weights come in the order of edges: by smaller end, then larger end. The arcs from the
smaller ends have this order, too. The arcs from the larger ends are scattered over the
rows, and each would take an access to memory. So their weights are distributed to
buckets first, by the blocks of rows that have the larger ends: a block stays in the
cache of a core while the weights of its bucket are written to it.
"""

from typing import NamedTuple

import numpy as np

from ...kernels.binary_search import first_above
from ...native.kernel import kernel


class EdgeBuckets(NamedTuple):
    """Edges that are distributed to buckets."""

    # uint16 or uint32, by edge: a block of rows here, or another rank
    bucket: np.ndarray
    # int64: for each bucket the number of its edges, later the slot of its next edge
    next_slot: np.ndarray


@kernel
def find_upward(indptr, indices, first, upward):
    """Find in each row the first arc that leads to a larger vertex.

    `upward` gets their positions; the end of the row where there is none.
    """
    for row in range(len(upward)):
        low, high = indptr[row], indptr[row + 1]
        tail = np.int64(first + row)
        while low < high:
            middle = (low + high) // 2
            if np.int64(indices[middle]) <= tail:
                low = middle + 1
            else:
                high = middle
        upward[row] = low


@kernel
def take_upward(indptr, upward, begin, end, values, out):
    """Copy the values of the arcs in rows [begin, end) that lead to larger vertices."""
    slot = 0
    for row in range(begin, end):
        for arc in range(upward[row], indptr[row + 1]):
            out[slot] = values[arc]
            slot += 1


@kernel
def choose_buckets(csr, upward, rows, bounds, vtxdist, local):
    """Write the bucket of each edge that begins at rows [begin, end), and count them.

    `bounds` has the shift from the first arc of a row to the bucket of the row, and the
    number of such buckets. The buckets of the ranks follow.
    """
    first, indptr, indices, _ = csr
    bucket, counts = local
    shift, blocks = bounds
    edge, rank = 0, 0
    for row in range(*rows):
        for arc in range(upward[row], indptr[row + 1]):
            head = np.int64(indices[arc])
            if head - first < len(upward):
                chosen = indptr[head - first] >> shift
            else:
                if head < vtxdist[rank] or head >= vtxdist[rank + 1]:
                    rank = first_above(vtxdist, head) - 1
                chosen = blocks + rank
            bucket[edge] = chosen
            counts[chosen] += 1
            edge += 1


@kernel
def choose_blocks(indptr, heads, shift, received):
    """Write the bucket of each edge from another rank, and count them.

    `heads` are the rows of their larger ends.
    """
    bucket, counts = received
    for i in range(len(heads)):
        chosen = indptr[heads[i]] >> shift
        bucket[i] = chosen
        counts[chosen] += 1


@kernel
def find_targets(heads, bucket, blocks, next_slot, next_arc, target):
    """Find for each edge the arc from its larger to its smaller end.

    `heads` are the rows of the larger ends. Edges to other ranks, whose buckets follow
    the first `blocks`, have none. `next_slot` is by bucket, `next_arc` by row; `target`
    gets the arc in the edge's slot.
    """
    for i in range(len(heads)):
        chosen = bucket[i]
        if chosen < blocks:
            target[next_slot[chosen]] = next_arc[heads[i]]
            next_arc[heads[i]] += 1
        next_slot[chosen] += 1


@kernel
def distribute_edges(weights, rule, csr, upward, rows, local, out):
    """Write the keys of edges to the arcs of their smaller ends, and to their buckets.

    `weights` has the bits of the weights of the edges that begin at rows [begin, end).
    The next slots of `local` are advanced. `out` has the keys of all arcs (0 for
    self-loops), and a buffer for the keys of edges, bucket after bucket.

    Returns how many weights are not numbers.
    """
    first, indptr, indices, _ = csr
    bucket, next_slot = local
    keys, bucketed = out
    wrong, edge = np.int64(0), 0
    for row in range(*rows):
        loop = upward[row] - 1
        while loop >= indptr[row] and np.int64(indices[loop]) == first + row:
            keys[loop] = 0
            loop -= 1
        for arc in range(upward[row], indptr[row + 1]):
            word = weights[edge]
            wrong += np.int64((word & (rule.sign - np.uint64(1))) > rule.largest)
            change = rule.above if word > rule.sign else rule.below
            change = rule.at if word == rule.sign else change
            word ^= change
            keys[arc] = word
            slot = next_slot[bucket[edge]]
            bucketed[slot] = word
            next_slot[bucket[edge]] = slot + 1
            edge += 1
    return wrong


@kernel
def distribute(values, received, bucketed):
    """Distribute values to their buckets, whose next slots are advanced.

    `bucketed` gets the values, bucket after bucket.
    """
    bucket, next_slot = received
    for i in range(len(values)):
        slot = next_slot[bucket[i]]
        bucketed[slot] = values[i]
        next_slot[bucket[i]] = slot + 1


@kernel
def scatter(values, target, begin, end, out):
    """Write values to their targets, for the entries [begin, end)."""
    for i in range(begin, end):
        out[target[i]] = values[i]
