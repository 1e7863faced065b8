"""Sparse matrices of other packages as the rows or edges that kernels take."""

from typing import Any

import numpy as np

from ..graph.model import Csr, Rows
from ..graph.order import id_dtype, key_rule
from ..host.errors import InputError
from ..host.extras import optional
from ..io.edges import Edges, supported_weights
from ..kernels.inspect import FINE, inspect_rows
from ..kernels.threads import Threads
from .inputs import as_column


def csr_matrix(csgraph: Any) -> Any:
    """Return a graph as a square CSR matrix on the host.

    Parameters
    ----------
    csgraph : sparse matrix or array of SciPy or CuPy, or array-like
        In a dense one zero, infinity and NaN mean that there is no edge.

    Raises
    ------
    InputError
        If it is not square.
    """
    sparse = optional("scipy.sparse", "formats")
    if hasattr(csgraph, "get") and not sparse.issparse(csgraph):
        csgraph = csgraph.get()
    if sparse.issparse(csgraph):
        matrix = csgraph.tocsr()
    else:
        dense = np.ma.masked_invalid(np.ma.asarray(csgraph))
        if dense.ndim != 2:
            raise InputError(
                f"a graph is a square matrix, not one of {dense.ndim} axes"
            )
        matrix = sparse.csr_array(dense.filled(0))
    if matrix.shape[0] != matrix.shape[1]:
        raise InputError(f"a graph is a square matrix, not one of {matrix.shape}")
    return matrix


def symmetric_rows(
    matrix: Any, heads: np.ndarray, weights: np.ndarray, threads: Threads
) -> Rows | None:
    """Return a matrix as rows that hold every edge twice, None if it does not.

    Parameters
    ----------
    heads, weights : ndarray
        As from `entry_heads` and `entry_weights`.
    """
    n = matrix.shape[0]
    if not _has_reverse_arcs(matrix) or n >= 1 << 31 or not matrix.has_canonical_format:
        return None
    rule = key_rule(weights.dtype)
    keys = weights.copy().view(rule.sign.dtype)
    rows = Rows(0, n, matrix.indptr.astype(np.int64), heads, keys)
    parts = [tuple(rows.indptr[[*r]].tolist()) for r in threads.ranges(n)]
    csr = Csr(0, rows.indptr, heads, keys)
    found = threads.map(inspect_rows, [(csr, arcs, n, rule) for arcs in parts])
    balances = [balance for status, *_, balance in found if status == FINE]
    symmetric = len(balances) == len(found) and sum(balances) % (1 << 64) == 0
    return rows if symmetric else None


def _has_reverse_arcs(matrix: Any) -> bool:
    """Return whether a few entries (i, j) all have an entry (j, i)."""
    indptr, indices = matrix.indptr, matrix.indices
    entries = np.linspace(0, matrix.nnz - 1, min(matrix.nnz, 64)).astype(np.int64)
    tails = np.searchsorted(indptr, entries, side="right") - 1
    return all(
        tail in indices[indptr[head] : indptr[head + 1]]
        for tail, head in zip(tails, indices[entries], strict=True)
    )


def listed_entries(matrix: Any, heads: np.ndarray, weights: np.ndarray) -> Edges:
    """Return the entries of a matrix as edges; see `symmetric_rows`."""
    n = matrix.shape[0]
    tails = np.repeat(np.arange(n, dtype=heads.dtype), np.diff(matrix.indptr))
    return Edges(n, tails, heads, weights, directed=True)


def entry_heads(matrix: Any) -> np.ndarray:
    """Return the columns of a matrix's entries as ids of vertices, checked."""
    n = matrix.shape[0]
    indices = matrix.indices
    heads = indices.view(f"u{indices.itemsize}")  # a negative one becomes too large
    if len(heads) and heads.max() >= n:
        entry = int((heads >= n).argmax())
        raise InputError(
            f"entry {entry} of the matrix is in column {indices[entry]}, but there "
            f"are {n}. Make the matrix again."
        )
    return heads.astype(id_dtype(n), copy=False)


def entry_weights(matrix: Any) -> np.ndarray:
    """Return the weights of a matrix's entries, checked."""
    weight = supported_weights("the matrix", as_column(matrix.data, "the matrix"))
    if weight.dtype.kind == "f" and len(weight) and np.isnan(weight.max()):
        entry = int(np.isnan(weight).argmax())
        row = int(np.searchsorted(matrix.indptr, entry, side="right")) - 1
        raise InputError(
            f"the matrix has NaN at ({row}, {matrix.indices[entry]}), which has no "
            "place in an order. Give it a number or leave the entry out."
        )
    return weight
