"""Turn edges into CSR rows, CSR rows into edges, and hash edges to weights.

Rows are made by counting sorts alone, in time linear in vertices and edges: once by
the larger end, then by the smaller, which leaves every row's larger neighbours
ascending; the smaller ones are appended in the same way.
"""

import numpy as np

from ...native.kernel import kernel


@kernel
def upper_triangle(num_vertices, src, dst, weight):
    """Return each edge once, in its smaller end's row, as CSR; loops are dropped.

    The larger ends ascend within a row. Of parallel edges, in either direction, the
    lightest stays.
    """
    # 1. Sort by the larger end, counting the smaller ends on the way
    offsets = np.zeros(num_vertices + 1, np.int64)
    indptr = np.zeros(num_vertices + 1, np.int64)
    for i in range(len(src)):
        if src[i] != dst[i]:
            offsets[max(src[i], dst[i]) + 1] += 1
            indptr[min(src[i], dst[i]) + 1] += 1
    for v in range(num_vertices):
        offsets[v + 1] += offsets[v]
        indptr[v + 1] += indptr[v]
    smaller = np.empty(offsets[-1], src.dtype)
    weight_by_larger = np.empty(offsets[-1], weight.dtype)
    for i in range(len(src)):
        if src[i] != dst[i]:
            u, v = min(src[i], dst[i]), max(src[i], dst[i])
            smaller[offsets[v]] = u
            weight_by_larger[offsets[v]] = weight[i]
            offsets[v] += 1
    # 2. Sort by the smaller end, keeping the order of the larger ones
    # offsets[v] is now where the edges of v end
    indices, sorted_weight = np.empty_like(smaller), np.empty_like(weight_by_larger)
    free = indptr[:-1].copy()
    begin = 0
    for v in range(num_vertices):
        for i in range(begin, offsets[v]):
            u = smaller[i]
            indices[free[u]] = v
            sorted_weight[free[u]] = weight_by_larger[i]
            free[u] += 1
        begin = offsets[v]
    # 3. Close up over parallel edges
    count = _keep_lightest(indptr, indices, sorted_weight)
    return indptr, indices[:count], sorted_weight[:count]


@kernel
def _keep_lightest(indptr, indices, weight):
    """Keep the lightest of equal neighbours in sorted rows, in place."""
    count = 0
    begin = 0
    for u in range(len(indptr) - 1):
        first, end = count, indptr[u + 1]
        for i in range(begin, end):
            if count > first and indices[count - 1] == indices[i]:
                weight[count - 1] = min(weight[count - 1], weight[i])
            else:
                indices[count], weight[count] = indices[i], weight[i]
                count += 1
        begin = end
        indptr[u + 1] = count
    return count


@kernel
def both_directions(indptr, indices, weight):
    """Return the symmetric CSR rows, ascending, of the result of `upper_triangle`."""
    num_vertices = len(indptr) - 1
    row_ends = np.zeros(num_vertices + 1, np.int64)
    for u in range(num_vertices):
        row_ends[u + 1] += indptr[u + 1] - indptr[u]
    for v in indices:
        row_ends[v + 1] += 1
    for u in range(num_vertices):
        row_ends[u + 1] += row_ends[u]
    neighbours = np.empty(2 * len(indices), indices.dtype)
    weights = np.empty(2 * len(indices), weight.dtype)
    # A row's smaller neighbours come first: they write to it before its own turn
    free = row_ends[:-1].copy()
    for u in range(num_vertices):
        for i in range(indptr[u], indptr[u + 1]):
            v = indices[i]
            neighbours[free[v]], weights[free[v]] = u, weight[i]
            free[v] += 1
            neighbours[free[u]], weights[free[u]] = v, weight[i]
            free[u] += 1
    return row_ends, neighbours, weights


@kernel
def forward_arcs(first, indptr, indices, weights):
    """Return ends and weights of arcs to larger vertices, in rows from `first` on."""
    count = 0
    for row in range(len(indptr) - 1):
        for i in range(indptr[row], indptr[row + 1]):
            count += indices[i] > first + row
    src, dst = np.empty(count, indices.dtype), np.empty(count, indices.dtype)
    weight = np.empty(count, weights.dtype)
    count = 0
    for row in range(len(indptr) - 1):
        for i in range(indptr[row], indptr[row + 1]):
            if indices[i] > first + row:
                src[count], dst[count] = first + row, indices[i]
                weight[count] = weights[i]
                count += 1
    return src, dst, weight


@kernel
def scatter(word):
    """Scatter the bits of a word (the finaliser of SplitMix64)."""
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


@kernel
def hash_edges(seed, src, dst):
    """Return 64 hashed bits of (seed, smaller end, larger end) for every edge."""
    step = np.uint64(0x9E3779B97F4A7C15)
    start = scatter(np.uint64(seed) + step)
    hashes = np.empty(len(src), np.uint64)
    for i in range(len(src)):
        u, v = np.uint64(min(src[i], dst[i])), np.uint64(max(src[i], dst[i]))
        hashes[i] = scatter(scatter(start ^ (u + step)) ^ (v + step))
    return hashes
