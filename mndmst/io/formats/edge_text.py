"""Edge files that are text: their heads, and their lines in ranges of bytes.

A head is the comments and the first line, in letters of one byte. NumPy reads the
numbers of a block of lines where it keeps all of them exactly; other blocks are read
cell by cell, which finds the mistake of a wrong line.
"""

import codecs
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain
from math import isinf
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...host.errors import InputError
from ...host.formatting import counted
from ...host.memory import Budget
from ...host.warning_filters import filtered_warnings
from ..edge_file import (
    MAX_VERTICES,
    MOST_EXACT,
    PIECE_BYTES,
    EdgeFile,
    Edges,
    UnnumberedEndError,
    checked_edges,
)
from ..file_access import opened, state_of
from ..named_edge_file import NameableFile
from .edge_layout import TextLayout
from .packed_files import COMPRESSIONS, readable, unpacked_pieces
from .table_columns import ROLES
from .table_text import (
    BLANKS,
    NUMERAL,
    has_width,
    split_line,
    split_row,
    without_comment,
)

LONGEST_HEAD = 1 << 21
_WIDE_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
# First bytes of files that are not text, and what to do with these
_NOT_TEXT = {
    b"\x1f\x8b": "is packed by gzip. Give it a name that ends in .gz.",
    b"\xfd7zXZ": "is packed by xz. Give it a name that ends in .xz.",
    b"(\xb5/\xfd": "is packed by zstandard. Give it a name that ends in .zst.",
    b"PK\x03\x04": "is a zip archive. Save a table of Excel as .csv, or unpack it.",
    b"\x93NUMPY": "is an array of NumPy. Give it a name that ends in .npy.",
    b"\x89HDF": "is an HDF5 file. Write its data as text, or points as .npy.",
}
LONGEST_LINE = 1 << 20


def read_head(
    path: Path, budget: Budget, comments: bytes
) -> tuple[list[bytes], bytes, int]:
    """Return the comments and empty lines, the first line after them, and its offset.

    A mark of UTF-8, which some programs put first, is passed over.
    """
    skipped: list[bytes] = []
    text, offset = b"", 0
    for piece in chain(unpacked_pieces(path, budget), (b"\n",)):
        text += piece
        while (stop := text.find(b"\n", offset)) >= 0:
            if offset == 0 and text.startswith(codecs.BOM_UTF8):
                offset = len(codecs.BOM_UTF8)
            line = text[offset:stop]
            check_letters(path, text if text.startswith(_WIDE_MARKS) else line)
            check_line_ends(path, line)
            if line.strip() and line.lstrip()[0] not in comments:
                return skipped, line, offset
            skipped.append(line.strip())
            offset = stop + 1
        if len(text) > LONGEST_HEAD:
            check_line_ends(path, text)
            raise InputError(
                f"{path}: has no edge in its first {LONGEST_HEAD} bytes, so it is not "
                "a text of edges. Name its format."
            )
    return skipped, b"", offset


def read_lines(
    path: Path, budget: Budget, comments: bytes, offset: int, most: int
) -> list[bytes]:
    """Return up to `most` lines from a byte on, without comments and empty lines."""
    text = bytearray()
    lines: list[bytes] = []
    for piece in unpacked_pieces(path, budget):
        text += piece
        lines = [
            line
            for line in bytes(text[offset:]).split(b"\n")
            if line.strip() and line.lstrip()[0] not in comments
        ]
        if len(lines) > most or len(text) > LONGEST_HEAD:
            return lines[: min(most, max(1, len(lines) - 1))]  # the last may be cut
    return lines[:most]


def check_letters(path: Path, text: bytes) -> None:
    """Refuse text of two or four bytes a letter, and files that are not text."""
    for begin, remedy in _NOT_TEXT.items():
        if text.startswith(begin):
            raise InputError(f"{path}: {remedy}")
    if text.startswith(_WIDE_MARKS) or b"\0" in text:
        raise InputError(
            f"{path}: is text in UTF-16 or UTF-32, or not text. Save it as UTF-8, or "
            "name its format."
        )


def check_line_ends(path: Path, line: bytes) -> None:
    """Refuse carriage returns inside a line, which were the ends of lines on Macs."""
    if b"\r" in line.rstrip(b"\r"):
        raise InputError(
            f"{path}: has carriage returns where lines end, without line feeds. "
            "Convert it: tr '\\r' '\\n' < OLD > NEW."
        )


