"""Points from tables: text, Parquet and Arrow, by one rule for the columns.

1. `--columns lon,lat` names the coordinates, in that order.
2. Otherwise every column of numbers is a coordinate, except ids, index columns and
   labels by name: these are left out, and one of them gives the ids of the rows.
3. A column of text, dates or booleans that is not such an id is an error: it may be a
   coordinate that is not written as a number. So is a table that is read as edges by
   the names of its columns, such as src,dst,weight.

Separators, quotes and decimal marks of text are as in edge tables (`table_text`).
"""

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from io import StringIO
from pathlib import Path

import numpy as np

from ...host.errors import ConfigError, InputError
from ...host.memory import FREE_MEMORY
from ..edge_file import MOST_EXACT, is_exact
from ..memory_limit import check_room
from .edge_text import read_head, read_lines
from .packed_files import read_bytes
from .table_columns import (
    EMPTY,
    NUMBER,
    Column,
    choose_columns,
    is_ignored,
    knows_ends,
    listed,
    plain,
    position_of,
    shown,
)
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
from .typed_tables import ParquetTable, check_complete

CHECKED = 1 << 16  # points at a time
# Names of ids, groups and results, which are not coordinates, beside edge columns.
_NOT_COORDINATES = re.compile(
    r"(row|obs|observation|sample|point|node|vertex|case|record|station|city|user|item)?"
    r"(id|index|idx|name|no|nr|key|code|uuid)"
    r"|rownames|row|vertex|node|title|class|cluster|clusters|component|target|group"
    r"|species|probability"
)

# Names of coordinates: x, lon, pc1, dim_0, ...
_COORDINATE = re.compile(
    r"[a-z]|(x|y|z|pc|dim|d|f|v|var|feature|feat|umap|tsne|col|coord)\d+"
    r"|[xyz](coord|coordinate|pos|mm|cm|m|km)|(pos|coord|position|center|centroid)[xyz]"
    r"|(lon|lat|long|lng)(deg|degrees|rad|radians)?|longitude|latitude|easting|northing"
    r"|ra|dec|height|width|depth|elevation|altitude|time|timestamp"
)
# Names of columns with labels or results; such columns have no ids of rows
_GROUPS = (
    "label", "labels", "type", "class", "cluster", "clusters", "component", "target",
    "group",
    "species", "probability", "oneway", "reversed",
)  # fmt: skip
# The text, as a string, and NumPy's lists of its words.
TEXT_COPIES = 12
# An id that is a number as it stands: 7, but not 007
_ID = re.compile(r"0|[1-9][0-9]*")
# Arrow's batches, NumPy's columns, and all of them as one array.
TYPED_COPIES = 4


def check_integers(points: np.ndarray, source: str, first: int = 0) -> None:
    """Refuse integers, also of Python, that float64 would round: distances would be 0.

    `source` begins the message, which counts points from `first`. Times among objects,
    which are numbers to NumPy, are refused, too.
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
                raise rounded_integer(source, row, int(number))


def rounded_integer(source: str, row: int, number: int) -> InputError:
    """Return the error for an integer that float64 would round."""
    return InputError(
        f"{source}point {row} has the coordinate {number}, which float64 would round. "
        "Subtract the smallest number of each column first."
    )


@dataclass(frozen=True)
class PointColumns:
    """The columns with the coordinates of points, and with the ids of their rows."""

    names: tuple[str, ...]  # of all columns; positions from 1 in a text without names
    coordinates: tuple[int, ...]  # positions from 0
    ids: int | None
    headed: bool  # whether the table names its columns

    def text(self) -> str:
        """Return one line that names the columns; empty if all are read."""
        left_out = [i for i in range(len(self.names)) if i not in self.coordinates]
        if not left_out:
            return ""
        line = f"coordinates: {listed(shown(self.names[i]) for i in self.coordinates)}"
        line += f"; left out: {listed(shown(self.names[i]) for i in left_out)}"
        if self.ids is not None:
            line += f"; ids of the rows: {shown(self.names[self.ids])}"
        return line


def names_of(given: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return the names of columns in `lon,lat`, which may be quoted, or a sequence."""
    if given is None:
        return ()
    names = (
        next(csv.reader([given], skipinitialspace=True), [])
        if isinstance(given, str)
        else list(map(str, given))
    )
    names = [name.strip() for name in names]
    if not all(names) or not names or len(set(names)) < len(names):
        raise ConfigError(
            f"--columns {given}: give the names of the coordinates, such as lon,lat."
        )
    return tuple(names)


