"""Edges in text, one a line, to numbers."""

from typing import NamedTuple

import numpy as np

from ...kernels.intrinsics import load_byte
from ...native.kernel import kernel
from .numerals import (
    DIGITS,
    MINUS,
    PLUS,
    POWERS_OF_TEN,
    read_digits,
    read_eight,
    read_exponent,
    to_float,
)

GOOD, BAD_LINE, BAD_ID, LONG_WEIGHT, REAL_WEIGHT, HUGE_WEIGHT, INEXACT = range(7)
# Classes of bytes: part of a word, begin of a line without an edge, begin of a line
# with an edge; and, from BLANK on, ends of a number: a blank, the end of a line, and in
# tables a separator of columns or a quote.
WORD, COMMENT, PREFIX, BLANK, END, SEPARATOR, QUOTE = range(7)
NEWLINE, POINT, EXPONENT, CAPITAL_EXPONENT = 10, 46, 101, 69  # e, E
MOST_EXACT = np.uint64(1 << 53)  # whole numbers up to it are exact in float64
ID_DIGITS = 18
NO_WEIGHT, WEIGHT_LAST, WEIGHT_AND_MORE = range(3)
PADDING = 8  # bytes after the text that may be looked at


class Grammar(NamedTuple):
    """The grammar of lines of edges."""

    # uint8 [256], for each byte: `WORD`, `BLANK`, `END`, `COMMENT` or `PREFIX`
    kinds: np.ndarray
    prefixed: bool  # whether an edge comes after a letter
    base: int  # ends are from `base` to `base + bound - 1`
    bound: int
    # `NO_WEIGHT`, `WEIGHT_LAST`, or `WEIGHT_AND_MORE`, of which more is not read
    columns: int
    real: bool  # whether weights are float64; real numbers are an error otherwise


class Parsed(NamedTuple):
    """Buffers for the values parsed from lines."""

    src: np.ndarray  # uint32 or int64 [lines]: 0-based ends
    dst: np.ndarray
    weight: np.ndarray  # int64 or float64 [lines], or empty without weights
    # int64 [lines], for real weights: the edges whose float64 weight takes more digits
    # than are read to tell
    doubtful: np.ndarray


@kernel
def parse_lines(text, size, grammar, out):
    """Read lines `u v` or `u v w` into a `Parsed`.

    `text` (uint8) has whole lines up to `size`, and `PADDING` more bytes. Returns
    `GOOD` or the fault of the last line read, where that line begins, and the numbers
    of edges and doubts.
    """
    kinds, prefixed, base, bound, columns, real = grammar
    src, dst, weight, doubtful = out
    edges, doubts = 0, 0
    begin, table = np.int64(text.ctypes.data), np.int64(kinds.ctypes.data)
    at, end = begin, begin + size
    while at < end:
        line = at - begin
        at = skip_blanks(table, at)
        kind = kind_of(table, at)
        if kind in (COMMENT, END):
            at = skip_line(table, at)
            continue
        if prefixed:
            if kind != PREFIX or kind_of(table, at + 1) != BLANK:
                return BAD_LINE, line, edges, doubts
            at = skip_blanks(table, at + 1)
        u, at, good_u = read_id(table, at)
        at = skip_blanks(table, at)
        v, at, good_v = read_id(table, at)
        if not (good_u and good_v):
            return BAD_LINE, line, edges, doubts
        u, v = u - base, v - base
        if not (0 <= u < bound and 0 <= v < bound):
            return BAD_ID, line, edges, doubts
        src[edges], dst[edges] = u, v
        at = skip_blanks(table, at)
        if columns != NO_WEIGHT:
            whole, number, at, status, doubt = read_weight(table, at, POINT, real)
            if status != GOOD:
                return status, line, edges, doubts
            if real:
                weight[edges] = number
            else:
                weight[edges] = whole
            if doubt:
                doubtful[doubts] = edges
                doubts += 1
            at = skip_blanks(table, at)
        if columns == WEIGHT_AND_MORE:
            at = skip_line(table, at) - 1
        if kind_of(table, at) != END:
            return BAD_LINE, line, edges, doubts
        at += 1
        edges += 1
    return GOOD, size, edges, doubts