def check_counts(
    path: Path, said: str, vertices: int, needed: int, contents: bytearray | None = None
) -> None:
    """Refuse counts in a header if they need more bytes than the file has.

    `said` begins the message; `contents` is the text of a file in memory, or None.
    """
    most = sys.maxsize
    if contents is not None:
        most = len(contents)
    elif path.suffix not in COMPRESSIONS:
        most = path.stat().st_size
    if needed > most or vertices > MAX_VERTICES:
        raise InputError(
            f"{path}: {said}, more than the file can hold. Copy it again, or fix that "
            "line."
        )


DIGITS = 18  # of a whole number that always fits 64 bits


class Integers(NamedTuple):
    """The whole numbers with which a text begins, separated by white space."""

    numbers: np.ndarray  # int64
    offsets: np.ndarray  # int64: the first byte of each
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


# The remedy for an end such as 1.0 or 1e+00
REAL_END = (
    "Write ids without a fraction and an exponent (NumPy: savetxt(file, edges, "
    'fmt="%d %d %.17g")); if the lines are points, give the file to mndmst hdbscan or '
    "mndmst linkage."
)
# Source, target (int64) and weight (int64 or float64) of some lines
EndsAndWeights = tuple[np.ndarray, np.ndarray, np.ndarray]
_ID = re.compile(r"[0-9]{1,18}")  # always fits 64 bits
_PADDED_ID = re.compile(r"0[0-9]+")
INTEGER = re.compile(r"[+-]?[0-9]+")
_TO_BLANKS = bytes.maketrans(b",;", b"  ")
_EMPTY_COLUMN = re.compile(rb"[,;][ \t\r]*(?:[,;]|$)|^[ \t]*[,;]", re.MULTILINE)
# A comma in place of a point; a point is no number where commas are the marks
_DECIMAL_COMMAS = str.maketrans(",.", ".,")
_OTHER_BLANKS = "\x0b\x0c\x1c\x1d\x1e\x1f\x85\xa0"
_SIGNED_END = re.compile(r"(?<![eE])[+]|-0+(?![0-9.])")


def read_numbers(
    lines: Sequence[str], prefix: str, weighted: bool, real: bool, **columns: object
) -> EndsAndWeights | None:
    """Return ends and weights by NumPy's reader, where it keeps all of them exactly.

    Otherwise, and for a wrong line, return None: the caller reads word by word. Weights
    are int64 if all are whole and not `real`. `columns` are options of `loadtxt`.
    """
    for kind in ("f8",) if real else ("i8", "f8"):
        # Of a longer first word than the prefix NumPy keeps one more letter
        types = [("prefix", "U2"), ("src", "i8"), ("dst", "i8"), ("weight", kind)]
        types = types[not prefix : 3 + weighted]
        # NumPy before 2.4 warns of 1.0 for an id, and goes on
        with suppress(ValueError, Warning), filtered_warnings("error", "loadtxt"):
            table = np.loadtxt(lines, types, comments=None, ndmin=1, **columns)  # type: ignore[call-overload]
            if prefix and (table["prefix"] != prefix).any():
                return None
            numbers = (table[name].copy() for name, _ in types if name != "prefix")
            src, dst, *rest = numbers
            weight = rest[0] if weighted else np.ones(len(src), np.int32)
            # Larger whole numbers may be rounded; NaN is not below anything
            if weight.dtype.kind == "f" and not (np.abs(weight) < MOST_EXACT).all():
                return None
            return src, dst, weight
    return None


def _has_padded_numbers(text: bytes) -> bool:
    """Return whether digits begin with a 0 before another digit: 01, but not 0.01."""
    letters = np.frombuffer(text, np.uint8)
    values = letters ^ np.uint8(ord("0"))
    digits = values < len("0123456789")
    padded = digits[1:] & (values[:-1] == 0)
    np.greater(padded[1:], digits[:-2], out=padded[1:])
    before = np.flatnonzero(padded) - 1
    return bool((letters[before] != ord(".")).any())


