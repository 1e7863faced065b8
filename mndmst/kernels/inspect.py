"""What a pass over the rows as read tells: edges, loops, and symmetry."""

import numpy as np

from ..native.kernel import kernel


@kernel
def mix(low, high, key):
    """Return 64 mixed bits of an edge: a sum of odd multiples, then one more round."""
    word = np.uint64(low) * np.uint64(0x9E3779B97F4A7C15)
    word += np.uint64(high) * np.uint64(0xC2B2AE3D27D4EB4F)
    word += np.uint64(key) * np.uint64(0xD6E8FEB86659FD93)
    word ^= word >> np.uint64(32)
    word *= np.uint64(0xFF51AFD7ED558CCD)
    return word ^ (word >> np.uint64(29))


@kernel
def inspect_rows(indptr, indices, keys, first, begin, end):
    """Return facts about the rows [begin, end) (local numbers).

    Returns
    -------
    edges : int
        Distinct edges to larger vertices.
    balance : uint64
        The sum over arcs of a hash of (ends, key), with opposite signs in the two
        directions: zero over all rows of a symmetric graph.
    """
    edges = 0
    balance = np.uint64(0)
    for row in range(begin, end):
        tail = np.uint64(first + row)
        arcs = slice(indptr[row], indptr[row + 1])
        heads, words = indices[arcs], keys[arcs]
        # Without a branch on the direction, which nobody could predict
        for i in range(len(heads)):
            head = np.uint64(heads[i])
            upward = head > tail
            word = mix(tail if upward else head, head if upward else tail, words[i])
            word = np.uint64(0) if head == tail else word
            balance += word if upward else np.uint64(0) - word
            edges += upward
        for i in range(1, len(heads)):
            edges -= (heads[i] == heads[i - 1]) & (np.uint64(heads[i]) > tail)
    return edges, balance


@kernel
def add_to_buckets(indptr, indices, keys, first, buckets):
    """Add every arc's signed hash to the bucket its leading bits choose."""
    for row in range(len(indptr) - 1):
        tail = np.int64(first + row)
        for arc in range(indptr[row], indptr[row + 1]):
            head = np.int64(indices[arc])
            if head != tail:
                word = mix(min(tail, head), max(tail, head), keys[arc])
                bucket = mix(min(tail, head), max(tail, head), 0) % len(buckets)
                if head > tail:
                    buckets[bucket] += word
                else:
                    buckets[bucket] -= word


@kernel
def arcs_of_bucket(indptr, indices, first, count, bucket):
    """Return the rows and positions of the arcs in one of `count` buckets."""
    tails, arcs = [np.int64(0) for _ in range(0)], [np.int64(0) for _ in range(0)]
    for row in range(len(indptr) - 1):
        tail = np.int64(first + row)
        for arc in range(indptr[row], indptr[row + 1]):
            head = np.int64(indices[arc])
            place = mix(min(tail, head), max(tail, head), 0) % count
            if head != tail and place == bucket:
                tails.append(tail)
                arcs.append(arc)
    return np.array(tails), np.array(arcs)
