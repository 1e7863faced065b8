"""Tables and lists of edges in text: `u v`, `u v w`, or named columns in any order.

SNAP, KONECT, GAP (`.el`, `.wel`), spreadsheets and data frames write such files.
Tabs, semicolons, commas or blanks separate columns; lines that begin with # or % are
comments. The names in a first line say which columns are the ends and the weight
(`table_columns`); without names they are the first three. The largest id gives the
number of vertices, unless a comment in front of the edges says `# 5 vertices`, as
`write` does. KaGen's `.edgelist` begins with `p n m` and has lines `e u v` that count
from 1.

`DelimitedFile.pieces` yields edges between whole numbers, which are ids;
`named_pieces` the ends of the same lines as text of any length and alphabet, whole
numbers of any size as their digits (`NameableFile`).
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ...host.errors import InputError
from ..atomic_output import whole_file
from ..edge_file import MAX_VERTICES, Edges, UnnumberedEndError
from ..named_edge_file import NameableFile, NamedEdges, is_number
from ..results.text_tables import (
    COLUMNS,
    SEPARATORS,
    name_cells,
    number_cells,
    write_rows,
)
from .edge_text import (
    HUGE_WEIGHT,
    ID,
    INEXACT,
    LONG_WEIGHT,
    NO_NUMBER,
    EndsAndWeights,
    Lines,
    TextFile,
    read_head,
    read_lines,
    read_numbers,
    read_weights,
)
from .table_columns import ROLES, ColumnNames, check_no_columns
from .table_text import (
    BLANKS,
    SAMPLE_LINES,
    TextLayout,
    has_width,
    like_comment,
    read_layout,
    split_row,
)

_COMMENTS = b"#%"
# Of texts without names, in any mixture
_ANY_SEPARATOR = b",;"
_EMPTY_COLUMN = re.compile(rb"[,;][ \t\r]*(?:[,;]|$)|^[ \t]*[,;]", re.MULTILINE)
_WHAT = (
    '"u v" with whole numbers u and v, like the first line',
    '"u v w" with whole numbers u and v and a number w, like the first line',
)
# A comma in place of a point; a point is no number where commas are the marks
_DECIMAL_COMMAS = str.maketrans(",.", ".,")
_TO_BLANKS = bytes.maketrans(_ANY_SEPARATOR, b"  ")
_OTHER_BLANKS = re.compile(r"[\x0b\x0c\x1c-\x1f\x85\xa0]")
_SIGNED_END = re.compile(r"(?<![eE])[+]|-0+(?![0-9.])")
_FAULTS = {
    NO_NUMBER: "and a weight is a number",
    LONG_WEIGHT: "a whole number of over 64 bits",
    HUGE_WEIGHT: "a number beyond the largest float64, 1.8e308",
    INEXACT: "which float64, that the fractions in other lines need, does not hold "
    "exactly",
}

_PROBLEM = re.compile(rb"p[ \t]+(\d{1,18})[ \t]+\d{1,18}")
_VERTICES = re.compile(rb"#[ \t]*(\d{1,18}) vertices")


class DelimitedFile(TextFile, NameableFile):
    """A text of lines with separated columns, compressed or not."""

    def __init__(
        self, path: Path, layout: TextLayout, num_vertices: int | None, start: int
    ) -> None:
        weighted = layout.columns.weight is not None
        lines = Lines(weighted=weighted, what=_WHAT[weighted])
        super().__init__(path, lines, num_vertices, start=start)
        columns = layout.columns
        # Whether all columns are read, in their order, as from a list without names
        self._plain = (
            columns.wanted == list(range(len(columns.names))) and layout.mark == "."
        )
        self.layout = layout
        # Integers below 0, or with many digits, are not text, and 2.0 is a mistake
        self.text_ends = not (layout.text_ends is None or is_number(layout.text_ends))
        note = layout.note()
        self.notes = (note,) if note else ()

    def identity(self) -> dict[str, Any]:
        """Return facts that identify this list; its columns, too."""
        return super().identity() | {"columns": self.layout.columns.text()}

    def pieces(self, begin: int, end: int) -> Iterator[Edges]:
        """Yield the edges of the lines that begin in a range of bytes."""
        real = False
        for place, text in self.blocks(begin, end):
            edges, real = self._parse(place, text, real)
            self.layout.columns.check_costs(self.name, edges.weight)
            yield edges

    def named_pieces(self, begin: int, end: int) -> Iterator[NamedEdges]:
        """Yield the lines that begin in a range of bytes, their ends as text."""
        real = False
        for place, text in self.blocks(begin, end):
            rows = self._rows(place, text)
            src, dst = (rows.names(role) for role in ("source", "target"))
            for words in (src, dst):
                self._check_words(place, words)
            weight = rows.weights(real)
            real |= weight.dtype.kind == "f"
            self.layout.columns.check_costs(self.name, weight)
            yield NamedEdges(np.array(src, object), np.array(dst, object), weight)

    def _by_numpy(self, block: bytes, real: bool) -> EndsAndWeights | None:
        """Read a block as `read_numbers` does, if all lines have all columns."""
        text = block.decode("latin-1")
        if self.layout.separator == BLANKS and _OTHER_BLANKS.search(text):
            return None  # NumPy takes parts of letters in UTF-8 for blanks
        if self.layout.mark == ",":
            text = text.translate(_DECIMAL_COMMAS)
        if ("+" in text or "-0" in text) and _SIGNED_END.search(text):
            return None  # +1 and -0 may be names
        lines = self._edge_lines(text)
        if len(lines) < text.count("\n") and any(
            map(self._like_comment, text.split("\n"))
        ):
            return None
        separator, width = self.layout.separator, len(self.layout.columns.names)
        simple = self._plain and '"' not in text  # NumPy compares the widths
        found = None
        if simple or all(has_width(line, separator, width) for line in lines):
            found = read_numbers(
                lines, self.lines.weighted, real, quotechar='"',
                delimiter=None if separator == BLANKS else separator.decode(),
                usecols=None if self._plain else self.layout.columns.wanted,
            )  # fmt: skip
        if found is None and self._is_mixture(block):
            return super()._by_numpy(block.translate(_TO_BLANKS), real)
        return found

    def _by_words(self, place: int, block: bytes, real: bool) -> EndsAndWeights:
        """Read a block word by word; InputError for a wrong line."""
        if self._is_mixture(block):
            return super()._by_words(place, block.translate(_TO_BLANKS), real)
        rows = self._rows(place, block)
        return rows.ids("source"), rows.ids("target"), rows.weights(real)

    def _is_mixture(self, block: bytes) -> bool:
        """Return whether lines without names may have different separators."""
        bare = self._plain and not self.layout.columns.headed and b'"' not in block
        return bare and _EMPTY_COLUMN.search(block) is None

    def _like_comment(self, line: str) -> bool:
        """Return whether a line is a comment, but has all columns of a table."""
        columns, mark = self.layout.columns, self.layout.separator.decode()
        if mark == " " or 0 in columns.wanted or self._is_edge(line):
            return False
        return line.count(mark) == len(columns.names) - 1

    def _rows(self, place: int, block: bytes) -> "_Rows":
        """Return the rows in the lines of a block; InputError for a wrong line."""
        numbers, rows = [], []
        separator, width = self.layout.separator, len(self.layout.columns.names)

        def where(number: int) -> str:
            return f"{self.name}: line {self.line_number(place) + number}"

        for number, line in enumerate(
            block.decode(errors="surrogateescape").split("\n")
        ):
            if self._is_edge(line):
                found = partial(where, number)
                rows.append(split_row(line, separator, width, found))
                numbers.append(number)
            elif self._like_comment(line):
                raise like_comment(where(number), line.lstrip()[:1], width)
        return _Rows(self, rows, lambda row: where(numbers[row]))

    def _check_words(self, place: int, words: Sequence[str]) -> None:
        """Refuse names that are not text."""
        letters = "".join(words)
        if "\0" in letters:
            raise InputError(
                f"{self.name}: has a byte 0 in or behind line "
                f"{self.line_number(place)}, so it is not a table of text. Save it "
                "again as text."
            )
        try:
            letters.encode("utf-8", "surrogateescape").decode()
        except UnicodeDecodeError as error:
            raise InputError(
                f"{self.name}: a name in or behind line {self.line_number(place)} "
                f"is not UTF-8 ({error.reason}). Save the table in UTF-8."
            ) from error


@dataclass(frozen=True)
class _Rows:
    """Rows of a table in text, whose columns are ends and weights."""

    file: DelimitedFile
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
        """Return the cells of a role as ids of vertices (int64)."""
        bound, words = self.file.num_vertices, self.words(role)
        for row, word in enumerate(words):
            top = MAX_VERTICES if bound is None else bound
            if not ID.fullmatch(word) or int(word) >= top:
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

        def wrong(row: int, fault: int) -> InputError:
            return InputError(
                f"{self._has('weight', row, cells[row])}, {_FAULTS[fault]}. Fix it, or "
                "leave the line out."
            )

        return read_weights(words, real, wrong)

    def _wrong_end(self, role: str, row: int, cell: str) -> InputError:
        bound = self.file.num_vertices
        top = "2^48" if bound is None else str(bound)
        error = InputError if cell == "" else UnnumberedEndError
        return error(
            f"{self._has(role, row, cell)}, and a vertex is a whole number from 0, "
            f"below {top}. Fix it, or leave the line out."
        )

    def _has(self, role: str, row: int, cell: str) -> str:
        """Return the beginning of a message about a cell."""
        text = cell[:40].encode(errors="surrogateescape").decode(errors="replace")
        has = f'"{text}"' if cell else "nothing"
        column = self.file.layout.columns.name(role)
        return f"{self.where(row)} has {has} in {column}"


def open_file(path: Path, asked: ColumnNames | None = None) -> TextFile:
    """Open an edge list; see `EdgeFile`. Weights are integers or float64, or 1."""
    asked = asked or ColumnNames()
    comments, line, place = read_head(path, _COMMENTS)
    problem = _PROBLEM.fullmatch(line.strip())
    if problem:
        check_no_columns(path, asked)
        what = '"e u v" with whole numbers u and v'
        lines = Lines("e", "p#%", base=1, weighted=False, what=what)
        return TextFile(path, lines, _bounded(path, int(problem[1])), start=place)
    promises = map(_VERTICES.fullmatch, comments)
    counts = [_bounded(path, int(promise[1])) for promise in promises if promise]
    promised = counts[-1] if counts else None
    if not line.strip():  # no edge at all
        return TextFile(path, Lines(), promised, start=place)
    behind = place + len(line) + 1
    rows = read_lines(path, _COMMENTS, behind, SAMPLE_LINES)
    above = next((comment for comment in reversed(comments) if comment), b"")
    layout = read_layout(path, len(comments) + 1, line, rows, asked, above)
    start = behind if layout.first_is_header else place
    return DelimitedFile(path, layout, promised, start)


def write(edges: Edges, path: Path) -> None:
    """Write `u v w` a line, names or numbers, separated by tabs or in .csv by commas.

    The names of the columns come first, as spreadsheets and pandas expect them in .csv;
    of numbers between tabs a comment that says how many vertices there are.
    """
    separator, cells = SEPARATORS.get(path.suffix, "\t"), name_cells(edges.names)
    head = separator.join(COLUMNS)
    if edges.names is None and path.suffix != ".csv":
        head = f"# {edges.num_vertices} vertices"
    columns = edges.src, edges.dst, edges.weight
    with whole_file(path) as temporary, temporary.open("w", encoding="utf-8") as file:
        file.write(f"{head}\n")
        write_rows(file, columns, (cells, cells, number_cells), separator)


def _bounded(path: Path, vertices: int) -> int:
    if vertices > MAX_VERTICES:
        raise InputError(
            f"{path}: says it has {vertices} vertices; at most 2^48 can be numbered. "
            "Fix the line that says it."
        )
    return vertices
