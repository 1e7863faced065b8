"""First pass over an edge file: count ends by blocks, test order and symmetry."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...comm.communicator import Comm
from ...graph.order import key_dtype
from ...host.errors import InputError
from ...kernels.edge_order import in_row_order
from ..edge_file import (
    EdgeFile,
    Edges,
    EntryFile,
    RowPiece,
    narrow_integers,
    without_negative_zero,
)
from ..file_access import fill, writing
from ..kernels.partitioner import (
    add_by_pair,
    balance,
    count_ends,
    count_tails,
    look_at_rows,
    of_pair_class,
)

CLASSES = 1 << 16


@dataclass(frozen=True)
class BufferSizes:
    """Bounds of the memory that a pass over edges holds at a time.

    No size changes a graph.
    """

    # A bucket should stay in the caches of a core
    largest_bucket: int = 1 << 22
    # Bytes of a batch: the edges as they are read, and their arcs by buckets
    smallest_batch: int = 1 << 20
    largest_batch: int = 1 << 28
    largest_load: int = 1 << 27  # bytes of arcs that are read at once
    block_bits: int = 20  # the counts of ends cover at most 2^block_bits blocks
    # Bytes of names in memory at once. Fewer would make many files, and more would take
    # memory from the page cache
    fewest_names: int = 1 << 20
    most_names: int = 1 << 29
    slice_edges: int = 1 << 17  # edges whose names are looked up at once


SIZES = BufferSizes()


@dataclass(frozen=True)
class Survey:
    """Facts about a list of edges, the same on every rank."""

    num_vertices: int
    num_entries: int
    weight_dtype: np.dtype
    symmetric: bool  # whether every edge is listed in both directions
    # Whether the entries are arcs in the order of rows, each once, no self-loop, and
    # can be read again by their numbers
    in_rows: bool
    shift: int  # a block has 2^shift vertices
    # int64 [blocks]: the ends of edges in each block, self-loops not counted
    counts: np.ndarray
    # The smallest end of all edges; None if there is no edge, or the header says how
    # many vertices there are
    smallest_end: int | None = None


class Spool:
    """Pieces of an edge file, written by `keep` and read again by `pieces`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._written: list[tuple[int, int, list[np.dtype]]] = []

    def keep(self, pieces: Iterator[Edges]) -> Iterator[Edges]:
        """Yield pieces and write each, with integer weights in the narrowest type."""
        self._written.clear()
        with writing(self.path), self.path.open("xb") as file:
            for piece in pieces:
                weight = piece.weight
                if weight.dtype == np.int64:
                    weight = narrow_integers(weight)
                columns = (piece.src, piece.dst, weight)
                for column in columns:
                    file.write(column.view(np.uint8).data)
                types = [column.dtype for column in columns]
                self._written.append((piece.num_vertices, len(piece), types))
                yield piece

    def pieces(self) -> Iterator[Edges]:
        """Yield the pieces again."""
        with writing(self.path), self.path.open("rb") as file:
            for num_vertices, length, types in self._written:
                src, dst, weight = (np.empty(length, dtype) for dtype in types)
                for column in (src, dst, weight):
                    fill(file, column)
                yield Edges(num_vertices, src, dst, weight)

    def remove(self) -> None:
        """Remove the file."""
        self.path.unlink(missing_ok=True)


def share(comm: Comm, file: EntryFile) -> tuple[int, int]:
    """Return the range of a file that this rank reads."""
    if not file.seekable:
        return (0, file.length) if comm.rank == 0 else (0, 0)
    rank, size = comm.rank, comm.size
    return file.length * rank // size, file.length * (rank + 1) // size


def share_pieces(
    comm: Comm, file: EdgeFile, spool: Spool | None = None, again: bool = False
) -> Iterator[Edges]:
    """Return the edges of this rank's share: from its spool if read `again`."""
    begin, end = share(comm, file)
    if begin == end:
        return iter(())
    if spool is None or file.rereadable:
        return file.pieces(begin, end)
    return spool.pieces() if again else spool.keep(file.pieces(begin, end))


def rows_of_share(comm: Comm, file: EdgeFile) -> Iterator[RowPiece | Edges]:
    """Yield the edges of this rank's share, by rows where the file is made of rows."""
    begin, end = share(comm, file)
    if begin < end:
        yield from file.row_pieces(begin, end) or file.pieces(begin, end)


