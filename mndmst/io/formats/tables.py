"""Tables of edges: Parquet, `.parquet`, and Arrow files, `.arrow` and `.feather`.

A row is an edge, whose columns are found by their names (`table_columns`). The schema's
metadata may say `num_vertices`; otherwise there is one more than the largest id. Rows
count from 0, as in data frames.

The seam for vertices with names: `ParquetFile.pieces` yields edges between integers,
which are ids, and `ParquetFile.named_pieces` the ends as the table has them, integers
or text; `text_ends` says at once whether they are text. The twin for text is
`delimited`.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ...host.errors import InputError
from ..atomic_output import whole_file
from ..edges import Edges, UnnumberedEndError, checked_edges, supported_weights
from ..named_edge_file import EndKinds, NameableFile
from ..names import NameKind
from .named_edges import NamedEdges
from .packages import import_extra
from .table_columns import ROLES, TEXT, ColumnNames, choose_columns
from .table_names import NamedTable, ends_of_table
from .typed_tables import ArrowTable, ParquetTable, kind_of, values_of

_NUM_VERTICES = b"num_vertices"


class ParquetFile(NameableFile):
    """A table in row groups, `.parquet`. It counts in rows.

    Raises
    ------
    InputError
        If it is damaged, or the rule does not understand its columns.
    ConfigError
        If the user names a column that is not there.
    MissingExtraError
        If PyArrow is not installed.

    Attributes
    ----------
    columns : TableColumns
    text_ends : bool
        Whether the ends are text.
    """

    rereadable = True

    table_type: type[ParquetTable] = ParquetTable

    def __init__(self, path: Path, asked: ColumnNames | None = None) -> None:
        self.path = path
        self.name = str(path)
        self._table = table = self.table_type(path)
        self.length = self.num_entries = sum(table.group_rows)
        with table.reading():
            promised = (table.schema.metadata or {}).get(_NUM_VERTICES)
            self.num_vertices = None if promised is None else int(promised)
        self.columns = choose_columns(path, table.columns(), asked)
        self.notes = (self.columns.text(),)
        types = [table.schema.field(i).type for i in self.columns.wanted]
        self.text_ends = TEXT in [kind_of(values_of(kind)) for kind in types[:2]]
        for role, kind in zip(ROLES, types, strict=False):
            self._check_type(role, kind)
        weight = np.empty(0, types[2].to_pandas_dtype() if types[2:] else "i4")
        # The type that checked weights will have
        self.weight_dtype = supported_weights(path, weight).dtype

    def identity(self) -> dict[str, Any]:
        """Return what distinguishes this list from others; its columns, too."""
        return super().identity() | {"columns": self.columns.text()}

    def _check_type(self, role: str, kind: Any) -> None:
        """Refuse ends that are neither integers nor text, and weights of odd types."""
        types = import_extra("pyarrow.types").types
        where = f"{self.path}: {self.columns.name(role)} has type {kind}"
        if role == "weight":
            if not (types.is_integer(kind) or types.is_floating(kind)):
                raise InputError(
                    f"{where}, which cannot be kept exactly. Write weights as 32- or "
                    "64-bit integers or floats."
                )
        elif not types.is_integer(kind) and kind_of(values_of(kind)) != TEXT:
            raise InputError(
                f"{where}, and a vertex is a whole number. Write it as integers, or "
                "name another with --columns source=A,target=B."
            )

    def pieces(self, begin: int, end: int) -> Iterator[Edges]:
        """Yield the edges in the rows [begin, end); see `EdgeFile`.

        Raises
        ------
        InputError
            If the ends are text, or a row is wrong.
        """
        if self.text_ends:
            raise UnnumberedEndError(
                f"{self.path}: {self.columns.name('source')} or "
                f"{self.columns.name('target')} has names, and vertices are whole "
                "numbers from 0. Number them first."
            )
        for first, (src, dst, weight) in self._arrays(begin, end):
            bound = self.num_vertices
            if bound is None:
                bound = 1 + max(int(src.max()), int(dst.max()), -1)
            self.columns.check_costs(self.path, weight)
            yield checked_edges(self.path, bound, src, dst, weight, True, first)

    def named_pieces(self, begin: int, end: int) -> Iterator[NamedEdges]:
        """Yield the rows [begin, end), their ends as integers or as text."""
        for _, (src, dst, weight) in self._arrays(begin, end):
            self.columns.check_costs(self.path, weight)
            if self.text_ends:
                # One array of padded text might take far more than its texts
                src, dst = src.astype(object), dst.astype(object)
            yield NamedEdges(src, dst, supported_weights(self.path, weight))

    def kinds_of_ends(self, begin: int, end: int) -> EndKinds:
        """Return what the ends in the rows [begin, end) are."""
        return (
            EndKinds(False, words=True)
            if self.text_ends
            else ends_of_table(self, begin, end)
        )

    def named(self, kind: NameKind) -> NamedTable:
        """Return the table with ends as names of a kind."""
        return NamedTable(self, kind)

    def _arrays(self, begin: int, end: int) -> Iterator[tuple[int, list[np.ndarray]]]:
        """Yield source, target and weight of some rows, and the first row's number."""
        for first, batch in self._table.rows(begin, end, self.columns.wanted):
            yield first, self._checked(batch, first)

    def _checked(self, batch: Any, first: int) -> list[np.ndarray]:
        """Return the columns of some rows as arrays; no value is missing or NaN."""
        columns = []
        for role, column in zip(ROLES, batch.columns, strict=False):
            where = f"{self.path}: {self.columns.name(role)}"
            if column.null_count:
                row = first + int(
                    column.is_null().to_numpy(zero_copy_only=False).argmax()
                )
                raise InputError(
                    f"{where} has no value in row {row} (from 0). Fill it, or leave "
                    "the row out."
                )
            array = np.array(column.to_numpy(zero_copy_only=False))
            if array.dtype.kind == "f" and np.isnan(array).any():
                row = first + int(np.isnan(array).argmax())
                raise InputError(
                    f"{where} has NaN in row {row} (from 0), which has no place in an "
                    "order. Give it a number, or leave the row out."
                )
            columns.append(array)
        if len(columns) < len(ROLES):
            columns.append(np.ones(len(batch), np.int32))
        return columns


class ArrowFile(ParquetFile):
    """A table in record batches, `.arrow` or `.feather`. It counts in rows."""

    table_type = ArrowTable


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
