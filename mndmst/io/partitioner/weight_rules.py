"""Rules that give edges other weights than their file; see `formats/README.md`.

Every rule gives the two directions of an edge one weight. `ecl` computes weights as
ECL-MST [1] does: 1 + u v mod n with its 32-bit overflow, int32. `euclid` computes
distances from a file of DIMACS [2]: a line `v id x y` for each vertex, ids from 1.

[1] Fallin, Gonzalez, Seo and Burtscher: A High-Performance MST Implementation for
    GPUs. SC 2023.

[2] 9th DIMACS Implementation Challenge, Shortest Paths, 2006.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import isfinite
from pathlib import Path

import numpy as np

from ...host.errors import ConfigError, InputError
from ...host.formatting import counted
from ...host.memory import FREE_MEMORY, Budget
from ...host.memory_costs import COORDINATES_COPIES
from ..edge_file import EdgeFile, Edges, WrappedEdgeFile, narrow_integers, read_number
from ..formats import is_table, open_edges
from ..formats.edge_text import check_counts, read_integers
from ..formats.packed_files import read_bytes
from ..formats.table_columns import ColumnNames
from ..kernels.csr_conversion import hash_edges
from ..named_edge_file import EdgesByName, NamedEdgeFile

Rule = Callable[[np.ndarray, np.ndarray], np.ndarray]
_KNOWN = "file, constant:X, hash[:SEED], random:LOW:HIGH[:SEED], ecl, euclid:FILE"
_HASH_BITS = 24
_LIMIT = 1 << 63

_COORDINATES_HEADER = re.compile(
    rb"(?:(?:c[^\n]*)?\n)*p[ \t]+aux[ \t]+sp[ \t]+co[ \t]+(\d{1,18})[ \t\r]*\n"
)
_SHORTEST_LINE = len("v 1 1 1\n")
# Comments, and the letter that begins every other line
_LETTERS = re.compile(rb"^(?:c.*|v)", re.MULTILINE)


class WeighedFile(WrappedEdgeFile):
    """An edge file with the weights that a rule computes from the ends."""

    def __init__(self, file: EdgeFile, rule: Rule) -> None:
        super().__init__(file)
        self.rule = rule
        empty = np.empty(0, np.int64)
        self.weight_dtype = rule(empty, empty).dtype
        self.weight_name, self.maximum = "", None

    def identity(self) -> dict[str, object]:
        """Return facts that identify the file and its weights."""
        return self.file.identity() | {"weights": repr(self.rule)}

    def pieces(self, begin: int, end: int) -> Iterator[Edges]:
        """Yield the pieces of the file, weighed; see `EdgeFile`."""
        for piece in self.file.pieces(begin, end):
            yield replace(piece, weight=self.rule(piece.src, piece.dst))


class EvenlyWeighedFile(NamedEdgeFile):
    """A file of named vertices with one weight for all edges."""

    def __init__(self, file: NamedEdgeFile, rule: "Constant") -> None:
        self.file, self.rule, self.kind = file, rule, file.kind
        self.copy_facts(file)
        self.weight_name, self.maximum = "", None
        self.weight_dtype = _dtype(rule.weight, rule.weight)

    def identity(self) -> dict[str, object]:
        """Return facts that identify the file and its weights."""
        return self.file.identity() | {"weights": repr(self.rule)}

    def named_pieces(self, begin: int, end: int) -> Iterator[EdgesByName]:
        """Yield the pieces of the file, weighed; see `NamedEdgeFile`."""
        for piece in self.file.named_pieces(begin, end):
            ends = np.empty(len(piece), np.int64)
            yield replace(piece, weight=self.rule(ends, ends))


def open_weighed(
    path: Path,
    rule: str,
    format: str | None = None,
    columns: str | Mapping[str, str] | None = None,
    budget: Budget = FREE_MEMORY,
) -> EdgeFile | NamedEdgeFile:
    """Open a graph with the weights of a rule; then a table needs no column of them."""
    picked = ColumnNames.of(columns)
    if rule != "file" and picked.weight:
        raise ConfigError(
            f"--weights {rule} makes the weights, and --columns names {picked.weight} "
            "for them. Give one of the two."
        )
    if rule != "file" and is_table(path, format):
        picked = replace(picked, weight="")
    return weigh(open_edges(path, format, picked, budget), rule, budget)


def weigh(
    file: EdgeFile | NamedEdgeFile, rule: str, budget: Budget = FREE_MEMORY
) -> EdgeFile | NamedEdgeFile:
    """Return a file with the weights that a rule gives."""
    kind, _, rest = rule.partition(":")
    words = rest.split(":") if rest else []
    if kind == "file" and not words:
        return file
    if kind == "constant" and len(words) == 1:
        constant = Constant(_number(rule, words[0]))
        if isinstance(file, NamedEdgeFile):
            return EvenlyWeighedFile(file, constant)
        return WeighedFile(file, constant)
    if isinstance(file, NamedEdgeFile):
        raise ConfigError(
            f"--weights {rule}: is computed from the numbers of vertices, and "
            f"{file.name} names them. Give constant:X, or weights in the file."
        )
    if kind == "hash" and len(words) <= 1:
        return WeighedFile(file, Uniform(1, 1 << _HASH_BITS, _seed(rule, words)))
    if kind == "random" and 2 <= len(words) <= 3:
        low, high = (_number(rule, word) for word in words[:2])
        if _dtype(low, high).kind == "f" and (float(low), float(high)) != (low, high):
            raise ConfigError(
                f"--weights {rule}: float64, which fractions need, would round a "
                "bound. Give bounds that it holds."
            )
        if not low <= high:
            raise ConfigError(f"--weights {rule}: {low} is more than {high}.")
        return WeighedFile(file, Uniform(low, high, _seed(rule, words[2:])))
    if kind == "ecl" and not words:
        if file.num_vertices is None:
            raise ConfigError(
                f"--weights ecl needs the number of vertices, and {file.name} has no "
                "header that says it. Convert it to a format that has one."
            )
        if file.num_vertices >= 1 << 31:
            raise ConfigError(
                f"--weights ecl counts in 32 bits, and {file.name} has "
                f"{file.num_vertices} vertices. Give another rule."
            )
        return WeighedFile(file, Product(file.num_vertices))
    if kind == "euclid" and rest:
        coordinates = read_coordinates(Path(rest), budget)
        rule_of_file = Distance(Path(rest), coordinates, file.first_id)
        return WeighedFile(file, rule_of_file)
    raise ConfigError(f"--weights {rule}: there is no such rule; known: {_KNOWN}.")


@dataclass(frozen=True)
class Constant:
    """One weight for all edges."""

    weight: int | float

    def __call__(self, src: np.ndarray, dst: np.ndarray) -> np.ndarray:
        """Return the weights of edges."""
        return np.full(len(src), self.weight, _dtype(self.weight, self.weight))


@dataclass(frozen=True)
class Uniform:
    """Weights spread evenly from `low` to `high`; integers if both are."""

    low: int | float
    high: int | float
    seed: int

    def __call__(self, src: np.ndarray, dst: np.ndarray) -> np.ndarray:
        """Return the weights of edges."""
        hashes = hash_edges(self.seed, src, dst)
        dtype = _dtype(self.low, self.high)
        if dtype.kind == "f":
            share = (hashes >> np.uint64(11)) * 2.0**-53
            return np.clip(
                self.low + share * (self.high - self.low), self.low, self.high
            )
        span = int(self.high) - int(self.low) + 1
        if span <= 1 << 32:
            steps = (hashes >> np.uint64(32)) * np.uint64(span) >> np.uint64(32)
        else:
            steps = hashes % np.uint64(span)
        return steps.astype(dtype) + dtype.type(self.low)


@dataclass(frozen=True)
class Product:
    """The weights of ECL-MST: products of ids, as 32 bits hold them."""

    num_vertices: int

    def __call__(self, src: np.ndarray, dst: np.ndarray) -> np.ndarray:
        """Return the weights of edges."""
        products = (src.astype("u4") * dst.astype("u4")).view("i4")
        return np.abs(1 + np.fmod(products, np.int32(self.num_vertices)))


@dataclass(frozen=True)
class Distance:
    """Weights from where the ends lie: x and y, an array of float64 each.

    Row 0 has the coordinates of id 1; `first_id` is the id of vertex 0. `path` is for
    errors.
    """

    path: Path
    coordinates: tuple[np.ndarray, np.ndarray]
    first_id: int

    def __call__(self, src: np.ndarray, dst: np.ndarray) -> np.ndarray:
        """Return the weights of edges."""
        x, y = self.coordinates
        rows = [ends.astype(np.int64) + (self.first_id - 1) for ends in (src, dst)]
        for ends in rows:
            outside = (ends < 0) | (ends >= len(x))
            if outside.any():
                raise InputError(
                    f"{self.path}: has coordinates of the ids 1 to {len(x):,}, and an "
                    f"edge joins vertex {int(ends[outside.argmax()]) + 1:,}. Give the "
                    "coordinates of this graph; where it counts vertices from 0, "
                    "mndmst convert makes a .gr of it, which counts from 1."
                )
        return np.hypot(x[rows[0]] - x[rows[1]], y[rows[0]] - y[rows[1]])


def _dtype(low: int | float, high: int | float) -> np.dtype:
    """Return the narrowest integers, or float64, for weights from `low` to `high`."""
    if isinstance(low, float) or isinstance(high, float):
        return np.dtype(np.float64)
    return narrow_integers(np.array([low, high], np.int64)).dtype


def _number(rule: str, word: str) -> int | float:
    """Read an integer of 64 bits or a finite float."""
    try:
        number = read_number(word)
    except ValueError:
        number = float("nan")
    if not isfinite(number):
        raise ConfigError(f"--weights {rule}: '{word}' is not a number that fits.")
    return number


def _seed(rule: str, words: list[str]) -> int:
    if not words:
        return 1
    if not words[0].isdecimal() or int(words[0]) >= _LIMIT:
        raise ConfigError(
            f"--weights {rule}: '{words[0]}' is not a seed from 0 to 2^63."
        )
    return int(words[0])


def read_coordinates(path: Path, budget: Budget) -> tuple[np.ndarray, np.ndarray]:
    """Return x and y (float64) of all vertices, in the units of a `.co` file."""
    text = read_bytes(path, budget, COORDINATES_COPIES)
    header = _COORDINATES_HEADER.match(text)
    if header is None:
        raise InputError(
            f'{path}: has no line "p aux sp co n" at its beginning. Give a file of '
            "coordinates."
        )
    count = int(header[1])
    said = f"its p line says {counted(count, 'vertex')}"
    check_counts(path, said, count, count * _SHORTEST_LINE, text)
    lines = _LETTERS.sub(lambda match: b" " * len(match[0]), text[header.end() :])
    numbers, offsets, wrong = read_integers(lines)
    if wrong is not None or len(numbers) != 3 * count:
        if wrong is None:
            wrong = int(offsets[3 * count]) if len(numbers) > 3 * count else len(lines)
        line = text.count(b"\n", 0, header.end() + wrong) + 1
        raise InputError(
            f'{path}: line {line} is not "v id x y" with whole numbers, or the file '
            f"has not {count} such lines. Fix the line or copy the file again."
        )
    ids, *axes = numbers.reshape(-1, 3).T
    x, y = np.full((2, count), np.nan)
    inside = (ids >= 1) & (ids <= count)
    for target, values in zip((x, y), axes, strict=True):
        target[ids[inside] - 1] = values[inside]
    if np.isnan(x).any():
        raise InputError(
            f"{path}: vertex {int(np.isnan(x).argmax()) + 1} of {count} has no "
            "coordinates. Copy the file again."
        )
    return x, y
