"""Edge files that are text: their heads, and their lines in ranges of bytes.

A head is the comments and the first line, in letters of one byte.
"""

import codecs
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from math import isinf
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...host.errors import InputError
from ..edge_file import (
    MAX_VERTICES,
    MOST_EXACT,
    PIECE_BYTES,
    EdgeFile,
    Edges,
    checked_edges,
)
from ..file_access import opened, state_of
from .packed_files import COMPRESSIONS, readable, unpacked_pieces

LONGEST_HEAD = 1 << 21
_WIDE_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)

LONGEST_LINE = 1 << 20


def read_head(path: Path, comments: bytes) -> tuple[list[bytes], bytes, int]:
    """Return the comments and empty lines, the first line after them, and its place.

    A mark of UTF-8, which some programs put first, is passed over.
    """
    found: list[bytes] = []
    text, place = b"", 0
    for piece in chain(unpacked_pieces(path), (b"\n",)):
        text += piece
        while (stop := text.find(b"\n", place)) >= 0:
            if place == 0 and text.startswith(codecs.BOM_UTF8):
                place = len(codecs.BOM_UTF8)
            line = text[place:stop]
            check_letters(path, text if text.startswith(_WIDE_MARKS) else line)
            if line.strip() and line.lstrip()[0] not in comments:
                return found, line, place
            found.append(line.strip())
            place = stop + 1
        if len(text) > LONGEST_HEAD:
            raise InputError(
                f"{path}: has no edge in its first {LONGEST_HEAD} bytes, so it is not "
                "a text of edges. Name its format."
            )
    return found, b"", place


def read_lines(path: Path, comments: bytes, place: int, most: int) -> list[bytes]:
    """Return up to `most` lines from a byte on, without comments and empty lines."""
    text = bytearray()
    found: list[bytes] = []
    for piece in unpacked_pieces(path):
        text += piece
        found = [
            line
            for line in bytes(text[place:]).split(b"\n")
            if line.strip() and line.lstrip()[0] not in comments
        ]
        if len(found) > most or len(text) > LONGEST_HEAD:
            return found[: min(most, max(1, len(found) - 1))]  # the last may be cut
    return found[:most]


def check_letters(path: Path, text: bytes) -> None:
    """Refuse text of two or four bytes a letter, as some programs save it."""
    if text.startswith(_WIDE_MARKS) or b"\0" in text:
        raise InputError(
            f"{path}: is text in UTF-16 or UTF-32, or not text. Save it as UTF-8, or "
            "name its format."
        )


def check_counts(
    path: Path, vertices: int, entries: int, shortest: int, said: str
) -> None:
    """Refuse counts in a header that need more bytes than the file has.

    An entry takes `shortest` bytes at least; `said` begins the message.
    """
    packed = path.suffix in COMPRESSIONS
    most = sys.maxsize if packed else path.stat().st_size // shortest + 1
    if entries > most or vertices > MAX_VERTICES:
        raise InputError(
            f"{path}: {said}, more than the file can hold. Copy it again, or fix that "
            "line."
        )


DIGITS = 18  # of a whole number that always fits 64 bits


class Integers(NamedTuple):
    """The whole numbers with which a text begins, separated by white space."""

    numbers: np.ndarray  # int64
    places: np.ndarray  # int64: the first byte of each
    wrong: int | None  # the first byte of the word behind them; None at the end


def read_integers(text: bytes | bytearray) -> Integers:
    """Return the integers up to the first word that is not one of `DIGITS` digits."""
    letters = np.frombuffer(text, np.uint8)
    blank = letters <= ord(" ")
    bounds = np.flatnonzero(np.diff(blank, prepend=True, append=True))
    begins, ends = bounds[::2], bounds[1::2]
    signed = letters[begins] == ord("-")
    lengths = ends - begins - signed
    good = (lengths > 0) & (lengths <= DIGITS)
    odd = ~blank & ((letters < ord("0")) | (letters > ord("9")))
    odd[begins[signed]] = False
    good[np.searchsorted(begins, np.flatnonzero(odd), "right") - 1] = False
    count = len(good) if good.all() else int(good.argmin())
    numbers = np.empty(0, np.int64)
    if count:  # `fromstring` makes a 0 of a text without words
        words = np.where(blank, np.uint8(ord(" ")), letters)[: ends[count - 1]]
        numbers = np.fromstring(words.tobytes(), np.int64, sep=" ")
    wrong = int(begins[count]) if count < len(begins) else None
    return Integers(numbers, begins[:count], wrong)


