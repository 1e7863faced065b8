"""A checkpoint on disk: one file for each rank that wrote it, and a manifest.

    mndmst-checkpoint.json    format, version, creator, the graph, the progress, and
                              of every file its name, vertices, edges and digest
    TOKEN-00000.h5            one for each rank
        parent                uint32 or int64 [vertices]   of the rank's vertices
        u, v, key             [edges]                      forest edges it has found

The token is new for every checkpoint; see `folder`. All files are on disk before the
manifest, TOKEN.json at first, replaces the one before it; only then the files of that
one are removed. So there is a whole checkpoint at any time, once there has been one.
"""

import hashlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...comm.communicator import Comm
from ...graph.model import EdgeList
from ...graph.order import id_dtype, key_dtype
from ...io.atomic_output import OwnFile
from ...io.datasets import checked_dataset, read_dataset
from ...io.hdf5_file import hdf5_file
from ...io.layout import flush_to_disk, open_hdf5, writing
from ...io.opening import opened
from ...io.shards import ShardedGraph
from .folder import Folder
from .manifest import MANIFEST, Manifest, Part, damaged, read_manifest, reading

__all__ = ["MANIFEST", "Saved", "identity", "load", "save"]

CHUNK = 1 << 16
FIXED = ("u", "v", "key")
_REMAKE = "Start without --resume"


class Saved(NamedTuple):
    """What a rank saves, or takes over.

    Attributes
    ----------
    done : int or None
        All bands of weights up to this key are done.
    parent : ndarray of uint32 or int64
        The directory's entries of the vertices that this rank owns.
    forest_edges : EdgeList
        Forest edges; on all ranks together every one once.
    """

    done: int | None
    parent: np.ndarray
    forest_edges: EdgeList


def identity(graph: ShardedGraph) -> dict[str, Any]:
    """Return what tells a graph from others."""
    return {
        "uuid": graph.uuid,
        "num_vertices": graph.num_vertices,
        "num_arcs": graph.num_arcs,
        "weight_dtype": graph.weight_dtype.name,
    }


def save(
    folder: Folder, graph: dict[str, Any], vtxdist: np.ndarray, state: Saved
) -> int:
    """Write a checkpoint and remove the one before; return this rank's bytes.

    Collective.

    Raises
    ------
    OutputError
        On every rank, if any could not write. The one before is still there, or the
        new one, if only its directory could not be put on disk.
    """
    comm, token = folder.comm, folder.new_token()
    path = folder.path / f"{token}-{comm.rank:05d}.h5"
    columns = {name: getattr(state.forest_edges, name) for name in FIXED}
    made: list[OwnFile] = []
    try:
        with comm.raise_on_all(), writing(path):
            made.append(OwnFile.make(path))
            _write(path, {"parent": state.parent, **columns})
            flush_to_disk(path)
            digest, nbytes = file_digest(path), path.stat().st_size
        parts = comm.gather(Part(path.name, len(state.forest_edges), digest))
        with comm.raise_on_all(), writing(folder.path):
            if parts is not None:
                manifest = Manifest(graph, state.done, vtxdist.tolist(), parts)
                made.append(OwnFile.make(folder.path / f"{token}.json"))
                made[-1].path.write_text(manifest.text())
                flush_to_disk(made[-1].path)
                made[-1].publish(folder.path / MANIFEST)
    except BaseException:
        for own in made:
            own.remove()
        raise
    # From here on the manifest names the new files: whatever fails, they stay.
    with comm.raise_on_all(), writing(folder.path):
        if parts is not None:
            flush_to_disk(folder.path)
    if parts is not None:
        folder.sweep({part.name for part in parts})
    return nbytes


def load(comm: Comm, folder: Path, graph: dict[str, Any], vtxdist: np.ndarray) -> Saved:
    """Read a checkpoint, whatever number of ranks has written it. Collective.

    Raises
    ------
    InputError
        On every rank, if it is damaged or not of this graph.
    """
    with comm.raise_on_all():
        manifest = read_manifest(folder, graph) if comm.rank == 0 else None
    manifest = comm.bcast(manifest)
    with comm.raise_on_all():
        for part in manifest.parts[comm.rank :: comm.size]:
            with reading(folder / part.name):
                if file_digest(folder / part.name) != part.digest:
                    raise damaged(folder / part.name, "its digest is another")
    edges = manifest.edge_bounds()
    begin, end = vtxdist[comm.rank : comm.rank + 2]
    low, high = (edges[-1] * (comm.rank + i) // comm.size for i in (0, 1))
    ids = id_dtype(graph["num_vertices"])
    keys = key_dtype(np.dtype(graph["weight_dtype"]))
    with comm.raise_on_all():
        read = Slices(folder, manifest, graph["num_vertices"]).read
        parent = read("parent", ids, manifest.vtxdist, begin, end)
        u, v = (read(name, ids, edges, low, high) for name in ("u", "v"))
        key = read("key", keys, edges, low, high)
    return Saved(manifest.done, parent, EdgeList(u, v, key))


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


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with opened(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _write(path: Path, columns: dict[str, np.ndarray]) -> None:
    with hdf5_file(path) as file:
        for name, column in columns.items():
            chunked = {"chunks": (min(len(column), CHUNK),), "fletcher32": True}
            file.create_dataset(name, data=column, **(chunked if len(column) else {}))
