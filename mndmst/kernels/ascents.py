"""Sort pairs by merging the ascents that they come in, mostly few."""

import numpy as np

from ..native.kernel import kernel
from .intrinsics import copy_memory


@kernel
def merge_ascents(first, second):
    """Put pairs in ascending order, in place: a natural merge sort.

    Parameters
    ----------
    first, second : ndarray of integers, of one length
        Pairs are ordered by the first, and where these are equal by the second.
    """
    count = 1
    for i in range(1, len(first)):
        count += _descends(first, second, i)
    if count == 1:
        return
    begins = np.empty(count + 1, np.int64)
    begins[0] = 0
    place = 1
    for i in range(1, len(first)):
        if _descends(first, second, i):
            begins[place] = i
            place += 1
    begins[count] = len(first)
    of = first, second
    into = np.empty(len(first), first.dtype), np.empty(len(second), second.dtype)
    moved = False
    while count > 1:
        for pair in range((count + 1) // 2):
            begin, end = begins[2 * pair], begins[min(2 * pair + 2, count)]
            _merge(of, begin, begins[min(2 * pair + 1, count)], end, into)
            begins[pair] = begin
        count = (count + 1) // 2
        begins[count] = len(first)
        of, into = into, of
        moved = not moved
    if moved:
        copy_memory(into[0], of[0], len(first))
        copy_memory(into[1], of[1], len(second))


@kernel
def _descends(first, second, i):
    """Return whether a pair belongs before the one in front of it."""
    return first[i] < first[i - 1] or (
        first[i] == first[i - 1] and second[i] < second[i - 1]
    )


@kernel
def _merge(of, begin, middle, end, into):
    """Merge the ascents [begin, middle) and [middle, end)."""
    first, second = of
    left, right = begin, middle
    for place in range(begin, end):
        take = left < middle and (
            right == end
            or first[left] < first[right]
            or (first[left] == first[right] and second[left] <= second[right])
        )
        source = left if take else right
        left += take
        right += not take
        into[0][place], into[1][place] = first[source], second[source]