@kernel
def weight_words(text, grammar, wanted):
    """Return the weights of some edges, in ascending order, as lines of text."""
    kinds, prefixed = grammar.kinds, grammar.prefixed
    words = np.empty(len(text), np.uint8)
    size, edge, found = 0, 0, 0
    begin, table = np.int64(text.ctypes.data), np.int64(kinds.ctypes.data)
    at = begin
    while found < len(wanted):
        at = skip_blanks(table, at)
        kind = kind_of(table, at)
        if kind not in (COMMENT, END):
            if edge == wanted[found]:
                for _ in range(prefixed + 2):
                    at = skip_blanks(table, _skip_word(table, at))
                end = _skip_word(table, at)
                length = end - at
                words[size : size + length] = text[at - begin : end - begin]
                words[size + length] = NEWLINE
                size += length + 1
                found += 1
            edge += 1
        at = skip_line(table, at)
    return words[:size]


@kernel
def skip_blanks(table, at):
    """Return the place of the next byte that is not a blank."""
    while kind_of(table, at) == BLANK:
        at += 1
    return at


@kernel
def skip_line(table, at):
    """Return the position behind the end of a line."""
    while kind_of(table, at) != END:
        at += 1
    return at + 1


@kernel
def _skip_word(table, at):
    while kind_of(table, at) != BLANK and kind_of(table, at) != END:
        at += 1
    return at


@kernel
def _ends_word(table, at):
    return kind_of(table, at) >= BLANK


@kernel
def kind_of(table, at):
    """Return the kind of the byte at a place."""
    return load_byte(table + load_byte(at))


@kernel
def read_id(table, at):
    """Return the number at a place, where it ends, and whether it is one."""
    part, count = read_eight(at)
    value, taken = np.int64(part), count
    while count == 8 and taken <= ID_DIGITS:
        part, count = read_eight(at + taken)
        value = value * np.int64(POWERS_OF_TEN[count]) + np.int64(part)
        taken += count
    good = 0 < taken <= ID_DIGITS and _ends_word(table, at + taken)
    return value, at + taken, good


@kernel
def read_weight(table, at, mark, real):
    """Return a weight as integer and as float, its end, and a status.

    `mark` is the byte of the decimal mark. Where weights are real an integer above
    2^53 is `INEXACT`. The last result tells whether the float is in doubt for want of
    digits.
    """
    negative = load_byte(at) == MINUS
    if negative or load_byte(at) == PLUS:
        at += 1
    first = at
    value, taken, at = read_digits(at, np.uint64(0), 0)
    digits = at - first
    if digits and _ends_word(table, at):
        limit = np.uint64(0x7FFFFFFFFFFFFFFF) + np.uint64(negative)
        if taken > DIGITS or value > limit:
            return 0, 0.0, at, LONG_WEIGHT, False
        whole = -np.int64(value) if negative else np.int64(value)
        if real and value > MOST_EXACT:
            return 0, 0.0, at, INEXACT, False
        return whole, np.float64(whole), at, GOOD, False
    left_out = max(0, taken - DIGITS)
    power = left_out
    if load_byte(at) == mark:
        first = at + 1
        value, taken, at = read_digits(first, value, taken)
        digits += at - first
        power -= at - first - (max(0, taken - DIGITS) - left_out)
    if digits == 0:
        return 0, 0.0, at, BAD_LINE, False
    if load_byte(at) == EXPONENT or load_byte(at) == CAPITAL_EXPONENT:
        exponent, at, good = read_exponent(at + 1)
        power += exponent
        if not good:
            return 0, 0.0, at, BAD_LINE, False
    if not _ends_word(table, at):
        return 0, 0.0, at, BAD_LINE, False
    if not real:
        return 0, 0.0, at, REAL_WEIGHT, False
    number = to_float(value, power)
    if number == np.inf:
        return 0, 0.0, at, HUGE_WEIGHT, False
    doubt = taken > DIGITS and to_float(value + np.uint64(1), power) != number
    return 0, -number if negative else number, at, GOOD, doubt
