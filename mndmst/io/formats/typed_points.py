"""Points from typed tables, Parquet and Arrow, by the columns of their coordinates."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...host.errors import InputError
from ..memory_limit import check_room
from .point_columns import choose_coordinates
from .point_text import TextPoints
from .table_columns import shown
from .typed_tables import ParquetTable

# Arrow's batches, NumPy's columns, and all of them as one array.
COPIES = 4


def read_typed_points(table: ParquetTable, asked: Sequence[str] = ()) -> TextPoints:
    """Read points from a Parquet or Arrow file.

    Parameters
    ----------
    table : ParquetTable
    asked : sequence of str
        Names of the coordinates.

    Raises
    ------
    InputError
        If the rule does not understand the columns, or a value is missing.
    ConfigError
        If the user names a column that is not there, or the table takes more memory
        than this process may hold.
    """
    path, count = table.path, sum(table.group_rows)
    chosen = choose_coordinates(path, table.columns(), asked)
    width = len(chosen.coordinates)
    check_room(path, COPIES * 8 * count * (width + 1), "the list of its points")
    points = np.empty((count, width))
    ids: list[np.ndarray] = []
    wanted = [*chosen.coordinates, *([] if chosen.ids is None else [chosen.ids])]
    for first, batch in table.rows(0, count, wanted):
        held = slice(first, first + len(batch))
        for k, column in enumerate(batch.columns[:width]):
            name = shown(chosen.names[chosen.coordinates[k]])
            _check_missing(f"{path}: column {name}", column, first)
            points[held, k] = column.to_numpy(zero_copy_only=False)
        ids += [
            np.asarray(column.to_numpy(zero_copy_only=False))
            for column in batch.columns[width:]
        ]
    return TextPoints(points, _joined(ids) if ids else None, chosen)


def _check_missing(where: str, column: Any, first: int) -> None:
    """Refuse a column with a value that is missing; name the row."""
    if column.null_count:
        row = first + int(column.is_null().to_numpy(zero_copy_only=False).argmax())
        raise InputError(
            f"{where} has no value in row {row} (from 0). Fill it, or leave the row "
            "out."
        )


def _joined(ids: list[np.ndarray]) -> np.ndarray:
    """Return ids as int64 if all are, else as text."""
    if all(piece.dtype.kind in "iu" and piece.dtype != np.uint64 for piece in ids):
        return np.concatenate(ids).astype(np.int64)
    return np.concatenate([piece.astype(np.str_) for piece in ids])
