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
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ...host.errors import InputError
from ..atomic_output import whole_file
from ..edge_file import MAX_VERTICES, Edges, UnnumberedEndError, checked_edges
from ..kernels import edge_lines as kernels
from ..kernels import table_lines
from ..named_edge_file import NameableFile, NamedEdges, is_number
from ..results.text_tables import (
    COLUMNS,
    SEPARATORS,
    name_cells,
    number_cells,
    write_rows,
)
from .edge_text import Lines, TextFile, read_head, read_lines
from .table_columns import ROLES, ColumnNames, check_no_columns
from .table_text import (
    BLANKS,
    SAMPLE_LINES,
    TextLayout,
    like_comment,
    open_quote,
    read_layout,
    split_line,
    wrong_width,
)

_COMMENTS = b"#%"
# Of texts without names, in any mixture
_ANY_SEPARATOR = b",;"
_EMPTY_COLUMN = re.compile(rb"[,;][ \t\r]*(?:[,;]|$)|^[ \t]*[,;]", re.MULTILINE)
_WHAT = (
    '"u v" with whole numbers u and v, like the first line',
    '"u v w" with whole numbers u and v and a number w, like the first line',
)
# Longest name, in bytes, that is padded to the length of its neighbours.
LONGEST_PADDED = 64

_HEAD_BLANKS = b" \t\r"
_PROBLEM = re.compile(rb"p[ \t]+(\d{1,18})[ \t]+\d{1,18}")
_VERTICES = re.compile(rb"#[ \t]*(\d{1,18}) vertices")


class DelimitedFile(TextFile, NameableFile):
    """A text of lines with separated columns, compressed or not."""

    def __init__(
        self, path: Path, layout: TextLayout, num_vertices: int | None, start: int
    ) -> None:
        weighted = layout.columns.weight is not None
        kind = kernels.WEIGHT_LAST if weighted else kernels.NO_WEIGHT
        headed = layout.columns.headed
        blanks = b" \t\r" + (layout.separator if headed else _ANY_SEPARATOR)
        lines = Lines(b"", _COMMENTS, blanks, 0, kind, _WHAT[weighted])
        super().__init__(path, lines, num_vertices, start=start)
        columns = layout.columns
        # Lines that the faster kernel of `text` reads, too
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
            if b"\0" in text:
                raise InputError(
                    f"{self.name}: has a byte 0 in or behind line "
                    f"{self.line_number(place)}, so it is not a table of text. Save it "
                    "again as text."
                )
            parsed, real = self._parse_table(place, text, real, words=True)
            try:
                src = _words(text, parsed.src, parsed.src_size)
                dst = _words(text, parsed.dst, parsed.dst_size)
            except UnicodeDecodeError as error:
                raise InputError(
                    f"{self.name}: a name in or behind line {self.line_number(place)} "
                    f"is not UTF-8 ({error.reason}). Save the table in UTF-8."
                ) from error
            self.layout.columns.check_costs(self.name, parsed.weight)
            yield NamedEdges(src, dst, parsed.weight)

    def _parse(self, place: int, block: bytes, real: bool) -> tuple[Edges, bool]:
        """Return the edges of a block, and whether any weight is not whole."""
        if self._plain:
            try:
                edges, reals = super()._parse(place, block, real)
                if self._separators_fit(block, len(edges)):
                    return edges, reals
            except InputError:
                # The other kernel knows quotes, and which column is wrong
                if not self.layout.columns.headed and b'"' not in block:
                    raise
        parsed, real = self._parse_table(place, block, real, words=False)
        src, dst, weight = parsed.src, parsed.dst, parsed.weight
        return checked_edges(self.name, self.num_vertices, src, dst, weight), real

    def _separators_fit(self, block: bytes, edges: int) -> bool:
        """Return whether no column in a block is empty."""
        # The faster kernel takes a run of separators for one. In a text without names,
        # lines may have different separators.
        if self.layout.separator == BLANKS:
            return True
        text = np.frombuffer(block, np.uint8)
        found = np.count_nonzero(text == ord(self.layout.separator))
        fits = found == edges * (len(self.layout.columns.names) - 1)
        return fits or (
            not self.layout.columns.headed and _EMPTY_COLUMN.search(block) is None
        )

    def _parse_table(
        self, place: int, block: bytes, real: bool, words: bool
    ) -> tuple[table_lines.TableParsed, bool]:
        """Return the columns of a block, and whether any weight is not whole."""
        weighted = self.layout.columns.weight is not None
        text = np.frombuffer(block + bytes(kernels.PADDING), np.uint8)
        count = np.count_nonzero(text == ord("\n"))
        src, dst = np.empty((2, count), np.int64)
        src_size, dst_size = np.empty((2, count * words), np.int64)
        weight = np.empty(count * weighted, np.float64 if real else np.int64)
        doubtful, doubtful_at = np.empty((2, count if real else 0), np.int64)
        room = table_lines.TableParsed(
            src, dst, src_size, dst_size, weight, doubtful, doubtful_at
        )
        status, at, role, edges, doubts = table_lines.parse_table(
            text, len(block), self._grammar(real, words), room
        )
        if status == kernels.REAL_WEIGHT and not real:
            return self._parse_table(place, block, True, words)
        if status != kernels.GOOD:
            raise self._wrong(status, place, block, at, role)
        for i, begin in zip(
            doubtful[:doubts], doubtful_at[:doubts].tolist(), strict=True
        ):
            weight[i] = float(_number_at(block, begin, self.layout.mark))
            if np.isinf(weight[i]):
                at, role = block.rfind(b"\n", 0, begin) + 1, table_lines.WEIGHT
                raise self._wrong(kernels.HUGE_WEIGHT, place, block, at, role)
        if not weighted:
            weight = np.ones(count, np.int32)
        columns = (src, dst, src_size, dst_size, weight)
        src, dst, src_size, dst_size, weight = (c[:edges] for c in columns)
        return room._replace(
            src=src, dst=dst, src_size=src_size, dst_size=dst_size, weight=weight
        ), real

    def _grammar(self, real: bool, words: bool) -> table_lines.TableGrammar:
        layout = self.layout
        wanted = layout.columns.wanted
        places = np.sort(np.array(wanted, np.int64))
        kinds = np.full(256, kernels.WORD, np.uint8)
        kinds[list(_COMMENTS)] = kernels.COMMENT
        kinds[list(b" \t\r")] = kernels.BLANK
        kinds[ord('"')] = kernels.QUOTE
        by_blanks = layout.separator == BLANKS
        if not by_blanks:
            kinds[ord(layout.separator)] = kernels.SEPARATOR
        kinds[ord("\n")] = kernels.END
        return table_lines.TableGrammar(
            kinds,
            by_blanks,
            np.array([wanted.index(place) for place in places], np.int64),
            np.diff(places, prepend=-1) - 1,
            len(layout.columns.names) - 1 - int(places[-1]),
            MAX_VERTICES if self.num_vertices is None else self.num_vertices,
            ord(layout.mark),
            real,
            words,
        )

    def _wrong(
        self, status: int, place: int, block: bytes, at: int, role: int
    ) -> InputError:
        """Return the error for the line at a position of a block, by its columns."""
        columns, number = self.layout.columns, self.line_number(place + at)
        line = block[at : block.index(b"\n", at)]
        cells = split_line(line.rstrip(b"\r"), self.layout.separator)
        where = f"{self.name}: line {number}"
        if status == table_lines.LIKE_COMMENT:
            mark = line.lstrip()[:1].decode()
            return like_comment(where, mark, len(cells))
        if status == table_lines.OPEN_QUOTE or line.count(b'"') % 2:
            return open_quote(where)
        if len(cells) != len(columns.names):
            return wrong_width(where, len(cells), len(columns.names))
        if role == table_lines.OTHER:
            return InputError(
                f"{where} has a quoted field that goes on behind its quote. Double the "
                "quotes in a field."
            )
        cell = cells[columns.wanted[role]]
        has = f'"{cell[:40]}"' if cell else "nothing"
        shown = f"has {has} in {columns.name(ROLES[role])}"
        if role != table_lines.WEIGHT:
            top = "2^48" if self.num_vertices is None else str(self.num_vertices)
            error = InputError if cell == "" else UnnumberedEndError
            return error(
                f"{where} {shown}, and a vertex is a whole number from 0, below {top}. "
                "Fix it, or leave the line out."
            )
        why = {
            kernels.LONG_WEIGHT: "a whole number of over 64 bits",
            kernels.HUGE_WEIGHT: "a number beyond the largest float64, 1.8e308",
            kernels.INEXACT: "which float64, that the fractions in other lines need, "
            "does not hold exactly",
        }.get(status, "and a weight is a number")
        return InputError(f"{where} {shown}, {why}. Fix it, or leave the line out.")


