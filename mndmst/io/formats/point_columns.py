"""Which columns of a table are the coordinates of points: one rule for all formats.

1. `--columns lon,lat` names the coordinates, in that order.
2. Otherwise every column of numbers is a coordinate, except ids, index columns and
   labels by name: these are left out, and one of them gives the ids of the rows.
3. A column of text, dates or booleans that is not such an id is an error: it may be a
   coordinate that is not written as a number.

The functions are pure; no file is read here.
"""

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass

from ...host.errors import ConfigError, InputError
from .table_columns import (
    EMPTY,
    NUMBER,
    Column,
    is_ignored,
    listed,
    plain,
    shown,
)

# Names of rows, of their groups, or of results about them, beside those of edges.
_NOT_COORDINATES = re.compile(
    r"(row|obs|observation|sample|point|node|vertex|case|record|station|city|user|item)?"
    r"(id|index|idx|name|no|nr|key|code|uuid)"
    r"|rownames|row|title|class|cluster|clusters|target|group|species|probability"
)


@dataclass(frozen=True)
class PointColumns:
    """Where the coordinates of points are, and the ids of their rows.

    Attributes
    ----------
    names : tuple of str
        Of all columns; positions from 1 in a text without names.
    coordinates : tuple of int
        Positions from 0.
    ids : int or None
    headed : bool
        Whether the table names its columns.
    """

    names: tuple[str, ...]
    coordinates: tuple[int, ...]
    ids: int | None
    headed: bool

    def text(self) -> str:
        """Return one line that names the columns; empty if all are read."""
        left_out = [i for i in range(len(self.names)) if i not in self.coordinates]
        if not left_out:
            return ""
        line = f"coordinates: {listed(shown(self.names[i]) for i in self.coordinates)}"
        line += f"; left out: {listed(shown(self.names[i]) for i in left_out)}"
        return line + (
            f"; ids of the rows: {shown(self.names[self.ids])}"
            if self.ids is not None
            else ""
        )


def names_of(given: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return the names of columns in `lon,lat`, which may be quoted, or a sequence.

    Raises
    ------
    ConfigError
        If a name is empty, or given twice.
    """
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
    asked: Sequence[str] = (),
    headed: bool = True,
) -> PointColumns:
    """Return which columns are the coordinates.

    Parameters
    ----------
    table : object
        Names the table in messages.
    columns : sequence of Column
    asked : sequence of str
        Names that the user gives; positions from 1 if the table is not headed.
    headed : bool

    Raises
    ------
    InputError
        If no column is a coordinate, or one holds text, dates or booleans.
    ConfigError
        If the user names a column that is not there, or twice.
    """
    names = tuple(column.name for column in columns)
    not_coordinates = [i for i in range(len(names)) if headed and _is_id(names[i])]
    if asked:
        chosen = [_position(table, names, name) for name in asked]
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
    named = [i for i in ids if names[i].strip() and not _is_group(names[i])]
    nameless = [i for i in ids if not names[i].strip()]
    return PointColumns(
        names, tuple(chosen), next(iter(named + nameless), None), headed
    )


def _is_id(name: str) -> bool:
    return is_ignored(name) or _NOT_COORDINATES.fullmatch(plain(name)) is not None


def _is_group(name: str) -> bool:
    """Return whether a column has labels or results, and not ids of rows."""
    return plain(name) in (
        "label", "labels", "type", "class", "cluster", "clusters", "target", "group",
        "species", "probability", "oneway", "reversed",
    )  # fmt: skip


def _position(table: object, names: Sequence[str], name: str) -> int:
    exact = [i for i, known in enumerate(names) if known.strip() == name]
    alike = [i for i, known in enumerate(names) if plain(known) == plain(name)]
    found = exact or alike
    if len(found) != 1:
        has = "has that column twice" if found else "has no such column; it has"
        rest = "" if found else f" {listed(map(shown, names))}"
        raise ConfigError(f"--columns {name}: {table} {has}{rest}.")
    return found[0]
