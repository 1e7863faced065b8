"""Typed tables, Parquet and Arrow, and the edges in their rows.

`ParquetTable` and `ArrowTable` (`.arrow`, `.feather`) give the schema, and record
batches of chosen columns; a damaged or oversized file is an error of one line.

In `ParquetFile` and `ArrowFile` a row is an edge, whose columns are found by their
names (`table_columns`). The schema's metadata may say `num_vertices`; otherwise the
number of vertices is one more than the largest id. Rows count from 0, as in data
frames.

`ParquetFile.pieces` yields edges between integers, which are ids; `named_pieces` the
ends as the table has them, integers or text (`NameableFile`).
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from ...host.errors import InputError, MndmstError
from ...host.memory import Budget
from ..atomic_output import AtomicOutput
from ..edge_file import Edges, UnnumberedEndError, checked_edges, supported_weights
from ..file_access import first_line, opened, state_of, unreadable
from ..memory_limit import capped, check_room, exceeded
from ..named_edge_file import NameableFile, TableEdges
from .packed_files import COMPRESSIONS, import_extra, read_bytes, readable
from .table_columns import (
    EMPTY,
    LEAST_MATRIX,
    NUMBER,
    OTHER,
    ROLES,
    TEXT,
    VECTOR,
    Column,
    ColumnNames,
    choose_columns,
    is_ignored,
    matrix_advised,
)

if TYPE_CHECKING:
    import pyarrow
    import pyarrow.parquet

# Rows of a batch of a Parquet file, at most.
BATCH_ROWS = 1 << 20
# An Arrow file begins with this mark and two bytes of zeros, and ends with the mark.
_ARROW = b"ARROW1"
_BEFORE_STREAM = 8

_NUM_VERTICES = b"num_vertices"


class ParquetTable:
    """A table in row groups, `.parquet`. It holds no open file and can be pickled."""

    def __init__(self, path: Path, budget: Budget) -> None:
        self.path, self.budget = path, budget
        with readable(path):
            self._state = state_of(path)
        packed = path.suffix in COMPRESSIONS
        self._unpacked = read_bytes(path, budget) if packed else None
        with self.reading():
            self.schema, self.group_rows = self._describe()
            self._columns = [Column(f.name, kind_of(f.type)) for f in self.schema]

    def columns(self) -> list[Column]:
        """Return names and kinds of all columns."""
        return self._columns

    def rows(
        self, begin: int, end: int, columns: list[int]
    ) -> Iterator[tuple[int, "pyarrow.RecordBatch"]]:
        """Yield the first row and the record batch of each piece of [begin, end)."""
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

    def _describe(self) -> tuple["pyarrow.Schema", list[int]]:
        """Return the schema, and the number of rows of each group."""
        with self._open() as file:
            groups = map(file.metadata.row_group, range(file.num_row_groups))
            return file.schema_arrow, [group.num_rows for group in groups]

    def batches(
        self, groups: list[int], columns: list[int]
    ) -> Iterator["pyarrow.RecordBatch"]:
        """Yield the record batches of some groups, with some columns in that order."""
        with self._open() as file:
            names = [file.schema_arrow.names[i] for i in columns]
            batches = file.iter_batches(BATCH_ROWS, groups, names)
            for batch in _capped(self.budget, batches):
                yield batch.select(names)

    @contextmanager
    def _open(self) -> Iterator["pyarrow.parquet.ParquetFile"]:
        parquet = import_extra("pyarrow.parquet").parquet
        with self._source() as source:
            yield parquet.ParquetFile(source)

    @contextmanager
    def _source(self) -> Iterator["pyarrow.NativeFile"]:
        """Yield the file for PyArrow, or the memory that it was unpacked to."""
        arrow = import_extra("pyarrow")
        if self._unpacked is not None:
            yield arrow.BufferReader(self._unpacked)
            return
        with opened(self.path, self._state) as file:
            yield arrow.PythonFile(_Bounded(self.path, self.budget, file), mode="r")

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Turn PyArrow's errors on a damaged file into an InputError."""
        arrow = import_extra("pyarrow")
        try:
            yield
        except arrow.ArrowMemoryError as error:
            needed = max(map(int, re.findall(r"\d+", str(error))), default=0)
            what = "a piece of the table"
            raise exceeded(self.budget, self.path, needed, what, " at least") from error
        except MndmstError:
            raise
        except PermissionError as error:
            raise unreadable(self.path, error) from error
        except (arrow.ArrowException, OSError, ValueError, TypeError) as error:
            raise InputError(
                f"{self.path}: not a table, or damaged or cut short "
                f"({first_line(error)}). Write it again with PyArrow or pandas, or "
                "copy it again."
            ) from error


