"""Ranks as threads of one process, for specifications of collective steps."""

import pickle
import threading
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from types import SimpleNamespace
from typing import Any

import graphs
import numpy as np
from drawn import triples
from oracle import kruskal

from mndmst.comm.communicator import Comm
from mndmst.comm.exchange import Coded
from mndmst.solver.run import Run

SECONDS = 240  # longer waits are deadlocks; others may compile kernels meanwhile


class Group:
    """What the ranks of a communicator share."""

    def __init__(self, hosts: Sequence[int]) -> None:
        self.hosts, size = hosts, len(hosts)
        self.barrier = threading.Barrier(size, timeout=SECONDS)
        self.slots: list[Any] = [None] * size
        self.queues = [[SimpleQueue() for _ in range(size)] for _ in range(size)]


class ThreadComm(Comm):
    """The communicator of a rank that is a thread; copies whatever it sends."""

    def __init__(self, group: Group, rank: int) -> None:
        super().__init__(SimpleNamespace(rank=rank, size=len(group.slots)))
        self.group = group

    def gather_all(self, value: Any) -> list[Any]:
        """Return the values of all ranks on every rank."""
        self.group.slots[self.rank] = pickle.dumps(value)
        self.group.barrier.wait()
        values = [pickle.loads(slot) for slot in self.group.slots]
        self.group.barrier.wait()
        return values

    def _reduce(self, value: Any, operation: str) -> Any:
        rule = {"SUM": np.add, "MAX": np.maximum, "MIN": np.minimum}[operation]
        result = rule.reduce(np.stack(self.gather_all(np.asarray(value))))
        return result if np.ndim(value) else result.item()

    def exscan(self, value: Any) -> Any:
        return sum(self.gather_all(value)[: self.rank])

    def allgather(self, value: Any) -> np.ndarray:
        return np.stack(self.gather_all(np.asarray(value)))

    def bcast(self, value: Any, root: int = 0) -> Any:
        return self.gather_all(value if self.rank == root else None)[root]

    def gather(self, value: Any, root: int = 0) -> list[Any] | None:
        values = self.gather_all(value)
        return values if self.rank == root else None

    def gather_arrays(self, arrays: Sequence[np.ndarray]) -> list[list[np.ndarray]]:
        gathered = self.gather_all(list(arrays))
        return gathered[1:] if self.rank == 0 else []

    def allgatherv(self, array: np.ndarray) -> np.ndarray:
        return np.concatenate(self.gather_all(array))

    def barrier(self, politely: bool = False) -> None:
        self.group.barrier.wait()

    def split(self, color: int | None) -> "ThreadComm | None":  # type: ignore[override]
        colors = self.gather_all(color)
        members = [rank for rank, other in enumerate(colors) if other == color]
        if color is not None and members[0] == self.rank:
            hosts = [self.group.hosts[member] for member in members]
            self.group.slots[self.rank] = Group(hosts)
        self.group.barrier.wait()
        group = self.group.slots[members[0]]
        self.group.barrier.wait()
        return None if color is None else ThreadComm(group, members.index(self.rank))

    def node(self) -> Comm:
        if len(set(self.group.hosts)) == 1:
            return self
        if self._node is None:
            self._node = self.split(self.group.hosts[self.rank])
        assert self._node is not None
        return self._node

    def cores(self) -> set[int]:
        return {0}

    def free(self) -> None:
        pass

    def alltoallv(
        self, counts: np.ndarray, *columns: np.ndarray | Coded
    ) -> tuple[np.ndarray, list[np.ndarray]]:
        slices = []
        for column in columns:
            coded = isinstance(column, Coded)
            data, sizes = column if coded else (column, counts)
            assert len(data) == sum(sizes)
            slices.append(np.split(data, np.cumsum(sizes)[:-1]))
        sent = self.gather_all((np.asarray(counts), slices))
        received = np.array([sizes[self.rank] for sizes, _ in sent], np.int64)
        arrived = [
            np.concatenate([parts[place][self.rank] for _, parts in sent])
            for place in range(len(columns))
        ]
        return received, arrived

    def reply(
        self, asked: np.ndarray, counts: np.ndarray, *columns: np.ndarray | Coded
    ) -> tuple[np.ndarray, list[np.ndarray]]:
        return self.alltoallv(counts, *columns)

    def send(self, arrays: Sequence[np.ndarray], dest: int) -> None:
        self.group.queues[self.rank][dest].put([array.copy() for array in arrays])

    def recv(self, source: int) -> list[np.ndarray]:
        return self.group.queues[source][self.rank].get(timeout=SECONDS)

    def isendrecv(
        self, arrays: Sequence[np.ndarray], dest: int, source: int
    ) -> Callable[[], list[np.ndarray]]:
        self.send(arrays, dest)
        return lambda: self.recv(source)


def on_ranks(
    size: int, program: Callable[[Comm], Any], hosts: Sequence[int] | None = None
) -> list[Any]:
    """Run a program on ranks, and return what each of them returns.

    `hosts` has the host of each rank; without it they are on one. The name of a rank's
    thread is its number.
    """
    group, results, errors = Group(hosts or [0] * size), [None] * size, []

    def run(rank: int) -> None:
        try:
            results[rank] = program(ThreadComm(group, rank))
        except BaseException as error:
            errors.append(error)
            group.barrier.abort()

    threads = [
        threading.Thread(target=run, args=(rank,), name=str(rank))
        for rank in range(size)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for error in errors:
        if not isinstance(error, threading.BrokenBarrierError):
            raise error
    assert not errors
    return results


def forest(runs: list[Run]) -> list[tuple[int, int]]:
    """Return the ends of the forest edges that ranks have found, in order."""
    lists = (part for run in runs for part in run.state.forest_edges)
    return sorted((u, v) for part in lists for u, v, _ in triples(part))


def expected(graph: graphs.Graph) -> list[tuple[int, int]]:
    """Return the ends of the edges of the oracle's forest, in order."""
    answer = kruskal(*graph)
    return sorted(zip(answer.src.tolist(), answer.dst.tolist(), strict=True))
