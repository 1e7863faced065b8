"""A service that is killed has every acknowledged batch when it starts again.

`MNDMST_SERVICE_KILLS=200 pytest tests/system/test_service_kills.py` kills that many;
the default is what a check before every commit has time for.
"""

import os
import random
import shutil
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from graphs import Graph, write_graph
from oracle import kruskal
from services import Served, served

pytest.importorskip("pyarrow.flight", reason="the service needs pyarrow")

import mndmst
from mndmst.host.errors import MndmstError
from mndmst.service.connection import ServiceError

N, KILLS = 100, int(os.environ.get("MNDMST_SERVICE_KILLS", "12"))
pytestmark = [pytest.mark.mpi, pytest.mark.timeout(280 + 10 * KILLS)]


def cycle() -> Graph:
    """Return a cycle whose heaviest edge changes with its weights."""
    src = np.arange(N)
    dst = (src + 1) % N
    return Graph(N, np.minimum(src, dst), np.maximum(src, dst), np.arange(N))


class Writer(threading.Thread):
    """Sends batches until the service is gone, and notes what was acknowledged.

    Batch k sets all weights: k plus the number of the edge.
    """

    def __init__(self, service: Served, done: int) -> None:
        super().__init__(daemon=True)
        self.service, self.done, self.errors = service, done, []

    def run(self) -> None:
        graph = cycle()
        try:
            with self.service.connect() as client:
                held = client["g"]
                while True:
                    weight = graph.weight * (self.done % 7 + 1) + self.done
                    version = held.set_weights(graph.src, graph.dst, weight)
                    assert version == self.done + 1
                    self.done = version
        except ServiceError as error:
            self.errors.append(error)


def test_nothing_acknowledged_is_lost(tmp_path: Path) -> None:
    graph, draw = cycle(), random.Random(1)
    write_graph(tmp_path / "g", graph, 2)
    words = (tmp_path / "g", "--journal", tmp_path / "journal", "-q")
    acknowledged, least = 0, []
    for kill in range(KILLS):
        service = Served(tmp_path, draw.choice((1, 2, 3)), *words)
        try:
            with service.connect() as client:
                version = client["g"].info()["version"]
                # The last one may have been on disk, and the word lost with the kill
                assert acknowledged <= version <= acknowledged + 1
                check(client["g"], graph, version)
                if kill % 4 == 3:
                    for _ in range(2):
                        assert client["g"].snapshot()["version"] == version
            writer = Writer(service, version)
            writer.start()
            time.sleep(draw.uniform(0.05, 0.6))
            if kill % 3:
                service.kill()
            else:  # one rank alone: the others end with it
                os.kill(draw.choice(list(service.ranks().values())), signal.SIGKILL)
                assert service.process.wait(60) != 0
            writer.join(60)
            assert not writer.is_alive()
            assert len(writer.errors) == 1
            least.append(writer.done - version)
            acknowledged = writer.done
        finally:
            service.kill()
    assert sum(least) > KILLS  # there was something to lose


def check(held, graph: Graph, version: int) -> None:
    weight = graph.weight
    if version:
        weight = graph.weight * ((version - 1) % 7 + 1) + version - 1
    answer = kruskal(graph.n, graph.src, graph.dst, weight)
    assert held.forest.weight.tolist() == answer.weight.tolist()
    assert held.forest.digest == answer.digest


def test_a_record_that_is_cut_short_is_no_batch(tmp_path: Path) -> None:
    graph = cycle()
    write_graph(tmp_path / "g", graph, 2)
    words = (tmp_path / "g", "--journal", tmp_path / "journal", "-q")
    with served(tmp_path, 2, *words) as service, service.connect() as client:
        held = client["g"]
        for _ in range(3):
            held.set_weights(graph.src, graph.dst, graph.weight)
    file = tmp_path / "journal/g/journal-0"
    whole = file.read_bytes()
    for cut in (1, 5, 100, 400):
        file.write_bytes(whole[:-cut])
        with served(tmp_path, 1, *words) as service, service.connect() as client:
            assert client["g"].info()["version"] == 2
            assert client["g"].insert([0], [2], [5]) == 3
        with served(tmp_path, 2, *words) as service, service.connect() as client:
            assert client["g"].info()["version"] == 3
    damaged = bytearray(whole)
    damaged[200] ^= 1
    file.write_bytes(damaged)
    with pytest.raises(pytest.fail.Exception, match=r"version 1\) is damaged"):
        Served(tmp_path, 2, *words)


