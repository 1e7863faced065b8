"""Names and rules of the sharded graph files, shared by their reader and writer.

A graph is a directory::

    index.h5                    which parts there are, and where they begin
        @ format "mndmst-graph", version, creator, graph-uuid
        @ num_vertices, num_arcs, num_parts, weight_dtype, reordered
        @ original_vertices     how many vertices the file had, if there are others now
        @ names                 "int64", "uint64", "text" or "json", if vertices have
                                names
        vtxdist                 int64 [parts + 1]   first vertex of every part
        arcdist                 int64 [parts + 1]   first arc of every part
        parts                   str [parts]         file names
        @ made-from             digest, where the maker was told to restart; see
                                `io.external.restart`
    part-00000.h5               the rows of the vertices vtxdist[0] to vtxdist[1]
        @ format "mndmst-shard", version, creator, graph-uuid
        @ num_vertices          of the whole graph
        @ num_arcs              of this part
        @ vertex_begin, vertex_end, part, num_parts, reordered, original_vertices, names
        vtxdist                 int64 [parts + 1]
        original-id             int32 or int64 [rows]   if the graph is reordered, or
                                its ids were made compact
        names                   if vertices have names, see `io.names`
            integers            int64 or uint64 [rows]
            text                uint8               UTF-8, one text behind the other
            begins              int64 [rows + 1]    where each begins, from 0
        graph                   @ encoding-type "csr_matrix", encoding-version, shape
            indptr              int64 [rows + 1]    begins at 0
            indices             int32 or int64      global ids
            data                the weights

The group `graph` is laid out as AnnData and SciPy name it. Each undirected edge
{u, v} stands twice, as arc (u, v) and as arc (v, u), with equal weights, and the
ids within a row ascend. Self-loops and parallel arcs are allowed, but not useful. A
reordered graph is another graph, with another order of edges; `original-id` has the id
of each vertex in the file that the graph was made of. Where vertices of that file have
been left out, because no edge names them, all original ids are below
`original_vertices`.

All datasets have Fletcher-32 checksums, and the files use the HDF5 1.10 layout,
whose metadata has checksums too: a flipped byte is an error, not another graph.
Texts have a fixed length, since the heap of those that have none is not checksummed.
"""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from ..host.errors import InputError, MndmstError, OutputError
from .opening import check_regular, opened

INDEX_NAME = "index.h5"
MADE_FROM = "made-from"
ORIGINAL_VERTICES = "original_vertices"
NAMES = "names"
GRAPH_FORMAT = "mndmst-graph"
SHARD_FORMAT = "mndmst-shard"
VERSION = 1
HDF5_LAYOUT = "v110"
# What HDF5 and NumPy raise on a file with wrong metadata or values.
MALFORMED = (
    *(OSError, RuntimeError, LookupError, ValueError),
    *(TypeError, AttributeError, ArithmeticError),
)
CHUNK_BYTES = 1 << 20
REMAKE_GRAPH = "make the graph again"
# What system calls say where a file system does not do what is asked.
UNABLE = (errno.EINVAL, errno.EBADF, errno.ENOTSUP, errno.EACCES)
_SIGNATURE = b"\x89HDF\r\n\x1a\n"


def part_name(part: int) -> str:
    """Return the file name of a part."""
    return f"part-{part:05d}.h5"


def part_of_name(name: str) -> int | None:
    """Return the number of the part whose file has a name; None if there is none."""
    digits = name.removeprefix("part-").removesuffix(".h5")
    if digits.isdecimal() and name == part_name(int(digits)):
        return int(digits)
    return None


@contextmanager
def reading(path: Path, remake: str = REMAKE_GRAPH) -> Iterator[None]:
    """Turn what HDF5 and json raise on a damaged file into an InputError naming it.

    Parameters
    ----------
    remake : str
        What makes such a file anew.
    """
    try:
        yield
    except MndmstError:
        raise
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file. Copy it there or {remake}.") from error
    except PermissionError as error:
        raise InputError(f"{path}: no permission to read it.") from error
    except MALFORMED as error:
        if foreign(path):
            hint = f"; a file of mndmst is expected. Give that, or {remake}."
            if remake == REMAKE_GRAPH:
                hint = (
                    ". If it is a graph in another format, make shards of it with "
                    f'"mndmst partition FILE OUT"; else {remake}.'
                )
            raise InputError(f"{path}: is not an HDF5 file{hint}") from error
        raise InputError(
            f"{path}: damaged or cut short ({first_line(error)}). Copy it again "
            f"from where it is whole, or {remake}."
        ) from error


@contextmanager
def open_hdf5(path: Path) -> Iterator[h5py.File]:
    """Open a regular file for reading; `reading` tells what is wrong with it."""
    check_regular(path)
    with h5py.File(path, "r") as file:
        yield file


def foreign(path: Path) -> bool:
    """Return whether a file is of another kind than HDF5, not just cut short."""
    try:
        with opened(path) as file:
            begin = file.read(len(_SIGNATURE))
    except (OSError, InputError):
        return False
    return not (_SIGNATURE.startswith(begin) or h5py.is_hdf5(path))


def is_hdf5(head: bytes) -> bool:
    """Return whether the first bytes of a file are those of HDF5."""
    return head.startswith(_SIGNATURE)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn what the file system or HDF5 raises on writing into an OutputError."""
    try:
        yield
    except (OSError, RuntimeError) as error:
        number = getattr(error, "errno", None)
        reason = os.strerror(number) if number else first_line(error)
        raise OutputError(
            f"{path}: cannot be written ({reason}). Check that the "
            "directory exists, may be written and has room."
        ) from error


def flush_to_disk(path: Path) -> None:
    """Have the system put a file or directory on disk before it is relied on.

    Some file systems cannot do that for directories.

    Raises
    ------
    OSError
        If it has failed.
    """
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in UNABLE or not path.is_dir():
            raise
    finally:
        os.close(handle)


def first_line(error: Exception) -> str:
    """Return the first line of an error's text, without quotes around it."""
    lines = str(error).strip("'\"").splitlines()
    return lines[0] if lines else type(error).__name__


def write_attributes(item: h5py.Group, attributes: dict[str, Any]) -> None:
    """Write attributes, texts with a fixed length."""
    for name, value in attributes.items():
        if isinstance(value, str):
            value = np.array(value.encode(), h5py.string_dtype("utf-8", len(value)))
        item.attrs[name] = value


def read_attribute(item: h5py.Group, name: str) -> Any:
    """Return an attribute; text of either kind as str, what is no value as None."""
    value = item.attrs.get(name)
    if np.ndim(value) or isinstance(value, h5py.Empty):
        return None
    return value.decode(errors="replace") if isinstance(value, bytes) else value


def ascends(numbers: np.ndarray) -> bool:
    """Return whether no number is smaller than the one before it."""
    return bool((numbers[1:] >= numbers[:-1]).all())
