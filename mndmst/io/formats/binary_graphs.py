"""Graphs in binary files, read by ranges of arcs: GAP, ECL, ParHIP and KaGen.

`Binary` is a file as a row of arrays, none of them taken before the file is known to
hold it. `RowsFile` reads CSR rows, `PairFile` pairs of ids.

GAP [1], `.sg` and `.wsg`: a flag, the number of arcs and of vertices, where each row
begins, the neighbours; in `.wsg` each with its weight. A directed graph goes on with
the rows of arcs turned round, which hold nothing new.

ECL [2], `.egr`: int32 neighbours and, if they follow, weights. Counts and row
beginnings have 32 bits, or 64 in files for more arcs than that. Only the length of the
file tells which, and whether there are weights.

ParHIP [3], `.parhip`, with the extensions of KaGen and KaMinPar: three 64-bit counts,
the byte at which each row begins, the neighbours; then the weights of vertices, which
are passed over, and of edges. Bits of the first count mark missing and 32-bit parts:

===  ==========================
bit  if it is set
===  ==========================
0    no weights of edges
1    no weights of vertices
2    row beginnings of 32 bits
3    neighbours of 32 bits
4    vertex weights of 32 bits
5    edge weights of 32 bits
===  ==========================

KaGen [4], `.binary-edgelist` and `.undirected-binary-edgelist`: two 64-bit counts, then
pairs of 32 or 64 bits. The second format has each edge in one direction, though its
second count is that of both. KaGen writes no weights into them. Its text, `.edgelist`,
is in `delimited_text`.

[1] Beamer, Asanović and Patterson: The GAP Benchmark Suite. arXiv:1508.03619, 2015.

[2] Burtscher: ECLgraph, Texas State University; used by Fallin, Gonzalez, Seo and
    Burtscher: A High-Performance MST Implementation for GPUs. SC 2023.

[3] Meyerhenke, Sanders and Schulz: Parallel Graph Partitioning for Complex Networks.
    IEEE TPDS 28(9), 2017; the user guide of KaHIP has the format.

[4] Funke, Lamm, Meyer, Penschuck, Sanders, Schulz, Strash and von Looz:
    Communication-free massively distributed graph generation. JPDC 131, 2019.
"""

import os
from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...graph.order import id_dtype
from ...host.errors import InputError
from ...host.formatting import counted
from ...host.memory import Budget
from ..edge_file import (
    PIECE_ENTRIES,
    EdgeFile,
    Edges,
    RowPiece,
    as_ids,
    checked_edges,
    supported_weights,
)
from ..file_access import opened, state_of
from ..kernels.partitioner import fill_tails
from .packed_files import COMPRESSIONS, read_bytes, readable

# Read at once: arcs, which stay in the caches of a core, and rows
PIECE_ARCS = 1 << 17
PIECE_ROWS = 1 << 16
_WEIGHTED = np.dtype([("id", "<i4"), ("weight", "<i4")])
_PARHIP_BITS = 6


class StoredArray(NamedTuple):
    """An array in a file: its type, its first byte and its length."""

    dtype: np.dtype
    offset: int
    length: int


