"""Edges in memory, and files of edges that are read piece by piece.

`EdgeFile` is the interface between the partitioner and a format. A file has a length in
its own units (bytes of text, entries of a binary file, edges of a random graph). Any
number of processes reads any ranges, and ranges that cover the file together give every
entry once: a range of text, for example, begins at the first line that begins in it.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from ..graph.order import WEIGHT_DTYPES, id_dtype
from ..host.errors import InputError
from ..host.formatting import counted
from ..host.memory import FREE_MEMORY, Budget
from ..host.memory_costs import EDGE_COPIES
from . import memory_limit
from .names import Names

if TYPE_CHECKING:
    from ..backends.base import ArrayOnDevice

ArrayT = TypeVar("ArrayT", bound="ArrayOnDevice")

MAX_VERTICES = 1 << 48
# Whole numbers up to it are exact in float64.
MOST_EXACT = 1 << 53
BOUND_BYTES = 8  # where a row begins, or a part
# Bytes that row pointers may take whatever the size of the file.
ROWS_ALLOWED = 64 << 20
# Vertices for each edge from which on ids are taken for names.
SPARSE_RATIO = 16

# The size of a piece, about: in entries, or bytes of text, which stay in a core's cache
# from reading to parsing, and whose arrays the allocator keeps for reuse.
PIECE_ENTRIES = 1 << 20
PIECE_BYTES = 1 << 19


def changed_meanwhile(source: object) -> InputError:
    """Return the error for a file that has other edges when it is read again."""
    return InputError(
        f"{source}: has changed while it was read. Run the command again."
    )


def ids_begin_above_0(least: int) -> str:
    """Return the note on vertices below all ids of a list that does not count them."""
    isolated = "vertex 0 has no edge and is a tree"
    if least > 1:
        isolated = f"the vertices 0 to {least - 1:,} have no edge, each a tree"
    return f"ids begin at {least:,}, and vertices count from 0: {isolated} alone"


class UnnumberedEndError(InputError):
    """An end of an edge is not the number of a vertex; it may be a name."""


@dataclass(frozen=True)
class Edges:
    """A weighted graph as a list."""

    num_vertices: int
    # uint32 or int64 [edges]: `order.id_dtype(num_vertices)`, below `num_vertices`
    src: np.ndarray
    dst: np.ndarray
    weight: np.ndarray  # one of `order.WEIGHT_DTYPES` [edges]
    # Whether the list may hold an edge in both directions. If not, each pair is one
    # undirected edge. In both cases only the lightest of all edges that join two
    # vertices is kept, and self-loops are ignored.
    directed: bool = True
    # The users' names of all vertices, ascending; None where they are numbers
    names: Names | None = None
    # The file's id of vertex 0; `names` are None unless it is 0
    first_id: int = 0

    def __len__(self) -> int:
        return len(self.src)


def is_sparse(num_vertices: int, num_entries: int) -> bool:
    """Return whether ids are names, such as OpenStreetMap's: most have no edge."""
    far = num_vertices > SPARSE_RATIO * num_entries
    return far and BOUND_BYTES * num_vertices > ROWS_ALLOWED


def checked_edges(
    source: object,
    num_vertices: int | None,
    src: np.ndarray,
    dst: np.ndarray,
    weight: np.ndarray,
    before: int = 0,
    first_id: int = 0,
) -> Edges:
    """Return `Edges` from arrays of any integer and weight types.

    Without `num_vertices` there is one more than the largest end. Errors name entries,
    from 0, of which `before` come before these, and the file's ids of vertices, of
    which `first_id` is that of vertex 0.
    """
    if num_vertices is None:
        tops = [int(ends.max()) for ends in (src, dst) if len(ends)]
        num_vertices = max([0, *(top + 1 for top in tops)])
    if num_vertices > MAX_VERTICES:
        raise UnnumberedEndError(
            f"{source}: has {num_vertices} vertices; at most 2^48 can be numbered."
        )
    for ends in (src, dst):
        if len(ends) and (ends.min() < 0 or ends.max() >= num_vertices):
            bad = int(((ends < 0) | (ends >= num_vertices)).argmax())
            raise UnnumberedEndError(
                f"{source}: entry {before + bad} (from 0) names vertex "
                f"{int(ends[bad]) + first_id}, but ids run from {first_id} to "
                f"{num_vertices - 1 + first_id:,}. Fix the entry."
            )
    weight = supported_weights(source, weight)
    if weight.dtype.kind == "f" and len(weight) and np.isnan(weight.max()):
        bad = int(np.isnan(weight).argmax())
        u, v = int(src[bad]) + first_id, int(dst[bad]) + first_id
        raise InputError(
            f"{source}: the weight of entry {before + bad} (from 0), of the edge "
            f"({u}, {v}), is NaN, which has no place in an order. Give it a number or "
            "leave the edge out."
        )
    ids = id_dtype(num_vertices)
    return Edges(num_vertices, as_ids(src, ids), as_ids(dst, ids), weight)