def test_what_a_snapshot_that_was_cut_off_has_left_is_removed(tmp_path: Path) -> None:
    """Where it was killed: while it wrote, before its journal, before it removed."""
    graph, journal = cycle(), tmp_path / "journal/g"
    write_graph(tmp_path / "g", graph, 2)
    words = (tmp_path / "g", "--journal", tmp_path / "journal", "-q")
    with served(tmp_path, 2, *words) as service, service.connect() as client:
        held = client["g"]
        for version in (1, 2):
            assert held.set_weights(graph.src, graph.dst, graph.weight) == version
            assert held.snapshot()["version"] == version
        snapshot = held.snapshot()["snapshot"]
        assert snapshot is None  # nothing has changed
    (snapshot,) = journal.glob("snapshot-*")
    assert sorted(p.name for p in journal.iterdir()) == sorted(
        ["graph", "journal-2", "lease", snapshot.name]
    )
    cut_off = journal / f"snapshot-3-{'0' * 16}.tmp"
    cut_off.mkdir()
    (cut_off / "part-00000.h5").write_bytes(b"half of it")
    (journal / "journal-2").unlink()
    (journal / "journal-0").write_bytes(b"what was before")
    shutil.copytree(snapshot, journal / f"snapshot-1-{'1' * 16}")
    theirs = journal / "snapshot-1-notes.tmp"
    theirs.mkdir()
    with served(tmp_path, 1, *words) as service, service.connect() as client:
        assert client["g"].info()["version"] == 2
        check(client["g"], graph, 0)
    assert sorted(p.name for p in journal.iterdir()) == sorted(
        ["graph", "journal-2", "lease", snapshot.name, theirs.name]
    )


def test_a_journal_serves_one_graph_and_one_service(tmp_path: Path) -> None:
    graph = cycle()
    write_graph(tmp_path / "g", graph)
    words = (tmp_path / "g", "--journal", tmp_path / "journal", "-q")
    (tmp_path / "two").mkdir()
    with (
        served(tmp_path, 1, *words),
        pytest.raises(pytest.fail.Exception, match="another service has this"),
    ):
        Served(tmp_path / "two", 1, *words)
    for part in (tmp_path / "journal/g").iterdir():
        if part.name == "graph":
            part.write_text("something else\n")
    with pytest.raises(pytest.fail.Exception, match="journal of another graph"):
        Served(tmp_path, 1, *words)
    assert issubclass(ServiceError, MndmstError)


class PointWriter(threading.Thread):
    """Sends batches of points until the service is gone; see `point_batch`."""

    def __init__(self, service: Served, done: int) -> None:
        super().__init__(daemon=True)
        self.service, self.done, self.errors = service, done, []

    def run(self) -> None:
        try:
            with self.service.connect() as client:
                pings = client.points("p")
                while True:
                    version = pings.update(**point_batch(self.done + 1)).version
                    assert version == self.done + 1
                    self.done = version
        except ServiceError as error:
            self.errors.append(error)


def blobs(seed: int, count: int) -> np.ndarray:
    """Return points around four places; some of them are equal."""
    draw = np.random.default_rng(seed)
    return np.round(
        draw.integers(0, 2, (count, 2)) * 8 + draw.normal(size=(count, 2)), 1
    )


def point_batch(version: int) -> dict[str, object]:
    """Return the batch that makes a version: the two oldest points go, two come."""
    oldest = 2 * (version - 1)
    return {"insert": blobs(version, 2), "remove": [oldest, oldest + 1]}


def test_points_keep_labels_and_numbers_when_the_service_is_killed(
    tmp_path: Path,
) -> None:
    """A client loads them; an estimator in this process follows the same batches."""
    draw = random.Random(2)
    expected = mndmst.HDBSCAN(8, 3).fit(blobs(0, N))
    words = ("--journal", tmp_path / "journal", "-q")
    rule = {"min_cluster_size": 8, "min_samples": 3}
    acknowledged = 0
    for kill in range(max(2, KILLS // 4)):
        service = Served(tmp_path, draw.choice((1, 2, 3)), *words)
        try:
            with service.connect() as client:
                if not kill:
                    client.load_points("p", blobs(0, N), **rule)
                pings = client.points("p")
                version = pings.info()["version"]
                assert acknowledged <= version <= acknowledged + 1
                while expected.version_ < version:
                    expected.update(**point_batch(expected.version_ + 1))
                found = pings.labels()
                assert found["id"].to_numpy().tolist() == expected.ids_.tolist()
                assert found["cluster"].to_numpy().tolist() == expected.labels_.tolist()
                probabilities = found["probability"].to_numpy().tolist()
                assert probabilities == expected.probabilities_.tolist()
                if kill % 2:
                    assert pings.snapshot()["version"] == version
            writer = PointWriter(service, version)
            writer.start()
            time.sleep(draw.uniform(0.1, 0.6))
            service.kill()
            writer.join(60)
            assert not writer.is_alive() and len(writer.errors) == 1
            acknowledged = writer.done
        finally:
            service.kill()
    assert acknowledged > 2
