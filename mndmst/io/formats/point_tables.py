"""Points from tables: text, Parquet and Arrow; `point_columns` chooses the columns.

Separators, quotes, comments and names of columns of text are as in edge tables
(`table_dialect`).
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...host.errors import InputError
from ...host.formatting import counted
from ...host.memory import FREE_MEMORY
from ...host.memory_costs import POINT_TEXT_COPIES, POINT_TYPED_COPIES
from ..edge_file import MOST_EXACT, is_exact
from ..memory_limit import check_room
from .edge_text import read_head, read_lines
from .packed_files import import_extra, read_bytes, read_text, unpacked_suffix
from .point_columns import (
    PointColumns,
    choose_coordinates,
    is_id,
    knows_points,
    refuse_ids,
)
from .table_columns import LEAST_MATRIX, TEXT, Column, titled
from .table_dialect import MARKS, TableDialect, TableSubject, check_comments_alone
from .table_text import (
    BLANKS,
    SAMPLE_LINES,
    WHOLE,
    has_decimal_commas,
    has_width,
    is_number,
    split_row,
    without_comment,
)
from .typed_tables import ArrowTable, ParquetTable, check_complete, is_whole

if TYPE_CHECKING:
    import pyarrow

CHECKED = 1 << 16  # points at a time
REPLACEMENT = "\ufffd"  # in place of bytes that are not UTF-8
# An id that is a number as it stands: 7, but not 007
_INTEGER = re.compile(r"[+-]?[0-9]+")
_ID = re.compile(r"0|[1-9][0-9]{,18}")
# Suffixes of files of points: arrays, Parquet and Arrow by their readers, and all
POINT_ARRAYS = (".npy", ".npz")
TYPED_POINTS = {".parquet": ParquetTable, ".arrow": ArrowTable, ".feather": ArrowTable}
POINT_SUFFIXES = (
    *POINT_ARRAYS, ".csv", ".tsv", ".txt", ".tab", ".profile", *TYPED_POINTS
)  # fmt: skip


def is_point_file(path: Path) -> bool:
    """Return whether a path has the name of a file of points."""
    path, _ = split_key(path, None)
    return not path.is_dir() and unpacked_suffix(path) in POINT_SUFFIXES


def split_key(path: Path, key: str | None) -> tuple[Path, str | None]:
    """Return the file and the array of `points.npz:name`."""
    file, colon, name = path.name.partition(".npz:")
    if not colon or path.exists():
        return path, key
    return path.with_name(f"{file}.npz"), name if key is None else key


def check_integers(
    points: np.ndarray, source: str, first: int = 0, column: str = ""
) -> None:
    """Refuse integers that float64 would round: different points could become equal.

    `source` begins the message, which counts points from `first` and names a `column`.
    Times among objects, which are numbers to NumPy, are refused, too.
    """
    whole = points.dtype.kind in "iu" and points.dtype.itemsize == 8
    if not whole and points.dtype.kind != "O":
        return
    for begin in range(0, len(points), CHECKED):
        part = points[begin : begin + CHECKED].reshape(-1, *points.shape[1:2])
        large = np.ones(part.shape, np.bool_)
        if whole:  # Python compares an integer with a float exactly
            large = (part > MOST_EXACT) | (part < -MOST_EXACT)
        for index in np.argwhere(large):
            number, row = part.item(*index), first + begin + int(index[0])
            if isinstance(number, np.datetime64 | np.timedelta64):
                raise InputError(f"{source}point {row} has a time. Give numbers.")
            if isinstance(number, int | np.integer) and not is_exact(int(number)):
                raise rounded_integer(source, row, int(number), column)


def rounded_integer(source: str, row: int, number: int, column: str = "") -> InputError:
    """Return the error for an integer that float64 would round, in a named column."""
    where = f" in column {column}" if column else ""
    ids = " If it is an id, name the coordinates: --columns A,B." if column else ""
    return InputError(
        f"{source}point {row} has the coordinate {number}{where}, which float64 would "
        f"round. Subtract the smallest number of each column first.{ids}"
    )


def is_float(cell: str, separator: bytes) -> bool:
    """Return whether a field is a number, nan or inf."""
    if is_number(cell, separator):
        return True
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell


POINTS = TableSubject("a point", is_float, knows_points, texts=False)


@dataclass(frozen=True)
class TextPoints:
    """Coordinates as a text has them, and the ids of its rows."""

    # shape (points, dimensions): float64, or the type of floats in lists
    points: np.ndarray
    ids: np.ndarray | None  # int64 or str, shape (points,), or None
    columns: PointColumns


def read_point_text(
    path: Path, picked: Sequence[str] = (), metric: str = ""
) -> TextPoints:
    """Read points from a text; `picked` as in `choose_coordinates`."""
    comments, first, offset = read_head(path, FREE_MEMORY, MARKS.encode())
    if not first.strip():
        check_comments_alone(path, comments)
        raise InputError(f"{path}: holds no points. Give one a row.")
    behind = offset + len(first) + 1
    rows = read_lines(path, FREE_MEMORY, MARKS.encode(), behind, SAMPLE_LINES)
    dialect = TableDialect.of(path, comments, first, rows, picked, POINTS)
    if dialect.first_is_header and not rows:
        raise InputError(
            f"{path}: holds no points below the names of columns. Give one a row."
        )
    columns = list(map(Column, dialect.names, dialect.kinds))
    if not picked:
        _refuse_matrix(path, dialect)
    chosen = choose_coordinates(path, columns, picked, dialect.headed, metric)
    begin = behind if dialect.first_is_header else offset
    whole = bytes(read_bytes(path, FREE_MEMORY, POINT_TEXT_COPIES))
    text = whole[begin:].decode("utf-8", "replace")
    lines = _Lines(path, text, dialect)
    words = (row[i] for row in dialect.cells for i in chosen.coordinates)
    decimal_commas = has_decimal_commas(f"{path}:", words, dialect.separator)
    points = lines.numbers(chosen, decimal_commas)
    if not picked:
        integers = [
            all(_INTEGER.fullmatch(row[i]) for row in dialect.cells)
            for i in chosen.coordinates
        ]
        refuse_ids(path, chosen, points, integers)
    if (np.abs(points) >= MOST_EXACT).any():  # larger ones may be rounded to it
        lines.check_integers(chosen)
    ids = None if chosen.ids is None else lines.ids(chosen.ids)
    return TextPoints(points, ids, chosen)


def _refuse_matrix(path: Path, dialect: TableDialect) -> None:
    """Refuse a table whose first column repeats the header: a matrix with names."""
    names = [row[0] for row in dialect.cells]
    if dialect.kinds[0] != TEXT or is_id(dialect.names[0]) or len(names) < LEAST_MATRIX:
        return
    if tuple(names) == dialect.names[1 : len(names) + 1]:
        raise InputError(
            f"{path}: its rows have the names of its columns, as in a matrix of "
            "distances. If it is one, give --metric precomputed, for correlations "
            "--from correlation, too; if its rows are points, name the first column id."
        )


def ids_of_words(words: Sequence[str]) -> np.ndarray:
    """Return ids as integers, or as text if a word is none or is padded."""
    if all(map(_ID.fullmatch, words)) and max(map(int, words)) < 1 << 63:
        return np.array(list(map(int, words)), np.int64)
    return np.array(words, np.str_)


class _Lines:
    """The lines below a header, without which messages count wrong."""

    def __init__(self, path: Path, text: str, dialect: TableDialect) -> None:
        self.path, self.text, self.dialect = path, text, dialect
        self.separator, self.width = dialect.separator, len(dialect.names)
        self._bare = not any(letter in text for letter in ('"', *MARKS))

    def numbers(self, columns: PointColumns, decimal_commas: bool) -> np.ndarray:
        """Return the coordinates."""
        wanted = columns.coordinates
        whole = wanted == tuple(range(self.width))
        # Of whole lines NumPy compares the widths
        if self._bare and (
            whole
            or all(
                has_width(line, self.separator, self.width)
                for line in self.text.rstrip("\n").split("\n")
            )
        ):
            text = self.text.replace(",", ".") if decimal_commas else self.text
            mark = None if self.separator == BLANKS else self.separator.decode()
            used = None if whole else wanted
            try:
                points: np.ndarray = np.loadtxt(
                    StringIO(text), delimiter=mark, usecols=used, ndmin=2
                )
            except ValueError:
                points = np.empty((0, 0))  # `_values` finds the line
            if points.shape[1] == len(wanted):
                return points
        values = np.fromiter(self._values(columns, decimal_commas), np.float64)
        return values.reshape(-1, len(wanted))

    def _values(self, columns: PointColumns, decimal_commas: bool) -> Iterator[float]:
        """Yield the coordinates row by row; refuse texts that are not numbers."""
        for number, row in self._rows():
            for i in columns.coordinates:
                if not is_float(row[i], self.separator):
                    has = f'"{row[i][:40]}"' if row[i] else "nothing"
                    raise InputError(
                        f"{self._place(number)} has {has} in column "
                        f"{titled(columns.names[i])}, and a coordinate is a number. "
                        "Fix it, or leave the line out."
                    )
                try:
                    text = row[i].replace(",", ".") if decimal_commas else row[i]
                    value = float(text)
                except ValueError as error:
                    raise InputError(
                        f"{self.path}: cannot be read as points. Give numbers, a point "
                        "a line, with commas, semicolons, tabs or blanks between them."
                    ) from error
                yield value

    def check_integers(self, columns: PointColumns) -> None:
        """Refuse integers that float64 has rounded."""
        for row, (_, words) in enumerate(self._rows()):
            for i in columns.coordinates:
                digits = words[i].strip().lstrip("+-")
                if WHOLE.fullmatch(digits) and not is_exact(int(digits)):
                    name = columns.names[i]
                    raise rounded_integer(f"{self.path}: ", row, int(words[i]), name)

    def ids(self, position: int) -> np.ndarray:
        """Return a column as `ids_of_words` does; InputError if it is not UTF-8."""
        words = [row[position] for _, row in self._rows()]
        if any(REPLACEMENT in word for word in words):  # two ids may have become one
            read_text(self.path, FREE_MEMORY, POINT_TEXT_COPIES)
        return ids_of_words(words)

    def _rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the fields of all lines, and which line of the text has them."""
        for number, line in enumerate(self.text.split("\n")):
            where = partial(self._place, number)
            if line.lstrip(" \t\r")[:1] in MARKS:  # or the line is empty
                self.dialect.check_comment(where, line)
                continue
            line = without_comment(line, self.separator)
            yield number, split_row(line, self.separator, self.width, where)

    def _place(self, number: int) -> str:
        """Return the words by which messages name a line: its number in the file."""
        whole = read_bytes(self.path, FREE_MEMORY).decode("utf-8", "replace")
        line = whole.count("\n") - self.text.count("\n") + number + 1
        return f"{self.path}: line {line}"


