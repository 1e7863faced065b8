"""What a run saves at safe points, and how another run resumes from it.

At a safe point the directory knows everything that has been contracted. Then three
things describe a run, whatever ranks and devices it has: the forest edges found so far,
the component of every vertex, and the key up to which the bands of weights are done. A
run that resumes, on any number of ranks, reads its rows and these three, and continues
with the edges between components (coordinated checkpointing, as in Elnozahy,
Alvisi, Wang and Johnson, ACM Computing Surveys 2002; graphs in flight need no copy).
"""

import shlex
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from ...comm.communicator import Comm
from ...host.counted import counted
from ...host.errors import ConfigError, OutputError, StoppedError
from ...host.signals import stop_signals
from ...io.shards import ShardedGraph
from ..report import Report
from ..run import State
from .files import MANIFEST, Saved, identity, load, save
from .folder import Folder

# The share of a run's time that checkpoints may take.
COST_SHARE = 0.05


class Checkpoint:
    """When a run saves its state. Inactive without a folder. Collective.

    Used as a context manager, which lets the folder go at its end.

    Parameters
    ----------
    folder : Path, optional
        One for each run; it is made if it is not there.
    interval : float
        Seconds from one checkpoint to the next, at least; more where they take
        more than `COST_SHARE` of the time. 0 saves at every safe point.
    resume : bool
        Go on from the checkpoint in the folder, if there is one.

    Raises
    ------
    ConfigError
        If another run uses the folder, there is none to resume from, or files in it
        that are not the program's have the names it needs.
    OutputError
        On every rank, if any of them cannot write there.
    StoppedError
        On every rank, if a rank has been told to stop by now.
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
        self._kept = None
        if resume and folder is None:
            with comm.raise_on_all():
                raise ConfigError("--resume: give --checkpoint DIR too")
        if folder is not None:
            self._kept = Folder(comm, folder)
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

        Returns
        -------
        bool
            Whether the state is a checkpoint's now.

        Raises
        ------
        InputError
            On every rank, if the checkpoint is damaged or of another graph.
        StoppedError
            On every rank, if a rank has been told to stop by now.
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
            found = comm.sum(len(state.forest_edges[0]))
            say(
                f"resumed from {self.folder}: {counted(found, 'edge')} of the forest "
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
        """What saves the state at safe points; None without a folder."""
        return None if self.folder is None else self._safe_point

    def _safe_point(self, state: State) -> None:
        """Save the state if it is time to, or if the run is to stop. Collective.

        Whatever has been contracted must have been published.

        Raises
        ------
        StoppedError
            On every rank, after saving, if a rank has been told to stop.
        OutputError
            On every rank, if it then could not save. A checkpoint that no run has
            asked for may fail; the one before it stays.
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
        """Stop before there is anything to save, if a rank has been told to."""
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
        found = first.followed_by(*others)
        state.forest_edges = [found]
        saved = Saved(state.done, directory.parent, found)
        assert self._kept is not None
        with self._report.stage("checkpoint") as entry:
            entry["bytes"] = save(self._kept, self._graph, directory.vtxdist, saved)

    def remove(self) -> None:
        """Remove the checkpoint, for the forest is written."""
        if self._kept is not None:
            self._kept.clear()

    def close(self) -> None:
        """Let the folder go, and forget signals."""
        if self._kept is not None:
            stop_signals.finish()
            self._kept.close()


def _stopped(comm: Comm, number: int, what: str) -> StoppedError:
    """Return the error that all ranks raise together after a signal."""
    stopped = StoppedError(f"stopped by {stop_signals.name(number)}; {what}")
    stopped.ranks = comm.size
    return stopped


def _command(resume: bool) -> str:
    arguments = [word for word in sys.argv[1:] if word != "--resume"]
    return shlex.join(
        ["python", "-m", "mndmst", *arguments, *["--resume"] * resume],
    )
