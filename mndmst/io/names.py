"""Users' own names of vertices: integers of 64 bits, texts, or values of JSON.

Vertices are numbered in ascending order of their names: integers by value, texts by
their bytes in UTF-8, which is the order of code points. No text is normalised: "01" and
"1" are two names, and so are two encodings of one letter. Names of several kinds, such
as 1 and "1" in one JSON file, are kept as JSON (1 and "1") and ordered by its bytes.
"""

import json
import re
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from operator import lt

import numpy as np

from ..host.errors import InputError

# Bytes of UTF-8: more is not a name, but a damaged table.
LONGEST_NAME = 1 << 16
PIECE = 1 << 17  # names that are read at once
SHOWN = 60  # characters of a name in a message
INT64, UINT64 = np.iinfo(np.int64), np.iinfo(np.uint64)
# A whole number as Python writes it, and one with leading zeros
INTEGER = r"0|-?[1-9][0-9]{0,19}"
_INTEGER, _PADDED = re.compile(INTEGER), re.compile(r"-?0[0-9]+")
# A name as Python compares it: an integer, or the bytes of a text
Key = int | bytes


class NameKind(StrEnum):
    """The kind of a graph's names."""

    INT64 = "int64"
    UINT64 = "uint64"
    TEXT = "text"
    JSON = "json"

    @property
    def is_integer(self) -> bool:
        """Return whether the names are integers of 64 bits."""
        return self in (NameKind.INT64, NameKind.UINT64)

    def holds(self, least: int, most: int) -> bool:
        """Return whether the kind is of integers that have these for bounds."""
        limits = INT64 if self is NameKind.INT64 else UINT64
        return self.is_integer and limits.min <= least <= most <= limits.max


def shown_edge(u: int, v: int, names: "NameSource | None") -> str:
    """Return the ends of an edge under their names, for messages."""
    if names is None:
        return f"({u}, {v})"
    first, second = map(escaped, names.take(np.array([u, v], np.int64)).texts())
    if names.kind.is_integer:
        return f"({first}, {second})"
    return f'("{first}", "{second}")'


class NameSource(ABC):
    """The names of vertices, by number, in memory or on disk."""

    kind: NameKind

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def take(self, positions: np.ndarray | slice) -> "Names":
        """Return the names at some positions, in memory."""

    def pieces(self, length: int = PIECE) -> Iterator["Names"]:
        """Yield the names in order, a bounded number at a time."""
        for low in range(0, len(self), length):
            yield self.take(slice(low, min(low + length, len(self))))

    def held(self) -> AbstractContextManager[None]:
        """Hold all names in memory inside a block, where they are on disk and fit."""
        return nullcontext()


@dataclass(frozen=True)
class ReorderedNames(NameSource):
    """Names in another order."""

    names: NameSource
    order: np.ndarray  # integers: the position in `names` of each name

    @property
    def kind(self) -> NameKind:  # type: ignore[override]
        """The kind of the names."""
        return self.names.kind

    def __len__(self) -> int:
        return len(self.order)

    def take(self, positions: np.ndarray | slice) -> "Names":
        """Return the names at some positions, in memory."""
        return self.names.take(np.asarray(self.order[positions], np.int64))


class Names(NameSource):
    """A list of names, in memory or mapped from a file."""

    @abstractmethod
    def keys(self) -> Sequence[Key]:
        """Return the names as Python compares them."""

    @abstractmethod
    def columns(self) -> dict[str, np.ndarray]:
        """Return the arrays that encode the names, by the name of each array."""

    @abstractmethod
    def values(self) -> Sequence[object]:
        """Return the names as Python values: int, str, or a value of JSON."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Bytes of all names."""

    def letters(self, positions: np.ndarray) -> int:
        """Return the bytes of text in the names at some positions."""
        begins = self.columns().get("begins")
        if begins is None:
            return 0
        return int((begins[positions + 1] - begins[positions]).sum())

    @abstractmethod
    def find(self, wanted: "Names") -> np.ndarray:
        """Return the positions of names, -1 for none; these and `wanted` ascend."""

    def count_through(self, last: Key) -> int:
        """Count the names up to and including `last`; the names ascend."""
        keys = self.keys()  # all of the type of `last`
        return bisect_right(keys, last)  # type: ignore[type-var]

    def texts(self) -> list[str]:
        """Return the names as a table shows them: numbers, texts, or JSON."""
        return [k.decode() if isinstance(k, bytes) else str(k) for k in self.keys()]

    def ascend(self) -> bool:
        """Return whether every name is above the one before it."""
        for low in range(0, len(self), PIECE):
            keys = self.take(slice(low, low + PIECE + 1)).keys()
            if not all(map(lt, keys, keys[1:])):  # type: ignore[arg-type]
                return False
        return True


