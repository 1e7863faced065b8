"""Kernels of the partitioner: survey, routing, sorting and reordering of arcs."""

from typing import NamedTuple

import numpy as np

from ...kernels.arc_inspection import mix
from ...native.kernel import kernel


@kernel
def fill_tails(indptr, first, tails):
    """Fill in the tails of arcs from the row pointers of vertices from `first` on."""
    for row in range(len(indptr) - 1):
        for arc in range(indptr[row], indptr[row + 1]):
            tails[arc] = first + row


@kernel
def count_rows(src, first, lengths):
    """Count the arcs of each row (int64, added), rows counted from `first`."""
    for i in range(len(src)):
        lengths[np.int64(src[i]) - first] += 1


class Buckets(NamedTuple):
    """Tables by which kernels find the bucket of a vertex."""

    first: np.ndarray  # uint64 [buckets + 1]: the first vertex of each bucket
    # int32: the bucket of the first one of every 2^shift vertices. It is small enough
    # to stay in a cache; a table of all blocks would not.
    guide: np.ndarray
    shift: np.uint64


@kernel
def _bucket(vertex, first, guide, shift):
    """Return the bucket of a vertex, searched from the guide's bucket on."""
    bucket = guide[vertex >> shift]
    while first[bucket + 1] <= vertex:
        bucket += 1
    return bucket


@kernel
def count_arcs(src, dst, buckets, mirrored, counts):
    """Count the arcs that `route` writes to each bucket (int64, added to `counts`)."""
    first, guide, shift = buckets
    for i in range(len(src)):
        u, v = np.uint64(src[i]), np.uint64(dst[i])
        if u != v:
            counts[_bucket(u, first, guide, shift)] += 1
            if mirrored:
                counts[_bucket(v, first, guide, shift)] += 1


@kernel
def route(edges, buckets, bits, mirrored, free, keys, weights):
    """Append arcs, and reverse arcs if mirrored, to their buckets.

    The key of an arc is its row, counted from its bucket's first, above the `bits`
    (uint64) of its head. `free` (int64) has the first free slot of each bucket, and is
    advanced.
    """
    src, dst, weight = edges
    first, guide, shift = buckets
    for i in range(len(src)):
        u, v = np.uint64(src[i]), np.uint64(dst[i])
        if u == v:
            continue
        bucket = _bucket(u, first, guide, shift)
        slot = free[bucket]
        keys[slot], weights[slot] = ((u - first[bucket]) << bits) | v, weight[i]
        free[bucket] = slot + 1
        if mirrored:
            bucket = _bucket(v, first, guide, shift)
            slot = free[bucket]
            keys[slot], weights[slot] = ((v - first[bucket]) << bits) | u, weight[i]
            free[bucket] = slot + 1


@kernel
def ascending(keys):
    """Return whether keys ascend."""
    for i in range(1, len(keys)):  # noqa: SIM110, Numba knows no generators
        if keys[i] < keys[i - 1]:
            return False
    return True


@kernel
def take_in_order(keys, bits, weights, ordered):
    """Take the weights whose positions are the last bits of keys; shift these out."""
    shift = np.uint64(bits)
    mask = (np.uint64(1) << shift) - np.uint64(1)
    for i in range(len(keys)):
        ordered[i] = weights[keys[i] & mask]
        keys[i] >>= shift


@kernel
def close_up(keys, weights, bits, indptr, heads, maximum):
    """Turn sorted keys into rows; of arcs with the same ends the lightest stays.

    If `maximum`, the heaviest stays. Weights are closed up in place; `indptr` and
    `heads`, which may share memory with the keys, are filled. Returns the number of
    arcs.
    """
    mask = (np.uint64(1) << np.uint64(bits)) - np.uint64(1)
    count, row = 0, 0
    indptr[0] = 0
    before = np.uint64(0)
    for i in range(len(keys)):
        key, weight = keys[i], weights[i]
        if count and key == before:
            if (weight > weights[count - 1]) == maximum:
                weights[count - 1] = weight
            continue
        before = key
        while row < np.int64(key >> np.uint64(bits)):
            row += 1
            indptr[row] = count
        heads[count], weights[count] = key & mask, weight
        count += 1
    indptr[row + 1 :] = count
    return count


@kernel
def _content_word(low, high, key):
    """Return 64 mixed bits of an edge: a sum of odd multiples, then one more round.

    Graphs in files are named after sums of these words, so it does not change.
    """
    word = np.uint64(low) * np.uint64(0x9E3779B97F4A7C15)
    word += np.uint64(high) * np.uint64(0xC2B2AE3D27D4EB4F)
    word += np.uint64(key) * np.uint64(0xD6E8FEB86659FD93)
    word ^= word >> np.uint64(32)
    word *= np.uint64(0xFF51AFD7ED558CCD)
    return word ^ (word >> np.uint64(29))


