"""Files of edges between vertices that have names instead of numbers."""

import re
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..graph.order import id_dtype
from ..host.memory_costs import EDGE_COPIES, NAME_KEY_BYTES
from . import memory_limit
from .edge_file import (
    EdgeFile,
    Edges,
    EntryFile,
    UnnumberedEndError,
    changed_meanwhile,
)
from .names import (
    IntegerNames,
    NameKind,
    Names,
    distinct_names,
    is_integer,
    is_padded,
    joined_names,
    names_of_keys,
    names_of_texts,
)

# A number that is not a whole one as Python writes it: 2.0, .5, 1e+00
_REAL = re.compile(r"[+-]?([0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))([eE][+-]?[0-9]+)?")
_WHOLE = re.compile(r"-?[0-9]{1,20}")


@dataclass(frozen=True)
class EdgesByName:
    """Edges between named vertices."""

    # Of one kind
    src: Names
    dst: Names
    weight: np.ndarray  # as in `Edges`

    def __len__(self) -> int:
        return len(self.weight)

    def part(self, low: int, high: int) -> "EdgesByName":
        """Return the edges [low, high)."""
        edges = slice(low, high)
        src, dst = self.src.take(edges), self.dst.take(edges)
        return EdgesByName(src, dst, self.weight[edges])


class NamedEdgeFile(EntryFile):
    """A list of weighted edges between named vertices, of any size."""

    kind: NameKind  # of all names in the file

    @abstractmethod
    def named_pieces(self, begin: int, end: int) -> Iterator[EdgesByName]:
        """Yield the entries in a range, some at a time; see `EdgeFile.pieces`."""

    def read(self) -> Edges:
        """Return the whole list, in memory; see `EntryFile`."""
        listed = self.named_pieces(0, self.length)
        pieces = memory_limit.collect(self.budget, self.name, listed, self._cost)
        self.check_entries(sum(map(len, pieces)))
        lists = [piece.src for piece in pieces] + [piece.dst for piece in pieces]
        joined = joined_names(lists) if lists else names_of_keys(self.kind, [])
        names, positions = distinct_names(joined)
        src, dst = np.split(positions.astype(id_dtype(len(names))), 2)
        weight = self.joined_weights([piece.weight for piece in pieces])
        return Edges(len(names), src, dst, weight, names=names)

    def _cost(self, piece: EdgesByName) -> int:
        """Return the bytes that a piece takes until its ends are numbered."""
        nbytes = piece.src.nbytes + piece.dst.nbytes + piece.weight.nbytes
        keys = 0 if self.kind.is_integer else 2 * NAME_KEY_BYTES * len(piece)
        return EDGE_COPIES * nbytes + keys


@dataclass(frozen=True)
class EndKinds:
    """The kinds of edge ends in a table: numbers, texts, or both."""

    integers: bool = True  # whether all are integers
    # Of the integers
    least: int = 0
    most: int = 0
    words: bool = False  # whether any is not a number
    # Whether any is a number such as 2.0 or 1e+00: data frames make them of integers
    # beside missing values, and numpy.savetxt of all integers
    real: bool = False
    padded: str = ""  # a whole number with leading zeros, such as 01, if there is one

    def with_other(self, other: "EndKinds") -> "EndKinds":
        """Return the kinds of these and other ends together."""
        return EndKinds(
            self.integers and other.integers,
            min(self.least, other.least),
            max(self.most, other.most),
            self.words or other.words,
            self.real or other.real,
            self.padded or other.padded,
        )

    @property
    def are_names(self) -> bool:
        """Whether the ends name vertices; 2.0 is a mistake if all are numbers."""
        return self.words or not self.real

    @property
    def kind(self) -> NameKind:
        """The kind of names that holds all of them."""
        for kind in (NameKind.INT64, NameKind.UINT64):
            if self.integers and kind.holds(self.least, self.most):
                return kind
        return NameKind.TEXT


# Some edges of a table: both ends (str, object of str, or any integers), and weights
TableEdges = tuple[np.ndarray, np.ndarray, np.ndarray]


class NameableFile(EdgeFile):
    """A list of edges whose ends may turn out to be names: `UnnumberedEndError`."""

    # Whether it is known before any edge is read that the ends are text
    text_ends: bool

    @abstractmethod
    def named_pieces(self, begin: int, end: int) -> Iterator[TableEdges]:
        """Yield the entries that begin in [begin, end), their ends as they are."""

    def kinds_of_ends(self, begin: int, end: int) -> EndKinds:
        """Return the kinds of the ends of entries that begin in [begin, end)."""
        kinds = EndKinds()
        if self.text_ends:
            return EndKinds(False, words=True)
        for src, dst, _ in self.named_pieces(begin, end):
            kinds = kinds.with_other(_kinds(src)).with_other(_kinds(dst))
        return kinds

    def named(self, kind: NameKind) -> "NamedTable":
        """Return the list with ends as names of a kind."""
        return NamedTable(self, kind)

    def read(self) -> Edges:
        """Return the whole list, in memory; see `EntryFile`."""
        try:
            return super().read()
        except UnnumberedEndError:
            kinds = self.kinds_of_ends(0, self.length)
            if not kinds.are_names:
                raise
        return self.named(kinds.kind).read()


class NamedTable(NamedEdgeFile):
    """A table whose ends are names of one kind."""

    def __init__(self, table: NameableFile, kind: NameKind) -> None:
        self.table, self.kind = table, kind
        self.copy_facts(table)

    def identity(self) -> dict[str, object]:
        """Return facts that identify the table."""
        return self.table.identity()

    def named_pieces(self, begin: int, end: int) -> Iterator[EdgesByName]:
        """Yield the rows that begin in [begin, end); see `NamedEdgeFile`."""
        for *ends, weight in self.table.named_pieces(begin, end):
            src, dst = (_names(self.name, some, self.kind) for some in ends)
            yield EdgesByName(src, dst, weight)


def is_number(word: str) -> bool:
    """Return whether a word is an integer of up to 20 digits, or another number."""
    return (_WHOLE.fullmatch(word) or _REAL.fullmatch(word)) is not None


def _kinds(ends: np.ndarray) -> EndKinds:
    if len(ends) == 0:
        return EndKinds()
    if ends.dtype.kind in "iu":
        return EndKinds(True, int(ends.min()), int(ends.max()))
    words = set(map(str, ends.tolist()))
    if not all(map(is_integer, words)):
        texts = {word for word in words if not is_number(word)}
        real = any(map(_REAL.fullmatch, words - texts))
        padded = min(filter(is_padded, words), default="")
        return EndKinds(False, words=bool(texts), real=real, padded=padded)
    numbers = list(map(int, words))
    return EndKinds(True, min(numbers), max(numbers))


def _names(source: str, ends: np.ndarray, kind: NameKind) -> Names:
    """Return the ends of some rows as names of a kind."""
    if not kind.is_integer:
        return names_of_texts(source, list(map(str, ends.tolist())))
    numbers = ends
    if ends.dtype.kind not in "iu":
        words = list(filter(is_integer, ends.tolist()))
        numbers = np.array(list(map(int, words)), object)
    inside = not len(numbers) or kind.holds(numbers.min(), numbers.max())
    if len(numbers) < len(ends) or not inside:
        raise changed_meanwhile(source)
    return IntegerNames(numbers.astype(kind.value))