class Binary:
    """A binary file, parsed from the front into columns that are read on demand."""

    def __init__(self, path: Path, budget: Budget) -> None:
        self.path, self.budget = path, budget
        self.at = 0  # bytes that have been taken
        with readable(path):
            self.state = state_of(path)
        packed = path.suffix in COMPRESSIONS
        self._unpacked = read_bytes(path, budget) if packed else None
        self.size = self.state[1] if self._unpacked is None else len(self._unpacked)

    @property
    def remaining(self) -> int:
        """Number of bytes, unpacked, that have not been taken."""
        return self.size - self.at

    def wrong(self, what: str) -> InputError:
        """Return the error for contents that do not fit together."""
        return InputError(
            f"{self.path}: {what}. It is damaged or cut short, or of another format: "
            "copy it again, or name its format."
        )

    def take(self, dtype: str | np.dtype, count: int, what: str) -> StoredArray:
        """Take the next `count` entries of a type, as a stored array."""
        dtype = np.dtype(dtype)
        if count < 0 or count * dtype.itemsize > self.remaining:
            raise self.wrong(
                f"says that {count} {what} of {dtype.itemsize} bytes begin at byte "
                f"{self.at}, where {self.remaining} bytes are left"
            )
        column = StoredArray(dtype, self.at, count)
        self.at += count * dtype.itemsize
        return column

    def counts(self, dtype: str, count: int) -> list[int]:
        """Take some numbers from a header and return them."""
        numbers = self.read(self.take(dtype, count, "counts"), 0, count)
        return list(map(int, numbers))

    def read(self, column: StoredArray, begin: int, end: int) -> np.ndarray:
        """Return the entries [begin, end) of an array."""
        offset = column.offset + begin * column.dtype.itemsize
        if self._unpacked is not None:
            entries = np.frombuffer(self._unpacked, column.dtype, end - begin, offset)
            return entries.copy()
        # Read, not mapped: all pages of a map that were read would stay in memory
        part = np.empty(end - begin, column.dtype)
        with readable(self.path), opened(self.path, self.state) as file:
            unread = part.view(np.uint8).data
            while unread:  # the system reads 2 GiB at a time
                taken = os.preadv(file.fileno(), [unread], offset)
                if not taken:
                    raise EOFError("it was cut short while it was read")
                unread, offset = unread[taken:], offset + taken
        return part

    def end(self) -> None:
        """Raise InputError unless all bytes have been taken."""
        if self.remaining:
            raise self.wrong(
                f"goes on for {self.remaining} bytes after its last entry, at byte "
                f"{self.at}"
            )


