"""Sparse and dense matrices as the rows or edges that kernels take."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeGuard

import numpy as np

from ..graph.model import Csr, Rows
from ..graph.order import id_dtype, key_rule
from ..host.errors import InputError, InputTypeError
from ..io.edge_file import Edges, as_ids, supported_weights
from ..kernels.arc_inspection import FINE, inspect_rows
from ..kernels.threads import Threads, each_range
from ..native.precompile import compile_for
from .inputs import NUMBERS, on_device

if TYPE_CHECKING:
    from scipy.sparse import csc_array, csr_array, sparray

# Formats of blocks or diagonals, which store zeros where there is no entry.
PADDED = ("bsr", "dia")
# A matrix with at most this many entries is solved as edges, by one kernel; rows take
# several.
FEW_ENTRIES = 4096


@dataclass(frozen=True)
class MatrixEntries(ABC):
    """The entries of a square matrix, each an edge."""

    num_vertices: int
    heads: np.ndarray  # uint32 or int64, shape (entries,): the columns of the entries
    weights: np.ndarray  # one of `order.WEIGHT_DTYPES`, shape (entries,)
    # int64 or None, shape (entries,): the position of each entry in the matrix, row
    # by row in a dense one, in the order of storage in blocks or diagonals; None if
    # every stored value is an entry.
    positions: np.ndarray | None = field(default=None, kw_only=True)

    @abstractmethod
    def edges(self) -> Edges:
        """Return the entries as edges, in their order."""

    def symmetric_rows(self, threads: Threads) -> Rows | None:
        """Return rows that hold every edge twice; None if the matrix does not."""
        return None


@dataclass(frozen=True)
class ListedEntries(MatrixEntries):
    """Entries by row and column."""

    tails: np.ndarray  # shape (entries,): the rows of the entries

    def edges(self) -> Edges:
        """Return the entries as edges, in their order."""
        return Edges(self.num_vertices, self.tails, self.heads, self.weights)


@dataclass(frozen=True)
class CompressedEntries(MatrixEntries):
    """Entries row by row, or column by column: edges have no direction."""

    indptr: np.ndarray  # int64, shape (num_vertices + 1,)
    canonical: bool  # Whether columns ascend in every row

    def edges(self) -> Edges:
        """Return the entries as edges, in their order."""
        n = self.num_vertices
        tails = np.repeat(np.arange(n, dtype=self.heads.dtype), np.diff(self.indptr))
        return Edges(n, tails, self.heads, self.weights)

    def symmetric_rows(self, threads: Threads) -> Rows | None:
        """Return rows that hold every edge twice; None if the matrix does not.

        Also None for at most `FEW_ENTRIES` entries.
        """
        n = self.num_vertices
        if len(self.heads) <= FEW_ENTRIES:
            return None
        if not self._samples_have_reverse() or n >= 1 << 31 or not self.canonical:
            return None
        compile_for("matrices", self.weights.dtype)
        rule = key_rule(self.weights.dtype)
        keys = self.weights.copy().view(rule.sign.dtype)
        rows = Rows(0, n, self.indptr, self.heads, keys)
        arcs = each_range(rows.indptr[threads.bounds(n)])
        csr = Csr(0, rows.indptr, self.heads, keys)
        status, *_, balance = threads.run(inspect_rows, csr, arcs, n, rule)
        symmetric = (status == FINE).all() and balance.sum() == 0  # modulo 2^64
        return rows if symmetric else None

    def _samples_have_reverse(self) -> bool:
        """Return whether 64 sampled entries (i, j) all have an entry (j, i)."""
        indptr, count = self.indptr, len(self.heads)
        entries = np.linspace(0, count - 1, min(count, 64)).astype(np.int64)
        tails = np.searchsorted(indptr, entries, side="right") - 1
        return all(
            tail in self.heads[indptr[head] : indptr[int(head) + 1]]
            for tail, head in zip(tails, self.heads[entries], strict=True)
        )


def _is_sparse(value: object) -> TypeGuard["sparray"]:
    """Return whether a value is a sparse matrix of SciPy, or of CuPy."""
    return hasattr(value, "tocoo")


def is_matrix(value: object) -> bool:
    """Return whether a value is a sparse matrix, or an array of two dimensions."""
    if _is_sparse(value):
        return True
    return isinstance(value, np.ndarray) and value.ndim == 2


def read_matrix(csgraph: object) -> MatrixEntries:
    """Return the entries of a square matrix of SciPy, CuPy or NumPy, checked.

    Entries that a sparse matrix stores twice are two edges. In a dense array zero,
    infinity and NaN mean that there is no edge, in formats of blocks or diagonals zero
    does, and in a masked array the mask. Raises InputTypeError if it is not a matrix of
    numbers; InputError if it is not square, damaged, or has NaN.
    """
    if on_device(csgraph) or type(csgraph).__module__.startswith("cupyx."):
        csgraph = csgraph.get()  # type: ignore[attr-defined]
    if not _is_sparse(csgraph):
        return _dense_entries(csgraph)
    _check_square(csgraph.shape)
    if csgraph.format in ("csr", "csc"):
        return _compressed_entries(csgraph)
    coo, positions = csgraph.tocoo(), None  # entries that are stored twice stay two
    if csgraph.format in PADDED:
        positions = np.flatnonzero(coo.data)
        coo = type(coo)(
            (coo.data[positions], (coo.row[positions], coo.col[positions])), coo.shape
        )
    n, weights = coo.shape[0], _weights_of(coo.data)
    ids = id_dtype(n)
    for ends in (coo.row, coo.col):
        _check_ids(ends, n)
    for entry in _nan_positions(weights):
        raise _nan_error(coo.row[entry], coo.col[entry])
    return ListedEntries(
        n, as_ids(coo.col, ids), weights, as_ids(coo.row, ids), positions=positions
    )


def _compressed_entries(matrix: "csr_array | csc_array") -> CompressedEntries:
    n, indptr = matrix.shape[0], _checked_indptr(matrix)
    count = int(indptr[-1])
    weights, heads = _weights_of(matrix.data[:count]), matrix.indices[:count]
    _check_ids(heads, n)
    for entry in _nan_positions(weights):
        tail = int(np.searchsorted(indptr, entry, side="right")) - 1
        ends = tail, heads[entry]
        raise _nan_error(*(ends if matrix.format == "csr" else ends[::-1]))
    canonical = bool(matrix.has_canonical_format)
    heads = as_ids(heads, id_dtype(n))
    return CompressedEntries(n, heads, weights, indptr, canonical)


def _checked_indptr(matrix: "csr_array | csc_array") -> np.ndarray:
    """Return the row pointers of a compressed matrix, as int64.

    Raises InputError if the arrays of the matrix do not fit each other.
    """
    n, form = matrix.shape[0], matrix.format.upper()
    indptr, indices, data = matrix.indptr, matrix.indices, matrix.data
    for name, array in (("indptr", indptr), ("indices", indices)):
        if array.ndim != 1 or array.dtype.kind not in "iu":
            raise InputTypeError(
                f"{name} of the {form} matrix has type {array.dtype} and shape "
                f"{array.shape}; give integers in one dimension"
            )
    if len(indptr) != n + 1 or indptr[0] != 0:
        raise InputError(
            f"indptr of the {form} matrix has {len(indptr)} entries, the first "
            f"{indptr[0] if len(indptr) else 'missing'}; {n} rows need {n + 1}, the "
            "first 0. Make the matrix again."
        )
    falls = np.flatnonzero(indptr[1:] < indptr[:-1])
    if len(falls):
        row = int(falls[0])
        raise InputError(
            f"indptr of the {form} matrix falls from {indptr[row]} to "
            f"{indptr[row + 1]} at row {row}. Make the matrix again."
        )
    if not len(indices) == len(data) >= indptr[-1]:
        raise InputError(
            f"the {form} matrix has {len(indices)} indices and {len(data)} data, and "
            f"indptr ends at {indptr[-1]}. Make the matrix again."
        )
    return indptr.astype(np.int64)


def _dense_entries(values: object) -> ListedEntries:
    """Return the entries of a dense matrix that are edges."""
    matrix = _dense_matrix(values)
    _check_square(matrix.shape)
    if isinstance(matrix, np.ma.MaskedArray):
        present = ~np.ma.getmaskarray(matrix)
        matrix = matrix.data
    else:
        present = matrix != 0
        if matrix.dtype.kind == "f":
            present &= np.isfinite(matrix)
    positions = np.flatnonzero(present.ravel())
    n = len(matrix)
    tails, heads = np.divmod(positions, max(n, 1))
    weights = _weights_of(matrix[present])
    for entry in _nan_positions(weights):
        raise _nan_error(tails[entry], heads[entry])
    ids = id_dtype(n)
    return ListedEntries(
        n, heads.astype(ids), weights, tails.astype(ids), positions=positions
    )


def _dense_matrix(values: object) -> np.ndarray:
    matrix: np.ndarray
    if isinstance(values, np.ma.MaskedArray):
        matrix = values
    elif hasattr(values, "to_numpy"):  # a table of pandas or Polars
        matrix = np.asarray(values.to_numpy())
    else:
        try:
            matrix = np.asarray(values)
        except ValueError as error:
            raise InputError(
                f"a graph is a square matrix, and rows differ: {error}"
            ) from error
    if matrix.ndim == 0:
        raise InputTypeError(
            f"a graph is a square matrix, not a value of type {type(values).__name__}"
        )
    if matrix.dtype.kind not in NUMBERS:
        raise InputTypeError(
            f"the matrix has values of type {matrix.dtype}; give numbers"
        )
    return matrix


def _check_square(shape: tuple[int, ...]) -> None:
    if len(shape) == 1:
        raise InputError(
            "a graph is a square matrix, not one of one axis; condensed distances go "
            "to mndmst.single_linkage(distances, metric='precomputed')"
        )
    if len(shape) != 2 or shape[0] != shape[1]:
        raise InputError(
            f"a graph is a square matrix, not one of shape {shape}; "
            "minimum_spanning_forest takes tables and columns of edges"
        )


def _check_ids(ids: np.ndarray, n: int) -> None:
    unsigned = ids.view(f"u{ids.itemsize}")  # a negative one becomes too large
    if len(ids) and unsigned.max() >= n:
        entry = int((unsigned >= n).argmax())
        raise InputError(
            f"entry {entry} of the matrix is in row or column {ids[entry]}, but there "
            f"are {n}. Make the matrix again."
        )


def _weights_of(values: np.ndarray) -> np.ndarray:
    if values.ndim != 1 or values.dtype.kind not in NUMBERS:
        raise InputTypeError(
            f"the matrix has values of type {values.dtype}; give numbers"
        )
    return supported_weights("the matrix", values)


def _nan_positions(weights: np.ndarray) -> np.ndarray:
    """Return the positions of NaN among weights."""
    if weights.dtype.kind != "f" or not len(weights) or not np.isnan(weights.max()):
        return np.empty(0, np.int64)
    return np.flatnonzero(np.isnan(weights))


def _nan_error(row: int, column: int) -> InputError:
    return InputError(
        f"the matrix has NaN at ({row}, {column}), which has no place in an order; "
        "give it a number or leave the entry out"
    )