# Source, target (int64) and weight (int64 or float64) of some lines
EndsAndWeights = tuple[np.ndarray, np.ndarray, np.ndarray]
ID = re.compile(r"[0-9]{1,18}")  # always fits 64 bits
NUMERAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_WHOLE = re.compile(r"[+-]?[0-9]+")
NO_NUMBER, LONG_WEIGHT, HUGE_WEIGHT, INEXACT = range(4)  # faults of a weight
_FAULTS = {
    LONG_WEIGHT: "has a weight of over 64 bits",
    HUGE_WEIGHT: "has a weight beyond the largest float64, 1.8e308",
    INEXACT: "has a whole number above 2^53 for a weight, which float64, that the "
    "fractions in other lines need, does not hold exactly",
}


@dataclass(frozen=True)
class Lines:
    """The grammar of a line with an edge, whose words are separated by blanks."""

    prefix: str = ""  # the letter every edge begins with, if any
    # Letters that begin a comment; empty lines are passed over, too
    comments: str = "#%"
    base: int = 0  # the number of the first vertex
    weighted: bool = True
    # Says in messages how a line should look
    what: str = '"u v w" with whole numbers u and v and a number w'


def read_numbers(
    lines: Sequence[str], weighted: bool, real: bool, **columns: Any
) -> EndsAndWeights | None:
    """Return ends and weights by NumPy's reader, where it keeps all of them exactly.

    Otherwise, and for a wrong line, return None: the caller reads word by word. Weights
    are int64 if all are whole and not `real`. `columns` are options of `loadtxt`.
    """
    for kind in ("f8",) if real else ("i8", "f8"):
        types = [("src", "i8"), ("dst", "i8"), ("weight", kind)][: 2 + weighted]
        with suppress(ValueError, Warning), warnings.catch_warnings():
            warnings.simplefilter("error")  # NumPy may warn of 1.0 for an id, and go on
            table = np.loadtxt(lines, types, comments=None, ndmin=1, **columns)
            src, dst, *rest = (table[name].copy() for name, _ in types)
            weight = rest[0] if weighted else np.ones(len(src), np.int32)
            # Larger whole numbers may be rounded; NaN is not below anything
            if weight.dtype.kind == "f" and not (np.abs(weight) < MOST_EXACT).all():
                return None
            return src, dst, weight
    return None


def read_weights(
    words: Sequence[str], real: bool, wrong: Callable[[int, int], InputError]
) -> np.ndarray:
    """Return words as int64 if all are whole and not `real`, else as float64.

    `wrong` makes the error for the position of a word and its fault.
    """
    real = real or not all(map(_WHOLE.fullmatch, words))
    for i, word in enumerate(words):
        if not NUMERAL.fullmatch(word):
            raise wrong(i, NO_NUMBER)
        if _WHOLE.fullmatch(word):
            if not -(1 << 63) <= int(word) < 1 << 63:
                raise wrong(i, LONG_WEIGHT)
            if real and abs(int(word)) > MOST_EXACT:
                raise wrong(i, INEXACT)
        elif isinf(float(word)):
            raise wrong(i, HUGE_WEIGHT)
    kind = np.float64 if real else np.int64
    return np.fromiter(map(float if real else int, words), kind, len(words))


