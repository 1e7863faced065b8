"""Ids of points from files: a text with one in each line, a table, or an array."""

import csv
from collections.abc import Iterable, Iterator
from io import StringIO
from pathlib import Path
from typing import TypeVar

import numpy as np

from ...host.errors import ConfigError, InputError, shown
from ...host.memory import FREE_MEMORY
from ...host.memory_costs import ID_TEXT_COPIES
from .packed_files import read_text, unpacked_suffix
from .point_tables import TYPED_POINTS, ids_of_words, typed_ids
from .table_columns import plain

SEPARATORS = {".csv": ",", ".tsv": "\t", ".txt": None}


def read_ids(path: Path, name: str) -> np.ndarray:
    """Return ids (int64 or str), which a table has in the column `name`.

    A table of one column needs no header, and its column may have any name in Parquet
    and Arrow. Raises InputError if there is no such column, or no id.
    """
    suffix = unpacked_suffix(path)
    if suffix in TYPED_POINTS:
        table = TYPED_POINTS[suffix](path, FREE_MEMORY)
        names = [column.name for column in table.columns()]
        return _some(path, typed_ids(table, _position(path, names, name)))
    if suffix not in SEPARATORS:
        endings = ", ".join((*SEPARATORS, *TYPED_POINTS))
        raise ConfigError(f"{path}: give ids in a file whose name ends in {endings}")
    text = StringIO(read_text(path, FREE_MEMORY, ID_TEXT_COPIES))
    separator = SEPARATORS[suffix]
    rows: Iterable[list[str]] = (
        ([line] for line in text)
        if separator is None
        else csv.reader(text, delimiter=separator, skipinitialspace=True)
    )
    try:
        words = list(_words(path, rows, name))
    except csv.Error as error:
        raise InputError(
            f"{path}: is not a table of text ({error}). Give ids, one a line."
        ) from error
    return ids_of_words(_some(path, words))


Ids = TypeVar("Ids", list[str], np.ndarray)


def _some(path: Path, ids: Ids) -> Ids:
    """Return ids; InputError if there are none, since a file may have been cut."""
    if len(ids) == 0:
        raise InputError(
            f"{path}: holds no ids. Give one a row, or leave the file out."
        )
    return ids


def _words(path: Path, rows: Iterable[list[str]], name: str) -> Iterator[str]:
    """Yield the ids of a text's rows, below a header if there is one."""
    width = position = 0
    for row in rows:
        cells = [cell.strip() for cell in row]
        if not any(cells):
            continue
        if width == 0:
            width = len(cells)
            if width > 1 or plain(cells[0]) == plain(name):
                position = _position(path, cells, name)
                continue
        if len(cells) != width or not cells[position]:
            raise InputError(
                f"{path}: the line {shown(','.join(cells))} has no id, or other "
                "columns than the first line. Fix it, or leave it out."
            )
        yield cells[position]


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
