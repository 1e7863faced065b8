"""The weights of edges that have attributes: in files of graphs, JSON, and Python.

`table_columns` finds the weight among the names of the attributes. A weight may stand
in objects within the attributes, as Gephi and Neo4j write it. Either every edge has
the weight, or none: an edge without it is refused by name.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np

from ...host.errors import InputError, shown
from ..edge_file import narrow_integers, number_weights
from .table_columns import (
    EMPTY,
    NUMBER,
    OPTION,
    OTHER,
    TEXT,
    WEIGHTS,
    Column,
    choose_weight,
    named_weight,
    plain,
)

# The attributes of one edge, by name
Attributes = Mapping[str, object]
# Objects whose fields are attributes, of Gephi, Cytoscape and Neo4j
_HOLDERS = frozenset(("attributes", "data", "properties"))


def kind_of_objects(values: Iterable[object]) -> str:
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


def columns_of(edges: Sequence[Attributes]) -> list[Column]:
    """Return the attributes of all edges as columns."""
    names = dict.fromkeys(str(name) for edge in edges for name in edge)
    return [
        Column(name, kind_of_objects(edge.get(name) for edge in edges))
        for name in names
    ]


def unnested(
    source: object, edges: Sequence[Attributes], picked: str | None
) -> Sequence[Attributes]:
    """Return attributes with those in nested objects beside the others.

    Of a nested object, the fields count that have known names of weights, or the name
    that the user has `picked`; of `_HOLDERS` all fields with a name of their own.
    """
    if not any(isinstance(value, Mapping) for edge in edges for value in edge.values()):
        return edges
    return [_flat(source, number, edge, picked) for number, edge in enumerate(edges)]


def _flat(
    source: object, number: int, edge: Attributes, picked: str | None
) -> Attributes:
    flat = {k: value for k, value in edge.items() if not isinstance(value, Mapping)}
    for outer, name, value in _nested("", edge):
        known = plain(name) in WEIGHTS or name == picked
        if known and name in flat:
            raise InputError(
                f"{source}: edge {number} (from 0) has {shown(name)} both outside "
                f"and inside of {shown(outer)}. Keep one of them."
            )
        if known or plain(outer) in _HOLDERS:
            flat.setdefault(name, value)
    return flat


def _nested(outer: str, fields: Attributes) -> Iterator[tuple[str, str, object]]:
    """Yield the fields of objects within an object: its name, theirs, and the value."""
    for name, value in fields.items():
        if isinstance(value, Mapping):
            yield from _nested(str(name), value)
        elif outer:
            yield outer, str(name), value


def find_weight(
    source: object,
    edges: Sequence[Attributes],
    picked: str | None,
    option: str = OPTION,
) -> str | None:
    """Return the attribute that is the weight; None if every edge has weight 1.

    `option` precedes a name in messages.
    """
    columns = columns_of(edges)
    position = choose_weight(source, columns, picked=picked, option=option)
    return None if position is None else columns[position].name


def values_of(
    source: object,
    edges: Sequence[Attributes],
    name: str | None,
    edge_of: Callable[[int], str],
    option: str = OPTION,
) -> list[object]:
    """Return an attribute of every edge, or ones; InputError if an edge lacks it.

    `edge_of` names an edge in messages, by its number; `option` precedes a name there.
    """
    if name is None:
        return [1] * len(edges)
    values = [edge.get(name) for edge in edges]
    missing = next((i for i, value in enumerate(values) if value is None), None)
    if missing is not None:
        raise InputError(
            f"{source}: the edge {edge_of(missing)} has no {name}. Give it one, leave "
            f"the edge out, or give {named_weight(option)} for weight 1 of every edge."
        )
    return values


def weights_of(source: object, name: str, values: Sequence[object]) -> np.ndarray:
    """Return weights as integers if all are, else as float64.

    Raises InputError for one that is not a number.
    """
    for number, value in enumerate(values):
        if type(value) not in (int, float) or value != value:
            raise InputError(
                f"{source}: {name} of edge {number} (from 0) is {shown(value)}, not a "
                "number. Fix it, or leave the edge out."
            )
    weights = number_weights(source, values)  # type: ignore[arg-type]  # checked
    return narrow_integers(weights) if weights.dtype == np.int64 else weights