def choose_coordinates(
    table: object,
    columns: Sequence[Column],
    picked: Sequence[str] = (),
    headed: bool = True,
) -> PointColumns:
    """Return which columns are the coordinates.

    `picked` has the names that the user gives; positions from 1 if the table is not
    headed.
    """
    names = tuple(column.name for column in columns)
    if headed and not picked:
        _refuse_edges(table, columns)
    not_coordinates = [i for i in range(len(names)) if headed and _is_id(names[i])]
    if picked:
        chosen = [position_of(table, names, name, name) for name in picked]
        if len(set(chosen)) < len(chosen):
            raise ConfigError(f"--columns names a column of {table} twice.")
    else:
        chosen = [i for i in range(len(names)) if i not in not_coordinates]
        if not chosen and len(names) == 1:
            chosen = [0]  # a single column is the coordinate, whatever its name
    for i in chosen:
        if columns[i].kind not in (NUMBER, EMPTY):
            numbers = [
                shown(column.name)
                for k, column in enumerate(columns)
                if column.kind == NUMBER and k not in not_coordinates
            ]
            example = ",".join(numbers) or "lon,lat"
            raise InputError(
                f"{table}: column {shown(names[i])} does not hold numbers. Name the "
                f"coordinates: --columns {example}."
            )
    if not chosen:
        raise InputError(
            f"{table}: has no column of coordinates, only {listed(map(shown, names))}. "
            "Name them: --columns lon,lat."
        )
    ids = [i for i in not_coordinates if i not in chosen]
    named = [i for i in ids if names[i].strip() and plain(names[i]) not in _GROUPS]
    nameless = [i for i in ids if not names[i].strip()]
    id_column = next(iter(named + nameless), None)
    return PointColumns(names, tuple(chosen), id_column, headed)


def _refuse_edges(table: object, columns: Sequence[Column]) -> None:
    """Raise an InputError if the names of columns are the names in a table of edges."""
    if not knows_ends([column.name for column in columns], surely=True):
        return
    try:
        found = choose_columns(table, columns)
    except InputError:
        return
    names = listed(shown(found.names[i]) for i in found.wanted)
    way = "cluster their forest: mndmst partition, solve and cluster"
    if any(columns[i].kind not in (NUMBER, EMPTY) for i in found.wanted):
        raise InputError(f"{table}: its columns {names} are edges. To cluster, {way}.")
    every = [c.name for c in columns if c.kind in (NUMBER, EMPTY)]
    coordinates = ",".join(name for name in every if not is_ignored(name))
    raise InputError(
        f"{table}: its columns {names} can be edges or coordinates. If they are edges, "
        f"{way}. If they are coordinates, say so: --columns {coordinates}."
    )


def knows_points(names: Sequence[str]) -> bool:
    """Return whether some names are known for coordinates or ids of points."""
    return any(_COORDINATE.fullmatch(plain(name)) or _is_id(name) for name in names)


def _is_id(name: str) -> bool:
    return is_ignored(name) or _NOT_COORDINATES.fullmatch(plain(name)) is not None


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

    points: np.ndarray  # float64 [points, dimensions]
    ids: np.ndarray | None  # int64 or str, shape (points,), or None
    columns: PointColumns


