"""Ids of points from files: a text with one in each line, a table, or an array."""

import csv
from pathlib import Path

import numpy as np

from ...host.errors import ConfigError, InputError
from ...host.memory import FREE_MEMORY
from ...host.memory_costs import POINT_TEXT_COPIES
from .packed_files import read_text
from .point_tables import TYPED_POINTS, ids_of_words, point_suffix, typed_ids
from .table_columns import plain

SEPARATORS = {".csv": ",", ".tsv": "\t", ".txt": None}


def read_ids(path: Path, name: str) -> np.ndarray:
    """Return ids (int64 or str), which a table has in the column `name`.

    A table of one column needs no header, and its column may have any name in Parquet
    and Arrow. Raises InputError if there is no such column.
    """
    suffix = point_suffix(path)
    if suffix in TYPED_POINTS:
        table = TYPED_POINTS[suffix](path, FREE_MEMORY)
        names = [column.name for column in table.columns()]
        return typed_ids(table, _position(path, names, name))
    if suffix not in SEPARATORS:
        endings = ", ".join((*SEPARATORS, *TYPED_POINTS))
        raise ConfigError(f"{path}: give ids in a file whose name ends in {endings}")
    lines = read_text(path, FREE_MEMORY, POINT_TEXT_COPIES).splitlines()
    separator = SEPARATORS[suffix]
    rows = (
        [[line.strip()] for line in lines]
        if separator is None
        else list(csv.reader(lines, delimiter=separator, skipinitialspace=True))
    )
    rows = [row for row in rows if any(cell.strip() for cell in row)]
    header = rows[0] if rows else []
    position = 0
    if len(header) > 1 or plain(name) in map(plain, header):
        position = _position(path, header, name)
        rows = rows[1:]
    for row in rows:
        if len(row) != max(len(header), 1) or not row[position].strip():
            raise InputError(
                f'{path}: the line "{",".join(row)[:40]}" has no id, or other columns '
                "than the first line. Fix it, or leave it out."
            )
    words = [row[position].strip() for row in rows]
    return ids_of_words(words) if words else np.empty(0, np.int64)


def _position(path: Path, names: list[str], name: str) -> int:
    found = [i for i, given in enumerate(names) if plain(given) == plain(name)]
    if len(found) == 1:
        return found[0]
    if len(names) == 1:
        return 0
    raise InputError(
        f"{path}: has columns {', '.join(names)}, and the ids are in {name}. Name the "
        "column so, or give the ids alone, one a line."
    )