def read_typed_points(
    table: ParquetTable, picked: Sequence[str] = (), metric: str = ""
) -> TextPoints:
    """Read points from a Parquet or Arrow file."""
    path, count = table.path, sum(table.group_rows)
    chosen = choose_coordinates(path, table.columns(), picked, metric=metric)
    used = len(chosen.coordinates)
    points = _allocated(path, count, 0 if chosen.is_vector else used, np.float64)
    ids: list[np.ndarray] = []
    wanted = [*chosen.coordinates, *([] if chosen.ids is None else [chosen.ids])]
    for first, batch in table.rows(0, count, wanted):
        held = slice(first, first + len(batch))
        for k, column in enumerate(batch.columns[:used]):
            name = titled(chosen.names[chosen.coordinates[k]])
            where = f"{path}: column {name}"
            check_complete(where, column, first)
            if chosen.is_vector:
                if first == 0:
                    kind = _float_type(column.type.value_type)
                    points = _allocated(path, count, len(column[0]), kind)
                column = _elements(where, column, points.shape[1], first)
            values = np.asarray(column.to_numpy(zero_copy_only=False))
            values = values.reshape(len(batch), -1)
            check_integers(values, f"{path}: ", first, name)
            part = points[held] if chosen.is_vector else points[held, k : k + 1]
            part[:] = values
        ids += map(_ids_of, batch.columns[used:])
    if chosen.is_vector:
        remark = f" (lists of {counted(points.shape[1], 'number')})"
        chosen = replace(chosen, remark=remark)
    elif not picked:
        types = [table.schema.field(i).type for i in chosen.coordinates]
        refuse_ids(path, chosen, points, list(map(is_whole, types)))
    return TextPoints(points, _joined(ids) if ids else None, chosen)


