"""The processes that build a graph: ranks of MPI, or processes forked on one machine.

All of them run the same code and meet in two calls. Large data goes through files, so
neither MPI nor shared memory is needed.
"""

import ctypes
import multiprocessing
import os
import signal
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from ...comm.communicator import Comm
from ...host.errors import ConfigError, MndmstError
from ...host.signals import interrupts_blocked
from ..kernels.partitioner import ascending

_PR_SET_PDEATHSIG = 1  # of prctl(2)


class Builders(ABC):
    """Processes with a rank each. All calls are collective."""

    rank: int
    size: int

    @abstractmethod
    def allgather(self, value: Any) -> list[Any]:
        """Return the small values of all ranks on every rank."""

    @abstractmethod
    def sum(self, array: np.ndarray) -> np.ndarray:
        """Return the sum of arrays of one shape and type on every rank."""

    @contextmanager
    def raise_on_all(self) -> Iterator[None]:
        """Raise any rank's error of the block on all ranks; see `Comm.raise_on_all`."""
        error: MndmstError | None = None
        try:
            yield
        except MndmstError as raised:
            error = raised
        errors = [e for e in self.allgather(error) if e is not None]
        if errors:
            errors[0].ranks = self.size
            raise errors[0]


class RankBuilders(Builders):
    """The ranks of a communicator."""

    def __init__(self, comm: Comm) -> None:
        self.comm = comm
        self.rank, self.size = comm.rank, comm.size

    def allgather(self, value: Any) -> list[Any]:
        """Return the small values of all ranks on every rank."""
        self.comm.barrier()  # yields the core while it waits; the next call does not
        values: list[Any] = self.comm.bcast(self.comm.gather(value))
        return values

    def sum(self, array: np.ndarray) -> np.ndarray:
        """Return the sum of arrays of one shape and type on every rank."""
        total: np.ndarray = self.comm.sum(array)
        return total


class LocalBuilders(Builders):
    """This process, alone or as rank 0 with forked children; or one of these."""

    def __init__(
        self,
        rank: int = 0,
        size: int = 1,
        pipes: Sequence[Any] = (),
        processes: Sequence[Any] = (),
    ) -> None:
        self.rank, self.size = rank, size
        self.pipes, self.processes = pipes, processes

    def allgather(self, value: Any) -> list[Any]:
        """Return the small values of all ranks on every rank."""
        values: list[Any] = self._meet(value, list)
        return values

    def sum(self, array: np.ndarray) -> np.ndarray:
        """Return the sum of arrays of one shape and type on every rank."""
        total: np.ndarray = self._meet(array, _sum)
        return total

    def _meet(self, value: Any, combine: Callable[[Iterator[Any]], Any]) -> Any:
        if self.rank:
            self.pipes[0].send(value)
            return self.pipes[0].recv()
        result = combine(self._values(value))
        for pipe, process in zip(self.pipes, self.processes, strict=True):
            with _alive(process):
                pipe.send(result)
        return result

    def _values(self, own: Any) -> Iterator[Any]:
        yield own
        for pipe, process in zip(self.pipes, self.processes, strict=True):
            with _alive(process):
                value = pipe.recv()
            yield value


@contextmanager
def _alive(process: Any) -> Iterator[None]:
    """Turn a broken pipe to a process that has ended into a ConfigError."""
    try:
        yield
    except (EOFError, ConnectionError) as error:
        process.join()
        raise ConfigError(
            f"process {process.name} ended with status {process.exitcode}. If "
            "the machine was short of memory, give less --memory or fewer --jobs."
        ) from error


def _sum(arrays: Iterator[np.ndarray]) -> np.ndarray:
    total = next(arrays).copy()
    for array in arrays:
        total += array
    return total


def run_forked(jobs: int, task: Callable[..., Any], *arguments: Any) -> Any:
    """Return task(builders, *arguments) of rank 0; `jobs` processes run it."""
    if jobs == 1:
        return task(LocalBuilders(), *arguments)
    # Open files and memory are shared with the others by forking, and so is
    # Numba, which takes a third of a second to get ready for the first kernel. Threads
    # that NumPy has started would not be there, but nothing here asks them for work.
    ascending(np.empty(0, np.uint64))
    context = multiprocessing.get_context("fork")
    pipes: list[Any] = []
    processes: list[Any] = []
    try:
        with interrupts_blocked(), warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            for rank in range(1, jobs):
                here, there = context.Pipe()
                # A fork has our ends too: with them it would not see that we are gone
                other = LocalBuilders(rank, jobs, [there], [])
                given = (other, [*pipes, here], os.getpid(), task, arguments)
                process = context.Process(
                    target=_work, args=given, name=str(rank), daemon=True
                )
                process.start()
                there.close()
                pipes.append(here)
                processes.append(process)
        result = task(LocalBuilders(0, jobs, pipes, processes), *arguments)
    except BaseException:
        for process in processes:
            process.terminate()
        raise
    for process in processes:
        process.join()
    return result


def _work(
    builders: LocalBuilders, others: list, parent: int, task: Callable, arguments: tuple
) -> None:
    for other in others:
        other.close()
    _end_with(parent)
    # Rank 0 reports errors that a user can fix; without rank 0 they are dropped. It
    # also ends this process after Ctrl-C.
    with suppress(MndmstError, EOFError, ConnectionError):
        task(builders, *arguments)


def _end_with(parent: int) -> None:
    """Have the system end this process as soon as its parent has ended."""
    # It would go on with its parts beside the run that is started next
    prctl = getattr(ctypes.CDLL(None), "prctl", None)
    if prctl is not None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