class RowsFile(EdgeFile):
    """Rows that lie in a file as two or three arrays. It counts in arcs.

    `indptr` says for each vertex, and for the end, where its row begins: `unit` times
    its first arc after `base`. `indices` are the neighbours or, with the weights,
    records `id` and `weight`. Weights are 1 if there are none.
    """

    rereadable = True

    def __init__(
        self,
        file: Binary,
        indptr: StoredArray,
        indices: StoredArray,
        weight: StoredArray | None = None,
        unit: int = 1,
        base: int = 0,
        both_directions: bool = True,
    ) -> None:
        self.path, self.state, self.budget = file.path, file.state, file.budget
        self.name = str(file.path)
        self.seekable = file.path.suffix not in COMPRESSIONS
        self.length = self.num_entries = indices.length
        self.num_vertices: int = indptr.length - 1
        self.weight_dtype = _weight_dtype(self.name, indices, weight)
        self.both_directions = both_directions
        if self.num_vertices < 0:
            raise file.wrong("has a negative number of vertices")
        if weight is not None and weight.length != indices.length:
            raise file.wrong(
                f"has {counted(weight.length, 'weight')} for "
                f"{counted(indices.length, 'arc')}"
            )
        self._file = file
        self._indptr, self._indices, self._weight = indptr, indices, weight
        self._unit, self._base = unit, base
        self._check()

    def pieces(self, begin: int, end: int) -> Iterator[Edges]:
        """Yield the arcs [begin, end); see `EdgeFile`."""
        for piece in self.row_pieces(begin, end):
            src = np.empty(len(piece), id_dtype(self.num_vertices))
            fill_tails(piece.indptr, piece.first, src)
            yield checked_edges(
                self.path, self.num_vertices, src, piece.heads, piece.weights, begin
            )
            begin += len(piece)

    def row_pieces(self, begin: int, end: int) -> Iterator[RowPiece]:
        """Yield the arcs [begin, end) by rows; see `EdgeFile`."""
        for block in self._blocks(begin):
            begins = self._begins(block, block + PIECE_ROWS)
            stop = min(end, int(begins[-1]))
            for low in range(begin, stop, PIECE_ARCS):
                high = min(low + PIECE_ARCS, stop)
                first = int(np.searchsorted(begins, low, "right")) - 1
                last = int(np.searchsorted(begins, high, "left"))
                indptr = np.clip(begins[first : last + 1], low, high) - low
                heads, weights = self._arcs(low, high)
                heads = heads.astype(heads.dtype.newbyteorder("="), copy=False)
                weights = supported_weights(self.name, weights)
                yield RowPiece(block + first, indptr, heads, weights)
            begin = stop
            if begin == end:
                return

    def rows(self, first: int, end: int) -> RowPiece:
        """Return the rows of the vertices [first, end); see `EdgeFile`."""
        begins = self._begins(first, end)
        heads, weights = self._arcs(*begins[[0, -1]].tolist())
        ids = as_ids(heads, id_dtype(self.num_vertices))
        weights = supported_weights(self.name, weights)
        return RowPiece(first, begins - begins[0], ids, weights)

    def _blocks(self, arc: int) -> range:
        """Return the first rows of blocks, from the one that has an arc on."""
        rows = range(0, self.num_vertices, PIECE_ROWS)
        index = bisect_right(rows, arc, key=lambda row: int(self._begins(row, row)[0]))
        return rows[max(0, index - 1) :]

    def _begins(self, low: int, high: int) -> np.ndarray:
        """Return the row pointers [low, high], up to that of the last row's end."""
        high = min(high, self.num_vertices)
        begins = self._file.read(self._indptr, low, high + 1).astype(np.int64)
        begins -= self._base
        if self._unit > 1:  # numbers are divided one by one
            begins //= self._unit
        return begins

    def _arcs(self, low: int, high: int) -> tuple[np.ndarray, np.ndarray]:
        """Return heads and weights of the arcs [low, high)."""
        heads = self._file.read(self._indices, low, high)
        if heads.dtype.names:
            return heads["id"].copy(), heads["weight"].copy()
        if self._weight is None:
            return heads, np.ones(len(heads), np.int32)
        return heads, self._file.read(self._weight, low, high)

    def _check(self) -> None:
        """Look at all row beginnings, a bounded number at a time."""
        for low in range(0, self.num_vertices + 1, PIECE_ENTRIES):
            high = min(low + PIECE_ENTRIES, self.num_vertices)
            begins = self._file.read(self._indptr, low, high + 1)
            wrong = begins[1:] < begins[:-1]
            askew = self._unit > 1 and ((begins - self._base) % self._unit).any()
            if wrong.any() or askew:
                row = low + int(wrong.argmax()) if wrong.any() else low
                raise self._file.wrong(
                    f"the rows from vertex {row} on (counted from 0) do not follow "
                    "each other"
                )
        ends = [int(self._begins(v, v)[0]) for v in (0, self.num_vertices)]
        if ends != [0, self.length]:
            raise self._file.wrong(
                f"its rows go from arc {ends[0]} to {ends[1]}, but it has "
                f"{counted(self.length, 'arc')}"
            )


def _weight_dtype(
    name: str, indices: StoredArray, weight: StoredArray | None
) -> np.dtype:
    """Return the type that checked weights have."""
    dtype = np.dtype(np.int32) if weight is None else weight.dtype
    if indices.dtype.names:
        dtype = indices.dtype["weight"]
    return supported_weights(name, np.empty(0, dtype)).dtype


def open_gap(path: Path, budget: Budget, weighted: bool = False) -> RowsFile:
    """Open a `.sg` file, whose weights are 1, or a `.wsg` file with int32."""
    neighbour = _WEIGHTED if weighted else np.dtype("<i4")
    file = Binary(path, budget)
    (directed,) = file.counts("u1", 1)
    arcs, vertices = file.counts("<i8", 2)
    if directed > 1:
        raise InputError(
            f"{path}: begins with {directed}, where a graph of GAP has 0 (undirected) "
            "or 1. Convert it again, or name its format."
        )
    indptr = file.take("<i8", vertices + 1, "rows")
    indices = file.take(neighbour, arcs, "neighbours")
    if directed:
        file.take("<i8", vertices + 1, "rows turned round")
        file.take(neighbour, arcs, "neighbours turned round")
    file.end()
    return RowsFile(file, indptr, indices, both_directions=not directed)


