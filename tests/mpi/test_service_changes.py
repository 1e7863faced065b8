"""Clients that follow a forest: they wait for versions, and read differences.

The oracle solves every version, and compares whole forests.
"""

import csv
import json
import re
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from graphs import Graph, simple_path, write_graph
from oracle import kruskal, maximum_kruskal, smallest_of_trees
from processes import finish, python, start
from services import Served, client, raw, rows, served, wait_until

pytest.importorskip("pyarrow.flight", reason="the service needs pyarrow")

from pyarrow import flight

import mndmst

pytestmark = [pytest.mark.mpi, pytest.mark.slow]

N, VERSIONS, REQUESTS = 60, 25, 3
TREE_COLUMNS = (
    "before", "after", "vertices", "vertices_before", "vertices_after", "change",
    "version",
)  # fmt: skip
LATER = 30.0  # Longer than a message of a service takes, much shorter than a timeout

Edges = dict[tuple[int, int], float]


class Model:
    """The edges of a graph in each version, and its forests."""

    def __init__(self, folder: Path, seed: int, maximum: bool) -> None:
        self.rng, self.maximum = np.random.default_rng(seed), maximum
        self.edges: Edges = {}
        insert = self.drawn()["insert"]
        self.edges |= insert
        src, dst = np.array(list(insert), np.int64).T
        graph = Graph(N, src, dst, np.array(list(insert.values())))
        self.path = write_graph(folder / "g", graph, 2, maximum)
        self.forests = [self.solved()]

    def drawn(self) -> dict[str, Edges]:
        """Draw changes of some pairs, each named once."""
        changes: dict[str, Edges] = {"insert": {}, "delete": {}, "set_weights": {}}
        pairs = np.sort(self.rng.integers(0, N, (self.rng.integers(1, 60), 2)))
        for u, v in {tuple(pair) for pair in pairs.tolist() if pair[0] != pair[1]}:
            kind = "insert"
            if (u, v) in self.edges:
                kind = str(self.rng.choice(["delete", "set_weights"]))
            changes[kind][u, v] = float(self.rng.integers(0, 5))
        return changes

    def change(self, graph: Any) -> None:
        """Make the next version, at the service and here."""
        drawn, sent = self.drawn(), {}
        for kind, edges in drawn.items():
            columns = [*np.array(list(edges), np.int64).reshape(-1, 2).T]
            if kind != "delete":
                columns.append(np.array(list(edges.values()), np.float64))
                self.edges |= edges
            sent[kind] = tuple(columns)
        self.edges = {e: w for e, w in self.edges.items() if e not in drawn["delete"]}
        assert graph.update(**sent) == len(self.forests)
        self.forests.append(self.solved())

    def solved(self) -> Edges:
        """Return the forest of the present version."""
        src, dst = np.array(list(self.edges), np.int64).reshape(-1, 2).T
        solve = maximum_kruskal if self.maximum else kruskal
        answer = solve(N, src, dst, np.array(list(self.edges.values()), np.float64))
        ends = zip(answer.src.tolist(), answer.dst.tolist(), strict=True)
        return dict(zip(ends, answer.weight.tolist(), strict=True))

    def edge_rows(self, since: int) -> list[tuple[Any, ...]]:
        """Return the rows of the table of edges, by the two forests."""
        old, new = self.forests[since].items(), self.forests[-1].items()
        last = {
            edge: since + number
            for number, (one, other) in enumerate(pairwise(self.forests[since:]), 1)
            for edge in one.items() ^ other.items()
        }
        left = [(*e[0], e[1], "left", last[e]) for e in old - new]
        entered = [(*e[0], e[1], "entered", last[e]) for e in new - old]
        return sorted(left + entered, key=lambda row: (*row[:2], row[3] == "entered"))

    def tree_rows(self, since: int) -> list[tuple[Any, ...]]:
        """Return the rows of the table of trees, by the sets of vertices."""
        found = []
        trees = [trees_of(self.forests[version]) for version in (since, -1)]
        for old in trees[0]:
            for new in trees[1]:
                if old & new and old != new:
                    change = (
                        "joined" if old < new else "split" if new < old else "moved"
                    )
                    sizes = len(old & new), len(old), len(new)
                    version = len(self.forests) - 1
                    found.append((min(old), min(new), *sizes, change, version))
        return sorted(found)


def trees_of(forest: Edges) -> list[set[int]]:
    src, dst = np.array(list(forest), np.int64).reshape(-1, 2).T
    label = smallest_of_trees(N, src, dst)
    return [set(np.flatnonzero(label == each).tolist()) for each in np.unique(label)]


def in_rows(table: Any) -> list[tuple[Any, ...]]:
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


