"""Save a run at safe points, and resume it from a checkpoint.

A checkpoint on disk is one file for each rank that wrote it, and a manifest:

    mndmst-checkpoint.json    format, version, creator, the graph, the progress, and the
                              name, vertices, edges and digest of every file
    TOKEN-00000.h5            one for each rank
        parent                uint32 or int64 [vertices]   of the rank's vertices
        u, v, key             [edges]                      the rank's forest edges

The token is new for every checkpoint; see `folder`. All files are on disk before the
new manifest, written as TOKEN.json, replaces the previous one; then the files of the
previous checkpoint are removed. So once there is a checkpoint, there is a complete one
at any time.

At a safe point the directory has the results of all contractions. Then three things
describe a run independently of its ranks and devices: the forest edges so far, the
component of every vertex, and the key up to which the bands of weights are done. A run
that resumes, on any number of ranks, reads its rows and these three, and continues with
the edges between components (coordinated checkpointing, as in Elnozahy, Alvisi, Wang
and Johnson, ACM Computing Surveys 2002; no messages are in flight at a safe point).
"""

import hashlib
import shlex
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...comm.communicator import Comm
from ...graph.model import EdgeList
from ...graph.order import id_dtype, key_dtype
from ...host.errors import ConfigError, OutputError, StoppedError
from ...host.formatting import counted
from ...host.signals import stop_signals
from ...io.file_access import flush_to_disk, open_hdf5, opened, writing
from ...io.hdf5_reader import checked_dataset, read_dataset
from ...io.hdf5_writer import hdf5_file
from ...io.owned_files import OwnFile
from ...io.shards.sharded_graph import ShardedGraph
from ..run import State
from ..run_report import Report
from .folder import Folder
from .manifest import (
    MANIFEST,
    GraphIdentity,
    Manifest,
    Part,
    damaged,
    read_manifest,
    reading,
)

CHUNK = 1 << 16
FIXED = ("u", "v", "key")
_REMAKE = "Start without --resume"


class Saved(NamedTuple):
    """The part of a checkpoint that a rank saves or restores."""

    done: int | None  # All bands of weights up to this key are done
    # uint32 or int64: the directory's entries of the vertices that this rank owns
    parent: np.ndarray
    forest_edges: EdgeList  # Forest edges, each on one rank


def identity(graph: ShardedGraph) -> GraphIdentity:
    """Return the facts that identify a graph."""
    return {
        "uuid": graph.uuid,
        "num_vertices": graph.num_vertices,
        "num_arcs": graph.num_arcs,
        "weight_dtype": graph.weight_dtype.name,
    }


def save(
    folder: Folder, graph: GraphIdentity, vtxdist: np.ndarray, state: Saved
) -> int:
    """Write a checkpoint and remove the previous one; return this rank's bytes.

    Collective. Raises OutputError on every rank if any rank could not write. Then the
    previous checkpoint is still there, or the new one if only the flush of the
    directory failed.
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
        for file in made:
            file.remove()
        raise
    # The manifest names the new files now, so they stay even after a failure.
    with comm.raise_on_all(), writing(folder.path):
        if parts is not None:
            flush_to_disk(folder.path)
    if parts is not None:
        folder.sweep({part.name for part in parts})
    return nbytes


def load(comm: Comm, folder: Path, graph: GraphIdentity, vtxdist: np.ndarray) -> Saved:
    """Read a checkpoint, written by any number of ranks. Collective.

    Raises InputError on every rank if it is damaged or not of this graph.
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
        read = partial(_read_range, folder, manifest)
        parent = read("parent", ids, manifest.vtxdist, begin, end)
        u, v = (read(name, ids, edges, low, high) for name in ("u", "v"))
        key = read("key", keys, edges, low, high)
    return Saved(manifest.done, parent, EdgeList(u, v, key))


def _read_range(
    folder: Path,
    manifest: Manifest,
    name: str,
    dtype: np.dtype,
    bounds: list[int],
    begin: int,
    end: int,
) -> np.ndarray:
    """Return the entries [begin, end) of a dataset that `bounds` divides into parts."""
    result = np.empty(end - begin, dtype)
    for part, first, last in zip(manifest.parts, bounds[:-1], bounds[1:], strict=True):
        low, high = max(begin, first), min(end, last)
        if low >= high:
            continue
        path = folder / part.name
        with reading(path), open_hdf5(path) as file:
            dataset = checked_dataset(path, file, name, last - first, _REMAKE)
            if dataset.dtype != dtype:
                raise damaged(path, f"{name} differs from the manifest")
            piece = read_dataset(path, dataset, low - first, high - first)
        most = manifest.graph["num_vertices"]
        if name != "key" and not 0 <= piece.min() <= piece.max() < most:
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


# The largest fraction of a run's time for checkpoints
COST_SHARE = 0.05