def survey_edges(
    comm: Comm,
    file: EdgeFile,
    spool: Spool,
    report: Callable[[Iterator[RowPiece | Edges]], Iterator[RowPiece | Edges]],
    block_bits: int = SIZES.block_bits,
) -> Survey:
    """Look at all edges, once or twice, and report progress. Collective."""
    # A file with random access to its entries may consist of CSR rows with both arcs of
    # each edge. While no entry contradicts this, only tails are counted: each head is a
    # tail elsewhere. After an entry that does, the survey starts again.
    check_copies(comm, file)
    if file.rereadable and file.length == file.num_entries:
        with comm.raise_on_all():
            rows = report(rows_of_share(comm, file))
            local = _look(file, rows, block_bits, as_rows=True)
        if comm.combine(local.outer if local.in_rows else None, _ascend_together):
            survey = _merge(comm, file, local)
            if survey.symmetric:
                return survey
    with comm.raise_on_all():
        pieces = report(share_pieces(comm, file, spool))
        local = _look(file, pieces, block_bits, as_rows=False)
    return _merge(comm, file, local)


def check_copies(comm: Comm, file: EdgeFile) -> None:
    """Let the first rank of each host check the file's checksums. Collective."""
    node = comm.node()  # hosts may have copies of their own
    with comm.raise_on_all():
        if node.rank == 0:
            file.check_contents()


class _LocalSurvey:
    """The survey of one rank's share; blocks of vertices are as small as possible."""

    def __init__(self, num_vertices: int, block_bits: int, as_rows: bool) -> None:
        self.bound, self.block_bits = num_vertices, block_bits
        self.entries = 0
        self.balance = np.uint64(0)
        self.types: set[np.dtype] = set()
        self.least, self.most = 0, 0
        self.smallest_ends: list[int] | None = None  # of the pieces, where they count
        self.in_rows = as_rows
        self.outer: list[tuple[int, int]] = []  # ends of the first and the last entry
        self.shift = block_shift(self.bound, block_bits)
        self.counts = np.zeros(1 << block_bits, np.int64)

    def coarsen(self, shift: int) -> None:
        """Add neighbouring blocks up until they have 2^shift vertices."""
        while self.shift < shift:
            half = self.counts.reshape(-1, 2).sum(axis=1)
            self.counts = np.concatenate((half, np.zeros_like(half)))
            self.shift += 1

    def add(self, piece: RowPiece | Edges) -> None:
        """Count a piece."""
        if isinstance(piece, RowPiece):
            self._add_rows(piece)
            return
        self.bound = max(self.bound, piece.num_vertices)
        self.coarsen(block_shift(self.bound, self.block_bits))
        if self.smallest_ends is not None and len(piece):
            self.smallest_ends.append(int(min(piece.src.min(), piece.dst.min())))
        if self.in_rows:
            self._follow(in_row_order(piece.src, piece.dst), piece.src, piece.dst)
        keys = self._add_weights(piece.weight)
        with np.errstate(over="ignore"):
            self.balance += balance(piece.src, piece.dst, keys)
        count = count_tails if self.in_rows else count_ends
        count(piece.src, piece.dst, self.shift, self.counts)

    def _add_rows(self, piece: RowPiece) -> None:
        """Count rows; a second inspection reports faulty rows."""
        keys = self._add_weights(piece.weights)
        surplus, in_order = look_at_rows(
            piece.indptr, piece.heads, keys, piece.first, np.uint64(self.bound),
            self.shift, self.counts,
        )  # fmt: skip
        with np.errstate(over="ignore"):
            self.balance += surplus
        if piece.weights.dtype.kind == "f":
            in_order &= not np.isnan(piece.weights.max())
        tails = piece.first + np.array([0, len(piece.indptr) - 2])
        self._follow(in_order, tails, piece.heads)

    def _add_weights(self, weight: np.ndarray) -> np.ndarray:
        """Record the number and type of weights; return their bits."""
        self.entries += len(weight)
        self.types.add(weight.dtype)
        if weight.dtype == np.int64 and len(weight):
            self.least = min(self.least, int(weight.min()))
            self.most = max(self.most, int(weight.max()))
        return _weight_bits(weight)

    def _follow(self, in_order: bool, tails: np.ndarray, heads: np.ndarray) -> None:
        """Check that arcs in order continue the rows before them."""
        outer = [(int(tails[k]), int(heads[k])) for k in (0, -1) if len(heads)]
        ends = [*self.outer, *outer]
        self.in_rows = in_order and _ascend(ends[1:3])
        self.outer = [*ends[:1], *ends[-1:]]


