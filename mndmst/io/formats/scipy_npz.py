"""SciPy's sparse matrices, `.npz`: entry (u, v) is an arc, explicit zeros too."""

import io
import zipfile
import zlib
from pathlib import Path

from ...errors import InputError
from ..edges import Edges, checked_edges
from .files import import_scipy, read_bytes, whole_file

# What NumPy, SciPy and zipfile raise on files that are damaged or something else
_DAMAGES = (
    ValueError, TypeError, OSError, EOFError, KeyError, IndexError, SyntaxError,
    NotImplementedError, RuntimeError, OverflowError, MemoryError,
    zipfile.BadZipFile, zlib.error,
)  # fmt: skip


def read(path: Path) -> Edges:
    """Read a `.npz` file; see `formats.read_edges`. Weights keep their type."""
    scipy = import_scipy()
    try:
        matrix = scipy.sparse.load_npz(io.BytesIO(read_bytes(path))).tocoo()
    except _DAMAGES as error:
        raise InputError(
            f"{path}: is not a sparse matrix of SciPy, or damaged ({error}). Save it "
            "with scipy.sparse.save_npz, or copy it again."
        ) from error
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InputError(
            f"{path}: has shape {matrix.shape}. The matrix of a graph is square."
        )
    src, dst = matrix.row, matrix.col
    return checked_edges(path, matrix.shape[0], src, dst, matrix.data, directed=True)


def write(edges: Edges, path: Path) -> None:
    """Write a `.npz` file: one entry for each listed edge, in COO form."""
    scipy = import_scipy()
    size = (edges.num_vertices, edges.num_vertices)
    ends = (edges.src.astype("i8"), edges.dst.astype("i8"))
    matrix = scipy.sparse.coo_array((edges.weight, ends), shape=size)
    with whole_file(path) as temporary, temporary.open("wb") as file:
        scipy.sparse.save_npz(file, matrix)