def _words(block: bytes, begins: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return words of a text, as an array of str, or of objects if one is long."""
    longest = int(sizes.max(initial=1))
    if longest > LONGEST_PADDED:
        ends = begins + sizes
        words = [
            block[begin:end].decode().replace('""', '"')
            for begin, end in zip(begins.tolist(), ends.tolist(), strict=True)
        ]
        return np.array(words, object)
    rows = np.zeros((len(begins), longest), np.uint8)
    table_lines.copy_words(np.frombuffer(block, np.uint8), begins, sizes, rows)
    padded = rows.view(f"S{longest}").reshape(-1)
    ascii_alone = rows.max(initial=0) < 128
    names = padded.astype(np.str_) if ascii_alone else np.char.decode(padded, "utf-8")
    return np.char.replace(names, '""', '"') if b'""' in block else names


def _number_at(block: bytes, begin: int, mark: str) -> str:
    """Return the number that begins at a byte of a text, with a decimal point."""
    digits = rb"[+-]?\d*" + re.escape(mark.encode()) + rb"?\d*(?:[eE][+-]?\d+)?"
    found = re.compile(digits).match(block, begin)
    return (found[0] if found else b"").decode().replace(",", ".")


def open_file(path: Path, asked: ColumnNames | None = None) -> TextFile:
    """Open an edge list; see `EdgeFile`. Weights are integers or float64, or 1."""
    asked = asked or ColumnNames()
    comments, line, place = read_head(path, _COMMENTS)
    problem = _PROBLEM.fullmatch(line.strip())
    if problem:
        check_no_columns(path, asked)
        lines = Lines(b"e", b"p" + _COMMENTS, base=1, columns=kernels.NO_WEIGHT,
                      what='"e u v" with whole numbers u and v')  # fmt: skip
        return TextFile(path, lines, _bounded(path, int(problem[1])), start=place)
    promises = map(_VERTICES.fullmatch, comments)
    counts = [_bounded(path, int(promise[1])) for promise in promises if promise]
    promised = counts[-1] if counts else None
    if not line.strip():  # no edge at all
        return TextFile(
            path, Lines(b"", _COMMENTS, _HEAD_BLANKS), promised, start=place
        )
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
