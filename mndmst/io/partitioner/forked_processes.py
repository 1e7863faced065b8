"""Processes that this one forks, with a communicator that needs no MPI.

Large data goes through files, so pipes suffice for the rest.
"""

# ruff: noqa: D102 -- methods of ForkedProcesses are described in Comm

import multiprocessing
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from multiprocessing.context import ForkProcess
from multiprocessing.process import BaseProcess
from types import SimpleNamespace
from typing import TypeVar

import numpy as np

from ...comm.communicator import Comm, SmallT, ValueT
from ...comm.world import SingleProcess
from ...host.errors import ConfigError, MndmstError
from ...host.signals import end_with, interrupts_blocked
from ..kernels.partitioner import ascending

T = TypeVar("T")
OPERATIONS = {"SUM": np.add, "MAX": np.maximum, "MIN": np.minimum}


class ForkedProcesses(Comm):
    """Rank 0 and the processes that it has forked, each connected to it by a pipe.

    Only collectives on small values exist. Rank 0 has pipes to the other ranks, and
    their `processes`; each other rank has one pipe, to rank 0.
    """

    def __init__(
        self,
        rank: int,
        size: int,
        pipes: Sequence[Connection],
        processes: Sequence[BaseProcess] = (),
    ) -> None:
        ranks = SimpleNamespace(rank=rank, size=size)
        super().__init__(ranks)  # type: ignore[arg-type]  # calls no MPI
        self.shared.one_host = True
        self._pipes, self._processes = pipes, processes

    def _reduce(self, value: SmallT, operation: str) -> SmallT:
        function = OPERATIONS[operation]

        def combine(arrays: Iterator[np.ndarray]) -> np.ndarray:
            total = next(arrays).copy()
            for array in arrays:
                function(total, array, out=total)
            return total

        result = self._exchange(np.atleast_1d(np.asarray(value)), combine)
        return result if isinstance(value, np.ndarray) else result[0].item()

    def allgather(self, value: int | float | np.ndarray) -> np.ndarray:
        return self._exchange(np.asarray(value), lambda values: np.stack([*values]))

    def bcast(self, value: ValueT | None, root: int = 0) -> ValueT:
        given = value if self.rank == root else None
        return self._exchange(given, lambda values: [*values][root])  # type: ignore[return-value]  # the root's

    def gather(self, value: ValueT, root: int = 0) -> list[ValueT] | None:
        if root:
            raise NotImplementedError("only rank 0 has pipes to all others")
        if self.rank:
            self._pipes[0].send(value)
            return None
        return [*self._values(value)]

    def barrier(self, politely: bool = False) -> None:
        self.allgather(0)

    def _exchange(self, value: ValueT, combine: Callable[[Iterator[ValueT]], T]) -> T:
        """Return on every rank a combination of all values, which rank 0 makes."""
        if self.rank:
            self._pipes[0].send(value)
            return self._pipes[0].recv()
        result = combine(self._values(value))
        for pipe, process in zip(self._pipes, self._processes, strict=True):
            with _alive(process):
                pipe.send(result)
        return result

    def _values(self, first: ValueT) -> Iterator[ValueT]:
        yield first
        for pipe, process in zip(self._pipes, self._processes, strict=True):
            with _alive(process):
                value = pipe.recv()
            yield value


@contextmanager
def _alive(process: BaseProcess) -> Iterator[None]:
    """Turn a broken pipe to a process that has ended into a ConfigError."""
    try:
        yield
    except (EOFError, ConnectionError) as error:
        process.join()
        raise ConfigError(
            f"process {process.name} ended with status {process.exitcode}. If "
            "the machine was short of memory, give less --memory or fewer --jobs."
        ) from error


def run_forked(jobs: int, task: Callable[..., T], *arguments: object) -> T:
    """Return task(comm, *arguments) of rank 0; `jobs` processes run it."""
    if jobs == 1:
        return task(SingleProcess(), *arguments)
    # Open files and memory are shared with the others by forking, and so is
    # Numba, which takes a third of a second to get ready for the first kernel. Threads
    # that NumPy has started would not be there, but nothing here asks them for work.
    ascending(np.empty(0, np.uint64))
    context = multiprocessing.get_context("fork")
    pipes: list[Connection] = []
    processes: list[ForkProcess] = []
    try:
        with interrupts_blocked(), warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            for rank in range(1, jobs):
                here, there = context.Pipe()
                # A fork has our ends too: with them it would not see that we are gone
                other = ForkedProcesses(rank, jobs, [there])
                given = (other, [*pipes, here], os.getpid(), task, arguments)
                process = context.Process(
                    target=_work, args=given, name=str(rank), daemon=True
                )
                process.start()
                there.close()
                pipes.append(here)
                processes.append(process)
        result = task(ForkedProcesses(0, jobs, pipes, processes), *arguments)
    except BaseException:
        for process in processes:
            process.terminate()
        raise
    for process in processes:
        process.join()
    return result


def _work(
    comm: ForkedProcesses,
    others: list[Connection],
    parent: int,
    task: Callable[..., object],
    arguments: tuple[object, ...],
) -> None:
    for other in others:
        other.close()
    # It would go on writing parts beside the run that is started next
    end_with(parent)
    # Rank 0 reports errors that a user can fix; without rank 0 they are dropped. It
    # also ends this process after Ctrl-C.
    with suppress(MndmstError, EOFError, ConnectionError):
        task(comm, *arguments)