def as_ids(ends: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Return ends, none below 0, in another type of integers; copied if need be."""
    same = ends.dtype.isnative and ends.dtype.itemsize == dtype.itemsize
    return ends.view(dtype) if same else ends.astype(dtype)


def joined(pieces: Sequence[np.ndarray], dtype: np.dtype) -> np.ndarray:
    """Return arrays as one, of a type."""
    none = np.empty(0, dtype)
    return np.concatenate([none, *pieces], dtype=dtype, casting="unsafe")


def read_number(word: str) -> int | float:
    """Return a number, a whole one of up to 64 bits exactly; else raise ValueError."""
    if "_" in word:  # which Python takes
        raise ValueError("not a number")
    try:
        whole = int(word)
    except ValueError:
        number = float(word)
        if np.isinf(number) and "n" not in word.lower():
            raise ValueError("beyond the largest float64") from None
        return number
    if not -(1 << 63) <= whole < 1 << 63:
        raise ValueError("over 64 bits")
    return whole


def number_weights(source: object, numbers: Sequence[int | float]) -> np.ndarray:
    """Return Python's numbers as weights: int64 if all are whole, else float64."""
    whole = [number for number in numbers if isinstance(number, int)]
    least, most = min(whole, default=0), max(whole, default=0)
    if len(whole) < len(numbers):
        check_exact(source, least, most)
        return np.array(numbers, np.float64)
    if not -(1 << 63) <= least <= most < 1 << 63:
        raise InputError(f"{source}: has a weight of over 64 bits. Scale the weights.")
    return np.array(numbers, np.int64)


def is_exact(number: int) -> bool:
    """Return whether a float64 is equal to an integer."""
    try:
        return float(number) == number
    except OverflowError:
        return False


def check_exact(source: object, least: int, most: int) -> None:
    """Refuse integers outside float64's exact range, if fractions need float64."""
    if least < -MOST_EXACT or most > MOST_EXACT:
        number = most if most > MOST_EXACT else least
        raise InputError(
            f"{source}: has the weight {number} and weights with fractions; float64, "
            "which fractions need, holds whole numbers up to 2^53 alone. Scale the "
            "weights, or write all of them as whole numbers."
        )


def narrow_integers(weight: np.ndarray) -> np.ndarray:
    """Return int64 weights as int32 if all of them fit, else as they are."""
    limits = np.iinfo(np.int32)
    fits = not len(weight) or (
        limits.min <= weight.min() and weight.max() <= limits.max
    )
    return weight.astype(np.int32) if fits else weight


def without_negative_zero(weight: np.ndarray) -> np.ndarray:
    """Return weights with 0.0 in place of -0.0, which it equals."""
    return weight + weight.dtype.type(0) if weight.dtype.kind == "f" else weight


def supported_weights(source: object, weight: ArrayT) -> ArrayT:
    """Return weights in the narrowest supported type that holds theirs."""
    native = weight.dtype.newbyteorder("=")
    supported = native in WEIGHT_DTYPES
    small = native.kind in "biuf" and native.itemsize < 4
    if not (supported or small):
        raise InputError(
            f"{source}: weights of type {weight.dtype} cannot be kept exactly. Give "
            "them as 32- or 64-bit integers or floats."
        )
    target = native if supported else np.dtype("f4" if native.kind == "f" else "i4")
    return weight.astype(target, copy=False)


@dataclass(frozen=True)
class RowPiece:
    """Arcs as consecutive rows."""

    first: int  # the vertex of the first row
    indptr: np.ndarray  # int64 [rows + 1]: starts at 0
    # Heads as the file has them, weights as in `Edges`
    heads: np.ndarray
    weights: np.ndarray

    def __len__(self) -> int:
        return len(self.heads)


class EntryFile(ABC):
    """A file of weighted edges, whose vertices have numbers or names.

    It is sent to other processes, so it can be pickled and holds no open file.
    """

    name: str  # names the file in messages
    length: int  # in bytes, entries, or the format's other units
    # How many entries the header promises; see `check_entries`
    num_entries: int | None = None
    # None for text: pieces of whole numbers are int64, those with a real number
    # float64. In the end all are float64 if any is, else int32 if all fit.
    weight_dtype: np.dtype | None = None
    # Whether ranges other than (0, length) may be read; a compressed file is read
    # from its beginning to its end by one process
    seekable: bool = True
    # Whether reading again is cheaper than keeping a copy of all pieces
    rereadable: bool = False
    # Lines that tell users how the file is read, such as the columns of a table
    notes: tuple[str, ...] = ()
    weight_name: str = ""  # The column or attribute of the weights, if it has a name
    # Whether it is a graph for maximum forests; None if the file does not say
    maximum: bool | None = None
    budget: Budget = FREE_MEMORY  # The memory that a process may hold while it reads

    def copy_facts(self, file: "EntryFile") -> None:
        """Copy the facts about a file that this one wraps."""
        self.name, self.length, self.notes = file.name, file.length, file.notes
        self.weight_name, self.maximum = file.weight_name, file.maximum
        self.num_entries, self.weight_dtype = file.num_entries, file.weight_dtype
        self.seekable, self.rereadable = file.seekable, file.rereadable
        self.budget = file.budget

    def identity(self) -> dict[str, object]:
        """Return facts, as plain values, by which a restart knows its input again."""
        known: dict[str, object] = {"file": self.name, "length": self.length}
        with suppress(OSError):
            state = Path(self.name).stat()
            known |= {"bytes": state.st_size, "changed": state.st_mtime_ns}
        return known

    def nbytes(self) -> int:
        """Return the bytes of the file as it is stored; 0 if it is none."""
        with suppress(OSError):
            return Path(self.name).stat().st_size
        return 0

    def joined_weights(self, pieces: Sequence[np.ndarray]) -> np.ndarray:
        """Return the weights of all pieces as one array; see `merged_dtype`."""
        whole = [w for w in pieces if w.dtype.kind == "i" and len(w)]
        least = min((int(weight.min()) for weight in whole), default=0)
        most = max((int(weight.max()) for weight in whole), default=0)
        types = {weight.dtype for weight in pieces}
        return joined(pieces, self.merged_dtype(types, least, most))

    def merged_dtype(self, types: set[np.dtype], least: int, most: int) -> np.dtype:
        """Return the type that holds the weights of pieces of some types.

        Of text, it is float64 if any is, else as narrow as the whole numbers from
        `least` to `most` allow.
        """
        if self.weight_dtype is not None:
            if types - {self.weight_dtype}:
                raise InputError(f"{self.name}: has weights of several types.")
            return self.weight_dtype
        if any(dtype.kind == "f" for dtype in types):
            check_exact(self.name, least, most)
            return np.dtype(np.float64)
        narrow = np.iinfo(np.int32)
        fits = narrow.min <= least and most <= narrow.max
        return np.dtype(np.int32 if fits else np.int64)

    def check_entries(self, count: int) -> None:
        """Raise InputError if the header promises another number of entries."""
        if self.num_entries not in (None, count):
            raise InputError(
                f"{self.name}: holds {counted(count, 'arc')}, but its header says "
                f"{self.num_entries}. The file may have been cut short: copy it again, "
                "or fix the header."
            )

    @abstractmethod
    def read(self) -> Edges:
        """Return the whole list, in memory."""


class EdgeFile(EntryFile):
    """A list of weighted edges between numbered vertices, of any size."""

    # None where no header says it: one more than the largest end that occurs
    num_vertices: int | None = None
    # Whether the format stores each edge in both directions. The partitioner then
    # rejects an arc without its reverse; otherwise each entry is an edge, whichever way
    # it is listed, once or twice.
    both_directions: bool = False
    # Whether the user has given this number of vertices, however few of them have
    # edges. Otherwise a corrupt id may have inflated the count.
    vertices_given: bool = False
    names: Names | None = None  # the users' names of all vertices, where they have any
    # The file's id of vertex 0: 1 in formats that count vertices from 1
    first_id: int = 0

    @abstractmethod
    def pieces(self, begin: int, end: int) -> Iterator[Edges]:
        """Yield the entries that begin in [begin, end), a bounded number at a time.

        The bounds go from 0 to `length`; only these two where the file is not seekable.
        A piece has about `PIECE_ENTRIES` or fewer, in `checked_edges`. Where the
        number of vertices is not known it is that of the piece: one more than the
        largest end in it.
        """

    def rows(self, first: int, end: int) -> RowPiece | None:
        """Return the rows of the vertices [first, end), where the file is made of rows.

        `pieces` has yielded and checked them before.
        """
        return None

    def row_pieces(self, begin: int, end: int) -> Iterator[RowPiece] | None:
        """Return the edges of `pieces` as rows, unchecked; None if there are no rows.

        The first and the last row of a piece may be cut.
        """
        return None

    def check_contents(self) -> None:
        """Raise InputError if the contents do not have the checksums of the file."""

    def read(self) -> Edges:
        """Return the whole list, in memory; see `EntryFile`."""
        self.check_contents()
        listed = self.pieces(0, self.length)
        pieces = memory_limit.collect(self.budget, self.name, listed, _cost)
        self.check_entries(sum(map(len, pieces)))
        bound = max((piece.num_vertices for piece in pieces), default=0)
        count = bound if self.num_vertices is None else self.num_vertices
        ids = id_dtype(count)
        src = joined([piece.src for piece in pieces], ids)
        dst = joined([piece.dst for piece in pieces], ids)
        weight = self.joined_weights([piece.weight for piece in pieces])
        return Edges(count, src, dst, weight, names=self.names, first_id=self.first_id)


def _cost(piece: Edges) -> int:
    """Return the bytes that a piece takes until it is part of a graph."""
    columns = (piece.src, piece.dst, piece.weight)
    return EDGE_COPIES * sum(column.nbytes for column in columns)


class WrappedEdgeFile(EdgeFile):
    """A wrapper of an edge file; subclasses change its entries or checks."""

    def __init__(self, file: EdgeFile) -> None:
        self.file = file
        self.copy_facts(file)
        self.num_vertices, self.names = file.num_vertices, file.names
        self.first_id = file.first_id
        self.both_directions = file.both_directions
        self.vertices_given = file.vertices_given

    def identity(self) -> dict[str, object]:
        """Return facts that identify the file."""
        return self.file.identity()

    def pieces(self, begin: int, end: int) -> Iterator[Edges]:
        """Yield the pieces of the file; see `EdgeFile`."""
        return self.file.pieces(begin, end)

    def check_entries(self, count: int) -> None:
        """Let the file check the number of entries."""
        self.file.check_entries(count)

    def check_contents(self) -> None:
        """Let the file check its checksums."""
        self.file.check_contents()


class EdgesInMemory(EdgeFile):
    """A list that is in memory already."""

    rereadable = True

    def __init__(
        self,
        name: str,
        edges: Edges,
        vertices_given: bool = False,
        notes: tuple[str, ...] = (),
        weight_name: str = "",
        maximum: bool | None = None,
    ) -> None:
        self.name, self.notes = name, notes
        self.weight_name, self.maximum = weight_name, maximum
        self.vertices_given = vertices_given
        self.edges = edges
        self.length = self.num_entries = len(edges)
        self.num_vertices = edges.num_vertices
        self.weight_dtype = edges.weight.dtype
        self.names, self.first_id = edges.names, edges.first_id

    def pieces(self, begin: int, end: int) -> Iterator[Edges]:
        """Yield slices of the list."""
        edges = self.edges
        for low in range(begin, end, PIECE_ENTRIES):
            columns = (edges.src, edges.dst, edges.weight)
            part = slice(low, min(low + PIECE_ENTRIES, end))
            src, dst, weight = (column[part] for column in columns)
            yield Edges(edges.num_vertices, src, dst, weight, edges.directed)

    def read(self) -> Edges:
        """Return the list."""
        return self.edges
