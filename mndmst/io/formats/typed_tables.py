"""Typed tables on disk: Parquet, `.parquet`, and Arrow, `.arrow` and `.feather`.

`ParquetTable` and `ArrowTable` give the schema, and record batches of chosen columns;
damaged and oversized files are an error of one line. Rows count from 0.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from ...host.errors import InputError, MndmstError
from ..memory_limit import capped, check_room, exceeded
from ..regular_files import opened, state_of
from .files import COMPRESSIONS, read_bytes, readable
from .packages import import_extra
from .table_columns import EMPTY, NUMBER, OTHER, TEXT, Column

# Rows of a batch of a Parquet file, at most.
BATCH_ROWS = 1 << 20
# An Arrow file begins with this mark and two bytes of zeros, and ends with the mark.
_ARROW = b"ARROW1"
_BEFORE_STREAM = 8


class ParquetTable:
    """A table in row groups, `.parquet`. It holds no open file and can be pickled.

    Raises
    ------
    InputError
        If the file is damaged.
    MissingExtraError
        If PyArrow is not installed.

    Attributes
    ----------
    path : Path
    schema : pyarrow.Schema
    group_rows : list of int
        How many rows each group has.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with readable(path):
            self._state = state_of(path)
        self._unpacked = read_bytes(path) if path.suffix in COMPRESSIONS else None
        with self.reading():
            self.schema, self.group_rows = self._describe()

    def columns(self) -> list[Column]:
        """Return names and kinds of all columns."""
        return [Column(field.name, kind_of(field.type)) for field in self.schema]

    def rows(
        self, begin: int, end: int, columns: list[int]
    ) -> Iterator[tuple[int, Any]]:
        """Yield record batches of the rows [begin, end), and their first rows' numbers.

        Parameters
        ----------
        columns : list of int
            Positions of columns.
        """
        ends = np.cumsum([0, *self.group_rows])
        groups = np.flatnonzero((ends[1:] > begin) & (ends[:-1] < end))
        first = int(ends[groups[0]]) if len(groups) else end
        with self.reading():
            for batch in self.batches(groups.tolist(), columns):
                for low in range(0, len(batch), BATCH_ROWS):
                    high = min(low + BATCH_ROWS, end - first, len(batch))
                    low = max(low, begin - first)
                    if low < high:
                        yield first + low, batch.slice(low, high - low)
                first += len(batch)

    def _describe(self) -> tuple[Any, list[int]]:
        """Return the schema, and how many rows each group has."""
        with self._open() as file:
            groups = map(file.metadata.row_group, range(file.num_row_groups))
            return file.schema_arrow, [group.num_rows for group in groups]

    def batches(self, groups: list[int], columns: list[int]) -> Iterator[Any]:
        """Yield the record batches of some groups, with some columns in that order."""
        with self._open() as file:
            names = [file.schema_arrow.names[i] for i in columns]
            for batch in _capped(file.iter_batches(BATCH_ROWS, groups, names)):
                yield batch.select(names)

    @contextmanager
    def _open(self) -> Iterator[Any]:
        parquet = import_extra("pyarrow.parquet").parquet
        with self._source() as source:
            yield parquet.ParquetFile(source)

    @contextmanager
    def _source(self) -> Iterator[Any]:
        """Give what PyArrow reads from: the file, or memory if it was unpacked."""
        arrow = import_extra("pyarrow")
        if self._unpacked is not None:
            yield arrow.BufferReader(self._unpacked)
            return
        with opened(self.path, self._state) as file:
            yield arrow.PythonFile(_Bounded(self.path, file), mode="r")

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Turn what PyArrow raises on a damaged file into an InputError."""
        arrow = import_extra("pyarrow")
        try:
            yield
        except arrow.ArrowMemoryError as error:
            asked = max(map(int, re.findall(r"\d+", str(error))), default=0)
            what = "a piece of the table"
            raise exceeded(self.path, asked, what, " at least") from error
        except MndmstError:
            raise
        except (arrow.ArrowException, OSError, ValueError, TypeError) as error:
            raise InputError(
                f"{self.path}: not a table, or damaged or cut short "
                f"({error}). Write it again with PyArrow or pandas, or copy it again."
            ) from error


class ArrowTable(ParquetTable):
    """A table in record batches, `.arrow` or `.feather`.

    The part between the file's marks is read as a stream. PyArrow's reader of files
    works on threads of its own, which may hold a damaged file longer than the call
    that fails and then end the whole process.
    """

    def _describe(self) -> tuple[Any, list[int]]:
        with self._open() as (source, reader):
            self._begins, rows = [source.tell()], []
            for batch in _capped(reader):
                self._begins.append(source.tell())
                rows.append(batch.num_rows)
            return reader.schema, rows

    def batches(self, groups: list[int], columns: list[int]) -> Iterator[Any]:
        """Yield the record batches of some groups, with some columns in that order."""
        with self._open() as (source, reader):
            batches = _capped(reader)
            if groups and groups[0] > 0:
                next(batches)  # the dictionaries come with the first batch
                source.seek(self._begins[groups[0]])
            for whole, _ in zip(batches, groups, strict=False):
                batch = whole.select(columns)
                batch.validate(full=True)
                yield batch

    @contextmanager
    def _open(self) -> Iterator[Any]:
        """Give the source, and a reader of the stream in it."""
        arrow = import_extra("pyarrow.ipc")
        with self._source() as source:
            source.seek(max(0, source.size() - len(_ARROW)))
            if source.read() != _ARROW:
                raise ValueError(f"its last bytes are not {_ARROW.decode()}")
            source.seek(_BEFORE_STREAM)
            yield source, arrow.ipc.open_stream(source)


class _Bounded:
    """A file for PyArrow; gives no more bytes than it has and there is room for.

    Parameters
    ----------
    path : Path
    file : BinaryIO
    """

    closed = False

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self.path, self.file = path, file
        self.seek, self.tell = file.seek, file.tell
        self.size = os.fstat(file.fileno()).st_size

    def read(self, nbytes: int = -1) -> bytes:
        """Return the next bytes: at most `nbytes`, or all."""
        left = max(0, self.size - self.tell())
        wanted = left if nbytes < 0 else min(nbytes, left)
        check_room(self.path, wanted, "a piece of the table")
        return self.file.read(wanted)

    def close(self) -> None:
        """Do nothing: the function that opened the file closes it."""


def _capped(batches: Iterator[Any]) -> Iterator[Any]:
    """Yield batches; PyArrow cannot take more memory for one than there is."""
    done = object()
    while True:
        with capped():
            batch = next(batches, done)
        if batch is done:
            return
        yield batch


def kind_of(kind: Any) -> str:
    """Return the kind of the values of a column by its type in PyArrow."""
    types = import_extra("pyarrow.types").types
    kind = values_of(kind)
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return NUMBER
    if (
        types.is_string(kind)
        or types.is_large_string(kind)
        or types.is_string_view(kind)
    ):
        return TEXT
    return EMPTY if types.is_null(kind) else OTHER


def values_of(kind: Any) -> Any:
    """Return the type of values that a dictionary may hold."""
    types = import_extra("pyarrow.types").types
    return kind.value_type if types.is_dictionary(kind) else kind
