"""A rooted forest cut at some vertices: its fragments and their members.

A cut takes the edge from a vertex, its top, to the parent. What hangs on the top is a
range of places, less the ranges of cuts inside it: a fragment. So its size and its
vertices are known without a walk through it.
"""

from typing import NamedTuple

import numpy as np

from ...kernels.intrinsics import prefetch
from ...native.kernel import kernel

NO_CUT = np.int64(-1)
FREE = np.uint32(0xFFFFFFFF)
MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
# How many fragments ahead the ends of subtrees are fetched.
AHEAD = 16


class Cuts(NamedTuple):
    """Where a rooted forest has been cut."""

    top: np.ndarray  # uint32: places of the tops, ascending
    end: np.ndarray  # uint32: for each cut, one past the last place below its top
    after: np.ndarray  # int64: for each cut, the next one that is not inside it
    # uint32: places where another cut becomes the innermost one, ascending
    bound: np.ndarray
    inner: np.ndarray  # int64: the innermost cut from each bound on
    # int64: for each 2^shift places, the number of bounds before them
    block: np.ndarray
    shift: int


@kernel
def nest(ends, cuts):
    """Fill in how cuts lie inside each other, given their tops.

    `ends` (uint32) has, by place, one past the last place of its subtree.
    """
    top, end, after, bound, inner, block, shift = cuts
    around = np.empty(len(top), np.int64)
    for i in range(len(top)):
        if i + AHEAD < len(top):
            prefetch(ends, np.intp(top[i + AHEAD]))
        end[i] = ends[top[i]]
    count = 0
    open_cut = NO_CUT
    for i in range(len(top) + 1):
        while open_cut != NO_CUT and (i == len(top) or end[open_cut] <= top[i]):
            bound[count] = end[open_cut]
            after[open_cut] = i
            open_cut = around[open_cut]
            inner[count] = open_cut
            count += 1
        if i < len(top):
            around[i] = open_cut
            bound[count] = top[i]
            inner[count] = open_cut = i
            count += 1
    count = 0
    for i in range(len(block)):
        while count < len(bound) and np.int64(bound[count]) < i << shift:
            count += 1
        block[i] = count


@kernel
def _bounds_until(cuts, place):
    """Return the number of bounds that are not after a place."""
    at = cuts.block[place >> cuts.shift]
    while at < len(cuts.bound) and np.int64(cuts.bound[at]) <= place:
        at += 1
    return at


@kernel
def lower_tops(cuts, places, tops):
    """Lower the tops of the fragments of places to the tops of cuts.

    Of all tops above a place the lowest comes last.
    """
    for i in range(len(places)):
        at = _bounds_until(cuts, np.int64(places[i]))
        if at > 0 and cuts.inner[at - 1] != NO_CUT:
            tops[i] = max(tops[i], cuts.top[cuts.inner[at - 1]])


@kernel
def number(values, numbers, distinct):
    """Number values as they come; return how many there are.

    `numbers` becomes the number of each value, `distinct` the value of each number.
    """
    bits = np.uint64(1)
    while (np.uint64(1) << bits) < np.uint64(2 * len(values)):
        bits += np.uint64(1)
    last = (np.uint64(1) << bits) - np.uint64(1)
    table = np.full(last + np.uint64(1), FREE, np.uint32)
    count = 0
    for i in range(len(values)):
        slot = np.uint64(values[i]) * MULTIPLIER >> (np.uint64(64) - bits)
        while table[slot] != FREE and distinct[table[slot]] != values[i]:
            slot = (slot + np.uint64(1)) & last
        if table[slot] == FREE:
            table[slot] = count
            distinct[count] = values[i]
            count += 1
        numbers[i] = table[slot]
    return count


@kernel
def _first_inside(cuts, top):
    """Return the first cut below the top of a fragment, or after all below it."""
    at = _bounds_until(cuts, np.int64(top))
    around = cuts.inner[at - 1] if at > 0 else NO_CUT
    if around != NO_CUT:  # it is the one with this top
        return around + 1
    return cuts.inner[at] if at < len(cuts.bound) else len(cuts.top)


@kernel
def sizes_of(cuts, ends, tops, sizes):
    """Fill in how many vertices the fragments of some tops have."""
    for i in range(len(tops)):
        if i + AHEAD < len(tops):
            prefetch(ends, np.intp(tops[i + AHEAD]))
        low, high = np.int64(tops[i]), np.int64(ends[tops[i]])
        size = high - low
        inside = _first_inside(cuts, low)
        while inside < len(cuts.top) and cuts.top[inside] < high:
            size -= np.int64(cuts.end[inside]) - np.int64(cuts.top[inside])
            inside = cuts.after[inside]
        sizes[i] = size


@kernel
def write_vertices(cuts, rooted, tops, name, vertices, names):
    """Write the vertices of some fragments, and a name of its fragment beside each."""
    place = 0
    for i in range(len(tops)):
        at, high = np.int64(tops[i]), np.int64(rooted.end[tops[i]])
        inside = _first_inside(cuts, at)
        while at < high:
            stop, after = high, high
            if inside < len(cuts.top) and cuts.top[inside] < high:
                stop = np.int64(cuts.top[inside])
                after = np.int64(cuts.end[inside])
                inside = cuts.after[inside]
            for here in range(at, stop):
                vertices[place], names[place] = rooted.vertex[here], name[i]
                place += 1
            at = after
