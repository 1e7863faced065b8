"""Tables and lists of edges in text: `u v`, `u v w`, or named columns in any order.

SNAP, KONECT, GAP (`.el`, `.wel`), spreadsheets and data frames write such files.
Tabs, semicolons, commas or blanks separate columns; lines that begin with # or % are
comments. The names in a first line say which columns are the ends and the weight
(`table_columns`); without names they are the first three. The largest id gives the
number of vertices, unless a comment in front of the edges says `# 5 vertices`, as
`write` does, or `# 5 vertices from 1` where the ids do not begin at 0. KaGen's
`.edgelist` begins with `p n m` and has lines `e u v` that count from 1.

DIMACS [1], `.gr`, has 1-based arcs, one `a u v w` a line. Most files list every edge in
both directions, some only one, some different weights for the two; the list is
therefore taken as directed. The count in the `p sp n m` line is that of the arcs.

In a Matrix Market coordinate file [2], `.mtx`, entry (u, v) is an edge. A pattern has
weights 1. The entries may be general or symmetric, in either triangle.

igraph's NCOL format, `.ncol`, has `name name` or `name name weight` a line. Names have
no blanks in them, and are texts, even if they look like numbers.

`DelimitedFile.pieces` yields edges between whole numbers, which are ids;
`named_pieces` the ends of the same lines as text of any length and alphabet, whole
numbers of any size as their digits (`NameableFile`).

[1] 9th DIMACS Implementation Challenge, Shortest Paths, 2006.

[2] Boisvert, Pozo and Remington: The Matrix Market Exchange Formats. NISTIR 5935, 1996.
"""

import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ...host.errors import ConfigError, InputError
from ...host.formatting import counted
from ...host.memory import Budget
from ..atomic_output import AtomicOutput
from ..edge_file import MAX_VERTICES, Edges, number_weights, read_number
from ..named_edge_file import (
    EdgesByName,
    NameableFile,
    NamedEdgeFile,
    TableEdges,
    is_number,
)
from ..names import IdRange, NameKind, escaped, names_of_words
from ..results.text_tables import (
    COLUMNS,
    SEPARATORS,
    name_cells,
    number_cells,
    write_rows,
)
from .edge_layout import TextLayout, read_layout
from .edge_text import TextFile, check_counts, read_head, read_lines
from .packed_files import import_scipy
from .table_columns import ColumnNames, check_no_columns
from .table_dialect import MARKS, check_comments_alone
from .table_text import SAMPLE_LINES

_COMMENTS = MARKS.encode()
_KAGEN = re.compile(rb"p[ \t]+(\d{1,18})[ \t]+\d{1,18}")
_VERTICES = re.compile(rb"#[ \t]*(\d{1,18}) vertices(?: from (\d{1,15}))?")
_DIMACS = re.compile(rb"p[ \t]+sp[ \t]+(\d{1,18})[ \t]+(\d{1,18})[ \t\r]*")
_SHORTEST_ARC = len("a 1 1 1\n")
_BANNER = re.compile(rb"%%matrixmarket\s+matrix\s+(\w+)\s+([\w-]+)\s+([\w-]+)", re.I)
_SIZE = re.compile(rb"(\d{1,18})\s+(\d{1,18})\s+(\d{1,18})")
_KINDS_OF_MATRICES = (
    ("coordinate",),
    ("integer", "real", "double", "pattern", "unsigned-integer"),
    ("general", "symmetric"),
)
_SHORTEST_ENTRY = len("1 1\n")
_NCOL_BLANKS = " \t\r\n\v\f"


class DelimitedFile(TextFile, NameableFile):
    """A text of lines with separated columns, compressed or not."""

    def __init__(
        self,
        path: Path,
        budget: Budget,
        layout: TextLayout,
        num_vertices: int | None,
        start: int,
    ) -> None:
        super().__init__(path, budget, layout, num_vertices, start=start)
        # Integers below 0, or with many digits, are not text, and 2.0 is a mistake
        self.text_ends = not (layout.text_ends is None or is_number(layout.text_ends))
        note = layout.note()
        self.notes = (note,) if note else ()
        self.weight_name = layout.columns.weight_name

    def identity(self) -> dict[str, object]:
        """Return facts that identify this list; its columns, too."""
        return super().identity() | {"columns": self.layout.columns.text()}

    def named_pieces(self, begin: int, end: int) -> Iterator[TableEdges]:
        """Yield the lines that begin in a range of bytes, their ends as text."""
        real = False
        for offset, text in self.blocks(begin, end):
            rows = self.rows_of(offset, text)
            src, dst = (rows.names(role) for role in ("source", "target"))
            for words in (src, dst):
                self._check_words(offset, words)
            weight = rows.weights(real)
            real |= weight.dtype.kind == "f"
            self.layout.columns.check_costs(self.name, weight)
            yield np.array(src, object), np.array(dst, object), weight

    def _check_words(self, offset: int, words: Sequence[str]) -> None:
        """Refuse names that are not text."""
        letters = "".join(words)
        if "\0" in letters:
            raise InputError(
                f"{self.name}: has a byte 0 in or behind line "
                f"{self.line_number(offset)}, so it is not a table of text. Save it "
                "again as text."
            )
        try:
            letters.encode("utf-8", "surrogateescape").decode()
        except UnicodeDecodeError as error:
            raise InputError(
                f"{self.name}: a name in or behind line {self.line_number(offset)} "
                f"is not UTF-8 ({error.reason}). Save the table in UTF-8."
            ) from error