@dataclass(frozen=True)
class IntegerNames(Names):
    """Names that are integers."""

    integers: np.ndarray  # int64 or uint64 [names]

    @property
    def kind(self) -> NameKind:  # type: ignore[override]
        """The type of the integers."""
        return NameKind(self.integers.dtype.name)

    def __len__(self) -> int:
        return len(self.integers)

    def take(self, positions: np.ndarray | slice) -> "IntegerNames":
        """Return the names at some positions."""
        return IntegerNames(np.asarray(self.integers[positions]))

    def keys(self) -> list[int]:
        """Return the integers."""
        keys: list[int] = self.integers.tolist()
        return keys

    def columns(self) -> dict[str, np.ndarray]:
        """Return the integers."""
        return {"integers": self.integers}

    def values(self) -> Sequence[object]:
        """Return the integers."""
        return self.keys()

    def find(self, wanted: Names) -> np.ndarray:
        """Return the positions of ascending names; see `Names`."""
        integers = wanted.columns()["integers"]
        positions = np.searchsorted(self.integers, integers.astype(self.integers.dtype))
        missing = positions == len(self)
        positions[missing] = 0
        if len(self):
            missing |= self.integers[positions] != integers
        positions[missing] = -1
        return positions

    def count_through(self, last: Key) -> int:
        """Count the names up to and including `last`."""
        key = self.integers.dtype.type(last)
        return int(np.searchsorted(self.integers, key, "right"))

    @property
    def nbytes(self) -> int:
        """Bytes of all names."""
        return self.integers.nbytes

    def ascend(self) -> bool:
        """Return whether every name is above the one before it."""
        return bool((self.integers[1:] > self.integers[:-1]).all())


@dataclass(frozen=True)
class IdRange(Names):
    """Consecutive integers as names: the ids of a file that does not count from 0."""

    first: int  # the id of the vertex at position 0
    count: int
    kind = NameKind.INT64

    @property
    def last(self) -> int:
        """The id of the last vertex."""
        return self.first + self.count - 1

    @property
    def stored_dtype(self) -> np.dtype:
        """The type in which results have ids: int32 where all of them fit, or int64."""
        return np.dtype(np.int32 if self.first + self.count <= 1 << 31 else np.int64)

    def __len__(self) -> int:
        return self.count

    def take(self, positions: np.ndarray | slice) -> Names:
        """Return the ids at some positions."""
        if isinstance(positions, slice):
            low, high, step = positions.indices(self.count)
            if step == 1:
                return IdRange(self.first + low, max(0, high - low))
            positions = np.arange(low, high, step)
        return IntegerNames(np.asarray(positions, np.int64) + self.first)

    def keys(self) -> range:
        """Return the ids."""
        return range(self.first, self.first + self.count)

    def columns(self) -> dict[str, np.ndarray]:
        """Return the ids as an array."""
        return {"integers": np.arange(self.first, self.first + self.count)}

    def values(self) -> Sequence[object]:
        """Return the ids."""
        return list(self.keys())

    def find(self, wanted: Names) -> np.ndarray:
        """Return the positions of integers, -1 for none."""
        integers = wanted.columns()["integers"]
        inside = (integers >= self.first) & (integers < self.first + self.count)
        return np.where(inside, integers - self.first, -1)

    def count_through(self, last: Key) -> int:
        """Count the ids up to and including `last`."""
        assert isinstance(last, int)
        return min(max(0, last + 1 - self.first), self.count)

    @property
    def nbytes(self) -> int:
        """Bytes that the ids take: none are stored."""
        return 0

    def ascend(self) -> bool:
        """Return whether every id is above the one before it."""
        return True


