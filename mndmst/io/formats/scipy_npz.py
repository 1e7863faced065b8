"""SciPy's sparse matrices, `.npz`: entry (u, v) is an arc, explicit zeros too.

A file is a zip archive of arrays. Those stored without compression, as `save_npz(...,
compressed=False)` does, in rows (CSR) or columns (CSC), are read in pieces from where
they lie; of others SciPy reads all.
"""

import io
import zipfile
import zlib
from pathlib import Path

import numpy as np

from ...errors import InputError
from ..edge_file import EdgeFile
from ..edges import Edges, checked_edges
from .binary import Binary, Column
from .files import COMPRESSIONS, import_scipy, read_bytes, whole_file
from .rows import RowsFile

# What NumPy, SciPy and zipfile raise on files that are damaged or something else
_DAMAGES = (
    ValueError, TypeError, OSError, EOFError, KeyError, IndexError, SyntaxError,
    NotImplementedError, RuntimeError, OverflowError, MemoryError,
    zipfile.BadZipFile, zlib.error,
)  # fmt: skip
_LOCAL_HEADER = 30  # bytes before a member's name; lengths of it and of extras in 26:30
_PIECE = 1 << 24


def open_file(path: Path) -> EdgeFile | Edges:
    """Open a `.npz` file; see `EdgeFile`. Weights keep their type."""
    try:
        rows = None if path.suffix in COMPRESSIONS else _stored_rows(path)
    except _DAMAGES as error:
        raise _damaged(path, error) from error
    if rows is None:
        return _read(path)
    file, shape, (indptr, indices, weight) = rows
    _check_square(path, shape)
    if indptr.length != shape[0] + 1:
        raise _damaged(path, ValueError(f"{indptr.length} rows begin"))
    return RowsFile(file, indptr, indices, weight, both_directions=False)


def _read(path: Path) -> Edges:
    """Read the whole matrix."""
    scipy = import_scipy()
    try:
        matrix = scipy.sparse.load_npz(io.BytesIO(read_bytes(path))).tocoo()
    except _DAMAGES as error:
        raise _damaged(path, error) from error
    _check_square(path, matrix.shape)
    src, dst = matrix.coords
    return checked_edges(path, matrix.shape[0], src, dst, matrix.data, directed=True)


def _stored_rows(path: Path) -> tuple[Binary, tuple[int, ...], list[Column]] | None:
    """Return where rows lie in an archive; None if they are packed or no rows."""
    with zipfile.ZipFile(path) as archive:
        members = {info.filename: info for info in archive.infolist()}
        wanted = [f"{name}.npy" for name in ("indptr", "indices", "data")]
        kind, shape = (_small(archive, name) for name in ("format.npy", "shape.npy"))
        packed = [members[n].compress_type for n in wanted if n in members]
        if kind.tolist() not in (b"csr", b"csc") or packed != [zipfile.ZIP_STORED] * 3:
            return None
        binary = Binary(path)
        columns = [_array(binary, members[name]) for name in wanted]
    return binary, tuple(shape.tolist()), columns


def _small(archive: zipfile.ZipFile, name: str) -> np.ndarray:
    """Return an array that says what the others are."""
    with archive.open(name) as file:
        array: np.ndarray = np.lib.format.read_array(file, allow_pickle=False)
    return array


def _array(file: Binary, member: zipfile.ZipInfo) -> Column:
    """Return where the array of a member is, once its checksum is right."""
    file.at = member.header_offset
    header = file.take("u1", _LOCAL_HEADER, "header").of(file.contents).tobytes()
    lengths = np.frombuffer(header, "<u2", 2, _LOCAL_HEADER - 4)
    file.take("u1", int(lengths.sum()), "names")
    stored = file.take("u1", member.file_size, member.filename)
    if _checksum(file.path, stored) != member.CRC:
        raise ValueError(f"{member.filename} has another checksum")
    array = io.BytesIO(stored.of(file.contents)[: 1 << 16].tobytes())
    if np.lib.format.read_magic(array) != (1, 0):
        raise ValueError(f"{member.filename} has a long header")
    shape, _, dtype = np.lib.format.read_array_header_1_0(array)
    if dtype.hasobject or len(shape) != 1:
        raise ValueError(f"{member.filename} is no list of numbers")
    file.at -= member.file_size - array.tell()
    return file.take(dtype, shape[0], member.filename)


def _checksum(path: Path, stored: Column) -> int:
    """Return the checksum of a member, read past the map, which would keep it all."""
    checksum, left = 0, stored.length
    with path.open("rb") as file:
        file.seek(stored.offset)
        while left and (piece := file.read(min(left, _PIECE))):
            checksum = zlib.crc32(piece, checksum)
            left -= len(piece)
    return checksum


def _check_square(path: Path, shape: tuple[int, ...]) -> None:
    if len(shape) != 2 or shape[0] != shape[1]:
        raise InputError(f"{path}: has shape {shape}. The matrix of a graph is square.")


def _damaged(path: Path, error: BaseException) -> InputError:
    return InputError(
        f"{path}: is not a sparse matrix of SciPy, or damaged ({error}). Save it with "
        "scipy.sparse.save_npz, or copy it again."
    )


def write(edges: Edges, path: Path) -> None:
    """Write a `.npz` file: one entry for each listed edge, in COO form."""
    scipy = import_scipy()
    size = (edges.num_vertices, edges.num_vertices)
    ends = (edges.src.astype("i8"), edges.dst.astype("i8"))
    matrix = scipy.sparse.coo_array((edges.weight, ends), shape=size)
    with whole_file(path) as temporary, temporary.open("wb") as file:
        scipy.sparse.save_npz(file, matrix)