def open_file(
    path: Path, budget: Budget, picked: ColumnNames | None = None
) -> TextFile:
    """Open an edge list; see `EdgeFile`. Weights are integers or float64, or 1."""
    picked = picked or ColumnNames()
    comments, line, offset = read_head(path, budget, _COMMENTS)
    problem = _KAGEN.fullmatch(line.strip())
    if problem:
        check_no_columns(path, picked)
        layout = TextLayout.of_list(False, comments=f"p{MARKS}", prefix="e", base=1)
        return TextFile(
            path, budget, layout, _bounded(path, int(problem[1])), start=offset
        )
    promises = [p for p in map(_VERTICES.fullmatch, comments) if p]
    promised = _bounded(path, int(promises[-1][1])) if promises else None
    first_id = int(promises[-1][2] or 0) if promises else 0
    if not line.strip():  # no edge at all
        if not any(comments):
            raise InputError(
                f"{path}: is empty, or has blank lines alone. Check the program that "
                "wrote it; a graph without edges has a line with a comment, such as #, "
                "or names of columns."
            )
        check_comments_alone(path, comments)
        layout = TextLayout.of_list(base=first_id)
        return TextFile(path, budget, layout, promised, start=offset)
    behind = offset + len(line) + 1
    rows = read_lines(path, budget, _COMMENTS, behind, SAMPLE_LINES)
    layout = read_layout(path, comments, line, rows, picked)
    layout = replace(layout, base=first_id)
    start = behind if layout.first_is_header else offset
    return DelimitedFile(path, budget, layout, promised, start)


def write(edges: Edges, path: Path, files: AtomicOutput) -> None:
    """Write `u v w` a line, names or numbers, separated by tabs or in .csv by commas.

    The first line has the names of the columns, as spreadsheets and pandas expect in
    .csv. A file of numbers between tabs begins with a comment instead, which has the
    number of vertices.
    """
    separator, names = SEPARATORS.get(path.suffix, "\t"), edges.names
    head = separator.join(COLUMNS)
    if names is None and path.suffix != ".csv":
        head = f"# {edges.num_vertices} vertices"
        if edges.first_id:
            head += f" from {edges.first_id}"
            names = IdRange(edges.first_id, edges.num_vertices)
    cells = name_cells(path, names)
    columns = edges.src, edges.dst, edges.weight
    with files.file(path) as temporary, temporary.open("w", encoding="utf-8") as file:
        file.write(f"{head}\n")
        write_rows(file, columns, (cells, cells, number_cells), separator)


def _bounded(path: Path, vertices: int) -> int:
    if vertices > MAX_VERTICES:
        raise InputError(
            f"{path}: says it has {vertices} vertices; at most 2^48 can be numbered. "
            "Fix the line that says it."
        )
    return vertices


def open_dimacs(path: Path, budget: Budget) -> TextFile:
    """Open a `.gr` file, compressed or not; see `EdgeFile`."""
    _, line, offset = read_head(path, budget, b"c")
    problem = _DIMACS.fullmatch(line)
    if problem is None:
        raise InputError(f'{path}: has no line "p sp n m". Put it before the arcs.')
    vertices, arcs = map(int, problem.groups())
    said = f"its p line says {counted(vertices, 'vertex')} and {counted(arcs, 'arc')}"
    check_counts(path, said, vertices, (arcs - 1) * _SHORTEST_ARC)
    layout = TextLayout.of_list(comments="cp", prefix="a", base=1)
    return TextFile(path, budget, layout, vertices, arcs, offset)


def write_dimacs(edges: Edges, path: Path, files: AtomicOutput) -> None:
    """Write a `.gr` file; an undirected edge is listed in both directions."""
    scipy = import_scipy()
    src, dst, weight = edges.src, edges.dst, edges.weight
    if not edges.directed:
        src, dst = np.concatenate((src, dst)), np.concatenate((dst, src))
        weight = np.tile(weight, 2)
    # SciPy writes numbers fast and exactly: a list of Matrix Market entries has the
    # lines wanted, but for the letter in front.
    size = (edges.num_vertices, edges.num_vertices)
    matrix = scipy.sparse.coo_array((weight, (src, dst)), shape=size)
    buffer = io.BytesIO()
    scipy.io.mmwrite(buffer, matrix, symmetry="general")
    entries = buffer.getvalue().split(b"\n", 3)[3].rstrip(b"\n")
    with files.file(path) as temporary, temporary.open("wb") as file:
        file.write(f"p sp {edges.num_vertices} {len(src)}\n".encode())
        if entries:
            file.write(b"a " + entries.replace(b"\n", b"\na ") + b"\n")