@dataclass(frozen=True)
class TextNames(Names):
    """Names that are texts, or JSON."""

    kind: NameKind  # `TEXT` or `JSON`
    text: np.ndarray  # uint8: all names in UTF-8, one behind the other
    # int64 [names + 1]: where each name begins, and where the last one ends
    begins: np.ndarray

    def __len__(self) -> int:
        return len(self.begins) - 1

    def take(self, positions: np.ndarray | slice) -> "TextNames":
        """Return the names at some positions, in memory."""
        if isinstance(positions, slice):
            low, high, _ = positions.indices(len(self))
            begins = np.array(self.begins[low : max(low, high) + 1])
            text = np.array(self.text[begins[0] : begins[-1]])
            return TextNames(self.kind, text, begins - begins[0])
        first = self.begins[positions]
        lengths = self.begins[positions + 1] - first
        begins = np.concatenate(([0], np.cumsum(lengths)))
        indices = np.repeat(first - begins[:-1], lengths) + np.arange(begins[-1])
        return TextNames(self.kind, np.asarray(self.text[indices]), begins)

    def keys(self) -> list[bytes]:
        """Return the bytes of each name."""
        text, begins = self.text.tobytes(), self.begins.tolist()
        return [text[a:b] for a, b in pairwise(begins)]

    def columns(self) -> dict[str, np.ndarray]:
        """Return the bytes and where each name begins."""
        return {"text": self.text, "begins": self.begins}

    def values(self) -> Sequence[object]:
        """Return the texts, or their JSON values."""
        texts = self.texts()
        return texts if self.kind is NameKind.TEXT else list(map(json.loads, texts))

    def find(self, wanted: Names) -> np.ndarray:
        """Return the positions of ascending names; see `Names`."""
        from .kernels.text_search import find_texts  # a client of the service has none

        columns = wanted.columns()
        positions = np.empty(len(wanted), np.int64)
        find_texts(
            self.text, self.begins, columns["text"], columns["begins"], positions
        )
        return positions

    @property
    def nbytes(self) -> int:
        """Bytes of all names."""
        return self.text.nbytes + self.begins.nbytes

    def are_utf8(self) -> bool:
        """Return whether each name is UTF-8."""
        first = self.text[self.begins[:-1]]
        if ((first & 0xC0) == 0x80).any():  # the middle of a letter
            return False
        try:
            self.text.tobytes().decode()
        except UnicodeDecodeError:
            return False
        return True


def names_of_keys(kind: NameKind, keys: Sequence[Key]) -> Names:
    """Return names of a kind, from integers or bytes."""
    if kind.is_integer:
        return IntegerNames(np.array(keys, kind.value))
    joined = b"".join(keys)  # type: ignore[arg-type]
    lengths = np.fromiter(map(len, keys), np.int64, len(keys))  # type: ignore[arg-type]
    begins = np.concatenate(([0], np.cumsum(lengths)))
    return TextNames(kind, np.frombuffer(joined, np.uint8), begins)


def joined_names(parts: Sequence[Names]) -> Names:
    """Return names of one kind as one list; at least one list is given."""
    if all(isinstance(part, IntegerNames | IdRange) for part in parts):
        return IntegerNames(np.concatenate([p.columns()["integers"] for p in parts]))
    columns = [part.columns() for part in parts]
    ends = np.concatenate(([0], np.cumsum([len(c["text"]) for c in columns])))
    begins = [c["begins"][:-1] + end for c, end in zip(columns, ends, strict=False)]
    text = np.concatenate([c["text"] for c in columns])
    return TextNames(parts[0].kind, text, np.concatenate([*begins, ends[-1:]]))


def ascending_names(names: Names) -> Names:
    """Return names in ascending order, each once."""
    if isinstance(names, IntegerNames | IdRange):
        return IntegerNames(np.unique(names.columns()["integers"]))
    return names_of_keys(names.kind, sorted(set(names.keys())))


def distinct_names(names: Names) -> tuple[Names, np.ndarray]:
    """Return names ascending, each once, and the position of each given name."""
    if isinstance(names, IntegerNames | IdRange):
        integers = names.columns()["integers"]
        integers, positions = np.unique(integers, return_inverse=True)
        return IntegerNames(integers), positions.astype(np.int64, copy=False)
    keys = names.keys()
    ordered = sorted(set(keys))
    number = {key: k for k, key in enumerate(ordered)}
    positions = np.fromiter(map(number.__getitem__, keys), np.int64, len(keys))
    return names_of_keys(names.kind, ordered), positions


@dataclass(frozen=True)
class NameIndex:
    """Finds names in any order among distinct names, which ascend or were sorted."""

    names: Names  # ascending
    positions: np.ndarray | None = None  # int64: each name's position before the sort

    @classmethod
    def of(cls, names: Names) -> "NameIndex":
        """Index distinct names in any order; ascending names are not copied."""
        if names.ascend():
            return cls(names)
        ordered, ranks = distinct_names(names)
        positions = np.empty(len(ranks), np.int64)
        positions[ranks] = np.arange(len(ranks))
        return cls(ordered, positions)

    @property
    def nbytes(self) -> int:
        """Bytes of the names and their positions."""
        return self.names.nbytes + (
            0 if self.positions is None else 8 * len(self.names)
        )

    def find(self, wanted: Names) -> np.ndarray:
        """Return the positions of names, in any order and repeated; -1 for none."""
        # A search in ascending order visits memory, or a mapped file, in order
        distinct, ranks = distinct_names(wanted)
        matches = self.names.find(distinct)
        if self.positions is not None:
            matches = np.where(matches < 0, -1, self.positions[matches])
        return matches[ranks]


