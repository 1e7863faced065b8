"""Tables that the command `client` reads and writes."""

import csv
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from ..host.errors import ConfigError, InputError, MndmstError, optional, shown
from ..io.atomic_output import whole_file
from ..io.file_access import state_of, unreadable
from ..io.names import INTEGER, NameKind, escaped, is_integer, two_readings

if TYPE_CHECKING:  # loads Arrow
    from ..service.name_lookup import RemoteNames

KINDS = {".csv": "csv", ".parquet": "parquet", ".arrow": "feather"}


def read_array(path: Path) -> np.ndarray:
    """Return the one-dimensional array in an .npy file, or raise InputError."""
    with _read_as(path, "an .npy file", ValueError):
        array: np.ndarray = np.load(path, allow_pickle=False)
    if array.ndim != 1:
        raise InputError(f"{path}: has shape {array.shape}; give one dimension")
    return array


@contextmanager
def _read_as(path: Path, kind: str, damaged: type[Exception]) -> Iterator[None]:
    """Raise InputError if a block cannot read a file, or finds it `damaged`."""
    try:
        state_of(path)
        yield
    except MndmstError:
        raise
    except (FileNotFoundError, PermissionError) as error:
        raise unreadable(path, error) from error
    except (OSError, damaged) as error:
        raise InputError(f"{path}: is not {kind} ({error})") from error


def read_columns(
    path: Path, names: tuple[str, ...], vertex_names: "RemoteNames | None" = None
) -> tuple[np.ndarray, ...]:
    """Return columns of a table.

    All columns but `weight` have vertices, maybe by `vertex_names`: in CSV a name that
    is a text may look like a number. Raises InputError if the table cannot be read, or
    has others.
    """
    ends = [name for name in names if name != "weight"]
    table = _read_table(path, texts=ends)
    columns = {name: _column(path, table, name) for name in names}
    kind = NameKind.INT64 if vertex_names is None else vertex_names.kind
    if path.suffix == ".csv" and kind.is_integer:
        for name in ends:
            columns[name] = _as_integers(path, name, columns[name], kind)
    arrow = optional("pyarrow", "serve", "Tables need")
    for name, column in columns.items():
        whole = arrow.types.is_integer(column.type) or vertex_names is not None
        if name != "weight" and len(column) and (column.null_count or not whole):
            _refuse(path, name, column.to_pylist(), vertex_names is not None)
    return tuple(column.to_numpy() for column in columns.values())


def read_point_ids(path: Path, column: str = "id") -> np.ndarray:
    """Return the ids of points that a file has; InputError if one is not an integer."""
    from ..io.formats.id_files import read_ids
    from ..io.formats.point_tables import ids_of_words

    ids = read_ids(path, column)
    if ids.dtype.kind == "U":
        wrong = next(id for id in ids if ids_of_words([id]).dtype.kind == "U")
        raise InputError(
            f"{path}: {shown(wrong)} is not an id of points in a service, which are "
            "integers. Fix it, or leave it out."
        )
    return ids


def _read_table(path: Path, texts: Iterable[str]) -> Any:
    """Return a table, in CSV with columns `texts` as texts; or raise InputError."""
    module = _module(path)
    arrow = optional("pyarrow", "serve", "Tables need")
    with _read_as(path, "a table", arrow.ArrowException):
        if path.suffix != ".csv":
            return module.read_table(path)
        types = dict.fromkeys(texts, arrow.string())
        options = module.ConvertOptions(column_types=types)
        return module.read_csv(path, convert_options=options)


def _column(path: Path, table: Any, name: str) -> Any:
    names = table.column_names
    if names.count(name) != 1:
        found = f"{names.count(name)} columns" if name in names else "no column"
        raise InputError(f"{path}: has {found} {name!r}, but {', '.join(names)}")
    return table[name]


def _as_integers(path: Path, name: str, column: Any, kind: NameKind) -> Any:
    """Return a column of ends, which are texts, as integers."""
    arrow = optional("pyarrow", "serve", "Tables need")
    compute = optional("pyarrow.compute", "serve", "Tables need")
    words = compute.utf8_trim_whitespace(column)
    whole = compute.match_substring_regex(words, f"^({INTEGER})$")
    if compute.any(compute.invert(whole)).as_py():
        _refuse(path, name, words.to_pylist(), named=False)
    try:
        return words.cast(kind.value)
    except arrow.ArrowInvalid as error:
        raise InputError(f"{path}: column {name}: {error}") from error


def _refuse(path: Path, name: str, values: list[Any], named: bool) -> NoReturn:
    """Raise InputError for the first of some values that does not name a vertex."""
    row = next((i for i, v in enumerate(values) if not _is_vertex(v, named)), 0)
    has = "nothing" if values[row] in (None, "") else f'"{values[row]}"'
    kind = "a vertex has a name" if named else "a vertex is a whole number"
    raise InputError(
        f"{path}: row {row} (from 0) has {has} in column {name}, and {kind}"
        f"{two_readings(str(values[row]))}. Fix it, or leave it out."
    )


def _is_vertex(value: Any, named: bool) -> bool:
    if isinstance(value, float):  # Arrow reads 5 beside 2.5 as 5.0
        return value.is_integer()
    text = "" if value is None else str(value).strip()
    return text != "" if named else is_integer(text)


def write_table(table: Any, path: Path) -> None:
    """Write a table, whole or not at all; raise OutputError if it cannot be written."""
    module = _module(path)
    if path.suffix == ".csv":
        _check_lines(table, path)
    names = {".csv": "write_csv", ".parquet": "write_table", ".arrow": "write_feather"}
    with whole_file(path) as file:
        getattr(module, names[path.suffix])(table, file)


def print_table(table: Any) -> None:
    """Print a table as CSV."""
    rows = zip(*(table[name].to_pylist() for name in table.column_names), strict=True)
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(table.column_names)
    writer.writerows(rows)


def with_texts(table: Any) -> Any:
    """Return a table whose lists have become texts with blanks, as CSV has them."""
    arrow = optional("pyarrow", "serve", "Tables need")
    for position, name in enumerate(table.column_names):
        if arrow.types.is_list(table[name].type):
            texts = [" ".join(map(str, each)) for each in table[name].to_pylist()]
            column = arrow.array(texts, arrow.string())
            table = table.set_column(position, name, column)
    return table


def _check_lines(table: Any, path: Path) -> None:
    """Refuse texts with a line feed, which would not be read back from CSV."""
    compute = optional("pyarrow.compute", "serve", "Tables need")
    arrow = optional("pyarrow", "serve", "Tables need")
    for name, column in zip(table.column_names, table.columns, strict=True):
        if not (
            arrow.types.is_string(column.type)
            or arrow.types.is_large_string(column.type)
        ):
            continue
        row = compute.index(compute.match_substring(column, "\n"), True).as_py()
        if row >= 0:
            raise ConfigError(
                f'{path}: the name "{escaped(column[row].as_py())}" in column {name} '
                "has a line feed, and a row of a text table is one line. Give a name "
                "in .parquet or .arrow."
            )


def _module(path: Path) -> Any:
    if path.suffix not in KINDS:
        raise ConfigError(f"{path}: give a name that ends in {', '.join(KINDS)}")
    return optional(f"pyarrow.{KINDS[path.suffix]}", "serve", "Tables need")