@pytest.mark.parametrize(("ranks", "maximum"), [(1, False), (2, True)])
def test_differences_are_those_of_two_forests(
    tmp_path: Path, ranks: int, maximum: bool
) -> None:
    model = Model(tmp_path, 10 * ranks + maximum, maximum)
    words = (model.path, "-q", "--journal", tmp_path / "journal")
    later: list[tuple[list[tuple[Any, ...]], Any]] = []

    def compare(graph: Any, since: int) -> None:
        changes = graph.changes(since)
        now = len(model.forests) - 1
        assert (changes.since, changes.version) == (since, now)
        assert tuple(changes.edges.column_names) == (
            "source", "target", "weight", "change", "version",
        )  # fmt: skip
        assert in_rows(changes.edges) == model.edge_rows(since)
        if now % 3 == 0:
            later.append((model.tree_rows(since), changes))
            return
        assert tuple(changes.trees.column_names) == TREE_COLUMNS
        assert in_rows(changes.trees) == model.tree_rows(since)

    with served(tmp_path, ranks, *words) as service, service.connect() as connected:
        graph = connected["g"]
        compare(graph, 0)
        for version in range(1, VERSIONS):
            model.change(graph)
            for since in {0, version - 1, int(model.rng.integers(0, version + 1))}:
                compare(graph, since)
        for expected, changes in later:  # trees of a version that others have followed
            assert in_rows(changes.trees) == expected
        assert graph.info()["changes_since"] == 0
        with pytest.raises(
            mndmst.ServiceError, match=f"there is no version {VERSIONS}"
        ):
            graph.changes(VERSIONS)
    # The next service replays the journal
    with served(tmp_path, ranks, *words) as service, service.connect() as connected:
        graph = connected["g"]
        compare(graph, 0)
        model.change(graph)
        compare(graph, VERSIONS - 2)
        graph.snapshot()
    # A service that begins with a snapshot does not know how the forest came about
    with served(tmp_path, ranks, *words) as service, service.connect() as connected:
        graph = connected["g"]
        with pytest.raises(mndmst.OtherVersionError) as refused:
            graph.changes(VERSIONS - 1)
        assert f"oldest version to compare with is {VERSIONS}" in str(refused.value)
        assert graph.info()["changes_since"] == VERSIONS
        compare(graph, VERSIONS)
        model.change(graph)
        compare(graph, VERSIONS)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Serve a path of numbers as `g`, and one of names as `towns`."""
    folder = tmp_path_factory.mktemp("service")
    table = "source,target,weight\nUlm,Bonn,1\nBonn,Jena,2\nJena,Kiel,3\n"
    (folder / "towns.csv").write_text(table)
    mndmst.partition(folder / "towns.csv", folder / "towns")
    graphs = write_graph(folder / "g", simple_path(N), 2), folder / "towns"
    with served(folder, 2, *graphs, "-q", "--client-requests", REQUESTS) as running:
        yield running


def open_requests(connected: Any) -> int:
    """Return the open requests of this host, but that which asks for them."""
    (found,) = re.findall(
        r'^mndmst_client_requests{client="127.0.0.1"} (\d+)\.0$',
        connected.metrics(), re.M,
    )  # fmt: skip
    return int(found) - 1


def test_two_clients_wait_for_one_version(service: Served) -> None:
    with (
        service.connect() as first,
        service.connect() as second,
        service.connect() as other,
        ThreadPoolExecutor(2) as pool,
    ):
        graph = other["g"]
        before = graph.info()["version"]
        waiting = [
            pool.submit(each["g"].wait, before, LATER * 4) for each in (first, second)
        ]
        wait_until(lambda: open_requests(other) == 2, "the clients do not wait")
        assert graph.insert([0], [N - 1], [-1]) == before + 1
        assert [each.result(LATER) for each in waiting] == [before + 1] * 2
        assert graph.wait(before) == graph.wait(0) == before + 1  # at once
        (row,) = in_rows(graph.changes(before).edges)[:1]
        assert row == (0, N - 1, -1, "entered", before + 1)


def test_a_wait_ends_with_its_time(service: Served) -> None:
    with service.connect() as connected:
        graph = connected["g"]
        version = graph.info()["version"]
        for timeout in (0, 0.2, 1.5):
            begin = time.monotonic()
            assert graph.wait(version, timeout=timeout) == version
            assert time.monotonic() - begin >= timeout
        with pytest.raises(mndmst.ServiceError, match="there is no version"):
            graph.wait(version + 1)
        for wrong in (-1, 1.5, None, True):
            with pytest.raises(mndmst.MndmstError, match="after is "):
                graph.wait(wrong)
            with pytest.raises(mndmst.MndmstError, match="since is "):
                graph.changes(wrong)
        with pytest.raises(
            mndmst.MndmstError, match="timeout is 'soon'; give a number"
        ):
            graph.wait(version, timeout="soon")
        with pytest.raises(mndmst.MndmstError, match="not NaN"):
            graph.wait(version, timeout=float("nan"))


@pytest.fixture
def _heard_interrupts() -> Iterator[None]:
    """Programs that are started do not ignore SIGINT, as a shell may have it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("_heard_interrupts")
