"""What making graph files needs: text to arcs, edges to CSR rows, hashed weights.

Rows are made by counting sorts alone, in time linear in vertices and edges: once by
the larger end, then by the smaller, which leaves every row's larger neighbours
ascending; the smaller ones are appended in the same way.
"""

import numpy as np
from numba import njit

GOOD, BAD_LINE, BAD_ID, LONG_WEIGHT, REAL_WEIGHT, TOO_MANY = range(6)
NEWLINE, TAB, RETURN, SPACE = 10, 9, 13, 32
PLUS, MINUS, POINT, ZERO, NINE = 43, 45, 46, 48, 57
EXPONENT, CAPITAL_EXPONENT = 101, 69  # e, E
ARC, COMMENT, PROBLEM = 97, 99, 112  # a, c, p
WEIGHT_DIGITS = 18  # as many always fit 64 bits


# Text


@njit(nogil=True, cache=True)
def parse_arcs(text, num_vertices, src, dst, weight, begins):
    """Read DIMACS arcs, `a u v w` a line with 1-based ends, into arrays.

    Parameters
    ----------
    text : ndarray of uint8
    num_vertices : int
    src, dst : ndarray of uint32 or int64, shape (arcs,)
        Filled with 0-based ends.
    weight : ndarray of int64, shape (arcs,)
        Filled, unless `begins` takes the positions instead.
    begins : ndarray of int64, shape (arcs,) or (0,)
        Filled with where each weight begins in the text, for those not integer.

    Returns
    -------
    status : int
        `GOOD`, or what is wrong in the last line read.
    line : int
        The last line read, from 1.
    arcs : int
        How many there were.
    """
    at, line, arcs = 0, 0, 0
    while at < len(text):
        line += 1
        at = _skip_blanks(text, at)
        kind = text[at] if at < len(text) else NEWLINE
        if kind == ARC:
            if arcs == len(src):
                return TOO_MANY, line, arcs
            u, at, good_u = _read_integer(text, at + 1)
            v, at, good_v = _read_integer(text, at)
            if not (good_u and good_v):
                return BAD_LINE, line, arcs
            if not (1 <= u <= num_vertices and 1 <= v <= num_vertices):
                return BAD_ID, line, arcs
            src[arcs], dst[arcs] = u - 1, v - 1
            if len(begins):
                begins[arcs] = _skip_blanks(text, at)
                after = _skip_real(text, begins[arcs])
                if begins[arcs] == at or after == begins[arcs]:
                    return BAD_LINE, line, arcs
                at = after
            else:
                w, after, good = _read_integer(text, at)
                if not good:
                    return _tell_weight(text, at, after), line, arcs
                weight[arcs] = w
                at = after
            if at < len(text) and text[at] > SPACE:
                return BAD_LINE, line, arcs
            at = _skip_blanks(text, at)
            if at < len(text) and text[at] != NEWLINE:
                return BAD_LINE, line, arcs
            arcs += 1
        elif kind != COMMENT and kind != PROBLEM and kind != NEWLINE:
            return BAD_LINE, line, arcs
        while at < len(text) and text[at] != NEWLINE:
            at += 1
        at += 1
    return GOOD, line, arcs


@njit(nogil=True)
def _tell_weight(text, at, digits_end):
    """Tell what a weight is that is no integer of bounded length."""
    begin = _skip_blanks(text, at)
    end = _skip_word(text, begin)
    if begin in (at, end):
        return BAD_LINE
    return LONG_WEIGHT if end == digits_end else REAL_WEIGHT


@njit(nogil=True, cache=True)
def join_words(text, begins):
    """Return the words that begin at some positions as lines."""
    size = 0
    for begin in begins:
        size += _skip_word(text, begin) - begin + 1
    words = np.empty(size, np.uint8)
    at = 0
    for begin in begins:
        end = _skip_word(text, begin)
        words[at : at + end - begin] = text[begin:end]
        words[at + end - begin] = NEWLINE
        at += end - begin + 1
    return words


@njit(nogil=True, inline="always")
def _skip_blanks(text, at):
    while at < len(text) and (
        text[at] == SPACE or text[at] == TAB or text[at] == RETURN
    ):
        at += 1
    return at


@njit(nogil=True, inline="always")
def _skip_word(text, at):
    while at < len(text) and text[at] > SPACE:
        at += 1
    return at


@njit(nogil=True)
def _skip_digits(text, at):
    while at < len(text) and ZERO <= text[at] <= NINE:
        at += 1
    return at


