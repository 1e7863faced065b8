"""Matrix Market coordinate files, `.mtx`; a pattern has weights 1."""

import io
from pathlib import Path

import numpy as np

from ...errors import InputError
from ..edges import Edges, checked_edges, narrow_integers
from .files import import_scipy, read_bytes, whole_file

_FIELDS = ("integer", "real", "double", "pattern", "unsigned-integer")
_SYMMETRIES = ("general", "symmetric")


def read(path: Path) -> Edges:
    """Read a `.mtx` file, compressed or not; see `formats.read_edges`."""
    scipy = import_scipy()
    text = io.BytesIO(read_bytes(path))
    try:
        rows, columns, entries, layout, field, symmetry = scipy.io.mminfo(text)
        if (
            layout != "coordinate"
            or field not in _FIELDS
            or symmetry not in _SYMMETRIES
        ):
            raise InputError(
                f"{path}: is a matrix of kind {layout} {field} {symmetry}; a graph is "
                "coordinate, integer or real or pattern, general or symmetric."
            )
        if rows != columns:
            raise InputError(
                f"{path}: is a {rows} by {columns} matrix. The matrix of a graph is "
                "square."
            )
        if 2 * entries > len(text.getbuffer()):
            raise InputError(
                f"{path}: says {entries} entries, more than the file can hold. Copy it "
                "again, or mend the count."
            )
        text.seek(0)
        matrix = scipy.io.mmread(text, spmatrix=False)
    except (ValueError, OverflowError) as error:
        raise InputError(f"{path}: {error}. Mend the file or copy it again.") from error
    weight = matrix.data
    if field == "pattern":
        weight = np.ones(matrix.nnz, np.int32)
    elif weight.dtype == np.int64:
        weight = narrow_integers(weight)
    src, dst = matrix.coords
    return checked_edges(path, rows, src, dst, weight, directed=True)


def write(edges: Edges, path: Path) -> None:
    """Write a `.mtx` file: general if directed, else symmetric."""
    scipy = import_scipy()
    src, dst = edges.src, edges.dst
    if not edges.directed:  # the lower triangle stands for both
        src, dst = np.maximum(src, dst), np.minimum(src, dst)
    size = (edges.num_vertices, edges.num_vertices)
    matrix = scipy.sparse.coo_array((edges.weight, (src, dst)), shape=size)
    symmetry = "general" if edges.directed else "symmetric"
    with whole_file(path) as temporary, temporary.open("wb") as file:
        scipy.io.mmwrite(file, matrix, symmetry=symmetry)
