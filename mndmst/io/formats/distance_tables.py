"""Matrices of distances from tables: text, Parquet and Arrow, with or without names.

Programs of phylogeny, epidemiology and ecology write them in several shapes:

- square, with names in the first column and row, and any word or none in the corner;
  or in one of these; or without names;
- a lower or upper triangle, with or without the diagonal, padded or not, where the
  names, or the number of points in PHYLIP's first line, say how many points there are;
- PHYLIP: the number of points, then a line for each.

The rule for missing values (empty, -, NA and their like): on the diagonal it is 0; of
two mirrored entries the other value counts; if both are missing it is an error.
Correlations have the same shapes, and 1 on the diagonal.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...host.errors import InputError
from ...host.formatting import counted
from ...host.memory import FREE_MEMORY
from ...host.memory_costs import DISTANCE_MATRIX_COPIES, DISTANCE_TEXT_COPIES
from ..memory_limit import check_room
from .edge_text import check_letters
from .matrix_values import DISTANCES, MatrixValues, check_values
from .packed_files import read_bytes
from .point_columns import is_id
from .table_columns import NUMBER, TEXT, titled
from .table_dialect import MARKS, check_not_matrix_market
from .table_text import (
    BLANKS,
    COMMA_NUMBER,
    MISSING,
    SEPARATORS,
    split_line,
)
from .typed_tables import ParquetTable

if TYPE_CHECKING:
    import pyarrow

_ABSENT = MISSING - {"inf", "-inf"} | {"-", ".", "?"}
_BOM = "\ufeff"


class DistanceTable(NamedTuple):
    """A symmetric matrix and the names of its points."""

    matrix: np.ndarray  # float64 [points, points]
    names: list[str] | None
    note: str  # one line that says how it is read


class _Line(NamedTuple):
    """A line of a text that is not empty."""

    number: int  # in the file, from 1
    text: str


class _Shape(NamedTuple):
    """The cells that the rows of a table have."""

    words: str
    # The first column of a row, and the column behind its last one, by row and points
    bounds: Callable[[int, int], tuple[int, int]]

    @property
    def is_triangle(self) -> bool:
        """Whether a row has the cells of one side of the diagonal alone."""
        return self.bounds(0, 2) != self.bounds(1, 2)

    def fits(self, rows: "Sequence[_Row]") -> bool:
        """Return whether rows have these cells, and no others but empty ones behind."""
        bounds = (self.bounds(i, len(rows)) for i in range(len(rows)))
        return all(
            row.filled <= high - low <= len(row.values)
            for row, (low, high) in zip(rows, bounds, strict=True)
        )


class _Row(NamedTuple):
    """The distances in a line."""

    values: np.ndarray  # float64; NaN where one is missing
    filled: int  # how many there are up to the last one that is not empty


_SHAPES = (
    _Shape("square", lambda i, n: (0, n)),
    _Shape("lower triangle without the diagonal", lambda i, n: (0, i)),
    _Shape("lower triangle", lambda i, n: (0, i + 1)),
    _Shape("upper triangle without the diagonal", lambda i, n: (i + 1, n)),
    _Shape("upper triangle", lambda i, n: (i, n)),
)


def read_distance_text(path: Path, values: MatrixValues = DISTANCES) -> DistanceTable:
    """Read a matrix from a text; InputError names the line and column."""
    content = bytes(read_bytes(path, FREE_MEMORY, DISTANCE_TEXT_COPIES))
    check_letters(path, content)
    check_not_matrix_market(path, content[:80])
    text = content.decode("utf-8", "replace")
    lines = [
        _Line(number, line.rstrip("\r"))
        for number, line in enumerate(text.removeprefix(_BOM).split("\n"), 1)
        if line.strip()
    ]
    separator = _separator(lines)
    while lines and _is_comment(lines, separator):
        del lines[0]
    column = [_first_cell(line.text, separator) for line in lines]
    header, is_phylip = None, _has_count(lines, column, separator)
    if not is_phylip:
        header = _header(path, lines, column, separator)
    if header is not None or is_phylip:
        del lines[0], column[0]
    named = is_phylip or column == header or not all(_is_value(c) for c in column)
    names = column if named else header
    if named and header is not None:
        names = _same_names(path, column, header)
    n = len(lines)
    if n < 2 or (names is not None and len(names) != n):
        raise InputError(
            f"{path}: has {counted(n, 'row')} of distances of "
            f"{counted(len(names or ()), 'point')}. Give a square matrix, or a "
            "triangle with names."
        )
    check_room(FREE_MEMORY, path, DISTANCE_MATRIX_COPIES * 8 * n * n, "its distances")
    rows = [_distances(path, line, separator, named) for line in lines]
    return _matrix_of(path, rows, names, lines, values)


def read_typed_distances(
    table: ParquetTable, meaning: MatrixValues = DISTANCES
) -> DistanceTable:
    """Read a matrix from a Parquet or Arrow file."""
    path, columns, count = table.path, table.columns(), sum(table.group_rows)
    texts = [i for i, column in enumerate(columns) if column.kind == TEXT]
    if not texts and len(columns) == count + 1:
        texts = [i for i, column in enumerate(columns) if is_id(column.name)]
    values = [i for i, c in enumerate(columns) if c.kind == NUMBER and i not in texts]
    if len(values) != count or len(texts) > 1:
        raise InputError(
            f"{path}: has {counted(count, 'row')} and {counted(len(values), 'column')} "
            f"of numbers beside {counted(len(texts), 'column')} of names, and a matrix "
            "of distances is square, with the names in one column or none."
        )
    check_room(
        FREE_MEMORY, path, DISTANCE_MATRIX_COPIES * 8 * count**2, "its distances"
    )
    matrix = np.full((count, count), np.nan)
    rows: list[str] = []
    for first, batch in table.rows(0, count, [*values, *texts]):
        for k, column in enumerate(batch.columns[:count]):
            matrix[first : first + len(batch), k] = _numbers(column)
        rows += [
            str(name) for column in batch.columns[count:] for name in column.to_pylist()
        ]
    names = [columns[i].name for i in values]
    if texts:
        names = _same_names(path, rows, names)
    return _checked(path, matrix, names, "square", meaning)


def _numbers(column: "pyarrow.Array") -> np.ndarray:
    """Return a column of Arrow as float64; NaN where a value is missing."""
    values = np.asarray(column.to_numpy(zero_copy_only=False))
    if values.dtype.kind == "O":  # decimals or missing integers
        values = np.array([np.nan if v is None else float(v) for v in values])
    return values.astype(np.float64)


def _separator(lines: Sequence[_Line]) -> bytes:
    """Return the separator that most lines have."""
    for separator in SEPARATORS:
        having = sum(separator.decode() in line.text.strip(" ") for line in lines)
        if having and 2 * having >= len(lines):
            return separator
    return BLANKS


def _is_comment(lines: Sequence[_Line], separator: bytes) -> bool:
    """Return whether the first line is a comment, and not a header with a mark."""
    first, *others = lines[0], *lines[1:2], *lines[-1:]
    width = max(len(split_line(line.text, separator)) for line in others)
    cells = split_line(first.text, separator)
    return cells[0][:1] in tuple(MARKS) and len(cells) not in (width, width - 1)


def _first_cell(line: str, separator: bytes) -> str:
    if '"' in line or separator == BLANKS:
        return split_line(line, separator)[0]
    return line.split(separator.decode(), 1)[0].strip()


def _has_count(lines: Sequence[_Line], column: Sequence[str], separator: bytes) -> bool:
    """Return whether the first line has the number of the others, as in PHYLIP."""
    first = list(filter(None, split_line(lines[0].text, separator))) if lines else []
    return first == [str(len(column) - 1)]


def _is_value(cell: str) -> bool:
    return cell.casefold() in _ABSENT or _number(cell) is not None


def _number(cell: str) -> float | None:
    """Return the number in a cell, maybe with a decimal comma; None for a text."""
    if COMMA_NUMBER.fullmatch(cell):
        cell = cell.replace(",", ".")
    try:
        return float(cell)
    except ValueError:
        return None


def _header(
    path: Path, lines: Sequence[_Line], column: Sequence[str], separator: bytes
) -> list[str] | None:
    """Return the names in the first line without the corner; None if it has none."""
    if len(lines) < 2:
        return None
    first, below = split_line(lines[0].text, separator), list(column[1:])
    second = split_line(lines[1].text, separator)
    # Numbers may be names, too; a symmetric matrix of numbers begins with a number
    if first == below and len(second) == len(first) + 1:
        return first
    if first[1:] == below and (first[0] == "" or not _is_value(first[0])):
        if len(second) > 1 and second[1] == "" and all(map(_is_value, below)):
            raise InputError(
                f"{path}: its first line and column may be names, or distances "
                "beside an empty diagonal. Write 0 on the diagonal."
            )
        return below
    texts = [i for i, cell in enumerate(first) if not _is_value(cell)]
    if not texts or texts == [0]:  # the first may be the name of a row
        return None
    return first[1:] if len(first) == len(below) + 1 else first


def _same_names(path: Path, rows: Sequence[str], columns: Sequence[str]) -> list[str]:
    """Return the names of the rows, which the columns must have in the same order."""
    if len(rows) != len(columns):
        raise InputError(
            f"{path}: has {counted(len(rows), 'row')} and names "
            f"{counted(len(columns), 'column')}, and a matrix of distances is square."
        )
    for k, (row, column) in enumerate(zip(rows, columns, strict=True)):
        if row != column:
            raise InputError(
                f"{path}: row {k + 1} is named {_short(row)} and column {k + 1} "
                f"{_short(column)}. A matrix of distances has the same points in rows "
                "and columns, in one order."
            )
    return list(rows)


def _distances(path: Path, line: _Line, separator: bytes, named: bool) -> _Row:
    """Return the distances in a line."""
    cells = split_line(line.text, separator)[named:]
    filled = next((k for k in range(len(cells), 0, -1) if cells[k - 1]), 0)
    try:
        values = np.array(cells, np.float64)
    except ValueError:
        where = f"{path}: line {line.number}"
        values = np.fromiter(_values(where, cells), np.float64)
    return _Row(values, filled)


def _values(where: str, cells: Sequence[str]) -> Iterator[float]:
    """Yield the numbers in cells, NaN for missing ones."""
    for cell in cells:
        value = _number(cell)
        if value is None and cell.casefold() not in _ABSENT:
            raise InputError(
                f'{where} has "{cell[:40]}", and a distance is a number. Fix it, or '
                "leave the point out."
            )
        yield np.nan if value is None else value


def _matrix_of(
    path: Path,
    rows: Sequence[_Row],
    names: list[str] | None,
    lines: Sequence[_Line],
    values: MatrixValues,
) -> DistanceTable:
    """Return the matrix of the numbers in rows, which may be a triangle."""
    n = len(rows)
    shape = next((shape for shape in _SHAPES if shape.fits(rows)), None)
    if shape is None:
        k = next((k for k, row in enumerate(rows) if len(row.values) != n), 0)
        raise InputError(
            f"{path}: line {lines[k].number} has {counted(rows[k].filled, 'distance')} "
            f"of {counted(n, 'point')}. Give a square matrix, or a triangle of one."
        )
    matrix = np.full((n, n), np.nan)
    for i, row in enumerate(rows):
        low, high = shape.bounds(i, n)
        matrix[i, low:high] = row.values[: high - low]
    diagonal = np.nan_to_num(matrix.diagonal(), nan=values.diagonal)
    if names is None and shape.is_triangle and (diagonal != values.diagonal).any():
        raise InputError(
            f"{path}: is a triangle without names, and has other numbers than "
            f"{values.diagonal:g} where its diagonal is, so the diagonal may be "
            "left out. Give the names of the points in the first column, or a square "
            "matrix."
        )
    return _checked(path, matrix, names, shape.words, values)


def _checked(
    path: Path,
    matrix: np.ndarray,
    names: list[str] | None,
    shape: str,
    values: MatrixValues,
) -> DistanceTable:
    """Return a symmetric matrix without missing values; refuse others."""
    n = len(matrix)
    default = names == list(map(str, range(n)))
    if names is not None and len(set(names)) < n:
        twice = next(name for k, name in enumerate(names) if name in names[:k])
        raise InputError(
            f"{path}: two rows are named {_short(twice)}. Give each point its own name."
        )
    missing = np.flatnonzero(np.isnan(matrix.diagonal()))
    matrix[missing, missing] = values.diagonal
    for i in range(n):  # a row at a time: no copies of the matrix
        row, column = matrix[i, :i], matrix[:i, i]
        np.copyto(row, column, where=np.isnan(row))
        np.copyto(column, row, where=np.isnan(column))
    further = check_values(f"{path}: ", matrix, values, names)
    named = "without names" if names is None or default else "with names"
    note = f"{values.noun}s of {counted(n, 'point')} {named}: {shape}"
    if further:
        note += f"; {further}"
    return DistanceTable(matrix, None if default else names, note)


def _short(name: str) -> str:
    return titled(name[:60])
