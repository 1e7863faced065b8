"""Turn the text of DIMACS files into numbers, line by line."""

import numpy as np
from numba import njit

GOOD, BAD_LINE, BAD_ID, LONG_WEIGHT, REAL_WEIGHT, TOO_MANY = range(6)
NEWLINE, TAB, RETURN, SPACE = 10, 9, 13, 32
PLUS, MINUS, POINT, ZERO, NINE = 43, 45, 46, 48, 57
EXPONENT, CAPITAL_EXPONENT = 101, 69  # e, E
ARC, COMMENT, PROBLEM = 97, 99, 112  # a, c, p
WEIGHT_DIGITS = 18  # as many always fit 64 bits


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
