"""Tables of edges: Parquet, `.parquet`, and Arrow files, `.arrow` and `.feather`.

A row is an edge. Its columns are found by their names, such as source, target and
weight, or, where no columns are called so, by their order. Without a third column
weights are 1. The schema's metadata may say `num_vertices`; otherwise there is one
more than the largest id.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from ...host.errors import InputError
from ..allowance import capped, check_room, exceeded
from ..edge_file import PIECE_ENTRIES, EdgeFile
from ..edges import Edges, checked_edges
from ..opening import opened, state_of
from ..whole_file import whole_file
from .files import COMPRESSIONS, read_bytes, readable
from .packages import import_extra

_NAMES = (
    ("source", "src", "from", "u", "row"),
    ("target", "dst", "to", "v", "col"),
    ("weight", "w", "data", "value", "length"),
)
_NUM_VERTICES = b"num_vertices"
# An Arrow file begins with this mark and two bytes of zeros, and ends with the mark.
_ARROW = b"ARROW1"
_BEFORE_STREAM = 8


class ParquetFile(EdgeFile):
    """A table in row groups, `.parquet`. It counts in rows.

    Raises
    ------
    InputError
        If it is damaged, or its first columns are not numbers.
    MissingExtraError
        If PyArrow is not installed.
    """

    rereadable = True

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = str(path)
        with readable(path):
            self._state = state_of(path)
        self._unpacked = read_bytes(path) if path.suffix in COMPRESSIONS else None
        with self._reading():
            schema, self._group_rows = self._describe()
            self.length = self.num_entries = sum(self._group_rows)
            self._columns = _columns(schema)
            dtypes = [_numpy_dtype(schema.field(i)) for i in self._columns]
            promised = (schema.metadata or {}).get(_NUM_VERTICES)
            self.num_vertices = None if promised is None else int(promised)
        for i, dtype in enumerate(dtypes[:2]):
            if dtype.kind not in "iu":
                raise InputError(
                    f"{path}: column {schema.names[self._columns[i]]} has {dtype}, "
                    "not the integers that name vertices. Name the columns source "
                    "and target, or put them first."
                )
        empty = np.empty(0, "i8")
        weight = np.empty(0, dtypes[2] if dtypes[2:] else "i4")
        # The type that checked weights will have
        self.weight_dtype = checked_edges(
            path, 0, empty, empty, weight, True
        ).weight.dtype

    def pieces(self, begin: int, end: int) -> Iterator[Edges]:
        """Yield the edges in the rows [begin, end); see `EdgeFile`."""
        ends = np.cumsum([0, *self._group_rows])
        groups = np.flatnonzero((ends[1:] > begin) & (ends[:-1] < end))
        first = int(ends[groups[0]]) if len(groups) else end
        with self._reading():
            for batch in self._batches(groups.tolist()):
                for low in range(0, len(batch), PIECE_ENTRIES):
                    high = min(low + PIECE_ENTRIES, end - first, len(batch))
                    low = max(low, begin - first)
                    if low < high:
                        yield self._edges(batch.slice(low, high - low), first + low)
                first += len(batch)

    def _edges(self, batch: Any, before: int) -> Edges:
        for column in batch.columns:
            if column.null_count:
                raise InputError(
                    f"{self.path}: an entry is missing after row {before}. Give every "
                    "edge two ends and a weight."
                )
        src, dst, *weights = (
            np.array(column.to_numpy(zero_copy_only=False)) for column in batch.columns
        )
        weight = weights[0] if weights else np.ones(len(src), np.int32)
        bound = self.num_vertices
        if bound is None:
            bound = 1 + max(int(src.max()), int(dst.max()), -1)
        return checked_edges(self.path, bound, src, dst, weight, True, before)

    def _describe(self) -> tuple[Any, list[int]]:
        """Return the schema, and how many rows each group has."""
        with self._open() as file:
            groups = map(file.metadata.row_group, range(file.num_row_groups))
            return file.schema_arrow, [group.num_rows for group in groups]

    def _batches(self, groups: list[int]) -> Iterator[Any]:
        """Yield what the wanted columns of some groups hold, in order."""
        with self._open() as file:
            names = [file.schema_arrow.names[i] for i in self._columns]
            for batch in _capped(file.iter_batches(PIECE_ENTRIES, groups, names)):
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
    def _reading(self) -> Iterator[None]:
        """Turn what PyArrow raises on a damaged file into an InputError."""
        arrow = import_extra("pyarrow")
        try:
            yield
        except arrow.ArrowMemoryError as error:
            asked = max(map(int, re.findall(r"\d+", str(error))), default=0)
            what = "a piece of the table"
            raise exceeded(self.path, asked, what, " at least") from error
        except (arrow.ArrowException, OSError, ValueError, TypeError) as error:
            raise InputError(
                f"{self.path}: not a table of edges, or damaged or cut short "
                f"({error}). Write it again with PyArrow or pandas, or copy it again."
            ) from error


class ArrowFile(ParquetFile):
    """A table in record batches, `.arrow` or `.feather`. It counts in rows.

    What lies between the file's marks is read as a stream. PyArrow's reader of files
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

    def _batches(self, groups: list[int]) -> Iterator[Any]:
        with self._open() as (source, reader):
            batches = _capped(reader)
            if groups and groups[0] > 0:
                next(batches)  # the dictionaries come with the first batch
                source.seek(self._begins[groups[0]])
            for whole, _ in zip(batches, groups, strict=False):
                batch = whole.select(self._columns)
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
        """Return the next bytes: at most so many, or all."""
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


def write(edges: Edges, path: Path) -> None:
    """Write a Parquet file with the columns source, target and weight."""
    arrow = import_extra("pyarrow.parquet")
    ends = [_named_column(arrow, edges, side) for side in (edges.src, edges.dst)]
    table = arrow.table(
        {"source": ends[0], "target": ends[1], "weight": edges.weight},
        metadata={_NUM_VERTICES: str(edges.num_vertices)},
    )
    with whole_file(path) as temporary:
        arrow.parquet.write_table(table, temporary)


def _named_column(arrow: Any, edges: Edges, ends: np.ndarray) -> Any:
    """Return ends as a column: names if there are any, else numbers."""
    if edges.names is None:
        return ends
    names = edges.names.take(ends)
    if names.kind.is_integer:
        return names.columns()["integers"]
    return arrow.array(names.texts(), arrow.large_string())


def _columns(schema: Any) -> list[int]:
    """Return where the two ends are, and the weight if there is one."""
    names = [name.lower() for name in schema.names]
    if len(names) < 2 or len(set(names)) < len(names):
        raise ValueError("it needs two columns of different names")
    found = [
        next((names.index(n) for n in known if n in names), -1) for known in _NAMES
    ]
    if min(found[:2]) < 0:
        return list(range(min(3, len(names))))
    return found if found[2] >= 0 else found[:2]


def _numpy_dtype(field: Any) -> np.dtype:
    try:
        return np.dtype(field.type.to_pandas_dtype())
    except NotImplementedError as error:
        raise ValueError(f"column {field.name} has type {field.type}") from error
