"""Data model of a worker: rows of the graph, edge lists, reduced graphs.

`Rows` is a contiguous piece of the input in CSR form. `ReducedGraph` is the result of
contractions: its vertices are components, and its edges keep their original ends, which
the order needs.
"""

from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol

import numpy as np

from .arc_files import ArcFiles

# Sampled rows from which the number of rows with arcs is estimated. If fewer of them
# than the second number have arcs, all rows are counted.
ROWS_SAMPLE, ROWS_SEEN = 4096, 64


# The golden ratio: multiples of it, modulo 1, are spread evenly.
_GOLDEN_RATIO = (1 + 5**0.5) / 2


def sample_positions(length: int, count: int) -> np.ndarray:
    """Return ascending positions in [0, length), one in each of `count` equal ranges.

    They are the same in every run. Their offsets in the ranges differ, because rows at
    multiples of a number may differ from all others, as in R-MAT graphs.
    """
    number = np.arange(count)
    offset = number * _GOLDEN_RATIO % 1
    return ((number + offset) * (length / max(1, count))).astype(np.int64)


class ReadProgress(Protocol):
    """Lets a consumer wait for arcs that are still being read."""

    def wait(self, arc: int) -> None:
        """Wait until all arcs before `arc` have been read.

        Raises InputError if reading has failed; the error of the reading thread has the
        cause.
        """


class Csr(NamedTuple):
    """The arrays of `Rows`, as an argument of kernels."""

    first: int
    indptr: np.ndarray
    indices: np.ndarray
    keys: np.ndarray


class EdgeColumns(NamedTuple):
    """Edges in no order, as an argument of kernels: both ends, and the key."""

    u: np.ndarray
    v: np.ndarray
    key: np.ndarray

    def part(self, begin: int, end: int) -> "EdgeColumns":
        """Return the edges [begin, end), not copied."""
        return EdgeColumns(self.u[begin:end], self.v[begin:end], self.key[begin:end])