class ArrowTable(ParquetTable):
    """A table in record batches, `.arrow` or `.feather`.

    It is read as an Arrow stream, without the file's footer: PyArrow's reader of files
    has threads, which may still use a damaged file after the call has failed, and then
    end the process.
    """

    def _describe(self) -> tuple["pyarrow.Schema", list[int]]:
        with self._open() as (source, reader):
            self._begins, rows = [source.tell()], []
            for batch in _capped(self.budget, reader):
                self._begins.append(source.tell())
                rows.append(batch.num_rows)
            return reader.schema, rows

    def batches(
        self, groups: list[int], columns: list[int]
    ) -> Iterator["pyarrow.RecordBatch"]:
        """Yield the record batches of some groups, with some columns in that order."""
        with self._open() as (source, reader):
            batches = _capped(self.budget, reader)
            if groups and groups[0] > 0:
                next(batches)  # reads the dictionaries, which precede the first batch
                source.seek(self._begins[groups[0]])
            for whole, _ in zip(batches, groups, strict=False):
                batch = whole.select(columns)
                batch.validate(full=True)
                yield batch

    @contextmanager
    def _open(
        self,
    ) -> Iterator[tuple["pyarrow.NativeFile", "pyarrow.RecordBatchReader"]]:
        """Yield the source, and a reader of the stream in it."""
        arrow = import_extra("pyarrow.ipc")
        with self._source() as source:
            source.seek(max(0, source.size() - len(_ARROW)))
            if source.read() != _ARROW:
                raise ValueError(f"its last bytes are not {_ARROW.decode()}")
            source.seek(_BEFORE_STREAM)
            yield source, arrow.ipc.open_stream(source)


class _Bounded:
    """A file for PyArrow; a read takes at most the rest of the file and the budget."""

    closed = False

    def __init__(self, path: Path, budget: Budget, file: BinaryIO) -> None:
        self.path, self.budget, self.file = path, budget, file
        self.seek, self.tell = file.seek, file.tell
        self.size = os.fstat(file.fileno()).st_size

    def read(self, nbytes: int = -1) -> bytes:
        """Return the next bytes: at most `nbytes`, or all."""
        rest = max(0, self.size - self.tell())
        wanted = rest if nbytes < 0 else min(nbytes, rest)
        check_room(self.budget, self.path, wanted, "a piece of the table")
        return self.file.read(wanted)

    def close(self) -> None:
        """Do nothing: the function that opened the file closes it."""


def _capped(
    budget: Budget, batches: Iterator["pyarrow.RecordBatch"]
) -> Iterator["pyarrow.RecordBatch"]:
    """Yield batches; the budget caps the memory that PyArrow takes for each."""
    done = object()
    while True:
        with capped(budget):
            batch = next(batches, done)
        if batch is done:
            return
        yield batch


def check_complete(where: str, column: "pyarrow.Array", first: int) -> None:
    """Raise InputError, which names the row, if a value of a column is missing."""
    if column.null_count:
        row = first + int(column.is_null().to_numpy(zero_copy_only=False).argmax())
        raise InputError(
            f"{where} has no value in row {row} (from 0). Fill it, or leave the row "
            "out."
        )


def kind_of(kind: "pyarrow.DataType") -> str:
    """Return the kind of the values of a column by its type in PyArrow."""
    types = import_extra("pyarrow.types").types
    if types.is_dictionary(kind):
        kind = kind.value_type
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return NUMBER
    is_text = (types.is_string, types.is_large_string, types.is_string_view)
    if any(test(kind) for test in is_text):
        return TEXT
    is_list = (types.is_list, types.is_large_list, types.is_fixed_size_list)
    if any(test(kind) for test in is_list) and kind_of(kind.value_type) == NUMBER:
        return VECTOR
    return EMPTY if types.is_null(kind) else OTHER


def is_whole(kind: "pyarrow.DataType") -> bool:
    """Return whether the values of a column are integers by its type in PyArrow."""
    return bool(import_extra("pyarrow.types").types.is_integer(kind))


