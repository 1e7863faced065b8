"""Changes in a file: a table in CSV, one change a line.

The first line names the columns: `op`, `src`, `dst` and `weight`, in any order. `op`
is `insert`, `delete` or `set`. Where edges are deleted the weight may be empty, and if
all are, the column may be missing. A name that ends in .gz, .xz or .zst is unpacked.
"""

import csv
import io
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np

from ..host.errors import InputError
from ..host.memory import FREE_MEMORY
from ..host.memory_costs import CHANGES_COPIES
from ..io.formats.packed_files import read_bytes
from ..io.names import (
    NameKind,
    Names,
    escaped,
    is_cell_of,
    names_of_cells,
    two_readings,
)
from .batch import DELETE, OPERATIONS, Batch

Number = int | float

# More digits than the largest float64 has.
MOST_DIGITS = 310
_WHOLE = re.compile(r"[+-]?[0-9]+")


class NameFinder(Protocol):
    """Finds the vertices of names."""

    @property
    def kind(self) -> NameKind:
        """The kind of the names."""

    def find(self, wanted: Names) -> np.ndarray:
        """Return the vertices that have some names of this kind; -1 for none."""


def read_changes(
    path: Path, weight_dtype: np.dtype, names: NameFinder | None = None
) -> Batch:
    """Read a file of changes of a graph with a type of weights.

    Vertices are numbers, or `names`, which are quoted as in other tables. Whole numbers
    are read exactly: a float type that would round one is an error. Raises InputError,
    which names the line, if the file is missing, or not such a table, or no vertex has
    a name; ConfigError if there is not enough memory for it.
    """
    is_vertex = _is_number if names is None else partial(is_cell_of, names.kind)
    columns = _read_columns(path, weight_dtype, is_vertex, names is None)
    src, dst = columns.src, columns.dst
    if names is None:
        ends = np.array(list(map(int, (*src, *dst))), np.int64)
    else:
        ends = names.find(names_of_cells(names.kind, [*src, *dst]))
        if (ends < 0).any():
            change = int((ends < 0).argmax()) % len(src)
            word = (src if ends[change] < 0 else dst)[change]
            raise InputError(
                f"{path}: line {columns.line[change]}: no vertex of the graph is named "
                f'"{escaped(word)}". Leave the change out, or make the graph again '
                "with it."
            )
    low, high = np.split(ends, 2)
    weights = _weights(path, columns, weight_dtype)
    ops = np.array(columns.op, np.uint8)
    return Batch(ops, low, high, weights, str(path), columns.line, "line")


class ChangeColumns(NamedTuple):
    """The columns of a table of changes, and their lines; both ends as words."""

    line: Sequence[int] = ()
    op: Sequence[int] = ()
    src: Sequence[str] = ()
    dst: Sequence[str] = ()
    weight: Sequence[Number] = ()


def _read_columns(
    path: Path,
    weight_dtype: np.dtype,
    is_vertex: Callable[[str], bool],
    stripped: bool,
) -> ChangeColumns:
    """Return the columns of a table, whose first row names them.

    `stripped` removes blanks around words, which names may have.
    """
    reader = csv.reader(io.StringIO(_text(path), newline=""), strict=True)
    index_of: dict[str, int] = {}
    changes, line = [], 1
    try:
        for words in reader:
            if words and index_of:
                words = [word.strip() for word in words] if stripped else words
                change = _change(path, line, words, index_of, weight_dtype, is_vertex)
                changes.append((line, *change))
            elif words:  # a blank line is an empty row
                index_of = _columns(path, line, words)
            line = reader.line_num + 1
    except csv.Error as error:
        raise InputError(f"{path}: is not CSV ({error}). Fix it.") from error
    if not index_of:
        _columns(path, 1, [])
    return ChangeColumns(*zip(*changes, strict=True))


def _text(path: Path) -> str:
    try:
        return read_bytes(path, FREE_MEMORY, CHANGES_COPIES).decode()
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}: is not text ({error.reason} at byte {error.start}). Write the "
            "changes as CSV."
        ) from error


def _weights(path: Path, columns: ChangeColumns, dtype: np.dtype) -> np.ndarray:
    """Return weights as an array; refuse integers beyond the graph's type."""
    if dtype.kind not in "iu":
        return np.array(columns.weight, np.float64)
    limits = np.iinfo(dtype)
    for line, value in zip(columns.line, columns.weight, strict=True):
        if not limits.min <= value <= limits.max:
            raise _wrong(path, line, f"weighs {value}, no {dtype}")
    return np.array(columns.weight, dtype)


def _columns(path: Path, line: int, words: Sequence[str]) -> dict[str, int]:
    """Return the index of each column by its name."""
    names = [word.strip() for word in words]
    known = {"op", "src", "dst", "weight"}
    if len(set(names)) < len(names) or not {"op", "src", "dst"} <= set(names) <= known:
        raise InputError(
            f'{path}: line {line} is not "op,src,dst,weight", which names the columns. '
            "Fix it."
        )
    return {name: index for index, name in enumerate(names)}


def _change(
    path: Path,
    number: int,
    words: list[str],
    index_of: dict[str, int],
    weight_dtype: np.dtype,
    is_vertex: Callable[[str], bool],
) -> tuple[int, str, str, Number]:
    """Return the operation, the words of both ends, and the weight of a change."""
    if len(words) != len(index_of):
        names = ",".join(index_of)
        raise _wrong(path, number, f'has {len(words)} words in place of "{names}"')
    op = OPERATIONS.get(words[index_of["op"]])
    if op is None:
        word = words[index_of["op"]]
        raise _wrong(path, number, f'has "{word}" for op, not insert, delete or set')
    ends = []
    for name in ("src", "dst"):
        word = words[index_of[name]]
        if not is_vertex(word):
            has = f'has "{escaped(word)}" for {name}, not a vertex{two_readings(word)}'
            raise _wrong(path, number, has)
        ends.append(word)
    word = words[index_of["weight"]] if "weight" in index_of else ""
    if op == DELETE:
        return op, ends[0], ends[1], 0
    try:
        return op, ends[0], ends[1], _weight(word, weight_dtype)
    except ValueError as error:
        raise _wrong(path, number, f'has "{word}" for a weight, {error}') from None


def _weight(word: str, dtype: np.dtype) -> Number:
    """Return a weight: an integer for integer types, a float for the others.

    Raises ValueError if it is none, or a whole number that the type rounds; says so.
    """
    whole = _WHOLE.fullmatch(word)
    if dtype.kind in "iu":
        if not whole or len(word) > MOST_DIGITS:
            raise ValueError("not a whole number of 64 bits")
        return int(word)
    if not whole:
        return _real(word)
    exact = False
    if len(word) <= MOST_DIGITS:
        with np.errstate(over="ignore"), suppress(OverflowError):
            exact = int(dtype.type(int(word))) == int(word)
    if not exact:
        raise ValueError(f"which {dtype} does not hold exactly")
    return float(word)


def _real(word: str) -> float:
    try:
        if "_" in word:  # which Python takes
            raise ValueError
        return float(word)
    except ValueError:
        raise ValueError("no number") from None


def _is_number(word: str) -> bool:
    return is_cell_of(NameKind.INT64, word) and not word.startswith("-")


def _wrong(path: Path, number: int, what: str) -> InputError:
    return InputError(f"{path}: line {number} {what}. Fix it.")
