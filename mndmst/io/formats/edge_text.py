"""Edge files that are text: their heads, and their lines in ranges of bytes.

A head is the comments and the first line, in letters of one byte.
"""

import codecs
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np

from ...graph.order import id_dtype
from ...host.errors import InputError
from ..edge_file import MAX_VERTICES, PIECE_BYTES, EdgeFile, Edges, checked_edges
from ..file_access import opened, state_of
from ..kernels import edge_lines as kernels
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


def line_of(text: np.ndarray, at: int) -> int:
    """Return the line, from 1, that has the byte at a position of a text."""
    return 1 + int(np.count_nonzero(text[:at] == ord("\n")))


@dataclass(frozen=True)
class Lines:
    """The grammar of a line with an edge."""

    prefix: bytes = b""  # the letter every edge begins with, if any
    # Letters that begin a comment; empty lines are passed over, too
    comments: bytes = b"#%"
    blanks: bytes = b" \t\r"  # the letters between words
    base: int = 0  # the number of the first vertex
    # `NO_WEIGHT`: only ends; `WEIGHT_LAST`: ends and weight; `WEIGHT_AND_MORE`: and
    # more that is not read (of `io.kernels.edge_lines`)
    columns: int = kernels.WEIGHT_LAST
    # Says in messages how a line should look
    what: str = '"u v w" with whole numbers u and v and a number w'

    def kinds(self) -> np.ndarray:
        """Return the kind of each byte for the kernels."""
        kinds = np.full(256, kernels.WORD, np.uint8)
        kinds[list(self.comments)] = kernels.COMMENT
        kinds[list(self.prefix)] = kernels.PREFIX
        kinds[list(self.blanks)] = kernels.BLANK
        kinds[ord("\n")] = kernels.END
        return kinds


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
        if lines.columns == kernels.NO_WEIGHT:
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
        bound = self.num_vertices
        ids = id_dtype(MAX_VERTICES if bound is None else bound)
        text = np.frombuffer(block + bytes(kernels.PADDING), np.uint8)
        count = np.count_nonzero(text == ord("\n"))
        src, dst = np.empty((2, count), ids)
        weighted = self.lines.columns != kernels.NO_WEIGHT
        weight = np.empty(count * weighted, np.float64 if real else np.int64)
        doubtful = np.empty(count if real else 0, np.int64)
        grammar = kernels.Grammar(
            self.lines.kinds(), bool(self.lines.prefix), self.lines.base,
            MAX_VERTICES if bound is None else bound, self.lines.columns, real,
        )  # fmt: skip
        out = kernels.Parsed(src, dst, weight, doubtful)
        status, at, edges, doubts = kernels.parse_lines(text, len(block), grammar, out)
        if status == kernels.REAL_WEIGHT and not real:
            return self._parse(place, block, True)
        if status != kernels.GOOD:
            raise self._mistake(status, place + at)
        if doubts:
            wanted = doubtful[:doubts]
            words = kernels.weight_words(text, grammar, wanted)
            weight[wanted] = self._long_numbers(words.tobytes(), place, block)
        if not weighted:
            weight = np.ones(count, np.int32)
        src, dst, weight = src[:edges], dst[:edges], weight[:edges]
        return checked_edges(self.name, bound, src, dst, weight), real

    def _long_numbers(self, words: bytes, place: int, block: bytes) -> np.ndarray:
        """Return weights of more digits than the kernels read, as Python reads them."""
        numbers = np.array(words.split(), np.bytes_).astype(np.float64)
        huge = np.flatnonzero(np.isinf(numbers))
        if len(huge):
            at = block.index(words.split()[huge[0]])
            line = block.rfind(b"\n", 0, at) + 1
            raise self._mistake(kernels.HUGE_WEIGHT, place + line)
        return numbers

    def _mistake(self, status: int, place: int) -> InputError:
        """Return the error for the line that begins at a byte."""
        unknown = self.num_vertices is None
        last = "2^48" if unknown else "the vertices the header names"
        mistakes = {
            kernels.BAD_LINE: f"is not {self.lines.what}",
            kernels.BAD_ID: f"joins a vertex that is not between {self.lines.base} "
            f"and {last}",
            kernels.LONG_WEIGHT: "has a weight of over 64 bits",
            kernels.HUGE_WEIGHT: "has a weight beyond the largest float64, 1.8e308",
            kernels.INEXACT: "has a whole number above 2^53 for a weight, which "
            "float64, that the fractions in other lines need, does not hold exactly",
        }
        number = self.line_number(place)
        return InputError(f"{self.name}: line {number} {mistakes[status]}. Fix it.")

    def line_number(self, place: int) -> int:
        """Return which line of the file, from 1, begins at a byte."""
        number, left = 1, place
        for piece in self._bytes(0):
            number += piece.count(b"\n", 0, left)
            left -= min(left, len(piece))
            if not left:
                break
        return number