@dataclass(frozen=True)
class Rows:
    """The CSR rows of the vertices [first, first + len(rows)), by global ids.

    While threads read the arcs, `progress` tells which entries of `indices` and `keys`
    are filled. If a device reads the arcs from `files`, the host reads them when it
    first uses `indices` or `keys`.
    """

    first: int
    num_vertices: int  # of the whole graph
    indptr: np.ndarray  # int64, from 0 on
    # uint32 or int64, ascending within a row; ghosts are outside the rows
    indices: np.ndarray
    keys: np.ndarray  # uint32 or uint64, see `order.weights_to_keys`
    progress: ReadProgress | None = field(default=None, repr=False, compare=False)
    files: ArcFiles | None = field(default=None, repr=False, compare=False)
    # The rows of the whole graph, if these have been cut from them
    whole: "Rows | None" = field(default=None, repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.indptr) - 1

    @property
    def last(self) -> int:
        """One past the last row's vertex."""
        return self.first + len(self)

    @property
    def num_arcs(self) -> int:
        """Arcs in these rows; an edge between two of them counts twice."""
        return len(self.indices)

    @property
    def id_dtype(self) -> np.dtype:
        """The type of `indices`."""
        return self.indices.dtype

    @property
    def key_dtype(self) -> np.dtype:
        """The type of `keys`."""
        return self.keys.dtype

    @property
    def nbytes(self) -> int:
        """Bytes of the three arrays."""
        arc = self.id_dtype.itemsize + self.key_dtype.itemsize
        return self.indptr.nbytes + arc * self.num_arcs

    @property
    def csr(self) -> Csr:
        """The rows for a kernel."""
        return Csr(self.first, self.indptr, self.indices, self.keys)

    @property
    def complete(self) -> bool:
        """Whether these are all rows of the graph, so that no ghost exists."""
        return len(self) == self.num_vertices

    def sample_indices(self, count: int) -> np.ndarray:
        """Return about `count` of `indices` from all over the rows, in any order."""
        return self.indices[:: 1 + self.num_arcs // count]

    def count_occupied(self) -> int:
        """Return the number of rows with arcs; an estimate if a sample has enough."""
        if len(self) > ROWS_SAMPLE:
            picked = sample_positions(len(self), ROWS_SAMPLE)
            seen = int((self.indptr[picked + 1] > self.indptr[picked]).sum())
            if seen >= ROWS_SEEN:
                return len(self) * seen // ROWS_SAMPLE
        return int(np.count_nonzero(self.indptr[1:] > self.indptr[:-1]))

    def cut(self, begin: int, end: int) -> "Rows":
        """Return rows [begin, end) (local numbers); arcs are shared, not copied.

        Rows from the first one on keep the progress of a read.
        """
        low, high = self.indptr[begin], self.indptr[end]
        indptr = self.indptr[begin : end + 1]
        return Rows(
            self.first + begin,
            self.num_vertices,
            indptr - low if low else indptr,
            self.indices[low:high],
            self.keys[low:high],
            progress=self.progress if low == 0 else None,
            whole=self if self.complete else self.whole,
        )

    def as_whole(self) -> "Rows":
        """Return these rows as rows of the whole graph; only these may be read.

        Unless these have been cut from such rows, their row pointers are copied. The
        memory of the row pointers of others is never touched, so the system never
        provides it.
        """
        if self.complete:
            return self
        if self.whole is not None:
            return self.whole
        indptr = np.empty(self.num_vertices + 1, np.int64)
        indptr[self.first : self.last + 1] = self.indptr
        return Rows(0, self.num_vertices, indptr, self.indices, self.keys)


def component_of(ends: np.ndarray, rows: Rows, label: np.ndarray) -> np.ndarray:
    """Return the components (int64) of some vertices; that of a ghost is the ghost.

    `label` has the component of each row's vertex.
    """
    ends = ends.astype(np.int64)
    inside = (ends >= rows.first) & (ends < rows.last)
    ends[inside] = label[ends[inside] - rows.first]
    return ends


def positions(index: np.ndarray) -> np.ndarray:
    """Return the positions that a mask chooses; positions are returned as they are.

    Selecting several columns takes less time by positions than by a mask, and by
    positions of type `np.intp`, because NumPy converts other types for every column.
    """
    if index.dtype == np.bool_:
        return np.flatnonzero(index)
    return index.view(np.intp) if index.dtype == np.uint64 else index


@dataclass(frozen=True)
class EdgeList:
    """Edges by their original ends, in (u, v) order.

    u < v, and no pair is there twice. The position in the list therefore breaks ties
    between equal keys exactly as the order does.
    """

    u: np.ndarray  # uint32 or int64
    v: np.ndarray  # uint32 or int64
    key: np.ndarray  # uint32 or uint64

    def __len__(self) -> int:
        return len(self.key)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return self.u.nbytes + self.v.nbytes + self.key.nbytes

    @property
    def columns(self) -> EdgeColumns:
        """The edges for a kernel."""
        return EdgeColumns(self.u, self.v, self.key)

    @classmethod
    def empty(cls, ids: np.dtype, keys: np.dtype) -> "EdgeList":
        """Return a list of no edges with the given id and key types."""
        return cls(np.empty(0, ids), np.empty(0, ids), np.empty(0, keys))

    def take(self, index: np.ndarray) -> "EdgeList":
        """Return the edges chosen by a mask or by ascending positions."""
        index = positions(index)
        return EdgeList(self.u.take(index), self.v.take(index), self.key.take(index))

    def followed_by(self, *others: "EdgeList") -> "EdgeList":
        """Return these edges followed by the edges of other lists, in no order."""
        lists = [edges.columns for edges in (self, *others)]
        return EdgeList(*map(np.concatenate, zip(*lists, strict=True)))


@dataclass(frozen=True)
class ReducedGraph:
    """Components as vertices, and the remaining edges between them.

    Interior components have all their remaining edges in this graph. The others are
    ghosts: their lightest edge may be elsewhere, so they must not be contracted here.
    """

    edges: EdgeList  # by their original ends
    # uint32 or int64: the components of the ends u, as positions in `labels`
    a: np.ndarray
    b: np.ndarray  # of the ends v; a != b
    labels: np.ndarray  # int64: a vertex of each component, ascending, none twice
    interior: np.ndarray  # bool, by component

    def __len__(self) -> int:
        return len(self.edges)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        arrays = (self.a, self.b, self.labels, self.interior)
        return self.edges.nbytes + sum(array.nbytes for array in arrays)

    @property
    def complete(self) -> bool:
        """Whether no component is a ghost."""
        return bool(self.interior.all())

    def take(self, index: np.ndarray) -> "ReducedGraph":
        """Return the graph with the chosen edges only; labels stay as they are."""
        index = positions(index)
        ends = {"a": self.a.take(index), "b": self.b.take(index)}
        return replace(self, edges=self.edges.take(index), **ends)


def insertion_positions(edges: EdgeList, others: EdgeList) -> np.ndarray:
    """Return the positions in `edges` before which other edges belong.

    Both lists are in (u, v) order.
    """
    low = np.searchsorted(edges.u, others.u, side="left")
    high = np.searchsorted(edges.u, others.u, side="right")
    while (searching := low < high).any():  # v ascends where u is the same
        middle = (low + high) // 2
        less = searching.copy()
        less[searching] = edges.v[middle[searching]] < others.v[searching]
        low, high = np.where(less, middle + 1, low), np.where(less, high, middle)
    return low


class GrowingEdgeList:
    """A list of edges in order that grows in place, a column at a time.

    `columns` is a buffer for all edges to come; unused pages are never touched.
    """

    def __init__(self, columns: EdgeColumns) -> None:
        self.columns = columns
        self.count = 0

    @property
    def edges(self) -> EdgeList:
        """The edges so far."""
        return EdgeList(*(column[: self.count] for column in self.columns))

    def add(self, more: EdgeList) -> None:
        """Insert edges that are in order; fastest at the end of the list."""
        if len(more) == 0:
            return
        positions = insertion_positions(self.edges, more)
        begin, end = int(positions[0]), self.count + len(more)
        news = (more.u, more.v, more.key)
        for column, new in zip(self.columns, news, strict=True):
            column[begin:end] = np.insert(
                column[begin : self.count], positions - begin, new
            )
        self.count = end