def _allocated(path: Path, count: int, width: int, kind: type) -> np.ndarray:
    """Return an array for points of a table; InputError if memory is too small."""
    nbytes = POINT_TYPED_COPIES * 8 * count * (width + 1)
    check_room(FREE_MEMORY, path, nbytes, "the list of its points")
    return np.empty((count, width), kind)


def _float_type(kind: "pyarrow.DataType") -> type:
    """Return the type of coordinates that are numbers of an Arrow type."""
    small = {"halffloat": np.float16, "float": np.float32}
    return small.get(str(kind), np.float64)


def _elements(
    where: str, column: "pyarrow.Array", width: int, first: int
) -> "pyarrow.Array":
    """Return the numbers of all lists of a column; each list must have `width`."""
    compute = import_extra("pyarrow.compute").compute
    widths = compute.list_value_length(column).to_numpy()
    if (widths != width).any():
        row = int((widths != width).argmax())
        raise InputError(
            f"{where} has {counted(int(widths[row]), 'number')} in row {first + row} "
            f"(from 0), and {width} in row 0. Give all rows as many, or leave the row "
            "out."
        )
    elements = column.flatten()
    if elements.null_count:
        row = int(elements.is_null().to_numpy(zero_copy_only=False).argmax()) // width
        raise InputError(
            f"{where} has a list without a number in row {first + row} (from 0). Fill "
            "it, or leave the row out."
        )
    return elements


