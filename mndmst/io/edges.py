"""Edges in memory, between a file of another format and shards."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ..graph.order import WEIGHT_DTYPES, id_dtype
from ..host.errors import InputError
from ..host.formatting import counted
from .names import Names

MAX_VERTICES = 1 << 48
# Whole numbers up to it are exact in float64.
MOST_EXACT = 1 << 53
BOUND_BYTES = 8  # where a row begins, or a part
# Bytes that row pointers may take whatever the size of the file.
ROWS_ALLOWED = 64 << 20
# Vertices for each edge from which on ids are taken for names.
SPARSE_RATIO = 16


class UnnumberedEndError(InputError):
    """An end of an edge is not the number of a vertex; it may be a name."""


@dataclass(frozen=True)
class Edges:
    """A weighted graph as a list.

    Attributes
    ----------
    num_vertices : int
    src, dst : ndarray of uint32 or int64, shape (edges,)
        `order.id_dtype(num_vertices)`, below `num_vertices`.
    weight : ndarray of one of `order.WEIGHT_DTYPES`, shape (edges,)
    directed : bool
        Whether the list may hold an edge in both directions. If not, each pair is
        one undirected edge. In both cases only the lightest of all edges that join
        two vertices is kept, and self-loops are ignored.
    names : Names, optional
        The users' names of all vertices, ascending; None where they are numbers.
    """

    num_vertices: int
    src: np.ndarray
    dst: np.ndarray
    weight: np.ndarray
    directed: bool
    names: Names | None = None

    def __len__(self) -> int:
        return len(self.src)


def is_sparse(num_vertices: int, num_entries: int) -> bool:
    """Return whether most vertices would have no edge, and their rows take much disk.

    The ids in a file are then names, such as OpenStreetMap's, not numbers.
    """
    far = num_vertices > SPARSE_RATIO * num_entries
    return far and BOUND_BYTES * num_vertices > ROWS_ALLOWED


def checked_edges(
    source: object,
    num_vertices: int,
    src: np.ndarray,
    dst: np.ndarray,
    weight: np.ndarray,
    directed: bool,
    before: int = 0,
) -> Edges:
    """Return `Edges` from arrays of any integer and weight types.

    Parameters
    ----------
    source : object
        Names the file in errors.
    num_vertices, src, dst, weight, directed
        As in `Edges`.
    before : int
        How many entries come before these in the file; errors count from 0.

    Raises
    ------
    InputError
        If an end is out of range, a weight is NaN or of a type without an order.
    """
    if num_vertices > MAX_VERTICES:
        raise UnnumberedEndError(
            f"{source}: has {num_vertices} vertices; at most 2^48 can be numbered."
        )
    for ends in (src, dst):
        if len(ends) and (ends.min() < 0 or ends.max() >= num_vertices):
            bad = int(((ends < 0) | (ends >= num_vertices)).argmax())
            raise UnnumberedEndError(
                f"{source}: entry {before + bad} joins vertex {ends[bad]} (both count "
                "from 0), but there is no more than "
                f"{counted(num_vertices, 'vertex')}. Fix the entry."
            )
    weight = supported_weights(source, weight)
    if weight.dtype.kind == "f" and len(weight) and np.isnan(weight.max()):
        bad = int(np.isnan(weight).argmax())
        u, v = src[bad], dst[bad]
        raise InputError(
            f"{source}: the weight of entry {before + bad} (vertices {u} and {v}; all "
            "count from 0) is NaN, which has no place in an order. Give it a "
            "number or leave the edge out."
        )
    ids = id_dtype(num_vertices)
    return Edges(
        num_vertices,
        as_ids(src, ids),
        as_ids(dst, ids),
        weight,
        directed,
    )


def as_ids(ends: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Return ends, none below 0, in another type of integers; copied if need be."""
    same = ends.dtype.isnative and ends.dtype.itemsize == dtype.itemsize
    return ends.view(dtype) if same else ends.astype(dtype)


def joined_edges(num_vertices: int, pieces: Iterable[Edges], directed: bool) -> Edges:
    """Return the edges of several lists as one.

    Of weights of several types some are float64; the others become so.

    Parameters
    ----------
    num_vertices : int
        Of the whole list.
    """
    ids = id_dtype(num_vertices)
    columns: tuple[list[np.ndarray], ...] = ([], [], [])
    for piece in pieces:
        columns[0].append(piece.src.astype(ids, copy=False))
        columns[1].append(piece.dst.astype(ids, copy=False))
        columns[2].append(piece.weight)
    types = {weight.dtype for weight in columns[2]} or {np.dtype(np.int32)}
    weight_dtype = types.pop() if len(types) == 1 else np.dtype(np.float64)
    src, dst = (np.concatenate([np.empty(0, ids), *column]) for column in columns[:2])
    weight = np.concatenate([
        np.empty(0, weight_dtype),
        *(piece.astype(weight_dtype, copy=False) for piece in columns[2]),
    ])  # fmt: skip
    return Edges(num_vertices, src, dst, weight, directed)


def check_exact(source: object, least: int, most: int) -> None:
    """Refuse integers outside float64's exact range, if fractions need float64.

    Raises
    ------
    InputError
        If one is beyond 2^53.
    """
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


def supported_weights(source: object, weight: np.ndarray) -> np.ndarray:
    """Return weights in the narrowest supported type that holds theirs."""
    native = weight.dtype.newbyteorder("=")
    kept = native in WEIGHT_DTYPES
    small = native.kind in "biuf" and native.itemsize < 4
    if not (kept or small):
        raise InputError(
            f"{source}: weights of type {weight.dtype} cannot be kept exactly. Give "
            "them as 32- or 64-bit integers or floats."
        )
    target = native if kept else np.dtype("f4" if native.kind == "f" else "i4")
    return weight.astype(target, copy=False)
