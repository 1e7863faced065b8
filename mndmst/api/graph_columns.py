"""The edges of a graph as columns, and the rule of files for their names."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ..io.formats.table_columns import EMPTY, NUMBER, OTHER, TEXT


@dataclass(frozen=True)
class GraphColumns:
    """The edges of a graph, by the names of their ends.

    Attributes
    ----------
    src, dst : array-like or sequence of vertex names, one per edge
    weight : array-like of numbers, shape (edges,)
    nodes : array-like or None
        The names of all vertices; None if the edges have them all.
    titles : tuple of str
        The names of the three columns in messages.
    """

    src: Any
    dst: Any
    weight: Any
    nodes: Sequence[Any] | None = None
    titles: tuple[str, str, str] = ("src", "dst", "weight")


def kind_of_objects(values: Iterable[Any]) -> str:
    """Return the kind of a column of Python's values, one of `table_columns`."""
    kinds = {type(value) for value in values if value is not None and value == value}
    if not kinds:
        return EMPTY
    if all(issubclass(kind, str) for kind in kinds):
        return TEXT
    numbers = all(
        issubclass(kind, int | float) and not issubclass(kind, bool) for kind in kinds
    )
    return NUMBER if numbers else OTHER


def in_python(message: str) -> str:
    """Return a message with arguments of Python in place of the command's option."""
    return message.replace("--columns ", "")
