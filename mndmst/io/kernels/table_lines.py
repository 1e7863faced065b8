"""Lines of a table in text, with the edge in any of its columns, to numbers."""

from typing import NamedTuple

import numpy as np

from ...native.kernel import kernel
from .edge_lines import (
    BAD_ID,
    BAD_LINE,
    BLANK,
    COMMENT,
    END,
    GOOD,
    QUOTE,
    SEPARATOR,
    kind_of,
    read_id,
    read_weight,
    skip_blanks,
    skip_line,
)

# Faults of a line, beside `edge_lines.BAD_LINE` and its like.
WRONG_COUNT, OPEN_QUOTE, LIKE_COMMENT = 16, 17, 18
SOURCE, TARGET, WEIGHT, OTHER = range(4)


class TableGrammar(NamedTuple):
    """The grammar of a table's lines."""

    # uint8 [256], for each byte: `WORD`, `BLANK`, `END`, `COMMENT`, `SEPARATOR` or
    # `QUOTE` of `edge_lines`
    kinds: np.ndarray
    by_blanks: bool  # whether runs of blanks separate columns, and not `SEPARATOR`
    # int64 [2] or [3]: the wanted columns from left to right, `SOURCE`, `TARGET` or
    # `WEIGHT`, and how many columns are between each and the one before
    roles: np.ndarray
    skipped: np.ndarray
    rest: int  # how many columns are after the last wanted one
    bound: int  # ends are from 0 to `bound - 1`
    mark: int  # the byte of the decimal mark
    real: bool  # whether weights are float64; real numbers are an error otherwise
    words: bool  # whether ends are any words: only their places are noted


class TableParsed(NamedTuple):
    """Buffers for the values parsed from a table's lines."""

    src: np.ndarray  # int64 [lines]: ends, or the places where their words begin
    dst: np.ndarray
    src_size: np.ndarray  # int64 [lines]: the bytes of words, or empty without words
    dst_size: np.ndarray
    weight: np.ndarray  # int64 or float64 [lines], or empty without weights
    # int64 [lines], for real weights: the edges whose float64 weight takes more digits
    # than are read to tell, and where these weights begin
    doubtful: np.ndarray
    doubtful_at: np.ndarray


@kernel
def parse_table(text, size, grammar, out):
    """Read lines of a table, an edge a line, into a `TableParsed`.

    The arguments and results are as of `edge_lines.parse_lines`; the third result is
    the role of the wrong column, `OTHER` behind the last wanted one.
    """
    kinds, by_blanks, roles, skipped, rest, bound, mark, real, words = grammar
    src, dst, src_size, dst_size, weight, doubtful, doubtful_at = out
    edges, doubts, wanted = 0, 0, len(roles)
    begin, table = np.int64(text.ctypes.data), np.int64(kinds.ctypes.data)
    at, end = begin, begin + size
    while at < end:
        line = at - begin
        at = skip_blanks(table, at)
        kind = kind_of(table, at)
        if kind in (COMMENT, END):
            if kind == COMMENT and skipped[0] and not by_blanks:
                fields = _count_fields(table, at)
                if fields == skipped.sum() + wanted + rest:
                    return LIKE_COMMENT, line, OTHER, edges, doubts
            at = skip_line(table, at)
            continue
        for step in range(wanted):
            role = roles[step]
            for _ in range(skipped[step]):
                at, status = _skip_field(table, at, by_blanks)
                if status == GOOD:
                    at, status = _close(table, at, by_blanks, False)
                if status != GOOD:
                    return status, line, role, edges, doubts
            at = skip_blanks(table, at)
            quoted = kind_of(table, at) == QUOTE
            at += quoted
            first = at
            if role == WEIGHT:
                whole, number, at, status, doubt = read_weight(table, at, mark, real)
                if status != GOOD:
                    return status, line, role, edges, doubts
                if real:
                    weight[edges] = number
                else:
                    weight[edges] = whole
                if doubt:
                    doubtful[doubts], doubtful_at[doubts] = edges, first - begin
                    doubts += 1
            elif words:
                at = _word_end(table, at, by_blanks, quoted)
                if at == first:
                    return BAD_LINE, line, role, edges, doubts
                if role == SOURCE:
                    src[edges], src_size[edges] = first - begin, at - first
                else:
                    dst[edges], dst_size[edges] = first - begin, at - first
            else:
                vertex, at, good = read_id(table, at)
                if not good:
                    return BAD_LINE, line, role, edges, doubts
                if vertex >= bound:
                    return BAD_ID, line, role, edges, doubts
                if role == SOURCE:
                    src[edges] = vertex
                else:
                    dst[edges] = vertex
            if quoted:
                if kind_of(table, at) != QUOTE:
                    return BAD_LINE, line, role, edges, doubts
                at += 1
            last = step == wanted - 1 and rest == 0
            at, status = _close(table, at, by_blanks, last)
            if status != GOOD:
                return status, line, role, edges, doubts
        for left in range(rest, 0, -1):
            at, status = _skip_field(table, at, by_blanks)
            if status == GOOD:
                at, status = _close(table, at, by_blanks, left == 1)
            if status != GOOD:
                return status, line, OTHER, edges, doubts
        at += 1
        edges += 1
    return GOOD, size, 0, edges, doubts


@kernel
def copy_words(text, begins, sizes, words):
    """Copy words of a text into rows (uint8 [words, longest]) of zeros."""
    for i in range(len(begins)):
        first = begins[i]
        for j in range(sizes[i]):
            words[i, j] = text[first + j]


@kernel
def _count_fields(table, at):
    """Count the fields in the rest of a line."""
    fields = 1
    while kind_of(table, at) != END:
        fields += kind_of(table, at) == SEPARATOR
        at += 1
    return fields


@kernel
def _close(table, at, by_blanks, last):
    """Skip the separator after a field; the line's end is the last one."""
    first = at
    at = skip_blanks(table, at)
    kind = kind_of(table, at)
    if last:
        if kind == END:
            return at, GOOD
        return at, WRONG_COUNT if by_blanks or kind == SEPARATOR else BAD_LINE
    if kind == END:
        return at, WRONG_COUNT
    if by_blanks:
        return at, GOOD if at > first else BAD_LINE
    return at + 1, GOOD if kind == SEPARATOR else BAD_LINE


@kernel
def _skip_field(table, at, by_blanks):
    """Return where a field ends, and `OPEN_QUOTE` if its line ends in quotes."""
    at = skip_blanks(table, at)
    if kind_of(table, at) == QUOTE:
        at = _word_end(table, at + 1, by_blanks, True)
        if kind_of(table, at) != QUOTE:
            return at, OPEN_QUOTE
        return at + 1, GOOD
    return _word_end(table, at, by_blanks, False), GOOD


@kernel
def _word_end(table, at, by_blanks, quoted):
    """Return the end of a word: its closing quote, or the separator after it."""
    if quoted:
        while True:
            kind = kind_of(table, at)
            if kind == END:
                return at
            if kind == QUOTE:
                if kind_of(table, at + 1) != QUOTE:
                    return at
                at += 1  # a doubled quote belongs to the word
            at += 1
    last = at  # blanks within a word belong to it, unless they separate words
    while True:
        kind = kind_of(table, at)
        if kind in (END, SEPARATOR) or (by_blanks and kind == BLANK):
            return last
        at += 1
        if kind != BLANK:
            last = at