def _ids_of(column: "pyarrow.Array") -> np.ndarray:
    """Return ids; if some are missing, as texts, which are empty for these."""
    # With missing ones, PyArrow would return integers as rounded floats
    present = np.asarray(column.drop_null().to_numpy(zero_copy_only=False))
    if not column.null_count:
        return present
    is_present = column.is_valid().to_numpy(zero_copy_only=False)
    ids = np.full(len(column), "", object)
    ids[is_present] = present.astype(np.str_)
    return ids


def typed_ids(table: ParquetTable, position: int) -> np.ndarray:
    """Return the ids that a column of a Parquet or Arrow file has."""
    count, name = sum(table.group_rows), table.columns()[position].name
    check_room(FREE_MEMORY, table.path, POINT_TYPED_COPIES * 8 * count, "its ids")
    ids: list[np.ndarray] = []
    for first, batch in table.rows(0, count, [position]):
        check_complete(f"{table.path}: column {titled(name)}", batch.columns[0], first)
        ids.append(np.asarray(batch.columns[0].to_numpy(zero_copy_only=False)))
    return _joined(ids) if ids else np.empty(0, np.int64)


def _joined(ids: list[np.ndarray]) -> np.ndarray:
    """Return ids as int64 if all are, else as text."""
    if all(piece.dtype.kind in "iu" and piece.dtype != np.uint64 for piece in ids):
        return np.concatenate(ids).astype(np.int64)
    return np.concatenate([piece.astype(np.str_) for piece in ids])
