"""Changes in a file: a table in CSV, one change a line.

The first line names the columns: `op`, `src`, `dst` and `weight`, in any order. `op`
is `insert`, `delete` or `set`. Where edges are deleted the weight may be empty, and if
all are, the column may be missing. A name that ends in .gz, .xz or .zst is unpacked.
"""

import csv
import io
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from ..host.errors import InputError
from ..io.formats.files import read_bytes
from ..io.names import is_cell_of, names_of_cells, shown
from ..io.vertex_names import GraphNames
from .batch import DELETE, OPERATIONS, Batch

# The first change stands in the second line.
FIRST_LINE = 2
# What lines take as Python's objects, in bytes of the file.
COPIES = 24
_LARGEST_ID = (1 << 63) - 1

Number = int | float


def read_changes(path: Path, weight_dtype: np.dtype) -> Batch:
    """Read a file of changes.

    Parameters
    ----------
    path : Path
    weight_dtype : dtype
        Of the graph; weights of integers are read exactly.

    Raises
    ------
    InputError
        If it is missing, or not such a table; names the line.
    ConfigError
        If there is not enough memory for it.
    """
    lines = _text(path).removesuffix("\n").split("\n")
    places = _columns(path, lines[0].split(","))
    read = _weight_reader(weight_dtype)
    rows = [
        _change(path, number, _words(line), places, read, _is_number)
        for number, line in enumerate(lines[1:], FIRST_LINE)
    ]
    op, src, dst, weight = zip(*rows, strict=True) if rows else ((), (), (), ())
    src_ids, dst_ids = _vertices(src), _vertices(dst)
    weights = _weights(path, weight, weight_dtype)
    ops = np.array(op, np.uint8)
    return Batch(ops, src_ids, dst_ids, weights, str(path), FIRST_LINE, "line")


def read_named_changes(path: Path, weight_dtype: np.dtype, names: GraphNames) -> Batch:
    """Read a file of changes of a graph whose vertices have names.

    Names are quoted as in other tables; see `read_changes`.

    Raises
    ------
    InputError
        Also if no vertex has a name.
    """
    text = io.StringIO(_text(path), newline="")
    try:
        table = list(csv.reader(text, strict=True))
    except csv.Error as error:
        raise InputError(f"{path}: is not CSV ({error}). Fix it.") from error
    places = _columns(path, table[0] if table else [""])
    read = _weight_reader(weight_dtype)

    def is_name(word: str) -> bool:
        return is_cell_of(names.kind, word)

    rows = [
        _change(path, number, words, places, read, is_name)
        for number, words in enumerate(table[1:], FIRST_LINE)
        if words
    ]
    op, src, dst, weight = zip(*rows, strict=True) if rows else ((), (), (), ())
    found = names.find(names_of_cells(names.kind, [*src, *dst]))
    if (found < 0).any():
        change = int((found < 0).argmax()) % len(src)
        word = (src if found[change] < 0 else dst)[change]
        raise InputError(
            f'{path}: line {change + FIRST_LINE}: no vertex of the graph is named "'
            f'{shown(word)}". Leave the change out, or make the graph again with it.'
        )
    src_ids, dst_ids = np.split(found, 2)
    weights = _weights(path, weight, weight_dtype)
    ops = np.array(op, np.uint8)
    return Batch(ops, src_ids, dst_ids, weights, str(path), FIRST_LINE, "line")


def _text(path: Path) -> str:
    try:
        return read_bytes(path, COPIES).decode()
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}: is no text ({error.reason} at byte {error.start}). Write the "
            "changes as CSV."
        ) from error


def _weight_reader(weight_dtype: np.dtype) -> Callable[[str], Number]:
    return int if weight_dtype.kind in "iu" else float


def _weights(path: Path, weight: Sequence[Number], dtype: np.dtype) -> np.ndarray:
    """Return weights as an array; refuse integers beyond the graph's type."""
    if dtype.kind not in "iu":
        return np.array(weight, np.float64)
    limits = np.iinfo(dtype)
    for row, value in enumerate(weight):
        if not limits.min <= value <= limits.max:
            raise _wrong(path, row + FIRST_LINE, f"weighs {value}, no {dtype}")
    return np.array(weight, dtype)


def _words(line: str) -> list[str]:
    return [word.strip() for word in line.split(",")]


def _vertices(words: Sequence[str]) -> np.ndarray:
    return np.array(list(map(int, words)), np.int64)


def _columns(path: Path, words: Sequence[str]) -> dict[str, int]:
    """Return where the columns are."""
    names = [word.strip() for word in words]
    known = {"op", "src", "dst", "weight"}
    if len(set(names)) < len(names) or not {"op", "src", "dst"} <= set(names) <= known:
        raise InputError(
            f'{path}: line 1 is not "op,src,dst,weight", which names the columns. '
            "Mend it."
        )
    return {name: place for place, name in enumerate(names)}


def _change(
    path: Path,
    number: int,
    words: list[str],
    places: dict[str, int],
    read: Callable[[str], Number],
    is_vertex: Callable[[str], bool],
) -> tuple[int, str, str, Number]:
    """Return the operation, the words of both ends, and the weight of a change."""
    if len(words) != len(places):
        names = ",".join(places)
        raise _wrong(path, number, f'has {len(words)} words in place of "{names}"')
    op = OPERATIONS.get(words[places["op"]])
    if op is None:
        word = words[places["op"]]
        raise _wrong(path, number, f'begins with "{word}": no insert, delete or set')
    ends = []
    for name in ("src", "dst"):
        word = words[places[name]]
        if not is_vertex(word):
            raise _wrong(path, number, f'has "{shown(word)}" for {name}, no vertex')
        ends.append(word)
    word = words[places["weight"]] if "weight" in places else ""
    if op == DELETE:
        return op, ends[0], ends[1], 0
    try:
        if "_" in word:  # which Python takes
            raise ValueError
        return op, ends[0], ends[1], read(word)
    except ValueError:
        kind = "whole number" if read is int else "number"
        raise _wrong(path, number, f'has "{word}" for a weight, no {kind}') from None


def _is_number(word: str) -> bool:
    return word.isascii() and word.isdigit() and int(word) <= _LARGEST_ID


def _wrong(path: Path, number: int, what: str) -> InputError:
    return InputError(f"{path}: line {number} {what}. Mend it.")
