"""The first pass over an edge file: what it holds, and how it is spread."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...backends.numba.external import count_ends
from ...errors import InputError
from ...order import key_dtype
from ..edge_file import EdgeFile
from ..edges import Edges
from ..layout import writing
from .team import Team

# Ends are counted for as many blocks of vertices at most.
BLOCK_BITS = 20
NARROW = np.iinfo(np.int32)


@dataclass(frozen=True)
class Survey:
    """What a list of edges holds, the same on every rank.

    Attributes
    ----------
    num_vertices, num_entries : int
    weight_dtype : dtype
    symmetric : bool
        Whether every edge is listed in both directions.
    shift : int
        A block has 2^shift vertices.
    counts : ndarray of int64, shape (blocks,)
        The ends of edges in each block, loops not counted.
    """

    num_vertices: int
    num_entries: int
    weight_dtype: np.dtype
    symmetric: bool
    shift: int
    counts: np.ndarray


def share(team: Team, file: EdgeFile) -> tuple[int, int]:
    """Return the range of a file that this rank reads."""
    if not file.seekable:
        return (0, file.length) if team.rank == 0 else (0, 0)
    bounds = [file.length * rank // team.size for rank in (team.rank, team.rank + 1)]
    return bounds[0], bounds[1]


def own_pieces(team: Team, file: EdgeFile, spool: Path, again: bool) -> Iterator[Edges]:
    """Yield the edges of this rank's share.

    The first time they are copied to a spool, unless the file is as cheap to read
    again; then they are taken from there.
    """
    begin, end = share(team, file)
    if begin == end:
        return
    if file.rereadable:
        yield from file.pieces(begin, end)
    elif again:
        with spool.open("rb") as kept:
            size = spool.stat().st_size
            while kept.tell() < size:
                src, dst, weight = (np.load(kept) for _ in range(3))
                yield Edges(file.num_vertices or 0, src, dst, weight, directed=True)
    else:
        with writing(spool), spool.open("wb") as kept:
            for piece in file.pieces(begin, end):
                for column in (piece.src, piece.dst, piece.weight):
                    np.save(kept, column)
                yield piece


def survey_edges(team: Team, file: EdgeFile, pieces: Iterator[Edges]) -> Survey:
    """Look at all edges once. Collective.

    Raises
    ------
    InputError
        If the file is damaged, or holds less than its header says.
    """
    with team.together():
        found = _look(file, pieces)
    return _merge(team, file, found)


class _Found:
    """What one rank has found; counts are kept as fine as they can be."""

    def __init__(self, num_vertices: int) -> None:
        self.bound = num_vertices
        self.entries = 0
        self.balance = np.uint64(0)
        self.types: set[np.dtype] = set()
        self.least, self.most = 0, 0
        self.shift = block_shift(num_vertices)
        self.counts = np.zeros(1 << BLOCK_BITS, np.int64)

    def coarsen(self, shift: int) -> None:
        """Add neighbouring blocks up until they have 2^shift vertices."""
        while self.shift < shift:
            half = self.counts.reshape(-1, 2).sum(axis=1)
            self.counts = np.concatenate((half, np.zeros_like(half)))
            self.shift += 1

    def add(self, piece: Edges) -> None:
        """Count a piece."""
        self.entries += len(piece)
        self.bound = max(self.bound, piece.num_vertices)
        self.coarsen(block_shift(self.bound))
        weight = piece.weight
        self.types.add(weight.dtype)
        if weight.dtype == np.int64 and len(weight):
            self.least = min(self.least, int(weight.min()))
            self.most = max(self.most, int(weight.max()))
        if weight.dtype.kind == "f":
            weight = weight + weight.dtype.type(0)
        keys = weight.view(key_dtype(weight.dtype))
        with np.errstate(over="ignore"):
            self.balance += count_ends(
                piece.src, piece.dst, keys, self.shift, self.counts
            )


def block_shift(num_vertices: int) -> int:
    """Return how many vertices a block has, as a power of two."""
    return max(0, (num_vertices - 1).bit_length() - BLOCK_BITS)


def _look(file: EdgeFile, pieces: Iterator[Edges]) -> _Found:
    found = _Found(file.num_vertices or 0)
    for piece in pieces:
        found.add(piece)
    return found


def _merge(team: Team, file: EdgeFile, found: _Found) -> Survey:
    facts = (found.bound, found.entries, found.types, found.least, found.most)
    bounds, entries, types, least, most = zip(*team.everyone(facts), strict=True)
    with team.together():
        file.check_entries(sum(entries))
    num_vertices = max(bounds)
    found.coarsen(block_shift(num_vertices))
    blocks = (num_vertices + (1 << found.shift) - 1) >> found.shift
    counts = team.sum(found.counts[:blocks])
    balance = team.sum(np.array([found.balance]))[0]
    dtype = _weight_dtype(file, set().union(*types), min(least), max(most))
    symmetric = bool(balance == 0)
    return Survey(num_vertices, sum(entries), dtype, symmetric, found.shift, counts)


def _weight_dtype(
    file: EdgeFile, found: set[np.dtype], least: int, most: int
) -> np.dtype:
    """Return the type of the weights in the shards."""
    if file.weight_dtype is not None:
        if found - {file.weight_dtype}:
            raise InputError(f"{file.name}: has weights of several types.")
        return file.weight_dtype
    if any(dtype.kind == "f" for dtype in found):
        return np.dtype(np.float64)
    fits = NARROW.min <= least and most <= NARROW.max
    return np.dtype(np.int32 if fits else np.int64)
