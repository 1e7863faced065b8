"""Tables of edges in memory: pandas, Polars and PyArrow, by the rule of files."""

from typing import Any

from ..host.errors import ConfigError, ConfigTypeError, InputError, shown
from ..io.formats.table_columns import (
    EMPTY,
    NUMBER,
    OTHER,
    TEXT,
    Column,
    ColumnNames,
    choose_columns,
)
from .graph_columns import GraphColumns, in_python, kind_of_objects

# Kinds of NumPy's types, which pandas has, too.
_OF_NUMPY = dict.fromkeys("iuf", NUMBER) | dict.fromkeys("UST", TEXT)
# The beginnings of the names of PyArrow's and Polars' types.
_OF_NUMBERS = ("int", "uint", "float", "half", "double", "decimal")
_OF_TEXT = ("string", "large_string", "str", "utf8", "categorical", "enum")


def is_table(value: Any) -> bool:
    """Return whether a value is a table of pandas, Polars or PyArrow."""
    if not hasattr(value, "__getitem__"):
        return False
    return hasattr(value, "column_names") or (
        hasattr(value, "columns") and hasattr(value, "to_numpy")
    )


def read_table(
    table: Any, source: Any, target: Any, weight: Any, nodes: Any = None
) -> GraphColumns:
    """Return the edges of a table.

    Parameters
    ----------
    source, target, weight : str, optional
        Names of columns. Columns that are not given are found by known names, as in
        files; see `io.formats.table_columns`. An empty `weight` gives each edge 1.
    nodes : array-like, optional
        The names of all vertices.

    Raises
    ------
    ConfigError
        If there is no such column.
    InputError
        If names are not known, or several columns may be meant.
    """
    names = _names_of(table)
    for role, name in (("source", source), ("target", target), ("weight", weight)):
        if name is not None and not isinstance(name, str):
            raise ConfigTypeError(
                f"{role} has type {type(name).__name__}; give the name of a column"
            )
    columns = [Column(name, _kind_of(table[name])) for name in names]
    asked = ColumnNames(source, target, weight)
    try:
        found = choose_columns("the table", columns, asked)
    except (ConfigError, InputError) as error:
        raise type(error)(in_python(str(error))) from None
    ends = table[names[found.source]], table[names[found.target]]
    weights, weight_name = [1] * len(ends[0]), "weight"
    if found.weight is not None:
        weight_name = names[found.weight]
        weights = table[weight_name]
    titles = (names[found.source], names[found.target], weight_name)
    return GraphColumns(*ends, weights, nodes, titles)


def _names_of(table: Any) -> list[str]:
    """Return the names of the columns, all of them text, each once."""
    names = list(getattr(table, "column_names", None) or table.columns)
    for name in names:
        if not isinstance(name, str):
            raise InputError(
                f"the table has a column named {shown(name)}; give text, "
                "or the columns one by one: minimum_spanning_forest(src, dst, weight)"
            )
        if names.count(name) > 1:
            raise InputError(f"the table has the column {name!r} more than once")
    return names


def _kind_of(column: Any) -> str:
    """Return the kind of a column's values, one of those of `table_columns`."""
    dtype = getattr(column, "dtype", getattr(column, "type", None))
    kind = getattr(dtype, "kind", "")
    if kind == "O":
        return kind_of_objects(column[:1000])
    if kind:
        return _OF_NUMPY.get(kind, OTHER)
    name = str(dtype).lower()
    if name.startswith(_OF_NUMBERS):
        return NUMBER
    if name in ("null", "empty"):
        return EMPTY
    return TEXT if name.startswith(_OF_TEXT) or "string" in name else OTHER