@njit(nogil=True)
def _skip_sign(text, at):
    return at + 1 if at < len(text) and text[at] in (PLUS, MINUS) else at


@njit(nogil=True)
def _skip_real(text, at):
    """Return where a number like -1.5e-3 ends; where it begins, if it is none."""
    begin, at = at, _skip_sign(text, at)
    end = _skip_digits(text, at)
    digits = end - at
    if end < len(text) and text[end] == POINT:
        point, end = end, _skip_digits(text, end + 1)
        digits += end - point - 1
    if digits == 0:
        return begin
    if end < len(text) and text[end] in (EXPONENT, CAPITAL_EXPONENT):
        at = _skip_sign(text, end + 1)
        end = _skip_digits(text, at)
        return begin if end == at else end
    return end


@njit(nogil=True, inline="always")
def _read_integer(text, at):
    """Return the integer after blanks, where it ends, and whether it is one."""
    begin = _skip_blanks(text, at)
    good = begin > at
    negative = begin < len(text) and text[begin] == MINUS
    first = begin + 1 if negative else begin
    value, end = 0, first
    while end < len(text) and ZERO <= text[end] <= NINE:
        value = 10 * value + np.int64(text[end] - ZERO)
        end += 1
    good = good and 0 < end - first <= WEIGHT_DIGITS
    good = good and (end == len(text) or text[end] <= SPACE)
    return (-value if negative else value), end, good


# Rows


@njit(nogil=True, cache=True)
def upper_triangle(num_vertices, src, dst, weight):
    """Return each edge once, in its smaller end's row; loops and parallels dropped.

    Of parallel edges, in either direction, the lightest stays.

    Returns
    -------
    indptr : ndarray of int64, shape (num_vertices + 1,)
    indices : ndarray like `src`, shape (edges,)
        The larger ends, ascending within a row.
    weight : ndarray like `weight`, shape (edges,)
    """
    # 1. Sort by the larger end, counting the smaller ends on the way
    places = np.zeros(num_vertices + 1, np.int64)
    indptr = np.zeros(num_vertices + 1, np.int64)
    for i in range(len(src)):
        if src[i] != dst[i]:
            places[max(src[i], dst[i]) + 1] += 1
            indptr[min(src[i], dst[i]) + 1] += 1
    for v in range(num_vertices):
        places[v + 1] += places[v]
        indptr[v + 1] += indptr[v]
    smaller = np.empty(places[-1], src.dtype)
    weight_by_larger = np.empty(places[-1], weight.dtype)
    for i in range(len(src)):
        if src[i] != dst[i]:
            u, v = min(src[i], dst[i]), max(src[i], dst[i])
            smaller[places[v]] = u
            weight_by_larger[places[v]] = weight[i]
            places[v] += 1
    # 2. Sort by the smaller end, keeping the order of the larger ones
    # places[v] is now where the edges of v end
    indices, sorted_weight = np.empty_like(smaller), np.empty_like(weight_by_larger)
    free = indptr[:-1].copy()
    begin = 0
    for v in range(num_vertices):
        for i in range(begin, places[v]):
            u = smaller[i]
            indices[free[u]] = v
            sorted_weight[free[u]] = weight_by_larger[i]
            free[u] += 1
        begin = places[v]
    # 3. Close up over parallel edges
    count = _keep_lightest(indptr, indices, sorted_weight)
    return indptr, indices[:count], sorted_weight[:count]


@njit(nogil=True, cache=True)
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


@njit(nogil=True, cache=True)
def both_directions(indptr, indices, weight):
    """Return the symmetric CSR rows of an upper triangle, ascending.

    Parameters and results are arrays as `upper_triangle` returns them.
    """
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


@njit(nogil=True, cache=True)
def forward_arcs(first, indptr, indices, weights):
    """Return ends and weights of those arcs that lead to larger vertices.

    The rows are CSR rows with global ids, the first one of vertex `first`.
    """
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


# Weights


@njit(nogil=True, inline="always")
def _mix(word):
    """Scatter the bits of a word (the finaliser of SplitMix64)."""
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


@njit(nogil=True, cache=True)
def hash_edges(seed, src, dst):
    """Return 64 hashed bits of (seed, smaller end, larger end) for every edge."""
    step = np.uint64(0x9E3779B97F4A7C15)
    start = _mix(np.uint64(seed) + step)
    hashes = np.empty(len(src), np.uint64)
    for i in range(len(src)):
        u, v = np.uint64(min(src[i], dst[i])), np.uint64(max(src[i], dst[i]))
        hashes[i] = _mix(_mix(start ^ (u + step)) ^ (v + step))
    return hashes