def block_shift(num_vertices: int, block_bits: int) -> int:
    """Return the base-2 logarithm of the vertices of one of 2^block_bits blocks."""
    return max(0, (num_vertices - 1).bit_length() - block_bits)


def _look(
    file: EdgeFile, pieces: Iterator[RowPiece | Edges], block_bits: int, as_rows: bool
) -> _LocalSurvey:
    """Survey a rank's share, as rows for as long as the file looks like rows."""
    local = _LocalSurvey(file.num_vertices or 0, block_bits, as_rows)
    if file.num_vertices is None:
        local.smallest_ends = []
    for piece in pieces:
        local.add(piece)
        if as_rows and not local.in_rows:
            break
    return local


def _merge(comm: Comm, file: EdgeFile, local: _LocalSurvey) -> Survey:
    smallest = min(local.smallest_ends or [], default=None)
    facts = _EdgeFacts(
        local.bound, local.entries, local.types, local.least, local.most, smallest
    )
    num_vertices, entries, types, least, most, smallest = comm.combine(facts, _facts)
    with comm.raise_on_all():
        file.check_entries(entries)
    local.coarsen(block_shift(num_vertices, local.block_bits))
    blocks = (num_vertices + (1 << local.shift) - 1) >> local.shift
    counts = comm.sum(local.counts[:blocks]) * (1 + local.in_rows)
    surplus = comm.sum(np.array([local.balance]))[0]
    with comm.raise_on_all():
        dtype = file.merged_dtype(types, least, most)
    return Survey(
        num_vertices, entries, dtype, bool(surplus == 0), local.in_rows, local.shift,
        counts, smallest,
    )  # fmt: skip


class _EdgeFacts(NamedTuple):
    """Facts of the edges of a rank, or of all ranks; see `Survey`."""

    num_vertices: int
    entries: int
    types: set[np.dtype]  # of weights
    least: int  # weight
    most: int
    smallest: int | None  # end


def _facts(ranks: list[_EdgeFacts]) -> _EdgeFacts:
    """Return the facts that `_merge` has of each rank, of all ranks together."""
    bounds, entries, types, least, most, smallest = zip(*ranks, strict=True)
    ends = (end for end in smallest if end is not None)
    return _EdgeFacts(
        max(bounds), sum(entries), set().union(*types), min(least), max(most),
        min(ends, default=None),
    )  # fmt: skip


def _ascend(ends: list[tuple[int, int]]) -> bool:
    return all(one < other for one, other in pairwise(ends))


def _ascend_together(outer: list[list[tuple[int, int]] | None]) -> bool:
    """Return whether all ranks have rows, and the entries ascend from rank to rank."""
    ends = [end for pair in outer if pair is not None for end in pair]
    return None not in outer and _ascend(ends)


def bound_and_total(values: list[tuple[int, int]]) -> tuple[int, int]:
    """Return the largest bound of all ranks, and the sum of their counts."""
    bounds, counts = zip(*values, strict=True)
    return max(bounds), sum(counts)


def arc_without_reverse(file: EdgeFile) -> InputError:
    """Return an error for an arc whose reverse is missing or has another weight."""
    # The sums over classes of pairs of vertices are zero where all arcs have a reverse
    sums = np.zeros(CLASSES, np.uint64)
    for piece in file.pieces(0, file.length):
        add_by_pair(piece.src, piece.dst, _weight_bits(piece.weight), sums)
    wanted = int(np.flatnonzero(sums)[0])
    edges = []
    for piece in file.pieces(0, file.length):
        chosen = of_pair_class(piece.src, piece.dst, CLASSES, wanted)
        columns = (piece.src[chosen], piece.dst[chosen], piece.weight[chosen])
        edges += list(zip(*(column.tolist() for column in columns), strict=True))
    surplus_of: dict[tuple[int, int, float], int] = {}
    for u, v, w in edges:
        pair = (min(u, v), max(u, v), w)
        surplus_of[pair] = surplus_of.get(pair, 0) + (1 if u < v else -1)
    u, v, w = next(pair for pair, surplus in surplus_of.items() if surplus)
    if surplus_of[u, v, w] < 0:
        u, v = v, u
    first = file.first_id
    u, v = u + first, v + first
    return InputError(
        f"{file.name}: the arc ({u}, {v}) of weight {w} (vertices counted from "
        f"{first}) has no reverse ({v}, {u}) of the same weight. Give --symmetrize if "
        "the file lists edges in one direction only."
    )


def _weight_bits(weight: np.ndarray) -> np.ndarray:
    return without_negative_zero(weight).view(key_dtype(weight.dtype))