class TextFile(EdgeFile):
    """A text file of edges, compressed or not; they begin at byte `start`."""

    def __init__(
        self,
        path: Path,
        lines: Lines,
        num_vertices: int | None = None,
        num_entries: int | None = None,
        start: int = 0,
    ) -> None:
        self.path = path
        self.name = str(path)
        self.lines = lines
        self.num_vertices = num_vertices
        self.num_entries = num_entries
        self.start = start
        self.seekable = path.suffix not in COMPRESSIONS
        with readable(path):
            self.state = state_of(path)
        self.length = self.state[1]
        if not lines.weighted:
            self.weight_dtype = np.dtype(np.int32)

    def pieces(self, begin: int, end: int) -> Iterator[Edges]:
        """Yield the edges of the lines that begin in a range of bytes."""
        real = False
        for place, text in self.blocks(begin, end):
            edges, real = self._parse(place, text, real)
            yield edges

    def blocks(self, begin: int, end: int) -> Iterator[tuple[int, bytes]]:
        """Yield whole lines that begin in a range, many at a time, and where."""
        if not self.seekable:
            end = sys.maxsize
        cut = begin > self.start  # the line of the range before goes to its end
        place = begin - 1 if cut else self.start
        rest = b""
        for piece in chain(self._bytes(place), (b"\n",)):
            text = rest + piece
            if cut and (first := text.find(b"\n") + 1):
                text, place, cut = text[first:], place + first, False
            if place >= end:
                return
            stop = text.find(b"\n", end - place - 1) + 1
            last, stop = stop > 0, stop or text.rfind(b"\n") + 1
            if stop and not cut:
                yield place, text[:stop]
                text, place = text[stop:], place + stop
            if last:
                return
            rest = text
            if len(rest) > LONGEST_LINE:
                raise InputError(
                    f"{self.name}: has a line of over {LONGEST_LINE} bytes at byte "
                    f"{place}, so it is not text. Name its format."
                )

    def _bytes(self, place: int) -> Iterator[bytes]:
        """Yield the contents from a byte on."""
        if not self.seekable:
            for piece in unpacked_pieces(self.path, self.state):
                yield piece[place:]
                place = max(0, place - len(piece))
            return
        with readable(self.path), opened(self.path, self.state) as file:
            file.seek(place)
            while piece := file.read(PIECE_BYTES):
                yield piece

    def _parse(self, place: int, block: bytes, real: bool) -> tuple[Edges, bool]:
        """Return the edges of a block, and whether any weight is not whole."""
        base, bound = self.lines.base, self.num_vertices
        found = self._by_numpy(block, real)
        last = base - 1 + (MAX_VERTICES if bound is None else bound)
        if found is None or not all(
            base <= ends.min(initial=base) and ends.max(initial=last) <= last
            for ends in found[:2]
        ):
            found = self._by_words(place, block, real)
        src, dst, weight = found
        edges = checked_edges(self.name, bound, src - base, dst - base, weight)
        return edges, real or weight.dtype.kind == "f"

    def _by_numpy(self, block: bytes, real: bool) -> EndsAndWeights | None:
        """Read a block as `read_numbers` does."""
        prefix, lines = self.lines.prefix, self._edge_lines(block.decode("latin-1"))
        if prefix:
            lines = [line for line in map(str.lstrip, lines) if line]
            if not all(line[0] == prefix and line[1:2].isspace() for line in lines):
                return None
            lines = [line[1:] for line in lines]
        return read_numbers(lines, self.lines.weighted, real)

    def _edge_lines(self, text: str) -> list[str]:
        """Return the lines of a text without comments and most empty lines."""
        lines = text.rstrip("\n").split("\n")
        if any(letter in text for letter in self.lines.comments):
            return list(filter(self._is_edge, lines))
        return lines

    def _is_edge(self, line: str) -> bool:
        """Return whether a line is neither empty nor a comment."""
        begin = line.lstrip(" \t\r")[:1]
        return begin != "" and begin not in self.lines.comments

    def _by_words(self, place: int, block: bytes, real: bool) -> EndsAndWeights:
        """Read a block word by word; InputError for a wrong line."""
        prefix, base = [self.lines.prefix] * bool(self.lines.prefix), self.lines.base
        bound, known = self.num_vertices, self.num_vertices is not None
        last = "the vertices the header names" if known else "2^48"
        top = base + (MAX_VERTICES if bound is None else bound)

        def wrong(number: int, what: str) -> InputError:
            line = self.line_number(place) + number
            return InputError(f"{self.name}: line {line} {what}. Fix it.")

        numbers, ends, weights = [], [], []
        for number, line in enumerate(block.decode("latin-1").split("\n")):
            if not self._is_edge(line):
                continue
            words = line.split()
            begin, two = words[: len(prefix)], words[len(prefix) :][:2]
            rest = words[len(prefix) + 2 :]
            good = begin == prefix and len(two) == 2 and all(map(ID.fullmatch, two))
            if not good or len(rest) != self.lines.weighted:
                raise wrong(number, f"is not {self.lines.what}")
            if not all(base <= int(end) < top for end in two):
                raise wrong(
                    number, f"joins a vertex that is not between {base} and {last}"
                )
            numbers.append(number)
            ends.append(list(map(int, two)))
            weights += rest
        src, dst = np.array(ends, np.int64).reshape(-1, 2).T.copy()
        if not self.lines.weighted:
            return src, dst, np.ones(len(src), np.int32)

        def wrong_weight(row: int, fault: int) -> InputError:
            mistake = _FAULTS.get(fault, f"is not {self.lines.what}")
            return wrong(numbers[row], mistake)

        return src, dst, read_weights(weights, real, wrong_weight)

    def line_number(self, place: int) -> int:
        """Return which line of the file, from 1, begins at a byte."""
        number, left = 1, place
        for piece in self._bytes(0):
            number += piece.count(b"\n", 0, left)
            left -= min(left, len(piece))
            if not left:
                break
        return number