def open_matrix_market(path: Path, budget: Budget) -> TextFile:
    """Open a `.mtx` file; see `EdgeFile`. Weights are integers or float64, or 1."""
    comments, line, offset = read_head(path, budget, b"%")
    banner = _BANNER.fullmatch(comments[0]) if comments else None
    if banner is None:
        raise InputError(
            f'{path}: does not begin with a line "%%MatrixMarket matrix ...". Put it '
            "there, or name the format."
        )
    kind = [word.decode().lower() for word in banner.groups()]
    if any(
        word not in known for word, known in zip(kind, _KINDS_OF_MATRICES, strict=True)
    ):
        raise InputError(
            f"{path}: is a matrix of kind {' '.join(kind)}; a graph is coordinate, "
            "integer or real or pattern, general or symmetric."
        )
    size = _SIZE.fullmatch(line.strip())
    if size is None:
        raise InputError(
            f"{path}: has no line with its size, such as 5 5 7, after the comments. "
            "Put it there."
        )
    rows, columns, entries = map(int, size.groups())
    if rows != columns:
        raise InputError(
            f"{path}: is a {rows} by {columns} matrix. The matrix of a graph is square."
        )
    said = f"says {counted(rows, 'row')} and {counted(entries, 'entry')}"
    check_counts(path, said, rows, (entries - 1) * _SHORTEST_ENTRY)
    layout = TextLayout.of_list(kind[1] != "pattern", comments="%", base=1)
    return TextFile(path, budget, layout, rows, entries, offset + len(line) + 1)


def write_matrix_market(edges: Edges, path: Path, files: AtomicOutput) -> None:
    """Write a `.mtx` file: general if directed, else symmetric."""
    scipy = import_scipy()
    src, dst = edges.src, edges.dst
    if not edges.directed:  # the lower triangle stands for both
        src, dst = np.maximum(src, dst), np.minimum(src, dst)
    size = (edges.num_vertices, edges.num_vertices)
    matrix = scipy.sparse.coo_array((edges.weight, (src, dst)), shape=size)
    symmetry = "general" if edges.directed else "symmetric"
    with files.file(path) as temporary, temporary.open("wb") as file:
        scipy.io.mmwrite(file, matrix, symmetry=symmetry)


class NcolFile(NamedEdgeFile):
    """An edge list of names, `.ncol`, compressed or not. It counts in bytes."""

    kind = NameKind.TEXT

    def __init__(self, path: Path, budget: Budget) -> None:
        self.budget = budget
        self._text = TextFile(path, budget, TextLayout.of_list())
        _, first, _ = read_head(path, budget, b"")
        self._weighted = len(first.split()) > 2
        self.name, self.length = self._text.name, self._text.length
        self.seekable = self._text.seekable

    def named_pieces(self, begin: int, end: int) -> Iterator[EdgesByName]:
        """Yield the edges of the lines that begin in a range of bytes."""
        for offset, block in self._text.blocks(begin, end):
            src, dst, weights = [], [], []
            for row, line in enumerate(block.split(b"\n")):
                words = line.split()
                if not words:
                    continue
                what = 'is not "name name weight"'
                try:
                    one, other, *weight = words
                    if len(weight) > 1:
                        raise ValueError(what)
                    if bool(weight) != self._weighted:
                        here, there = ("a", "none") if weight else ("no", "one")
                        what = f"has {here} weight, and the first edge has {there}"
                        raise ValueError(what)
                    what = "has a weight that is not a number"
                    number = read_number(weight[0].decode()) if weight else 1
                    if number != number:
                        raise ValueError(what)
                    weights.append(number)
                except ValueError as error:
                    number = self._text.line_number(offset) + row
                    raise InputError(
                        f"{self.name}: line {number} {what}. Fix it."
                    ) from error
                src.append(one)
                dst.append(other)
            if weights:
                yield EdgesByName(
                    names_of_words(self.name, src),
                    names_of_words(self.name, dst),
                    number_weights(self.name, weights),
                )


def write_ncol(edges: Edges, path: Path, files: AtomicOutput) -> None:
    """Write `name name weight` a line; vertices without edges are left out."""

    def texts(ends: np.ndarray) -> list[str]:
        if edges.names is None:
            return list(map(str, ends.tolist()))
        names = edges.names.take(ends).texts()
        for text in names:
            if any(blank in text for blank in _NCOL_BLANKS):
                raise ConfigError(
                    f'{path}: the name "{escaped(text)}" has a blank, which .ncol does '
                    "not allow. Give a name in .csv, .json or .parquet."
                )
        return names

    columns = edges.src, edges.dst, edges.weight
    with files.file(path) as temporary, temporary.open("w", encoding="utf-8") as file:
        write_rows(file, columns, (texts, texts, number_cells), " ")