class TextFile(EdgeFile):
    """A text file of edges, compressed or not; they begin at byte `start`.

    It is read in pieces of `piece_bytes`, and has no line of more than `longest_line`.
    """

    piece_bytes = PIECE_BYTES
    longest_line = LONGEST_LINE

    def __init__(
        self,
        path: Path,
        budget: Budget,
        layout: TextLayout,
        num_vertices: int | None = None,
        num_entries: int | None = None,
        start: int = 0,
    ) -> None:
        self.path, self.budget = path, budget
        self.name = str(path)
        self.layout = layout
        self.num_vertices = num_vertices
        self.first_id = layout.base
        self.num_entries = num_entries
        self.start = start
        self.seekable = path.suffix not in COMPRESSIONS
        with readable(path):
            self.state = state_of(path)
        self.length = self.state[1]
        if layout.columns.weight is None:
            self.weight_dtype = np.dtype(np.int32)

    def pieces(self, begin: int, end: int) -> Iterator[Edges]:
        """Yield the edges of the lines that begin in a range of bytes."""
        real = False
        for offset, text in self.blocks(begin, end):
            edges = self._parse(offset, text, real)
            real |= edges.weight.dtype.kind == "f"
            self.layout.columns.check_costs(self.name, edges.weight)
            yield edges

    def blocks(self, begin: int, end: int) -> Iterator[tuple[int, bytes]]:
        """Yield whole lines that begin in a range, many at a time, and their offset."""
        if not self.seekable:
            end = sys.maxsize
        cut = begin > self.start  # the line of the range before goes to its end
        offset = begin - 1 if cut else self.start
        rest = b""
        for piece in chain(self._bytes(offset), (b"\n",)):
            text = rest + piece
            if cut and (first := text.find(b"\n") + 1):
                text, offset, cut = text[first:], offset + first, False
            if offset >= end:
                return
            stop = text.find(b"\n", end - offset - 1) + 1
            last, stop = stop > 0, stop or text.rfind(b"\n") + 1
            if stop and not cut:
                yield offset, text[:stop]
                text, offset = text[stop:], offset + stop
            if last:
                return
            rest = text
            if len(rest) > self.longest_line:
                raise InputError(
                    f"{self.name}: has a line of over {self.longest_line} bytes at "
                    f"byte {offset}, so it is not text. Name its format."
                )

    def _bytes(self, offset: int) -> Iterator[bytes]:
        """Yield the contents from a byte on."""
        if not self.seekable:
            for piece in unpacked_pieces(self.path, self.budget, self.state):
                yield piece[offset:]
                offset = max(0, offset - len(piece))
            return
        with readable(self.path), opened(self.path, self.state) as file:
            file.seek(offset)
            while piece := file.read(self.piece_bytes):
                yield piece

    def _parse(self, offset: int, block: bytes, real: bool) -> Edges:
        """Return the edges of a block; `real` if a weight before was not whole."""
        base, separator = self.layout.base, self.layout.separator
        columns = self._by_numpy(block, separator, real)
        if columns is None or not self._has_vertices(columns):
            if self._is_mixed(block):
                block, separator = block.translate(_TO_BLANKS), BLANKS
                columns = self._by_numpy(block, separator, real)
            if columns is None or not self._has_vertices(columns):
                rows = self.rows_of(offset, block)
                columns = rows.ids("source"), rows.ids("target"), rows.weights(real)
        src, dst, weight = columns
        count = self.num_vertices
        src, dst = src - base, dst - base
        return checked_edges(self.name, count, src, dst, weight, first_id=base)

    def _is_mixed(self, block: bytes) -> bool:
        """Return whether commas, semicolons and blanks separate columns alike."""
        mixed = self.layout.mixed and b'"' not in block
        if not mixed or _EMPTY_COLUMN.search(block) is not None:
            return False
        dialect, text = self.layout.dialect, block.decode(errors="surrogateescape")
        if dialect is None or not any(mark in text for mark in self.layout.comments):
            return True
        return not any(map(dialect.is_like_row, text.split("\n")))

    def bounds(self) -> range:
        """Return the ids of vertices, as the file has them."""
        base, count = self.layout.base, self.num_vertices
        return range(base, base + (MAX_VERTICES if count is None else count))

    def _has_vertices(self, columns: EndsAndWeights) -> bool:
        ids = self.bounds()
        ends = [ends for ends in columns[:2] if len(ends)]
        return all(ids.start <= e.min() and e.max() < ids.stop for e in ends)

    def _by_numpy(
        self, block: bytes, separator: bytes, real: bool
    ) -> EndsAndWeights | None:
        """Read a block as `read_numbers` does, if all lines have all columns."""
        layout, text = self.layout, block.decode("latin-1")
        if separator == BLANKS and any(blank in text for blank in _OTHER_BLANKS):
            return None  # NumPy takes parts of letters in UTF-8 for blanks
        if layout.mark == ",":
            text = text.translate(_DECIMAL_COMMAS)
        # The search for one letter is fast, and most tables have no minus
        signed = "+" in text or ("-" in text and "-0" in text)
        if signed and _SIGNED_END.search(text):
            return None  # +1 and -0 may be names
        lines = self._edge_lines(text)
        if (
            len(lines) < text.count("\n")
            and layout.dialect is not None
            and any(map(layout.dialect.is_like_row, text.split("\n")))
        ):
            return None
        simple = layout.in_order and '"' not in text  # NumPy compares the widths
        width = len(layout.columns.names)
        if not simple and not all(has_width(line, separator, width) for line in lines):
            return None
        columns = read_numbers(
            lines, layout.prefix, layout.columns.weight is not None, real,
            quotechar='"' if '"' in text else None,
            delimiter=None if separator == BLANKS else separator.decode(),
            usecols=None if layout.in_order else layout.columns.wanted,
        )  # fmt: skip
        if columns is None or not isinstance(self, NameableFile):
            return columns
        if _has_padded_numbers(block):  # in any column
            is_rows = block.count(b"\n") == len(columns[0])
            if self._has_padded_ends(block if is_rows else b"", lines, separator):
                return None  # 01 is a name
        return columns

    def _has_padded_ends(
        self, rows: bytes, lines: Sequence[str], separator: bytes
    ) -> bool:
        """Return whether an end, each a whole number, has a leading zero.

        `rows` is the text of `lines` if no line is empty or a comment, else empty.
        """
        ends, width = self.layout.columns.wanted[:2], len(self.layout.columns.names)
        if rows and separator != BLANKS and b'"' not in rows:
            letters = np.frombuffer(rows, np.uint8)
            stops = (letters == ord(separator)) | (letters == ord("\n"))
            cells = np.append(-1, np.flatnonzero(stops)[:-1]).reshape(-1, width) + 1
            first, second = letters[cells[:, ends]], letters[cells[:, ends] + 1]
            if (first > ord(" ")).all():
                digits = (second >= ord("0")) & (second <= ord("9"))
                return bool((digits & (first == ord("0"))).any())
        table = (split_line(line, separator) for line in lines if line.strip())
        return any(_PADDED_ID.fullmatch(row[i]) for row in table for i in ends)

    def _edge_lines(self, text: str) -> list[str]:
        """Return the lines of a text without comments and most empty lines."""
        lines = text.rstrip("\n").split("\n")
        if any(letter in text for letter in self.layout.comments):
            return list(filter(self._is_edge, lines))
        return lines

    def _is_edge(self, line: str) -> bool:
        """Return whether a line is neither empty nor a comment."""
        begin = line.lstrip(" \t\r")[:1]
        return begin != "" and begin not in self.layout.comments

    def rows_of(self, offset: int, block: bytes) -> "TextRows":
        """Return the rows in the lines of a block; InputError for a wrong line."""
        layout, numbers, rows = self.layout, [], []
        separator, mixed = layout.separator, self._is_mixed(block)
        if mixed:
            block, separator = block.translate(_TO_BLANKS), BLANKS
        listed = mixed or not isinstance(self, NameableFile)
        width, prefix = len(layout.columns.names), [layout.prefix][: len(layout.prefix)]

        def where(number: int) -> str:
            return f"{self.name}: line {self.line_number(offset) + number}"

        for number, line in enumerate(
            block.decode(errors="surrogateescape").split("\n")
        ):
            if not self._is_edge(line):
                if layout.dialect is not None:
                    layout.dialect.check_comment(partial(where, number), line)
                continue
            line = without_comment(line, separator)
            if listed:
                cells = split_line(line, separator)
                begin, cells = cells[: len(prefix)], cells[len(prefix) :]
                if begin != prefix or len(cells) != width:
                    has = ""
                    if begin == prefix:
                        has = f": it has {counted(len(cells), 'column')}"
                        has += " between commas, semicolons and blanks" * mixed
                    raise InputError(
                        f"{where(number)} is not {layout.form()}{has}. Fix it."
                    )
            else:
                cells = split_row(line, separator, width, partial(where, number))
            rows.append(cells)
            numbers.append(number)
        return TextRows(self, rows, lambda row: where(numbers[row]))

    def line_number(self, offset: int) -> int:
        """Return the number, from 1, of the line that begins at a byte."""
        number, remaining = 1, offset
        for piece in self._bytes(0):
            number += piece.count(b"\n", 0, remaining)
            remaining -= min(remaining, len(piece))
            if not remaining:
                break
        return number