def read_point_text(path: Path, picked: Sequence[str] = ()) -> TextPoints:
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
    chosen = choose_coordinates(path, columns, picked, dialect.headed)
    begin = behind if dialect.first_is_header else offset
    whole = bytes(read_bytes(path, FREE_MEMORY, TEXT_COPIES))
    text = whole[begin:].decode("utf-8", "replace")
    lines = _Lines(path, text, dialect)
    words = (row[i] for row in dialect.cells for i in chosen.coordinates)
    decimal_commas = has_decimal_commas(f"{path}:", words, dialect.separator)
    points = lines.numbers(chosen, decimal_commas)
    if (np.abs(points) >= MOST_EXACT).any():  # larger ones may be rounded to it
        lines.check_integers(chosen)
    if not dialect.headed and not picked:
        _check_counter(path, points)
    ids = None if chosen.ids is None else lines.ids(chosen.ids)
    return TextPoints(points, ids, chosen)


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
                        f"{shown(columns.names[i])}, and a coordinate is a number. Fix "
                        "it, or leave the line out."
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
                    raise rounded_integer(f"{self.path}: ", row, int(words[i]))

    def ids(self, position: int) -> np.ndarray:
        """Return a column as integers, or as text if a cell is none or is padded."""
        words = [row[position] for _, row in self._rows()]
        if all(map(_ID.fullmatch, words)) and max(map(len, words)) <= 18:
            return np.array(words, np.int64)
        return np.array(words, np.str_)

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
        """Return how messages name a line of the text: by its line in the file."""
        whole = read_bytes(self.path, FREE_MEMORY).decode("utf-8", "replace")
        line = whole.count("\n") - self.text.count("\n") + number + 1
        return f"{self.path}: line {line}"


def _check_counter(path: Path, points: np.ndarray) -> None:
    """Refuse a first column that counts the rows, beside others that have fractions."""
    count, width = points.shape
    if count < 3 or width < 2 or (points[:, 1:] == np.rint(points[:, 1:])).all():
        return
    start = points[0, 0]
    if start in (0, 1) and (points[:, 0] == start + np.arange(count)).all():
        rest = ",".join(str(i + 1) for i in range(1, width))
        raise InputError(
            f"{path}: its first column counts the rows from {start:.0f}, so it may be "
            f"an index. Give --columns {rest} to leave it out, or --columns 1,{rest} "
            "if it is a coordinate."
        )


def read_typed_points(table: ParquetTable, picked: Sequence[str] = ()) -> TextPoints:
    """Read points from a Parquet or Arrow file."""
    path, count = table.path, sum(table.group_rows)
    chosen = choose_coordinates(path, table.columns(), picked)
    width = len(chosen.coordinates)
    nbytes = TYPED_COPIES * 8 * count * (width + 1)
    check_room(FREE_MEMORY, path, nbytes, "the list of its points")
    points = np.empty((count, width))
    ids: list[np.ndarray] = []
    wanted = [*chosen.coordinates, *([] if chosen.ids is None else [chosen.ids])]
    for first, batch in table.rows(0, count, wanted):
        held = slice(first, first + len(batch))
        for k, column in enumerate(batch.columns[:width]):
            name = shown(chosen.names[chosen.coordinates[k]])
            check_complete(f"{path}: column {name}", column, first)
            values = column.to_numpy(zero_copy_only=False)
            check_integers(np.asarray(values), f"{path}: ", first)
            points[held, k] = values
        ids += [
            np.asarray(column.to_numpy(zero_copy_only=False))
            for column in batch.columns[width:]
        ]
    return TextPoints(points, _joined(ids) if ids else None, chosen)


def _joined(ids: list[np.ndarray]) -> np.ndarray:
    """Return ids as int64 if all are, else as text."""
    if all(piece.dtype.kind in "iu" and piece.dtype != np.uint64 for piece in ids):
        return np.concatenate(ids).astype(np.int64)
    return np.concatenate([piece.astype(np.str_) for piece in ids])
