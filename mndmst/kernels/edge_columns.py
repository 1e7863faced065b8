"""Columns of edges: allocation, concatenation, and copies by threads."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..graph.model import EdgeColumns, Rows, positions
from ..native.call_columns import ArrayPieces, address_of
from ..native.kernel import kernel
from .binary_search import first_above
from .intrinsics import copy_memory, prefetch
from .threads import Threads

# Array i begins at i times this offset in its page; a multiple of a cache line.
PAGE, STAGGER = 4096, 1088

Shape = tuple[int, type | np.dtype]


class EdgePieces(NamedTuple):
    """Edges in pieces, one for each call of a kernel: both ends, and the key."""

    u: ArrayPieces
    v: ArrayPieces
    key: ArrayPieces

    @classmethod
    def of(cls, columns: EdgeColumns, bounds: np.ndarray) -> "EdgePieces":
        """Cut columns; see `ArrayPieces.of`."""
        return cls(*(ArrayPieces.of(column, bounds) for column in columns))


def allocate_edges(rows: Rows, length: int) -> EdgeColumns:
    """Allocate columns for edges of some rows."""
    ids = length, rows.indices.dtype
    return EdgeColumns(*allocate_staggered(ids, ids, (length, rows.keys.dtype)))


def allocate_staggered(*shapes: Shape) -> list[np.ndarray]:
    """Allocate arrays that begin at different offsets of a page.

    NumPy allocates large arrays at the same offset, with huge pages. Entries that a
    loop reads together would then share a set of the cache, and processors would
    mistake a store to one array for a store to the other, so that its next load waits.
    """
    arrays = []
    for number, (length, kind) in enumerate(shapes, 1):
        dtype = np.dtype(kind)
        nbytes = length * dtype.itemsize
        buffer = np.empty(nbytes + PAGE, np.uint8)
        begin = (number * STAGGER - buffer.ctypes.data) % PAGE
        arrays.append(buffer[begin : begin + nbytes].view(dtype))
    return arrays


def concatenate_columns(
    parts: Sequence[Sequence[np.ndarray]], threads: Threads
) -> list[np.ndarray]:
    """Concatenate the columns of all parts."""
    if len(parts) == 1:
        return list(parts[0])
    columns = [ArrayPieces.of_arrays(column) for column in zip(*parts, strict=True)]
    return concatenate(columns, threads)


def concatenate(columns: Sequence[ArrayPieces], threads: Threads) -> list[np.ndarray]:
    """Concatenate the pieces of each column."""
    if len(columns[0]) == 1:
        return [column[0] for column in columns]
    results = [np.empty(column.lengths.sum(), column.dtype) for column in columns]
    copy_pieces(columns, results, threads)
    return results


def copy_pieces(
    columns: Sequence[ArrayPieces], into: Sequence[np.ndarray], threads: Threads
) -> None:
    """Copy the pieces of each column into an array, one behind the other."""
    sizes = [column.lengths * column.dtype.itemsize for column in columns]
    targets = [
        address_of(i) + ends_of(s)[:-1] for i, s in zip(into, sizes, strict=True)
    ]
    sources = [column.address for column in columns]
    nbytes, byte = np.concatenate(sizes), np.dtype(np.uint8)
    threads.run(
        copy_bytes,
        ArrayPieces(byte, np.concatenate(targets), nbytes, into),
        ArrayPieces(byte, np.concatenate(sources), nbytes, columns),
    )


def ends_of(lengths: np.ndarray, first: int = 0) -> np.ndarray:
    """Return the bounds of consecutive ranges of some lengths from `first` on."""
    return np.cumsum(np.concatenate([[first], lengths]), dtype=np.int64)


def take_columns(
    columns: Sequence[np.ndarray], index: np.ndarray, threads: Threads
) -> list[np.ndarray]:
    """Return the entries of columns at some positions."""
    index = positions(index)
    results = [np.empty(len(index), column.dtype) for column in columns]

    def work(begin: int, end: int) -> None:
        for column, result in zip(columns, results, strict=True):
            take_rows(column, index, result, begin, end)

    threads.map(work, threads.ranges(len(index)))
    return results


def take_rows(
    rows: np.ndarray, index: np.ndarray, out: np.ndarray, begin: int, end: int
) -> None:
    """Copy the rows index[begin:end] to out[begin:end] in a third of the time of `[]`.

    Indices are in range.
    """
    # In the default mode NumPy writes to a temporary copy first
    np.take(rows, index[begin:end], axis=0, out=out[begin:end], mode="clip")


@kernel
def copy_bytes(into, of):
    """Copy an array of bytes to an array of the same length."""
    copy_memory(into, of, len(of))


@kernel
def copy_ranges(of, begin, end, into, to):
    """Copy ranges of bytes to where `to` says; `of` and `into` have bytes."""
    for i in range(len(begin)):
        copy_memory(into[to[i] :], of[begin[i] :], end[i] - begin[i])


@kernel
def read_pages(memory, begin, end):
    """Read a byte of each page, so that the system maps the pages; return the sum."""
    total = 0
    for i in range(np.uint64(begin), np.uint64(end), np.uint64(PAGE)):
        total += memory[i]
    return total


def add_marked(
    parts: EdgePieces,
    masks: ArrayPieces,
    edges: EdgeColumns,
    count: int,
    threads: Threads,
) -> int:
    """Append marked edges to the first `count` of `edges`; return the new count."""
    bounds = ends_of(threads.run(count_marked, masks), count)
    threads.run(copy_marked, parts, masks, EdgePieces.of(edges, bounds))
    return int(bounds[-1])


AHEAD = 16  # rows to prefetch ahead: short rows are far apart


@kernel
def copy_rows(source, indptr, row, offset, low, out):
    """Copy arcs of chosen rows, from the arc number `low` of these rows on.

    `source` is a column of all arcs, whose rows begin at `indptr`. The chosen rows are
    `row`, and `offset` has the number of arcs in the chosen rows before each. The
    length of `out` is the number of arcs to copy.
    """
    i = first_above(offset, low) - 1
    done = 0
    while done < len(out):
        if i + AHEAD < len(row):
            prefetch(source, indptr[row[i + AHEAD]])
        shift = indptr[row[i]] - offset[i] + low
        stop = min(offset[i + 1] - low, len(out))
        for arc in range(done, stop):
            out[arc] = source[arc + shift]
        done = stop
        i += 1


@kernel
def count_marked(mask):
    """Return the number of entries of a mask that are set."""
    count = 0
    for marked in mask:
        count += marked
    return count


@kernel
def copy_marked(edges, mask, out):
    """Copy the edges that a mask marks to `out`, which has exactly their length."""
    u, v, key = edges
    out_u, out_v, out_key = out
    written = np.uint64(0)
    for i in range(np.uint64(len(key))):
        if written == np.uint64(len(out_key)):
            break
        out_u[written], out_v[written], out_key[written] = u[i], v[i], key[i]
        written += np.uint64(mask[i])