class ParquetFile(NameableFile):
    """A table in row groups, `.parquet`; its ranges are ranges of rows."""

    rereadable = True
    table_type: type[ParquetTable] = ParquetTable

    def __init__(
        self, path: Path, budget: Budget, picked: ColumnNames | None = None
    ) -> None:
        self.path, self.budget = path, budget
        self.name = str(path)
        self._table = table = self.table_type(path, budget)
        self.length = self.num_entries = sum(table.group_rows)
        with table.reading():
            stated = (table.schema.metadata or {}).get(_NUM_VERTICES)
            self.num_vertices = None if stated is None else int(stated)
        columns = table.columns()
        numbers = [c for c in columns if c.kind == NUMBER and not is_ignored(c.name)]
        is_square = not picked and LEAST_MATRIX <= len(numbers) == self.length
        with matrix_advised(path, is_square):
            self.columns = choose_columns(path, columns, picked)
        self.notes = (self.columns.text(),)
        self.weight_name = self.columns.weight_name
        types = [table.schema.field(i).type for i in self.columns.wanted]
        self.text_ends = TEXT in map(kind_of, types[:2])
        for role, kind in zip(ROLES, types, strict=False):
            self._check_type(role, kind)
        weight = np.empty(0, types[2].to_pandas_dtype() if types[2:] else "i4")
        # The type that checked weights will have
        self.weight_dtype = supported_weights(path, weight).dtype

    def identity(self) -> dict[str, object]:
        """Return facts that identify this list of edges, including its columns."""
        return super().identity() | {"columns": self.columns.text()}

    def _check_type(self, role: str, kind: "pyarrow.DataType") -> None:
        """Refuse ends other than integers and text, and weights other than numbers."""
        types = import_extra("pyarrow.types").types
        where = f"{self.path}: {self.columns.name(role)} has type {kind}"
        if role == "weight":
            if not (types.is_integer(kind) or types.is_floating(kind)):
                raise InputError(
                    f"{where}, which cannot be kept exactly. Write weights as 32- or "
                    "64-bit integers or floats."
                )
        elif not types.is_integer(kind) and kind_of(kind) != TEXT:
            raise InputError(
                f"{where}, and a vertex is a whole number. Write it as integers, or "
                "name another with --columns source=A,target=B."
            )

    def pieces(self, begin: int, end: int) -> Iterator[Edges]:
        """Yield the edges in the rows [begin, end); see `EdgeFile`."""
        if self.text_ends:
            raise UnnumberedEndError(
                f"{self.path}: {self.columns.name('source')} or "
                f"{self.columns.name('target')} has names, and vertices are whole "
                "numbers from 0. Number them first."
            )
        for first, (src, dst, weight) in self._arrays(begin, end):
            self.columns.check_costs(self.path, weight)
            count = self.num_vertices
            yield checked_edges(self.path, count, src, dst, weight, first)

    def named_pieces(self, begin: int, end: int) -> Iterator[TableEdges]:
        """Yield the rows [begin, end), their ends as integers or as text."""
        for _, (src, dst, weight) in self._arrays(begin, end):
            self.columns.check_costs(self.path, weight)
            if self.text_ends:
                # NumPy would pad every text to the length of the longest
                src, dst = src.astype(object), dst.astype(object)
            yield src, dst, supported_weights(self.path, weight)

    def _arrays(self, begin: int, end: int) -> Iterator[tuple[int, list[np.ndarray]]]:
        """Yield source, target and weight of some rows, and the first row's number."""
        for first, batch in self._table.rows(begin, end, self.columns.wanted):
            columns = []
            for role, column in zip(ROLES, batch.columns, strict=False):
                where = f"{self.path}: {self.columns.name(role)}"
                check_complete(where, column, first)
                array = np.array(column.to_numpy(zero_copy_only=False))
                if array.dtype.kind == "f" and np.isnan(array).any():
                    row = first + int(np.isnan(array).argmax())
                    raise InputError(
                        f"{where} has NaN in row {row} (from 0), which has no place in "
                        "an order. Give it a number, or leave the row out."
                    )
                columns.append(array)
            if len(columns) < len(ROLES):
                columns.append(np.ones(len(batch), np.int32))
            yield first, columns


class ArrowFile(ParquetFile):
    """A table in record batches, `.arrow` or `.feather`; ranges are of rows."""

    table_type = ArrowTable


def write(edges: Edges, path: Path, files: AtomicOutput) -> None:
    """Write a Parquet file with the columns source, target and weight."""
    arrow = import_extra("pyarrow.parquet")
    ends = [_named_column(arrow, edges, side) for side in (edges.src, edges.dst)]
    table = arrow.table(
        {"source": ends[0], "target": ends[1], "weight": edges.weight},
        metadata={_NUM_VERTICES: str(edges.num_vertices)},
    )
    with files.file(path) as temporary:
        arrow.parquet.write_table(table, temporary)


def _named_column(
    arrow: ModuleType, edges: Edges, ends: np.ndarray
) -> "np.ndarray | pyarrow.Array":
    """Return ends as a column: the names of the vertices if they have any, or ids."""
    if edges.names is None:
        return ends
    names = edges.names.take(ends)
    if names.kind.is_integer:
        return names.columns()["integers"]
    return arrow.array(names.texts(), arrow.large_string())