def open_ecl(path: Path, budget: Budget) -> RowsFile:
    """Open a `.egr` file; see `EdgeFile`. Weights are int32, or 1."""
    file = Binary(path, budget)
    for width in (4, 8):
        file.at = 0
        vertices, arcs = file.counts(f"<i{width}", 2)
        after_rows = file.remaining - (vertices + 1) * width
        if vertices >= 0 and arcs >= 0 and after_rows in (4 * arcs, 8 * arcs):
            indptr = file.take(f"<i{width}", vertices + 1, "rows")
            indices = file.take("<i4", arcs, "neighbours")
            weight = file.take("<i4", arcs, "weights") if file.remaining else None
            return RowsFile(file, indptr, indices, weight)
    raise file.wrong(
        f"its {file.size} bytes do not fit an ECL graph with the counts at its "
        "beginning, of 32 or of 64 bits"
    )


def open_parhip(path: Path, budget: Budget) -> RowsFile:
    """Open a `.parhip` file; see `EdgeFile`. Weights are int32 or int64."""
    file = Binary(path, budget)
    version, vertices, arcs = file.counts("<u8", 3)
    if version >> _PARHIP_BITS:
        raise InputError(
            f"{path}: has version {version}; ParHIP's are below {1 << _PARHIP_BITS}. "
            "Convert it again, or name its format."
        )

    def width(bit: int) -> int:
        return 4 if version >> bit & 1 else 8

    indptr = file.take(f"<u{width(2)}", vertices + 1, "rows")
    base = file.at
    indices = file.take(f"<u{width(3)}", arcs, "neighbours")
    if not version & 2:
        file.take(f"<i{width(4)}", vertices, "weights of vertices")
    weight = None if version & 1 else file.take(f"<i{width(5)}", arcs, "weights")
    file.end()
    return RowsFile(file, indptr, indices, weight, unit=width(3), base=base)


class PairFile(EdgeFile):
    """A list of pairs of ids. It counts in pairs."""

    rereadable = True

    def __init__(
        self, path: Path, budget: Budget, both_directions: bool = True
    ) -> None:
        file = Binary(path, budget)
        self.budget = budget
        vertices, arcs = file.counts("<u8", 2)
        fewest = arcs if both_directions else arcs // 2
        width = 8 if file.remaining >= 16 * fewest else 4
        entries, rest = divmod(file.remaining, 2 * width)
        if rest or not fewest <= entries <= arcs:
            raise file.wrong(
                f"{file.remaining} bytes after the counts do not hold {arcs} arcs of "
                "32 or 64 bits"
            )
        self.path = path
        self.name = str(path)
        self.seekable = path.suffix not in COMPRESSIONS
        self.num_vertices: int = vertices
        self.length = self.num_entries = entries
        self.weight_dtype = np.dtype(np.int32)
        self.both_directions = both_directions
        self._file = file
        self._pairs = file.take(f"<u{width}", 2 * entries, "ends")

    def pieces(self, begin: int, end: int) -> Iterator[Edges]:
        """Yield the pairs [begin, end); see `EdgeFile`."""
        for low in range(begin, end, PIECE_ENTRIES):
            high = min(low + PIECE_ENTRIES, end)
            pairs = self._file.read(self._pairs, 2 * low, 2 * high).reshape(-1, 2)
            src, dst = map(np.array, pairs.T)
            weight = np.ones(len(src), np.int32)
            yield checked_edges(self.path, self.num_vertices, src, dst, weight, low)
