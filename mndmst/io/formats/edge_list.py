"""Edge lists as text: `u v`, `u v w` or more words a line, ids counted from 0.

This is what SNAP, KONECT, GAP (`.el`, `.wel`) and spreadsheets write. Blanks, tabs,
commas and semicolons separate words; lines that begin with # or % are comments; the
first line may name the columns, by words that are no numbers. A third column is the
weight; what follows it is not read. The largest id gives the number of vertices,
unless a comment in front of the edges says `# 5 vertices`, as `write` does. KaGen's
`.edgelist` begins with `p n m` and has lines `e u v` that count from 1.
"""

import re
from pathlib import Path

from ...host.errors import InputError
from ..edges import MAX_VERTICES, Edges
from ..kernels import edge_lines as kernels
from ..lines import write_lines
from ..name_tables import COLUMNS, name_cells, number_cells, write_rows
from ..whole_file import whole_file
from .heads import read_head
from .text import Lines, TextFile

_COMMENTS = b"#%"
_BLANKS = b" \t\r,;"
_WORD = re.compile(rb"[^ \t\r,;]+")
_NUMBER = re.compile(rb"[\"']?[+-]?[.]?\d")
_PROBLEM = re.compile(rb"p[ \t]+(\d{1,18})[ \t]+\d{1,18}")
_VERTICES = re.compile(rb"#[ \t]*(\d{1,18}) vertices")


def open_file(path: Path) -> TextFile:
    """Open an edge list; see `EdgeFile`. Weights are integers or float64, or 1."""
    comments, line, place = read_head(path, _COMMENTS)
    problem = _PROBLEM.fullmatch(line.strip())
    if problem:
        lines = Lines(b"e", b"p" + _COMMENTS, base=1, columns=kernels.NO_WEIGHT,
                      what='"e u v" with whole numbers u and v')  # fmt: skip
        return TextFile(path, lines, _bounded(path, int(problem[1])), start=place)
    words = _WORD.findall(line)
    if words and not _NUMBER.match(words[0]):
        place += len(line) + 1
        if [word.decode(errors="replace") for word in words] != [*COLUMNS]:
            _check_names(path, len(comments) + 1, words, place)
    promises = map(_VERTICES.fullmatch, comments)
    counts = [_bounded(path, int(promise[1])) for promise in promises if promise]
    lines = _lines(len(words))
    return TextFile(path, lines, counts[-1] if counts else None, start=place)


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


def _lines(columns: int) -> Lines:
    """Return how lines of so many words say an edge; three if there are none."""
    if columns in (1, 2):
        what = '"u v" with whole numbers u and v, like the first line'
        return Lines(b"", _COMMENTS, _BLANKS, 0, kernels.NO_WEIGHT, what)
    more = columns > 3
    what = '"u v w" with whole numbers u and v and a number w, like the first line'
    kind = kernels.WEIGHT_AND_MORE if more else kernels.WEIGHT_LAST
    return Lines(b"", _COMMENTS, _BLANKS, 0, kind, what)


def _check_names(path: Path, number: int, words: list[bytes], place: int) -> None:
    """Raise InputError if the first line is no names of columns, but a broken edge.

    Parameters
    ----------
    number : int
        Which line it is.
    words : list of bytes
        Its words, of which the first is no number.
    place : int
        Where the next line begins.
    """
    if any(map(_NUMBER.match, words)):
        raise InputError(
            f"{path}: line {number} is neither an edge nor names of columns, which "
            "are no numbers. Mend it, or begin it with # if it is a comment."
        )
    if not read_head(path, _COMMENTS, place)[1]:
        raise InputError(
            f"{path}: line {number} is no edge, and none follows it. Mend it, or "
            "begin it with # if the graph has no edges."
        )


def _bounded(path: Path, vertices: int) -> int:
    if vertices > MAX_VERTICES:
        raise InputError(
            f"{path}: says it has {vertices} vertices; at most 2^48 can be numbered. "
            "Mend the line that says it."
        )
    return vertices
