"""The CPU worker in the contest: in this process, and as ranks of their own."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ..backends.base import LabelledForest
from ..backends.cpu.backend import CpuBackend
from ..graph.model import Rows
from ..graph.order import keys_to_weights
from ..host.cores import own_cores
from ..host.formatting import counted
from ..io.results.digest_and_total import ExactSum
from ..kernels.freed_memory import keep_freed
from .contender import Answer, Contender

RANKS = 2
PROBE = f"{__package__}.probe"
_PACKAGE_PARENT = Path(__file__).parents[2]


class KernelContender(Contender):
    """The CPU worker's kernel, from CSR rows in memory to the forest's edges.

    Parameters
    ----------
    rows : Rows
        The whole graph.
    dtype : dtype
        The weights of the keys.
    threads : int
    """

    def __init__(self, rows: Rows, dtype: np.dtype, threads: int) -> None:
        self.name = counted(threads, "thread")
        self.rows = rows
        self.dtype = np.dtype(dtype)
        self.backend = CpuBackend(threads)
        keep_freed()

    def solve(self) -> LabelledForest:
        """Return the forest."""
        return self.backend.msf(self.rows)

    def answer(self, forest: LabelledForest) -> Answer:
        """Add up the weights exactly."""
        total = ExactSum(self.dtype)
        total.add(keys_to_weights(forest.edges.key, self.dtype))
        return Answer(len(forest.edges), total.total())


class Process:
    """Another process that solves the graph in a folder on request.

    Parameters
    ----------
    folder : Path
        As written by `Graph.save`.
    threads : int
    core : int, optional
        The only core it may use.
    """

    def __init__(self, folder: Path, threads: int, core: int | None = None) -> None:
        pinned = [] if core is None else [str(core)]
        self.process = subprocess.Popen(
            [sys.executable, "-m", PROBE, str(folder), str(threads), *pinned],
            cwd=_PACKAGE_PARENT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def begin(self) -> None:
        """Tell it to solve the graph once."""
        assert self.process.stdin is not None
        self.process.stdin.write("solve\n")
        self.process.stdin.flush()

    def end(self) -> dict[str, Any]:
        """Wait for it: its milliseconds, edges, weight and extra bytes (or None)."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            status = self.process.wait()
            raise RuntimeError(f"a process of the benchmark ended with status {status}")
        return json.loads(line)

    def close(self) -> None:
        """End it."""
        self.process.communicate()


class RanksContender(Contender):
    """One-thread processes, each alone on its core with its own graph.

    Their time is that of the slowest.
    """

    def __init__(self, processes: list[Process]) -> None:
        self.name = counted(len(processes), "rank")
        self.processes = processes

    def solve(self) -> list[dict[str, Any]]:
        """Let all of them solve their graph at once."""
        for process in self.processes:
            process.begin()
        return [process.end() for process in self.processes]

    def timed(self) -> tuple[float, Any]:
        """Return the slowest's own time, without the messages in between."""
        replies = self.solve()
        return max(reply["ms"] for reply in replies), replies

    def answer(self, forest: list[dict[str, Any]]) -> Answer:
        """Return the answer of the first; all have the same graph."""
        return Answer(forest[0]["edges"], forest[0]["weight"])


@contextmanager
def ranks(folder: Path) -> Iterator[list[RanksContender]]:
    """Start processes as ranks; give one of them alone, and all of them at once.

    Neither where there is only one core.
    """
    cores = sorted(own_cores())[:RANKS]
    with ExitStack() as stack:
        processes = [Process(folder, 1, core) for core in cores if len(cores) == RANKS]
        for process in processes:
            stack.callback(process.close)
        contenders = (
            [RanksContender(processes[:1]), RanksContender(processes)]
            if processes
            else []
        )
        for contender in contenders:
            contender.solve()  # once untimed
        yield contenders


def extra_bytes(folder: Path, threads: int) -> int | None:
    """Return the peak memory of a solve beyond the rows, in a fresh process.

    None where the system does not tell.
    """
    process = Process(folder, threads)
    process.begin()
    reply = process.end()
    process.close()
    return reply["extra_bytes"]
