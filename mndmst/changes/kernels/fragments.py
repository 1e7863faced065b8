"""A rooted forest cut at some vertices: its fragments and their members.

A cut removes the edge from a vertex, its top, to the parent. A fragment is the subtree
of the top, a range of positions, without the subtrees of the cuts inside it. So its
size and its vertices follow from the ranges, without a traversal.
"""

from typing import NamedTuple

import numpy as np

from ...kernels.intrinsics import prefetch
from ...native.kernel import kernel

NO_CUT = np.int64(-1)
FREE = np.uint32(0xFFFFFFFF)
MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
# Fragments from the one in use to the one whose subtree's end is prefetched.
AHEAD = 16


class Cuts(NamedTuple):
    """The cuts of a rooted forest; positions are as in `Rooted`."""

    top: np.ndarray  # uint32: positions of the tops, ascending
    end: np.ndarray  # uint32: for each cut, one past the last position of its subtree
    after: np.ndarray  # int64: for each cut, the next one that is not inside it
    # uint32: positions where the innermost cut changes, ascending
    bound: np.ndarray
    inner: np.ndarray  # int64: the innermost cut from each bound on
    # int64: for each 2^shift positions, the number of bounds before them
    block: np.ndarray
    shift: int


@kernel
def nest(ends, cuts):
    """Fill in the nesting of cuts, given their tops.

    `ends` is `Rooted.end`.
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
def _bounds_until(cuts, position):
    """Return the number of bounds up to a position."""
    at = cuts.block[position >> cuts.shift]
    while at < len(cuts.bound) and np.int64(cuts.bound[at]) <= position:
        at += 1
    return at


@kernel
def lower_tops(cuts, positions, tops):
    """Update the tops of the fragments of positions after cuts.

    The top of a fragment is the last of all tops above the position.
    """
    for i in range(len(positions)):
        at = _bounds_until(cuts, np.int64(positions[i]))
        if at > 0 and cuts.inner[at - 1] != NO_CUT:
            tops[i] = max(tops[i], cuts.top[cuts.inner[at - 1]])


@kernel
def number(values, numbers, distinct):
    """Number distinct values in the order of their occurrence; return their number.

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
    """Return the first cut inside a fragment or, if there is none, behind it."""
    at = _bounds_until(cuts, np.int64(top))
    around = cuts.inner[at - 1] if at > 0 else NO_CUT
    if around != NO_CUT:  # the cut with this top
        return around + 1
    return cuts.inner[at] if at < len(cuts.bound) else len(cuts.top)


@kernel
def sizes_of(cuts, ends, tops, sizes):
    """Fill in the numbers of vertices of the fragments with some tops."""
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
    """Write the vertices of some fragments, and for each the name of its fragment."""
    written = 0
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
                vertices[written], names[written] = rooted.vertex[here], name[i]
                written += 1
            at = after
