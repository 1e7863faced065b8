"""A checkpoint on disk: one file for each rank that wrote it, and a manifest.

    manifest.json             format, version, creator, the graph, what is done, and
                              of every file its name, vertices, edges and digest
    TOKEN-00000.h5            one for each rank
        parent                uint32 or int64 [vertices]   of the rank's vertices
        u, v, key             [edges]                      forest edges it has fixed

The token is new for every checkpoint. All files have their final names, and are on
disk, before the manifest replaces the one before it; only then the files of that one
are removed. So there is a whole checkpoint at any time, once there has been one.
"""

import hashlib
import secrets
from collections.abc import Container, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import h5py
import numpy as np

from ..comm import Comm
from ..graph import EdgeList
from ..io.datasets import checked_dataset, read_dataset
from ..io.layout import HDF5_LAYOUT, open_hdf5, settle, writing
from ..io.opening import opened
from ..io.shards import ShardedGraph
from ..order import id_dtype, key_dtype
from .manifest import MANIFEST, Manifest, Part, damaged, read_manifest, reading

__all__ = ["MANIFEST", "State", "identity", "load", "save", "sweep"]

CHUNK = 1 << 16
FIXED = ("u", "v", "key")
_REMAKE = "Start without --resume"


class State(NamedTuple):
    """What a rank saves, or takes over.

    Attributes
    ----------
    done : int or None
        All bands of weights up to this key are done.
    parent : ndarray of uint32 or int64
        The directory's entries of the vertices at home here.
    fixed : EdgeList
        Forest edges; on all ranks together every one once.
    """

    done: int | None
    parent: np.ndarray
    fixed: EdgeList


def identity(graph: ShardedGraph) -> dict[str, Any]:
    """Return what tells a graph from others."""
    return {
        "uuid": graph.uuid,
        "num_vertices": graph.num_vertices,
        "num_arcs": graph.num_arcs,
        "weight_dtype": graph.weight_dtype.name,
    }


def save(
    comm: Comm, folder: Path, graph: dict[str, Any], vtxdist: np.ndarray, state: State
) -> int:
    """Write a checkpoint and remove the one before; return this rank's bytes.

    Collective.

    Raises
    ------
    OutputError
        On every rank, if any could not write. The one before is still there, or the
        new one, if only its directory could not be put on disk.
    """
    path = folder / f"{comm.share(secrets.token_hex(6))}-{comm.rank:05d}.h5"
    columns = {name: getattr(state.fixed, name) for name in FIXED}
    try:
        with comm.together(), writing(path):
            with replacing(path) as temporary:
                _write(temporary, {"parent": state.parent, **columns})
            digest, nbytes = file_digest(path), path.stat().st_size
        parts = comm.collect(Part(path.name, len(state.fixed), digest))
        with comm.together(), writing(folder):
            if parts is not None:
                manifest = Manifest(graph, state.done, vtxdist.tolist(), parts)
                with replacing(folder / MANIFEST) as temporary:
                    temporary.write_text(manifest.text())
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    # From here on the manifest names the new files: whatever fails, they stay.
    with comm.together(), writing(folder):
        if parts is not None:
            settle(folder)
    if parts is not None:
        sweep(folder, {MANIFEST, *(part.name for part in parts)})
    return nbytes


def load(comm: Comm, folder: Path, graph: dict[str, Any], vtxdist: np.ndarray) -> State:
    """Read a checkpoint, whatever number of ranks has written it. Collective.

    Raises
    ------
    InputError
        On every rank, if it is damaged or not of this graph.
    """
    with comm.together():
        manifest = read_manifest(folder, graph) if comm.rank == 0 else None
    manifest = comm.share(manifest)
    with comm.together():
        for part in manifest.parts[comm.rank :: comm.size]:
            with reading(folder / part.name):
                if file_digest(folder / part.name) != part.digest:
                    raise damaged(folder / part.name, "its digest is another")
    edges = manifest.edge_bounds()
    begin, end = vtxdist[comm.rank : comm.rank + 2]
    low, high = (edges[-1] * (comm.rank + i) // comm.size for i in (0, 1))
    ids = id_dtype(graph["num_vertices"])
    keys = key_dtype(np.dtype(graph["weight_dtype"]))
    with comm.together():
        read = Slices(folder, manifest, graph["num_vertices"]).read
        parent = read("parent", ids, manifest.vtxdist, begin, end)
        u, v = (read(name, ids, edges, low, high) for name in ("u", "v"))
        key = read("key", keys, edges, low, high)
    return State(manifest.done, parent, EdgeList(u, v, key))


class Slices(NamedTuple):
    """Datasets that go on from part to part."""

    folder: Path
    manifest: Manifest
    num_vertices: int

    def read(
        self, name: str, dtype: np.dtype, bounds: list[int], begin: int, end: int
    ) -> np.ndarray:
        """Return the entries [begin, end) of a dataset that `bounds` cuts in parts."""
        result = np.empty(end - begin, dtype)
        for part, first, last in zip(
            self.manifest.parts, bounds[:-1], bounds[1:], strict=True
        ):
            low, high = max(begin, first), min(end, last)
            if low >= high:
                continue
            path = self.folder / part.name
            with reading(path), open_hdf5(path) as file:
                dataset = checked_dataset(path, file, name, last - first, _REMAKE)
                if dataset.dtype != dtype:
                    raise damaged(path, f"{name} is not what the manifest says")
                piece = read_dataset(path, dataset, low - first, high - first)
            if (
                name != "key"
                and not 0 <= piece.min() <= piece.max() < self.num_vertices
            ):
                raise damaged(path, f"{name} has a vertex that does not exist")
            result[low - begin : high - begin] = piece
        return result


def sweep(folder: Path, keep: Container[str] = ()) -> None:
    """Remove the files of all checkpoints but one; a manifest goes first."""
    for path in sorted(folder.glob("*.json*")) + sorted(folder.glob("*-*.h5*")):
        if path.name not in keep:
            with suppress(OSError):
                path.unlink()


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary name; what is written there takes the place of `path`."""
    temporary = path.with_name(f"{path.name}.tmp")
    try:
        yield temporary
        settle(temporary)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with opened(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _write(path: Path, columns: dict[str, np.ndarray]) -> None:
    # Without a chunk cache a full disk fails the write, not the closing of the file.
    with h5py.File(path, "w", libver=HDF5_LAYOUT, rdcc_nbytes=0) as file:
        for name, column in columns.items():
            chunked = {"chunks": (min(len(column), CHUNK),), "fletcher32": True}
            file.create_dataset(name, data=column, **(chunked if len(column) else {}))