@kernel
def fingerprint(indptr, heads, keys, first):
    """Return two sums over the edges of rows, which identify a graph.

    Each edge is taken in its smaller end's row, so the sums over all rows are the
    same however these are cut.
    """
    # Both arcs are hashed: a branch would cost more
    one, two = np.uint64(0), np.uint64(0)
    for row in range(len(indptr) - 1):
        tail = np.uint64(first + row)
        arcs = slice(indptr[row], indptr[row + 1])
        row_heads, words = heads[arcs], keys[arcs]
        for i in range(len(row_heads)):
            head = np.uint64(row_heads[i])
            word = _content_word(tail, head, words[i])
            word = word if head > tail else np.uint64(0)
            one += word
            two += (word ^ (word >> np.uint64(29))) * np.uint64(0x9E3779B97F4A7C15)
    return one, two


@kernel
def count_tails(tails, heads, shift, counts):
    """Count tails by blocks of 2^shift vertices (int64, added); loops do not count."""
    # Of tails in order many in turn are in one block, and are counted in a register
    i = 0
    while i < len(tails):
        block, count = np.int64(tails[i]) >> shift, 0
        while i < len(tails) and np.int64(tails[i]) >> shift == block:
            count += tails[i] != heads[i]
            i += 1
        counts[block] += count


@kernel
def count_ends(src, dst, shift, counts):
    """Count the ends of edges by blocks of 2^shift vertices; loops do not count."""
    for i in range(len(src)):
        one = np.int64(src[i] != dst[i])
        counts[np.int64(src[i]) >> shift] += one
        counts[np.int64(dst[i]) >> shift] += one


@kernel
def balance(src, dst, keys):
    """Return the sum of a hash of each arc, with opposite signs in the two directions.

    It is zero (uint64) over all arcs if every one has its twin. Keys are the bits of
    the weights.
    """
    # The loop has no branch and touches nothing else: vector instructions can do it
    total = np.uint64(0)
    for i in range(len(src)):
        u, v = np.uint64(src[i]), np.uint64(dst[i])
        upward = u < v
        word = mix(u if upward else v, v if upward else u, keys[i])
        word = np.uint64(0) if u == v else word
        total += word if upward else np.uint64(0) - word
    return total


@kernel
def look_at_rows(indptr, heads, keys, first, num_vertices, shift, counts):
    """Do for rows what `count_tails`, `balance` and `in_row_order` do for arcs.

    Heads may be of any integer type. Returns the balance (uint64), and whether the
    heads of each row ascend, and none is its tail or reaches `num_vertices` (uint64).
    """
    balance, wrong = np.uint64(0), 0
    for row in range(len(indptr) - 1):
        begin, end = indptr[row], indptr[row + 1]
        if begin == end:
            continue
        tail = np.uint64(first + row)
        counts[(first + row) >> shift] += end - begin
        row_heads, words = heads[begin:end], keys[begin:end]
        for i in range(len(row_heads)):
            head = np.uint64(row_heads[i])
            upward = head > tail
            word = mix(tail if upward else head, head if upward else tail, words[i])
            balance += word if upward else np.uint64(0) - word
            wrong += head == tail
        for i in range(1, len(row_heads)):
            wrong += row_heads[i] <= row_heads[i - 1]
        wrong += np.uint64(row_heads[0]) >= num_vertices
        wrong += np.uint64(row_heads[-1]) >= num_vertices
    return balance, wrong == 0


@kernel
def add_by_pair(src, dst, keys, sums):
    """Add each edge's signed hash to the sum that a hash of its ends chooses."""
    for i in range(len(src)):
        u, v = np.int64(src[i]), np.int64(dst[i])
        pair_class = mix(min(u, v), max(u, v), 0) % np.uint64(len(sums))
        if u < v:
            sums[pair_class] += mix(u, v, keys[i])
        elif v < u:
            sums[pair_class] -= mix(v, u, keys[i])


@kernel
def of_pair_class(src, dst, count, wanted):
    """Mark the edges that add to one of `count` sums in `add_by_pair` (bool)."""
    chosen = np.zeros(len(src), np.bool_)
    for i in range(len(src)):
        u, v = np.int64(src[i]), np.int64(dst[i])
        pair_class = mix(min(u, v), max(u, v), 0) % np.uint64(count)
        chosen[i] = u != v and pair_class == np.uint64(wanted)
    return chosen


@kernel
def add_degrees(src, dst, degrees):
    """Count the listed edges at each vertex (int64, added to); loops do not count."""
    for i in range(len(src)):
        apart = src[i] != dst[i]
        degrees[src[i]] += apart
        degrees[dst[i]] += apart


@kernel
def breadth_first(indptr, indices):
    """Return all vertices in the order of a breadth-first search.

    It begins at the first vertex, takes neighbours in the order of their row, and
    begins anew at the first unreached vertex whenever a component ends.
    """
    num_vertices = len(indptr) - 1
    order = np.empty(num_vertices, indices.dtype)
    seen = np.zeros(num_vertices, np.bool_)
    done, reached = 0, 0
    for seed in range(num_vertices):
        if seen[seed]:
            continue
        seen[seed] = True
        order[reached] = seed
        reached += 1
        while done < reached:
            vertex = order[done]
            done += 1
            for arc in range(indptr[vertex], indptr[vertex + 1]):
                head = indices[arc]
                if not seen[head]:
                    seen[head] = True
                    order[reached] = head
                    reached += 1
    return order
