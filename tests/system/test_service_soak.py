"""Sixteen clients change and query a graph for a while, and two kills come between.

`MNDMST_SOAK_SECONDS=600 pytest tests/system/test_service_soak.py` takes ten minutes;
the default is what a check before every commit has time for.
"""

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from graphs import Graph, write_graph
from oracle import Answer, kruskal, smallest_of_trees
from services import Served

pytest.importorskip("pyarrow.flight", reason="the service needs pyarrow")

from mndmst.host.errors import MndmstError

SECONDS = float(os.environ.get("MNDMST_SOAK_SECONDS", "6"))
pytestmark = [pytest.mark.mpi, pytest.mark.timeout(SECONDS + 240)]

N, EDGES, READERS, MIB = 150, 400, 15, 1 << 20
# What a process may grow by once it has answered for a while.
GROWTH = 48 * MIB


class Soak:
    """A graph, what its versions have to be, and the clients of its service.

    Attributes
    ----------
    serving : Event
        Set while the service is meant to answer: only then is an error a failure.
    acknowledged, sent : int
        The last version that is known to be there, and that may be.
    states : dict
        The edges of these, by version.
    answers : dict
        The forest and the trees of each version.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.draw = folder, np.random.default_rng(1)
        pairs = np.unique(np.sort(self.draw.integers(0, N, (EDGES, 2))), axis=0)
        src, dst = pairs[pairs[:, 0] != pairs[:, 1]].T
        weight = self.draw.integers(-9, 9, len(src))
        write_graph(folder / "g", Graph(N, src, dst, weight), 2)
        ends = zip(src.tolist(), dst.tolist(), strict=True)
        self.edges = dict(zip(ends, weight.tolist(), strict=True))
        self.states = {0: self.edges}
        self.answers = {0: self.solved()}
        self.acknowledged = self.sent = self.asked = 0
        self.serving, self.over = threading.Event(), threading.Event()
        self.wrong: list[str] = []
        self.start(2)

    def start(self, ranks: int) -> None:
        words = self.folder / "g", "--journal", self.folder / "journal", "-q"
        self.service = Served(self.folder, ranks, *words)
        self.serving.set()

    def kill(self) -> None:
        self.serving.clear()
        self.service.kill()

    def solved(self) -> tuple[Answer, np.ndarray]:
        """Return the forest of the edges as they are, and the trees of vertices."""
        ends = np.array(list(self.edges), np.int64).reshape(-1, 2).T
        answer = kruskal(N, *ends, np.array(list(self.edges.values()), np.int64))
        return answer, smallest_of_trees(N, answer.src, answer.dst)

    def stay(self, client: Callable[[object], None]) -> None:
        """Be a client again and again, until the time is over."""
        while not self.over.is_set():
            if not self.serving.wait(0.1):
                continue
            try:
                with self.service.connect() as connected:
                    while not self.over.is_set():
                        client(connected["g"])
                        self.asked += 1
            except MndmstError as error:
                if self.serving.is_set():
                    self.wrong.append(str(error))
            except Exception as error:  # a thread's own end would not be seen
                self.wrong.append(repr(error))

    def write(self, held) -> None:
        """Change some edges, and know the forest of that version."""
        version = held.info()["version"]
        assert self.acknowledged <= version <= self.sent
        self.acknowledged = self.sent = version
        self.edges = dict(self.states[version])
        self.states = {version: dict(self.edges)}
        changes = self.changed()
        self.states[version + 1] = dict(self.edges)
        self.answers[version + 1] = self.solved()
        self.sent = version + 1  # readers may see it from now on
        assert held.update(**changes) == self.sent
        self.acknowledged = self.sent

    def changed(self) -> dict:
        """Delete an edge, change one, insert one."""
        known = list(self.edges)
        gone, other = (known[k] for k in self.draw.permutation(len(known))[:2])
        del self.edges[gone]
        while (
            pair := tuple(sorted(self.draw.integers(0, N, 2).tolist()))
        ) in known or (pair[0] == pair[1]):
            pass
        weights = self.draw.integers(-9, 9, 2).tolist()
        self.edges |= {other: weights[0], pair: weights[1]}
        return {
            "delete": ([gone[0]], [gone[1]]),
            "set_weights": ([other[0]], [other[1]], weights[:1]),
            "insert": ([pair[0]], [pair[1]], weights[1:]),
        }

    def read(self, held) -> None:
        """Ask for trees and for the forest; some version of that time has them."""
        u, v = np.random.default_rng().integers(0, N, (2, 64))
        first = self.acknowledged
        found = held.connected(u, v)
        trees = [self.answers[k][1] for k in range(first, self.sent + 1)]
        assert any((found == (tree[u] == tree[v])).all() for tree in trees)
        details = held.forest.details
        assert details["digest"] == self.answers[details["version"]][0].digest
        assert details["version"] >= first

    def bytes_held(self) -> int:
        """Return what the largest rank holds."""
        sizes = []
        for process in self.service.ranks().values():
            status = Path(f"/proc/{process}/status").read_text()
            (line,) = (s for s in status.splitlines() if s.startswith("VmRSS"))
            sizes.append(1024 * int(line.split()[1]))
        return max(sizes)


def test_clients_for_a_while(tmp_path: Path) -> None:
    soak = Soak(tmp_path)
    roles = [soak.write] + READERS * [soak.read]
    clients = [threading.Thread(target=soak.stay, args=(role,)) for role in roles]
    for client in clients:
        client.start()
    try:
        for ranks in (3, 1):
            time.sleep(SECONDS / 3)
            soak.kill()
            soak.start(ranks)
        time.sleep(SECONDS / 6)
        before = soak.bytes_held()
        time.sleep(SECONDS / 6)
        after = soak.bytes_held()
    finally:
        soak.over.set()
        for client in clients:
            client.join(60)
        soak.kill()
    print(
        f"{soak.asked} looks, {soak.sent} batches, {before} and {after} bytes held by "
        "the largest rank"
    )
    assert not soak.wrong, soak.wrong[:5]
    assert soak.acknowledged > 3
    assert soak.asked > 3 * READERS
    assert after - before < GROWTH