@dataclass(frozen=True)
class TextRows:
    """Rows of a table in text, whose columns are ends and weights."""

    file: TextFile
    rows: list[list[str]]
    where: Callable[[int], str]  # names the line of a row in messages

    def words(self, role: str) -> list[str]:
        """Return the cells of a role."""
        position = self.file.layout.columns.wanted[ROLES.index(role)]
        return [row[position] for row in self.rows]

    def names(self, role: str) -> list[str]:
        """Return the cells of a role, none of them empty."""
        words = self.words(role)
        if not all(words):
            raise self._wrong_end(role, words.index(""), "")
        return words

    def ids(self, role: str) -> np.ndarray:
        """Return the cells of a role as the file's ids of vertices (int64)."""
        words, ids = self.words(role), self.file.bounds()
        for row, word in enumerate(words):
            if self._may_be_name(word):
                raise UnnumberedEndError(
                    f"{self._has(role, row, word)}, a name or a padded number, and "
                    "here a vertex is a whole number. Write it without leading zeros."
                )
            if not _ID.fullmatch(word) or int(word) not in ids:
                raise self._wrong_end(role, row, word)
        return np.array(list(map(int, words)), np.int64)

    def weights(self, real: bool) -> np.ndarray:
        """Return the weights: int64 if all are whole and not `real`, else float64."""
        layout = self.file.layout
        if layout.columns.weight is None:
            return np.ones(len(self.rows), np.int32)
        cells = words = self.words("weight")
        if layout.mark == ",":
            words = [cell.translate(_DECIMAL_COMMAS) for cell in cells]
        real = real or not all(map(INTEGER.fullmatch, words))
        for row, word in enumerate(words):
            if fault := _weight_fault(word, real):
                raise InputError(
                    f"{self._has('weight', row, cells[row])}, {fault}. Fix it, or "
                    "leave the line out."
                )
        kind = np.float64 if real else np.int64
        return np.fromiter(map(float if real else int, words), kind, len(words))

    def _may_be_name(self, word: str) -> bool:
        """Return whether a whole number has leading zeros, which names keep."""
        padded = _PADDED_ID.fullmatch(word) is not None
        return padded and isinstance(self.file, NameableFile)

    def _wrong_end(self, role: str, row: int, cell: str) -> InputError:
        ids = self.file.bounds()
        top = "2^48" if self.file.num_vertices is None else ids.stop
        # A file that says how many vertices it has numbers them
        nameable = isinstance(self.file, NameableFile) and top == "2^48"
        error = UnnumberedEndError if cell and nameable else InputError
        remedy = "Fix it, or leave the line out."
        if NUMERAL.fullmatch(cell) and not INTEGER.fullmatch(cell):
            remedy = REAL_END
        return error(
            f"{self._has(role, row, cell)}, and a vertex is a whole number from "
            f"{ids.start}, below {top}. {remedy}"
        )

    def _has(self, role: str, row: int, cell: str) -> str:
        """Return the beginning of a message about a cell."""
        text = cell[:40].encode(errors="surrogateescape").decode(errors="replace")
        has = f'"{text}"' if cell else "nothing"
        column = self.file.layout.columns.name(role)
        return f"{self.where(row)} has {has} in {column}"


def _weight_fault(word: str, real: bool) -> str:
    """Return the fault of a weight, beside others that are `real`; "" for none."""
    if not NUMERAL.fullmatch(word):
        return "and a weight is a number"
    if INTEGER.fullmatch(word):
        if not -(1 << 63) <= int(word) < 1 << 63:
            return "a whole number of over 64 bits"
        if real and abs(int(word)) > MOST_EXACT:
            return (
                "a whole number above 2^53, which float64, that the fractions in other "
                "lines need, does not hold exactly"
            )
    elif isinf(float(word)):
        return "a number beyond the largest float64, 1.8e308"
    return ""
