"""Changes in a file: a table in CSV, one change a line.

The first line names the columns: `op`, `src`, `dst` and `weight`, in any order. `op`
is `insert`, `delete` or `set`. Where edges are deleted the weight may be empty, and if
all are, the column may be missing. A name that ends in .gz, .xz or .zst is unpacked.
"""

import re
from contextlib import suppress
from pathlib import Path

import numpy as np

from ..host.errors import InputError
from ..io.formats.files import read_bytes
from .batch import DELETE, OPERATIONS, Batch

# The first change stands in the second line.
FIRST_LINE = 2
# What lines take as Python's objects, in bytes of the file.
COPIES = 24
_LARGEST_ID = (1 << 63) - 1

Number = int | float

# More digits than the largest float64 has.
MOST_DIGITS = 310
_WHOLE = re.compile(r"[+-]?[0-9]+")


def read_changes(path: Path, weight_dtype: np.dtype) -> Batch:
    """Read a file of changes.

    Parameters
    ----------
    path : Path
    weight_dtype : dtype
        Of the graph. Whole numbers are read exactly: a float type that would round
        one is an error.

    Raises
    ------
    InputError
        If it is missing, or not such a table; names the line.
    ConfigError
        If there is not enough memory for it.
    """
    try:
        text = read_bytes(path, COPIES).decode()
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}: is no text ({error.reason} at byte {error.start}). Write the "
            "changes as CSV."
        ) from error
    lines = text.removesuffix("\n").split("\n")
    places = _columns(path, lines[0])
    rows = [
        _change(path, number, line, places, weight_dtype)
        for number, line in enumerate(lines[1:], FIRST_LINE)
    ]
    op, src, dst, weight = zip(*rows, strict=True) if rows else ((), (), (), ())
    limits = np.iinfo(weight_dtype) if weight_dtype.kind in "iu" else None
    for row, value in enumerate(weight):
        if limits is not None and not limits.min <= value <= limits.max:
            raise _wrong(path, row + FIRST_LINE, f"weighs {value}, no {weight_dtype}")
    dtype = weight_dtype if limits is not None else np.dtype(np.float64)
    return Batch(
        np.array(op, np.uint8), np.array(src, np.int64), np.array(dst, np.int64),
        np.array(weight, dtype), str(path), FIRST_LINE, "line",
    )  # fmt: skip


def _columns(path: Path, line: str) -> dict[str, int]:
    """Return where the columns are."""
    names = [name.strip() for name in line.split(",")]
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
    line: str,
    places: dict[str, int],
    weight_dtype: np.dtype,
) -> tuple[int, int, int, Number]:
    words = [word.strip() for word in line.split(",")]
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
        if not (word.isascii() and word.isdigit() and int(word) <= _LARGEST_ID):
            raise _wrong(path, number, f'has "{word}" for {name}, no vertex')
        ends.append(int(word))
    word = words[places["weight"]] if "weight" in places else ""
    if op == DELETE:
        return op, ends[0], ends[1], 0
    try:
        return op, ends[0], ends[1], _weight(word, weight_dtype)
    except ValueError as error:
        raise _wrong(path, number, f'has "{word}" for a weight, {error}') from None


def _weight(word: str, dtype: np.dtype) -> Number:
    """Return a weight: an integer for integer types, a float for the others.

    Raises
    ------
    ValueError
        If it is none, or a whole number that the type rounds; says so.
    """
    whole = _WHOLE.fullmatch(word)
    if dtype.kind in "iu":
        if not whole or len(word) > MOST_DIGITS:
            raise ValueError("no whole number of 64 bits")
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


def _wrong(path: Path, number: int, what: str) -> InputError:
    return InputError(f"{path}: line {number} {what}. Mend it.")
