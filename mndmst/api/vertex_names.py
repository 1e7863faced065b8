"""Vertices by name: numbers for strings, UUIDs, tuples, or integers far apart.

Names are numbered in ascending order where they have one, so that ties between edges
are decided in the same way for every order of the rows. Names of several types, or of a
type without a total order, are numbered in the order of their first occurrence.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from uuid import UUID

import numpy as np

from ..host.errors import InputError, InputTypeError, shown
from ..io.names import IntegerNames, NameIndex
from .inputs import TIMES, as_array

# Integers are numbers of vertices up to the first bound, or up to the second times the
# number of edges. Integers beyond are names: arrays of all smaller vertices would take
# more memory than the edges.
MOST_NUMBERS, NUMBERS_PER_EDGE = 1 << 24, 16
# NumPy's kinds that are factorised by sorting: integers, text and bytes.
FIXED = "iuUS"
ORDERED = (str, bytes, int, tuple, UUID, date, np.datetime64, np.timedelta64)


@dataclass(frozen=True)
class VertexNames:
    """The names of all vertices, by number."""

    # shape (vertices,): distinct; of objects, or of one of NumPy's types.
    names: np.ndarray

    @cached_property
    def first_id(self) -> int | None:
        """The first name, if the names are consecutive integers from 0 or above."""
        if self.names.dtype.kind not in "iu" or len(self.names) == 0:
            return None
        first = int(self.names[0])
        consecutive = np.array_equal(self.names, np.arange(len(self.names)) + first)
        return first if consecutive and first >= 0 else None

    @cached_property
    def _numbers(self) -> dict[object, int]:
        return {name: number for number, name in enumerate(self.names.tolist())}

    @cached_property
    def _index(self) -> NameIndex:
        """The index of names that are integers."""
        return NameIndex.of(IntegerNames(self.names))

    def numbers(self, asked: object) -> np.ndarray:
        """Return the numbers of vertices; of one vertex an array without axes.

        Raises InputError if a vertex has no such name.
        """
        if _is_one(asked):
            return np.array(self._number(asked), np.int64)
        ids = as_array(asked, "vertices")
        if ids.dtype.kind in "iu" and self.names.dtype.kind in "iu":
            numbers = self._index.find(IntegerNames(ids))
            if (numbers < 0).any():
                raise _unnamed(ids[(numbers < 0).argmax()])
            return numbers
        listed = list(ids) if ids.dtype.kind in TIMES else ids.tolist()
        return np.array([self._number(name) for name in listed], np.int64)

    def _number(self, name: object) -> int:
        try:
            return self._numbers[name]
        except KeyError:
            raise _unnamed(name) from None
        except TypeError as error:
            raise InputTypeError(
                f"no vertex can be named {shown(name)}: {error}"
            ) from error


@dataclass(frozen=True)
class NumberedEnds:
    """Ends of edges as numbers of vertices."""

    # integers, shape (edges,)
    src: np.ndarray
    dst: np.ndarray
    num_vertices: int
    names: VertexNames | None  # None if vertices have numbers alone
    # The smallest end, where the edges alone say which vertices there are
    smallest: int = 0


def number_ends(
    src: object,
    dst: object,
    num_vertices: int | None,
    nodes: object = None,
    titles: Sequence[str] = ("src", "dst"),
) -> NumberedEnds:
    """Number the vertices that edges join: integers, strings or other hashable values.

    If `num_vertices` is given, integers are the numbers of vertices. `nodes` has the
    names of all vertices, those without an edge included; `titles` names the columns in
    messages. Raises InputTypeError if values are not names (fractions, booleans,
    unhashable objects); InputError if a name is missing, or `nodes` lacks an end.
    """
    src_ids, dst_ids = ends = [_as_ids(src, titles[0]), _as_ids(dst, titles[1])]
    if nodes is not None:
        if num_vertices is not None:
            raise InputError("give nodes or num_vertices, not both")
        return _numbered_by_names(ends, _as_ids(nodes, "nodes"))
    if all(ids.dtype.kind in "iu" or len(ids) == 0 for ids in ends):
        if num_vertices is not None:
            return NumberedEnds(src_ids, dst_ids, num_vertices, None)
        low = min((int(ids.min()) for ids in ends if len(ids)), default=0)
        high = max((int(ids.max()) for ids in ends if len(ids)), default=-1)
        if low < 0 or high < max(MOST_NUMBERS, NUMBERS_PER_EDGE * len(ends[0])):
            return NumberedEnds(src_ids, dst_ids, high + 1, None, low)
    elif num_vertices is not None:
        raise InputTypeError(
            "src and dst have names, and num_vertices goes with numbers; give all "
            "names as nodes"
        )
    return _numbered_by_names(ends, None)


def _numbered_by_names(
    ends: list[np.ndarray], nodes: np.ndarray | None
) -> NumberedEnds:
    columns = ends if nodes is None else [*ends, nodes]
    columns = _of_one_kind([ids for ids in columns if len(ids)], columns)
    distinct = _distinct_fixed if columns[0].dtype.kind in FIXED else _distinct_objects
    names, numbers = distinct(columns)
    if nodes is not None:
        _check_nodes(names, numbers)
    src, dst = numbers[:2]
    if np.array_equal(names, np.arange(len(names))) and names.dtype.kind in "iu":
        return NumberedEnds(src, dst, len(names), None)
    return NumberedEnds(src, dst, len(names), VertexNames(names))


def _distinct_fixed(columns: list[np.ndarray]) -> tuple[np.ndarray, list[np.ndarray]]:
    names, numbers = np.unique(np.concatenate(columns), return_inverse=True)
    return names, _split(numbers, columns)


def _distinct_objects(columns: list[np.ndarray]) -> tuple[np.ndarray, list[np.ndarray]]:
    first: dict[object, int] = {}
    numbers = []
    for column in columns:
        values = column.tolist()
        try:
            codes = [first.setdefault(name, len(first)) for name in values]
        except TypeError as error:
            raise InputTypeError(
                f"vertices are named by hashable values, such as strings: {error}"
            ) from error
        numbers.append(np.array(codes, np.int64))
    order = _ascending(first)
    names = np.empty(len(first), object)
    names[:] = order
    rank = np.empty(len(first), np.int64)
    rank[[first[name] for name in order]] = np.arange(len(first))
    return names, [rank[codes] for codes in numbers]


def _ascending(names: Iterable[object]) -> list[object]:
    """Return names in ascending order, or as they come where they have none."""
    listed = list(names)
    kinds = set(map(type, listed))
    if len(kinds) == 1 and issubclass(kinds.pop(), ORDERED):
        try:
            return sorted(listed)  # type: ignore[type-var]
        except TypeError:  # tuples of several types
            return listed
    return listed


def _split(numbers: np.ndarray, columns: list[np.ndarray]) -> list[np.ndarray]:
    bounds = np.cumsum([len(column) for column in columns])[:-1]
    return np.split(numbers.ravel(), bounds)


def _check_nodes(names: np.ndarray, numbers: list[np.ndarray]) -> None:
    """Raise an InputError if the third column has a name twice, or lacks one."""
    times = np.bincount(numbers[2], minlength=len(names))
    if (times > 1).any():
        name = names[int(times.argmax())]
        raise InputError(
            f"nodes has {shown(name)} more than once; give each vertex once"
        )
    if (times == 0).any():
        name = names[int(times.argmin())]
        raise InputError(
            f"an edge joins {shown(name)}, which nodes lacks; add it to nodes"
        )


def _as_ids(values: object, name: str) -> np.ndarray:
    """Return ids as an array of one of NumPy's fixed types, or of objects.

    Raises InputTypeError if they are of a type that makes no names; InputError if one
    is missing.
    """
    ids = as_array(values, name)
    if ids.dtype == object:
        return _checked_objects(ids, name)
    if ids.dtype.kind in TIMES:
        return _times(ids, name)
    if ids.dtype.kind not in FIXED and len(ids):
        raise InputTypeError(
            f"{name} has values of type {ids.dtype}; give integers, strings or other "
            "names of vertices"
        )
    return ids.astype(ids.dtype.newbyteorder("="), copy=False)


def _times(ids: np.ndarray, name: str) -> np.ndarray:
    """Return times as objects, none missing."""
    if np.isnat(ids).any():
        position = int(np.isnat(ids).argmax())
        raise InputError(f"{name} has a missing value (NaT) at position {position}")
    objects = np.empty(len(ids), object)
    objects[:] = list(ids)
    return objects


def _checked_objects(ids: np.ndarray, name: str) -> np.ndarray:
    """Return objects, as integers of 64 bits if all are such, none missing."""
    values = ids.tolist()
    kinds = set(map(type, values))
    for kind in kinds:
        if issubclass(kind, float | np.floating | bool | np.bool_ | type(None)) or (
            kind.__name__ in ("NAType", "NaTType", "MaskedConstant")
        ):
            position = next(i for i, one in enumerate(values) if type(one) is kind)
            raise InputTypeError(
                f"{name} has {shown(values[position])} ({kind.__name__}) at position "
                f"{position}; give integers, strings or other names of vertices"
            )
    if kinds and all(issubclass(kind, int | np.integer) for kind in kinds):
        low, high = min(values), max(values)
        if low >= -(1 << 63) and high < 1 << 63:
            return ids.astype(np.int64)
    return ids


def _of_one_kind(
    filled: list[np.ndarray], columns: list[np.ndarray]
) -> list[np.ndarray]:
    """Return columns in a type that holds all names, none changed.

    Raises InputTypeError if a column has integers and another one text: no end of the
    one would equal an end of the other.
    """
    kinds = set(map(_kind_of, filled))
    objects = any(ids.dtype == object for ids in filled)
    if len(kinds) <= 1 and not objects:
        kind = np.result_type(*filled) if filled else np.dtype(np.int64)
        return [ids.astype(kind, copy=False) for ids in columns]
    if kinds == {"i", "u"} and all(int(ids.min()) >= 0 for ids in filled):
        return [ids.astype(np.uint64) for ids in columns]
    if len(kinds) <= 1 or kinds == {"i", "u"} or "O" in kinds:
        return [ids.astype(object) for ids in columns]
    types = ", ".join(sorted({ids.dtype.name for ids in filled}))
    raise InputTypeError(
        f"ends of edges have several types ({types}), so equal names would differ; "
        "cast both columns to one type"
    )


def _kind_of(ids: np.ndarray) -> str:
    """Return the kind of a column's type; of objects that are all text, "U"."""
    if ids.dtype == object and all(isinstance(name, str) for name in ids.tolist()):
        return "U"
    return ids.dtype.kind


def _unnamed(name: object) -> InputError:
    return InputError(f"the graph has no vertex named {shown(name)}")


def _is_one(asked: object) -> bool:
    """Return whether a question names one vertex; lists and arrays name several.

    A tuple is one name.
    """
    if isinstance(asked, list):
        return False
    return not hasattr(asked, "__array__") or np.ndim(asked) == 0