def test_waits_count_until_their_clients_are_interrupted(service: Served) -> None:
    """An interrupt is heard, and the service notices that the client has gone."""
    program = (
        "import mndmst, sys; graph = mndmst.connect(sys.argv[1])['g']; "
        "print('connected', flush=True); graph.wait(int(sys.argv[2]))"
    )
    with service.connect() as connected:
        version = connected["g"].info()["version"]
        words = "-c", program, service.address, version
        waiting = [start(python(*words)) for _ in range(REQUESTS - 1)]
        for process in waiting:
            assert process.stdout is not None
            assert process.stdout.readline() == b"connected\n"

        def are_open(requests: int) -> bool:
            try:
                return open_requests(connected) == requests
            except mndmst.ServiceError as error:
                assert f"has {REQUESTS} requests at once" in str(error)
                return False

        wait_until(lambda: are_open(REQUESTS - 1), "the clients do not wait")
        flight_client, options = raw(service)
        body = json.dumps({"graph": "g", "after": version}).encode()
        answers = flight_client.do_action(flight.Action("wait", body), options)
        assert b"progress" in next(answers).body.to_pybytes()
        with pytest.raises(mndmst.ServiceError, match="--client-requests"):
            connected.list()
        for process in waiting:
            process.send_signal(signal.SIGINT)
        for process in waiting:
            done = finish(process, LATER)
            assert done.returncode == -signal.SIGINT, done
            assert "KeyboardInterrupt" in done.stderr, done
        wait_until(lambda: are_open(1), "the service keeps interrupted clients")
        answers.close()
        wait_until(lambda: are_open(0), "the service keeps a lost client")


@pytest.mark.parametrize("ending", ["shutdown", "signal", "kill"])
def test_a_wait_ends_with_the_service(tmp_path: Path, ending: str) -> None:
    write_graph(tmp_path / "g", simple_path(N), 2)
    service = Served(tmp_path, 2, tmp_path / "g", "-q")
    try:
        with (
            service.connect() as connected,
            service.connect() as other,
            ThreadPoolExecutor(1) as pool,
        ):
            waiting = pool.submit(connected["g"].wait, 0)
            wait_until(lambda: open_requests(other) == 1, "the client does not wait")
            if ending == "shutdown":
                other.shutdown()
            elif ending == "signal":
                service.process.send_signal(signal.SIGTERM)
            else:
                service.kill()
            error = waiting.exception(LATER)
            assert isinstance(error, mndmst.ServiceError)
            if ending == "kill":
                assert "no service answers" in str(error)
                return
            assert "the service is ending" in str(error)
        assert finish(service.process, LATER).returncode in (0, 75)
    finally:
        service.kill()


def test_changes_have_names(service: Served, tmp_path: Path) -> None:
    with service.connect() as connected:
        towns = connected["towns"]
        version = towns.info()["version"]
        assert in_rows(towns.changes(version).edges) == []
        assert towns.delete(["Ulm"], ["Bonn"]) == version + 1
        assert towns.insert(["Ulm", "Ulm"], ["Jena", "Kiel"], [9, 2]) == version + 2
        changes = towns.changes(version)
        assert in_rows(changes.edges) == [
            ("Bonn", "Ulm", 1, "left", version + 1),
            ("Kiel", "Ulm", 2, "entered", version + 2),
        ]  # fmt: skip
        assert changes.trees.num_rows == 0
        assert repr(changes) == (
            f"ForestChanges(2 edges of 'towns', versions {version} to {version + 2})"
        )
        assert towns.delete(["Jena"], ["Bonn"]) == version + 3
        split = [
            ("Bonn", "Bonn", 1, 4, 1, "split", version + 3),
            ("Bonn", "Jena", 3, 4, 3, "split", version + 3),
        ]
        changes = towns.changes(version)
        assert in_rows(changes.trees) == split
        numbers = towns.numbers.changes(version)
        assert in_rows(numbers.trees) == [(0, 0, *split[0][2:]), (0, 1, *split[1][2:])]
    # The shell has the same
    printed = rows(service, "changes", "towns", "--since", version)
    columns = "source", "target", "weight", "change", "version"
    assert [tuple(row) for row in printed] == [columns] * 3
    expected = [tuple(map(str, row)) for row in in_rows(changes.edges)]
    assert [tuple(row.values()) for row in printed] == expected
    files = "-o", tmp_path / "edges.csv", "--tree-changes", tmp_path / "trees.csv"
    done = client(service, "changes", "towns", "--since", version, *files)
    assert done.stdout == f"version={version + 3}\n", done
    for name, table in (("edges", changes.edges), ("trees", changes.trees)):
        with (tmp_path / f"{name}.csv").open(newline="") as file:
            titles, *lines = csv.reader(file)
        assert titles == table.column_names
        assert lines == [list(map(str, row)) for row in in_rows(table)]
    done = client(service, "wait", "towns", "--after", version)
    assert done.stdout == f"version={version + 3}\n", done
    done = client(service, "changes", "towns", "--since", version, *files)
    assert done.returncode == 1 and "csv: exists" in done.stderr, done
    for words in (("changes", "towns", "--since", 99), ("wait", "g", "--after", 99)):
        done = client(service, *words)
        assert done.returncode == 1 and "there is no version 99 of" in done.stderr
        assert done.stderr.count("\n") == 1, done
