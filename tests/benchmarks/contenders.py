"""Contenders: kernels of the project and other packages, solving a graph in memory."""

import json
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from mndmst.backends.base import LabelledForest
from mndmst.backends.cpu.backend import CpuBackend
from mndmst.graph.model import Rows
from mndmst.graph.order import keys_to_weights
from mndmst.host.cores import usable_cores
from mndmst.host.formatting import counted
from mndmst.host.memory import free_bytes
from mndmst.io.results.digest_and_total import ExactSum
from mndmst.kernels.freed_memory import KEPT_SHARE, keep_freed
from mndmst.native.compiled_kernel import CompiledKernel
from mndmst.report.peers import SCIPY, Answer, Peer, of_packages, solve_scipy

from .graphs import BenchGraph


class Contender(ABC):
    """One row of the table. Making it converts the graph into the form it wants."""

    name: str

    @abstractmethod
    def solve(self) -> Any:
        """Compute the forest: the timed part."""

    @abstractmethod
    def answer(self, forest: Any) -> Answer:
        """Return the size and the weight of the result of `solve`."""

    def timed(self) -> tuple[float, Any]:
        """Return the milliseconds of `solve`, and its result."""
        begin = time.perf_counter()
        forest = self.solve()
        return 1e3 * (time.perf_counter() - begin), forest


RANKS = 2
PROBE = f"{__package__}.kernel_probe"
_PACKAGE_PARENT = Path(__file__).parents[2]


class KernelContender(Contender):
    """The CPU worker's kernel, from CSR rows in memory to the forest's edges.

    The rows are the whole graph; `dtype` is that of the weights of the keys.
    """

    def __init__(self, rows: Rows, dtype: np.dtype, threads: int) -> None:
        self.name = counted(threads, "thread")
        self.rows = rows
        self.dtype = np.dtype(dtype)
        self.backend = CpuBackend(threads)
        # For each timed solve, the share of the time outside kernels: the interpreter's
        # and NumPy's.
        self.shares: list[float] = []
        keep_freed(free_bytes() // KEPT_SHARE)  # as `solve` does

    def solve(self) -> LabelledForest:
        """Return the forest."""
        return self.backend.msf(self.rows)

    def timed(self) -> tuple[float, LabelledForest]:
        """See `Contender.timed`; note the interpreter's share in `shares`."""
        before = CompiledKernel.seconds
        ms, forest = super().timed()
        inside = 1e3 * (CompiledKernel.seconds - before)
        self.shares.append(1 - inside / ms)
        return ms, forest

    def answer(self, forest: LabelledForest) -> Answer:
        """Add up the weights exactly."""
        total = ExactSum(self.dtype)
        total.add(keys_to_weights(forest.edges.key, self.dtype))
        return Answer(len(forest.edges), total.total())


class Process:
    """Another process that solves the graph in a folder on request.

    The folder is as `BenchGraph.save` writes it; the process may use `core` alone, if
    given.
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
        """Start one solve of the graph."""
        assert self.process.stdin is not None
        self.process.stdin.write("solve\n")
        self.process.stdin.flush()

    def end(self) -> dict[str, Any]:
        """Return the solve's milliseconds, edges, weight and extra bytes (or None)."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            status = self.process.wait()
            raise RuntimeError(f"a process of the benchmark ended with status {status}")
        return json.loads(line)

    def close(self) -> None:
        """End the process."""
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

    Without a second core there are none.
    """
    cores = sorted(usable_cores())[:RANKS]
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

    None if the system does not report it.
    """
    process = Process(folder, threads)
    process.begin()
    reply = process.end()
    process.close()
    return reply["extra_bytes"]


class PeerContender(Contender):
    """A peer and its converted graph."""

    def __init__(self, peer: Peer, graph: BenchGraph) -> None:
        import_module(peer.module)  # loaded before it is timed
        self.name, self.peer = peer.name, peer
        full = peer is SCIPY_FULL
        self.graph = peer.convert(graph.both_ways() if full else graph.edges())

    def timed(self) -> tuple[float, Any]:
        """Time `solve`, but not the copy of a graph that it overwrites."""
        seconds, forest = self.peer.timed(self.graph)
        return 1e3 * seconds, forest

    def solve(self) -> Any:
        """Return the forest in the form of the package."""
        return self.peer.solve(self.graph)

    def answer(self, forest: Any) -> Answer:
        """Return the size and the weight of the forest."""
        return Answer(*self.peer.answer(self.graph, forest))


# SciPy as in most programs: the symmetric matrix
SCIPY_FULL = SCIPY._replace(
    name="scipy full", solve=partial(solve_scipy, overwrite=False), overwrites=False
)
# Larger graphs would take a peer minutes.
MOST_EDGES = {"networkx": 1 << 19}


def contenders_of(packages: tuple[str, ...]) -> tuple[Peer, ...]:
    """Return the peers of some packages, SciPy also with the symmetric matrix."""
    peers = of_packages(packages)
    return (*peers, SCIPY_FULL) if SCIPY in peers else peers


def enter(peers: tuple[Peer, ...], graph: BenchGraph) -> list[PeerContender]:
    """Convert a graph for all peers whose `MOST_EDGES` it does not exceed."""
    return [
        PeerContender(peer, graph)
        for peer in peers
        if graph.num_edges <= MOST_EDGES.get(peer.name, graph.num_edges)
    ]
