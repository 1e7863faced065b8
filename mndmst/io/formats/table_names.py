"""Tables of edges whose ends are names: text, or integers that are not numbers."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ...host.errors import InputError
from ..named_edge_file import EdgesByName, EndKinds, NamedEdgeFile
from ..names import (
    INT64,
    UINT64,
    IntegerNames,
    NameKind,
    Names,
    names_of_texts,
)


@dataclass(frozen=True)
class NamedEdges:
    """Edges whose ends are names.

    Attributes
    ----------
    src, dst : ndarray of str, object (of str) or any integers, shape (edges,)
    weight : ndarray of one of `order.WEIGHT_DTYPES`, shape (edges,)
    """

    src: np.ndarray
    dst: np.ndarray
    weight: np.ndarray

    def __len__(self) -> int:
        return len(self.src)


_INTEGER = re.compile(r"0|-?[1-9]\d{0,19}")
_NUMBER = re.compile(r"-?\d{1,20}([.]\d*)?")


class Table(Protocol):
    """A table that yields the ends of its edges as it has them."""

    name: str
    length: int
    num_entries: int | None
    weight_dtype: np.dtype | None
    seekable: bool
    rereadable: bool
    notes: tuple[str, ...]

    def identity(self) -> dict[str, Any]:
        """Return what distinguishes the table from others."""

    def named_pieces(self, begin: int, end: int) -> Iterator[NamedEdges]:
        """Yield rows, their ends as integers or text."""


class NamedTable(NamedEdgeFile):
    """A table whose ends are names of one kind.

    Parameters
    ----------
    kind : NameKind
        Integers that do not fit into it are an error; of text all fit.
    """

    def __init__(self, table: Table, kind: NameKind) -> None:
        self.table, self.kind = table, kind
        self.name, self.length = table.name, table.length
        self.num_entries, self.weight_dtype = table.num_entries, table.weight_dtype
        self.seekable, self.rereadable = table.seekable, table.rereadable
        self.notes = table.notes

    def identity(self) -> dict[str, Any]:
        """Return what distinguishes the table from others."""
        return self.table.identity()

    def named_pieces(self, begin: int, end: int) -> Iterator[EdgesByName]:
        """Yield the rows that begin in [begin, end); see `NamedEdgeFile`."""
        for piece in self.table.named_pieces(begin, end):
            src, dst = (_names(self.name, x, self.kind) for x in (piece.src, piece.dst))
            yield EdgesByName(src, dst, piece.weight)


def ends_of_table(table: Table, begin: int, end: int) -> EndKinds:
    """Return what the ends in a range of a table are."""
    found = EndKinds()
    for piece in table.named_pieces(begin, end):
        for ends in (piece.src, piece.dst):
            found = found.with_other(_kinds(ends))
    return found


def is_integer(word: str) -> bool:
    """Return whether a word is an integer as Python writes it, of up to 20 digits."""
    return _INTEGER.fullmatch(word) is not None


def is_number(word: str) -> bool:
    """Return whether a word is an integer, or one with a decimal point behind it."""
    return _NUMBER.fullmatch(word) is not None


def _kinds(ends: np.ndarray) -> EndKinds:
    if len(ends) == 0:
        return EndKinds()
    if ends.dtype.kind in "iu":
        return EndKinds(True, int(ends.min()), int(ends.max()))
    words = set(map(str, ends.tolist()))
    if not all(map(is_integer, words)):
        texts = {word for word in words if not is_number(word)}
        pointed = any("." in word for word in words - texts)
        return EndKinds(False, words=bool(texts), pointed=pointed)
    numbers = list(map(int, words))
    return EndKinds(True, min(numbers), max(numbers))


def _names(source: str, ends: np.ndarray, kind: NameKind) -> Names:
    """Return the ends of some rows as names of a kind."""
    if not kind.is_integer:
        return names_of_texts(source, list(map(str, ends.tolist())))
    limits = INT64 if kind is NameKind.INT64 else UINT64
    if ends.dtype.kind in "iu":
        numbers = ends
    else:
        words = ends.tolist()
        if not all(map(is_integer, words)):
            raise InputError(
                f"{source}: has changed while it was read. Run the command again."
            )
        numbers = np.array(list(map(int, words)), object)
    if len(numbers) and not limits.min <= numbers.min() <= numbers.max() <= limits.max:
        raise InputError(
            f"{source}: has changed while it was read. Run the command again."
        )
    return IntegerNames(numbers.astype(kind.value))
