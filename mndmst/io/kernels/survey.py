"""What a list of arcs holds: how many ends where, in which order, and symmetry."""

import numpy as np

from ...kernels.arc_inspection import mix
from ...native.kernel import kernel


@kernel
def count_tails(tails, heads, shift, counts):
    """Count tails by blocks of 2^shift vertices (int64, added); loops do not count.

    Of tails in order many in turn are in one block, and are counted in a register.
    """
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

    It is zero (uint64) over all arcs if every one has its twin. The loop has no branch
    and touches nothing else, so vector instructions can do it.

    Parameters
    ----------
    keys : ndarray of uint32 or uint64, shape (arcs,)
        The bits of the weights.
    """
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

    Parameters
    ----------
    indptr : ndarray of int64, shape (rows + 1,)
    heads : ndarray of integers, shape (arcs,)
    keys : ndarray of uint32 or uint64, shape (arcs,)
        The bits of the weights.
    first : int
        The vertex of the first row.
    num_vertices : uint64
        What heads should be below; they may be of any type.
    shift : int
    counts : ndarray of int64
        As in `count_tails`.

    Returns
    -------
    balance : uint64
    in_order : bool
        Whether the heads of each row ascend, and none is out of range or its tail.
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
        place = mix(min(u, v), max(u, v), 0) % np.uint64(len(sums))
        if u < v:
            sums[place] += mix(u, v, keys[i])
        elif v < u:
            sums[place] -= mix(v, u, keys[i])


@kernel
def of_pair_class(src, dst, count, wanted):
    """Return which edges add to one of `count` sums in `add_by_pair` (bool)."""
    chosen = np.zeros(len(src), np.bool_)
    for i in range(len(src)):
        u, v = np.int64(src[i]), np.int64(dst[i])
        place = mix(min(u, v), max(u, v), 0) % np.uint64(count)
        chosen[i] = u != v and place == np.uint64(wanted)
    return chosen
