"""SciPy's sparse matrices, `.npz`: entry (u, v) is an arc, explicit zeros too.

A file is a zip archive of arrays. Those stored without compression, as `save_npz(...,
compressed=False)` does, in rows (CSR) or columns (CSC), are read in pieces from where
they lie, and `zipfile` checks their checksums; of others SciPy reads all.
"""

import io
import zipfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import BinaryIO

import numpy as np

from ...host.errors import InputError, MndmstError
from ...host.memory import Budget
from ...host.memory_costs import NPZ_COPIES, NPZ_DIAGONAL_COPIES
from ..atomic_output import AtomicOutput
from ..edge_file import EdgeFile, Edges, checked_edges
from ..file_access import opened
from ..memory_limit import check_room
from .binary_graphs import Binary, RowsFile, StoredArray
from .packed_files import ARRAY_ERRORS, COMPRESSIONS, import_scipy, read_bytes
from .table_columns import precomputed_advice

SMALL_BYTES = 1 << 12
_LOCAL_HEADER = 26  # bytes before the lengths of a member's name and of extras


def open_file(path: Path, budget: Budget) -> EdgeFile | Edges:
    """Open a `.npz` file; see `EdgeFile`. Weights keep their type."""
    with _reading(path):
        rows = None if path.suffix in COMPRESSIONS else _stored_rows(path, budget)
    if rows is None:
        return _read(path, budget)
    file, shape, (indptr, indices, weight) = rows
    _check_square(path, shape)
    if indptr.length != shape[0] + 1:
        raise _damaged(path, f"{indptr.length} rows begin")
    return StoredMatrix(file, indptr, indices, weight, both_directions=False)


class StoredMatrix(RowsFile):
    """Rows or columns of a matrix that lie in an archive as they are."""

    def check_contents(self) -> None:
        """Raise InputError if the checksums of the archive are others."""
        with _reading(self.path), opened(self.path, self.state) as file:
            damaged = zipfile.ZipFile(file).testzip()
        if damaged:
            raise _damaged(self.path, f"{damaged} has another checksum")


def _read(path: Path, budget: Budget) -> Edges:
    """Read the whole matrix, if it fits into memory."""
    scipy = import_scipy()
    with _reading(path), _archive(path, budget) as file:
        matrix = scipy.sparse.load_npz(file).tocoo()
    _check_square(path, matrix.shape)
    src, dst = matrix.coords
    return checked_edges(path, matrix.shape[0], src, dst, matrix.data)


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Turn the errors of a damaged archive into an InputError."""
    try:
        yield
    except MndmstError:
        raise
    except ARRAY_ERRORS as error:
        raise _damaged(path, error) from error


@contextmanager
def _archive(path: Path, budget: Budget) -> Iterator[BinaryIO]:
    """Open an archive that holds no more than may be taken into memory."""
    if path.suffix in COMPRESSIONS:
        file: BinaryIO = io.BytesIO(read_bytes(path, budget, copies=2))
        whole: AbstractContextManager[BinaryIO] = file
    else:
        whole = opened(path)
    with whole as file:
        with zipfile.ZipFile(file) as archive:
            kind = _small(archive, "format.npy").tolist()
            size = sum(member.file_size for member in archive.infolist())
        copies = NPZ_DIAGONAL_COPIES if kind == b"dia" else NPZ_COPIES
        check_room(budget, path, copies * size, "the matrix in it")
        file.seek(0)
        yield file


def _stored_rows(
    path: Path, budget: Budget
) -> tuple[Binary, tuple[int, ...], list[StoredArray]] | None:
    """Return where rows lie in an archive; None if they are packed or no rows."""
    with opened(path) as file, zipfile.ZipFile(file) as archive:
        members = {info.filename: info for info in archive.infolist()}
        wanted = [f"{name}.npy" for name in ("indptr", "indices", "data")]
        kind, shape = (_small(archive, name) for name in ("format.npy", "shape.npy"))
        packed = [members[n].compress_type for n in wanted if n in members]
        if kind.tolist() not in (b"csr", b"csc") or packed != [zipfile.ZIP_STORED] * 3:
            return None
        binary = Binary(path, budget)
        stored = [_member(binary, members[name]) for name in wanted]
    return binary, tuple(shape.tolist()), stored


def _small(archive: zipfile.ZipFile, name: str) -> np.ndarray:
    """Return an array that describes the others."""
    if archive.getinfo(name).file_size > SMALL_BYTES:
        raise ValueError(f"{name} is too large")
    with archive.open(name) as file:
        array: np.ndarray = np.lib.format.read_array(file, allow_pickle=False)
    return array


def _member(file: Binary, member: zipfile.ZipInfo) -> StoredArray:
    """Return the stored array of a member."""
    file.at = member.header_offset
    file.take("u1", _LOCAL_HEADER, "header")
    file.take("u1", sum(file.counts("<u2", 2)), "names")
    stored = file.take("u1", member.file_size, member.filename)
    array = io.BytesIO(file.read(stored, 0, min(stored.length, 1 << 16)).tobytes())
    if np.lib.format.read_magic(array) != (1, 0):
        raise ValueError(f"{member.filename} has a long header")
    shape, _, dtype = np.lib.format.read_array_header_1_0(array)
    if dtype.hasobject or len(shape) != 1:
        raise ValueError(f"{member.filename} is not a list of numbers")
    file.at -= member.file_size - array.tell()
    return file.take(dtype, shape[0], member.filename)


def _check_square(path: Path, shape: tuple[int, ...]) -> None:
    if len(shape) != 2 or shape[0] != shape[1]:
        raise InputError(f"{path}: has shape {shape}. The matrix of a graph is square.")


def _damaged(path: Path, error: object) -> InputError:
    return InputError(
        f"{path}: is not a sparse matrix of SciPy, or damaged ({error}). Copy it "
        f"again. {precomputed_advice(path)}."
    )


def write(edges: Edges, path: Path, files: AtomicOutput) -> None:
    """Write a `.npz` file: one entry for each listed edge, in COO form."""
    scipy = import_scipy()
    size = (edges.num_vertices, edges.num_vertices)
    ends = (edges.src.astype("i8"), edges.dst.astype("i8"))
    matrix = scipy.sparse.coo_array((edges.weight, ends), shape=size)
    with files.file(path) as temporary, temporary.open("wb") as file:
        scipy.sparse.save_npz(file, matrix)