class Checkpoint:
    """Saves a run at intervals, and resumes it. Inactive without a folder. Collective.

    It is a context manager, which releases the folder at its end. The folder is
    created, and belongs to one run. At least `interval` seconds pass between two
    checkpoints, more if they take more than `COST_SHARE` of the time; 0 saves at every
    safe point. With `resume` the run continues from the checkpoint in the folder.

    Raises ConfigError if another run uses the folder, there is no checkpoint to resume
    from, or other programs' files have the names it needs; OutputError on every rank if
    any rank cannot write there; StoppedError on every rank if a rank has received a
    signal to stop.
    """

    def __init__(
        self,
        comm: Comm,
        folder: Path | None = None,
        interval: float = 0.0,
        resume: bool = False,
    ) -> None:
        self.folder = folder
        self._resume = resume
        self._interval = interval
        self._due = time.monotonic() + interval
        self._folder = None
        if resume and folder is None:
            with comm.raise_on_all():
                raise ConfigError("--resume: give --checkpoint DIR too")
        if folder is not None:
            self._folder = Folder(comm, folder)
            try:
                stop_signals.catch()
                self._stop_early(comm)
            except BaseException:
                self.close()
                raise

    def __enter__(self) -> "Checkpoint":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def start(self, graph: ShardedGraph, state: State, report: Report) -> bool:
        """Take over the checkpoint in the folder, if asked to. Collective.

        Returns whether the state is a checkpoint's now. Raises InputError on every rank
        if the checkpoint is damaged or of another graph; StoppedError on every rank if
        a rank has been told to stop by now.
        """
        if self.folder is None:
            return False
        self._stop_early(state.directory.comm)
        self._graph, self._report = identity(graph), report
        say = report.progress.say
        comm = state.directory.comm
        resumed = comm.bcast((self.folder / MANIFEST).exists() and self._resume)
        if resumed:
            self._restore(state, self.folder)
            count = comm.sum(len(state.forest_edges[0]))
            say(
                f"resumed from {self.folder}: {counted(count, 'edge')} of the forest "
                "known"
            )
        elif self._resume:
            say(f"no checkpoint in {self.folder}; starting from the beginning")
        return bool(resumed)

    def _restore(self, state: State, folder: Path) -> None:
        directory = state.directory
        with self._report.stage("resume"):
            saved = load(directory.comm, folder, self._graph, directory.vtxdist)
            directory.parent[:] = saved.parent
            directory.resolve()
            state.forest_edges.append(saved.forest_edges)
            state.done = saved.done

    @property
    def save(self) -> Callable[[State], None] | None:
        """The function that saves the state at safe points; None without a folder."""
        return None if self.folder is None else self._safe_point

    def _safe_point(self, state: State) -> None:
        """Save the state if a checkpoint is due, or if the run must stop. Collective.

        All contractions must have been published. If a rank has received a signal to
        stop, raises StoppedError on every rank after saving, or OutputError if saving
        failed. If a periodic checkpoint fails, the previous one stays.
        """
        comm = state.directory.comm
        due = comm.rank == 0 and time.monotonic() >= self._due
        wanted = comm.max(np.array([due, stop_signals.received], np.int64))
        if not wanted.any():
            return
        number = int(wanted[1])
        begin = time.monotonic()
        try:
            self._write(state)
        except OutputError as error:
            if number:
                raise
            self._report.progress.say(f"no checkpoint: {error}")
        if number:
            raise _stopped(
                comm, number,
                f"all that was done is in {self.folder}. To go on, start it again, on "
                f"any number of ranks, with --resume: {_command(resume=True)}",
            )  # fmt: skip
        if self._interval:
            end = time.monotonic()
            self._due = end + max(self._interval, (end - begin) / COST_SHARE)

    def _stop_early(self, comm: Comm) -> None:
        """Stop before the first safe point, if a rank has received a signal to stop."""
        number = comm.max(stop_signals.received)
        if number:
            raise _stopped(
                comm, number,
                f"nothing had been computed yet, and {self.folder} is as it was. Start "
                f"it again, on any number of ranks: {_command(self._resume)}",
            )  # fmt: skip

    def _write(self, state: State) -> None:
        directory = state.directory
        first, *others = state.forest_edges
        edges = first.followed_by(*others)
        state.forest_edges = [edges]
        saved = Saved(state.done, directory.parent, edges)
        assert self._folder is not None
        with self._report.stage("checkpoint") as entry:
            entry["bytes"] = save(self._folder, self._graph, directory.vtxdist, saved)

    def remove(self) -> None:
        """Remove the checkpoint after the forest has been written."""
        if self._folder is not None:
            self._folder.clear()

    def close(self) -> None:
        """Release the folder, and discard signals."""
        if self._folder is not None:
            stop_signals.finish()
            self._folder.close()


def _stopped(comm: Comm, number: int, state: str) -> StoppedError:
    """Return the error that all ranks raise together after a signal."""
    stopped = StoppedError(f"stopped by {stop_signals.name(number)}; {state}")
    stopped.ranks = comm.size
    return stopped


def _command(resume: bool) -> str:
    arguments = [word for word in sys.argv[1:] if word != "--resume"]
    return shlex.join(["python", "-m", "mndmst", *arguments, *["--resume"] * resume])
