"""Turn text that is read as words, and not line by line alone, into numbers."""

import numpy as np

from ...native.kernel import kernel

GOOD, NO_INTEGER, NO_WORD, BAD_NEIGHBOUR, ODD_WORDS, TOO_MANY, TOO_FEW_LINES = range(7)
NEWLINE, SPACE, PERCENT, MINUS, ZERO, NINE = 10, 32, 37, 45, 48, 57
DIGITS = 18  # always fit 64 bits


@kernel
def read_integers(text, at, numbers):
    """Fill an array (int64) with the next integers, separated by any white space.

    Returns `GOOD` or the fault of a word, and where the last word ends, or the wrong
    one begins.
    """
    for i in range(len(numbers)):
        while at < len(text) and text[at] <= SPACE:
            at += 1
        if at == len(text):
            return NO_WORD, at
        numbers[i], end, good = _integer(text, at)
        if not good:
            return NO_INTEGER, at
        at = end
    return GOOD, at


@kernel
def read_rows(text, at, num_vertices, passed_over, src, dst, weight):
    """Read the rows of a METIS graph: a line for each vertex, comments between them.

    The lines begin at `at`, each with `passed_over` words of no use. 0-based `src` and
    `dst`, and `weight` (int64) unless it is empty, are filled. Returns `GOOD` or the
    fault of a word, its place, and the number of arcs.
    """
    arcs = 0
    vertex = 0
    while vertex < num_vertices:
        if at >= len(text):
            return TOO_FEW_LINES, at, vertex
        if text[at] == PERCENT:
            at = _line_end(text, at) + 1
            continue
        words = 0
        at = _word_in_line(text, at)
        while at < len(text) and text[at] != NEWLINE:
            number, end, good = _integer(text, at)
            if not good:
                return NO_INTEGER, at, arcs
            place = words - passed_over
            if place >= 0 and (len(weight) == 0 or place % 2 == 0):
                if arcs == len(src):
                    return TOO_MANY, at, arcs
                if not 1 <= number <= num_vertices:
                    return BAD_NEIGHBOUR, at, arcs
                src[arcs], dst[arcs] = vertex, number - 1
                arcs += 1
            elif place >= 0:
                weight[arcs - 1] = number
            words += 1
            at = _word_in_line(text, end)
        if words < passed_over or (len(weight) and (words - passed_over) % 2):
            return ODD_WORDS, at, arcs
        at += 1
        vertex += 1
    return GOOD, at, arcs


@kernel(inline="always")
def _word_in_line(text, at):
    while at < len(text) and text[at] <= SPACE and text[at] != NEWLINE:
        at += 1
    return at


@kernel
def _line_end(text, at):
    while at < len(text) and text[at] != NEWLINE:
        at += 1
    return at


@kernel(inline="always")
def _integer(text, begin):
    """Return the integer that begins here, where it ends, and whether it is one."""
    negative = text[begin] == MINUS
    first = begin + 1 if negative else begin
    value, end = np.int64(0), first
    while end < len(text) and ZERO <= text[end] <= NINE and end - first <= DIGITS:
        value = 10 * value + np.int64(text[end] - ZERO)
        end += 1
    good = 0 < end - first <= DIGITS and (end == len(text) or text[end] <= SPACE)
    return (-value if negative else value), end, good
