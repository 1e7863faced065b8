"""Edge lists as text: `u v`, `u v w`, or tables with names of columns.

SNAP, KONECT, GAP (`.el`, `.wel`), spreadsheets and data frames write such files.
Tabs, semicolons, commas or blanks separate columns; lines that begin with # or % are
comments. The names in a first line say which columns are the ends and the weight
(`table_columns`); without names they are the first three. The largest id gives the
number of vertices, unless a comment in front of the edges says `# 5 vertices`, as
`write` does. KaGen's `.edgelist` begins with `p n m` and has lines `e u v` that count
from 1.
"""

import re
from pathlib import Path

from ...host.errors import InputError
from ..atomic_output import whole_file
from ..edges import MAX_VERTICES, Edges
from ..kernels import edge_lines as kernels
from ..results.text_tables import (
    COLUMNS,
    name_cells,
    number_cells,
    write_lines,
    write_rows,
)
from .delimited import DelimitedFile
from .heads import read_head, read_rows
from .table_columns import ColumnNames, check_no_columns
from .table_text import SAMPLE_LINES, read_layout
from .text import Lines, TextFile

_COMMENTS = b"#%"
_BLANKS = b" \t\r"
_PROBLEM = re.compile(rb"p[ \t]+(\d{1,18})[ \t]+\d{1,18}")
_VERTICES = re.compile(rb"#[ \t]*(\d{1,18}) vertices")


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
        return TextFile(path, Lines(b"", _COMMENTS, _BLANKS), promised, start=place)
    behind = place + len(line) + 1
    rows = read_rows(path, _COMMENTS, behind, SAMPLE_LINES)
    above = next((comment for comment in reversed(comments) if comment), b"")
    layout = read_layout(path, len(comments) + 1, line, rows, asked, above)
    start = behind if layout.first_is_header else place
    return DelimitedFile(path, layout, promised, start)


def write(edges: Edges, path: Path) -> None:
    """Write `u v w` a line, separated by tabs.

    A `.csv` file has commas and the names of its columns, as spreadsheets and pandas
    expect it, and therefore no comment that says how many vertices there are.
    """
    if edges.names is not None:
        _write_named(edges, path)
        return
    line, head = "%d\t%d\t%r", f"# {edges.num_vertices} vertices"
    if path.suffix == ".csv":
        line, head = "%d,%d,%r", ",".join(COLUMNS)
    with whole_file(path) as temporary, temporary.open("w") as file:
        file.write(f"{head}\n")
        write_lines(file, line, (edges.src, edges.dst, edges.weight))


def _write_named(edges: Edges, path: Path) -> None:
    """Write names in place of numbers, below the names of the columns."""
    separator = "," if path.suffix == ".csv" else "\t"
    names = name_cells(edges.names)
    columns = edges.src, edges.dst, edges.weight
    with whole_file(path) as temporary, temporary.open("w", encoding="utf-8") as file:
        file.write(separator.join(COLUMNS) + "\n")
        write_rows(file, columns, (names, names, number_cells), separator)


def _bounded(path: Path, vertices: int) -> int:
    if vertices > MAX_VERTICES:
        raise InputError(
            f"{path}: says it has {vertices} vertices; at most 2^48 can be numbered. "
            "Fix the line that says it."
        )
    return vertices