def names_of_values(source: object, values: Iterable[object]) -> Names:
    """Return names from Python's values, of the narrowest kind that tells them apart.

    Integers stay integers if 64 bits hold all of them, and texts stay texts. Anything
    else is kept as JSON. An object, NaN, an empty or a too long text is an InputError.
    """
    values = list(values)
    types = set(map(type, values))
    if types == {int}:
        for kind in (NameKind.INT64, NameKind.UINT64):
            if kind.holds(min(values), max(values)):  # type: ignore[type-var, arg-type]
                return IntegerNames(np.array(values, kind.value))
    if types <= {str}:
        return names_of_texts(source, values)  # type: ignore[arg-type]
    keys = [_literal(source, k, value) for k, value in enumerate(values)]
    return names_of_keys(NameKind.JSON, keys)


def names_of_texts(source: object, texts: Sequence[str]) -> Names:
    """Return texts as names of the kind `TEXT`; see `names_of_values`."""
    keys = [_utf8(source, k, text) for k, text in enumerate(texts)]
    return names_of_keys(NameKind.TEXT, keys)


def names_of_words(source: object, words: Sequence[bytes]) -> Names:
    """Return the words of a text file as names of the kind `TEXT`."""
    for k, word in enumerate(words):
        _check_length(source, k, word)
        try:
            word.decode()
        except UnicodeDecodeError as error:
            raise InputError(
                f"{source}: name {k + 1} is not UTF-8 ({error.reason}). Save "
                "the file in UTF-8."
            ) from error
    return names_of_keys(NameKind.TEXT, words)


def is_cell_of(kind: NameKind, cell: str) -> bool:
    """Return whether the cell of a table may be a name of a kind."""
    if not kind.is_integer:
        return 0 < len(cell.encode(errors="replace")) <= LONGEST_NAME
    return is_integer(cell) and kind.holds(int(cell), int(cell))


def is_integer(word: str) -> bool:
    """Return whether a word is an integer as Python writes it, of up to 20 digits."""
    return _INTEGER.fullmatch(word) is not None


def is_padded(word: str) -> bool:
    """Return whether a word is a whole number with leading zeros, which names keep."""
    return _PADDED.fullmatch(word) is not None


def two_readings(word: str) -> str:
    """Return how a padded number reads, behind a refusal of it; empty for others."""
    if not is_padded(word):
        return ""
    return (
        f": it is either {int(word)} with leading zeros or a text, and vertices here "
        "have numbers"
    )


def names_of_cells(kind: NameKind, cells: Sequence[str]) -> Names:
    """Return the cells of a table, which `is_cell_of` accepts, as names of a kind."""
    if kind.is_integer:
        return names_of_keys(kind, list(map(int, cells)))
    return names_of_keys(kind, [cell.encode(errors="replace") for cell in cells])


def escaped(text: str) -> str:
    """Return a name for a message: on one line, and not too long."""
    line = json.dumps(text, ensure_ascii=False)[1:-1]
    return line if len(line) <= SHOWN else f"{line[: SHOWN - 3]}..."


def _utf8(source: object, position: int, text: str) -> bytes:
    try:
        key = text.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"{source}: name {position + 1} has half of a surrogate pair, which is "
            "not text. Give it another name."
        ) from error
    _check_length(source, position, key)
    return key


def _literal(source: object, position: int, value: object) -> bytes:
    if value == "":
        _check_length(source, position, b"")
    try:
        if _holds_object(value):
            raise ValueError("an object")
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{source}: name {position + 1} is {escaped(str(value))}, which does not "
            "name a vertex. Give a text or a number."
        ) from error
    return _utf8(source, position, text)


def _holds_object(value: object) -> bool:
    if isinstance(value, list | tuple):
        return any(map(_holds_object, value))
    return isinstance(value, dict) or value is None


def _check_length(source: object, position: int, key: bytes) -> None:
    if not key:
        raise InputError(
            f"{source}: name {position + 1} is empty. Give every vertex a name."
        )
    if len(key) > LONGEST_NAME:
        raise InputError(
            f"{source}: name {position + 1} "
            f"({escaped(key[:99].decode(errors='replace'))}) has "
            f"{len(key):,} bytes, and a name at most {LONGEST_NAME:,}. Give it a "
            "shorter one."
        )
