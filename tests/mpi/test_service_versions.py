"""A request sees one version of a graph, from its beginning to its end.

The oracle knows the edges of every version: batches are drawn before, and each table
says which version it is.
"""

import json
import secrets
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from graphs import Graph, simple_path, write_graph
from oracle import kruskal
from processes import ROOT, finish
from services import Served, raw, served, wait_until

pytest.importorskip("pyarrow.flight", reason="the service needs pyarrow")

import pyarrow as arrow
from pyarrow import flight

from mndmst.service.connection import OtherVersionError, ServiceError
from mndmst.service.protocol import version_of

pytestmark = [pytest.mark.mpi, pytest.mark.slow]

N, M, GONE = 4000, 24_000, 50


def drawn(seed: int) -> Graph:
    """Return random edges, each once, in the order of edges."""
    rng = np.random.default_rng(seed)
    pairs = np.unique(np.sort(rng.integers(0, N, (M, 2))), axis=0)
    src, dst = pairs[pairs[:, 0] != pairs[:, 1]].T
    return Graph(N, src, dst, rng.integers(-1000, 1000, len(src)).astype(np.int32))


class Shrinking:
    """A graph that loses the next `GONE` edges of a permutation with each batch."""

    def __init__(self, folder: Path, parts: int) -> None:
        self.graph = drawn(1)
        write_graph(folder / "g", self.graph, parts)
        self.order = np.random.default_rng(2).permutation(len(self.graph.src))

    def gone(self, version: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the edges that the batch which makes a version deletes."""
        edges = self.order[GONE * (version - 1) : GONE * version]
        return self.graph.src[edges], self.graph.dst[edges]

    def check(self, table: arrow.Table) -> int:
        """Compare a table of edges with the version that it names; return that."""
        version = version_of(table)
        left = np.ones(len(self.graph.src), np.bool_)
        left[self.order[: GONE * version]] = False
        for name, column in zip(("src", "dst", "weight"), self.graph[1:], strict=True):
            assert np.array_equal(table[name].to_numpy(), column[left]), version
        return version


@pytest.mark.parametrize("ranks", (1, 2))
def test_tables_are_one_version_while_edges_go(tmp_path: Path, ranks: int) -> None:
    """Two clients read, one of them with tickets it has kept; a third one changes."""
    shrinking, over = Shrinking(tmp_path, 2), threading.Event()
    with served(tmp_path, ranks, tmp_path / "g", "-q") as service:
        seen_by_tables: list[int] = []
        seen_by_tickets: list[int] = []
        seen = seen_by_tables, seen_by_tickets

        def read() -> None:
            with service.connect() as client:
                while not over.is_set():
                    seen_by_tables.append(shrinking.check(client["g"].edges()))

        def read_by_kept_tickets() -> None:
            """Each ticket is used three times: the table is the same, or refused."""
            request = {"graph": "g", "table": "edges"}
            with service.connect() as client:
                connection = client.connection
                while not over.is_set():
                    info = connection.info(request)
                    for _ in range(3):
                        try:
                            shares = [connection.share(e) for e in info.endpoints]
                        except OtherVersionError as error:
                            assert "is no longer held" in str(error)
                            break
                        table = arrow.concat_tables(shares)
                        assert shrinking.check(table) == version_of(shares[0])
                        seen_by_tickets.append(version_of(table))

        def change() -> int:
            with service.connect() as client:
                for version in range(1, 26):
                    assert client["g"].delete(*shrinking.gone(version)) == version
                    assert client["g"].solve().details["version"] == version
                    if version % 8 == 0:
                        wait_until(partial(all_saw, version), "a reader waits")
            return version

        def all_saw(version: int) -> bool:
            return all(versions[-1:] == [version] for versions in seen)

        with ThreadPoolExecutor(3) as pool:
            readers = [pool.submit(read), pool.submit(read_by_kept_tickets)]
            try:
                last = pool.submit(change).result(200)
            finally:
                over.set()
            for reader in readers:
                reader.result(60)
            for versions in seen:
                assert versions == sorted(versions)  # a version never comes back
                assert len(set(versions)) > 2
        with service.connect() as client:
            assert shrinking.check(client["g"].edges()) == last


@pytest.mark.parametrize("ranks", (2, 3))
def test_readers_and_writers_of_all_kinds_side_by_side(
    tmp_path: Path, ranks: int
) -> None:
    """No read waits for another rank, and no batch is half there."""
    n = 200
    src = np.arange(n - 1)
    path = Graph(n, src, src + 1, np.full(n - 1, 7, np.int64))
    write_graph(tmp_path / "g", path, 2)
    far, over = np.arange(0, n - 60, 2), threading.Event()
    with served(tmp_path, ranks, tmp_path / "g", "-q") as service:

        def write() -> int:
            """The chords are there in odd versions."""
            with service.connect() as client:
                held = client["g"]
                for version in range(1, 41):
                    ends = far, far + 50
                    if version % 2:
                        held.insert(*ends, np.full(len(far), 9))
                    else:
                        held.delete(*ends)
                    assert len(held.solve()) == n - 1
            return version

        def edges(held) -> None:
            table = held.edges()
            assert table.num_rows == n - 1 + version_of(table) % 2 * len(far)

        def forest(held) -> None:
            found = held.forest
            assert found.details["weight"] == 7 * (n - 1)
            chords = found.details["version"] % 2 * len(far)
            assert found.details["num_edges"] == n - 1 + chords
            try:
                assert found.src.tolist() == src.tolist()
            except ServiceError as error:
                assert "is no longer held" in str(error)

        def labels(held) -> None:
            assert not held.components().any()
            assert held.path_max([0], [n - 1]).to_pylist()[0]["weight"] == 7

        def columns(held) -> None:
            """Weights are for the version that was read, or refused."""
            table = held.edges()
            weight = np.where(table["weight"].to_numpy() == 7, 1, 1000)
            try:
                assert held.solve(weight).total_weight == n - 1
            except OtherVersionError as error:
                assert "belong to version" in str(error)

        done: Counter[str] = Counter()

        def stay(role) -> None:
            with service.connect() as client:
                while not over.is_set():
                    role(client["g"])
                    done[role.__name__] += 1

        with ThreadPoolExecutor(6) as pool:
            roles = (edges, forest, labels, columns)
            readers = [pool.submit(stay, role) for role in roles]
            try:
                wait_until(lambda: len(done) == len(roles), "not every reader reads")
                assert pool.submit(write).result(200) == 40
            finally:
                over.set()
            for reader in readers:
                reader.result(60)


def test_a_ticket_of_before_a_batch_is_read_after_it(tmp_path: Path) -> None:
    """The version of the ticket is held, until a later one has tickets and is past."""
    write_graph(tmp_path / "g", simple_path(30), 2)
    with (
        served(tmp_path, 2, tmp_path / "g", "-q") as service,
        service.connect() as client,
    ):
        held, connection = client["g"], client.connection
        request = {"graph": "g", "table": "edges"}
        info = connection.info(request)
        assert held.insert([0], [17], [5]) == 1
        assert len(held.solve()) == 29
        for endpoint in info.endpoints:
            share = connection.share(endpoint)
            assert version_of(share) == 0 and 17 not in share["dst"].to_pylist()[:1]
        assert held.insert([0], [18], [5]) == 2
        assert len(held.solve()) == 29
        connection.info(request)
        assert held.insert([0], [19], [5]) == 3
        assert len(held.solve()) == 29  # every rank has published version 3
        with pytest.raises(OtherVersionError) as refused:
            connection.share(info.endpoints[1])
        assert "version 0 of g is no longer held" in str(refused.value)
        assert "version is 3" in str(refused.value)
        with pytest.raises(OtherVersionError, match="version 0 of g is no longer"):
            connection.read({**request, "version": 0})
        for wrong in (-1, 1.5, True, "0", 1 << 70):
            with pytest.raises(ServiceError, match="flight info: version is"):
                connection.read({**request, "version": wrong})
        # A ticket that names no version could be another version on each rank
        with pytest.raises(ServiceError, match="names no version"):
            ticket = flight.Ticket(json.dumps(request).encode())
            connection.share(flight.FlightEndpoint(ticket, []))


def test_weights_of_another_version_are_refused(tmp_path: Path) -> None:
    graph = drawn(5)
    place = write_graph(tmp_path / "g", graph, 2)
    edge, weight = (graph.src[:1], graph.dst[:1]), graph.weight
    with (
        served(tmp_path, 2, place, "-q") as service,
        service.connect() as client,
        service.connect() as another,
    ):
        held = client["g"]
        column = held.edges()["weight"]
        answer = kruskal(N, graph.src, graph.dst, weight)
        # New weights leave the order of edges as it is
        another["g"].set_weights(*edge, [1001])
        assert held.solve(column).digest == answer.digest
        # As many edges, in another order
        another["g"].update(
            delete=edge, insert=([N - 2], [N - 1], np.array([1], np.int32))
        )
        for use in (held.solve, lambda w: held.store("w", w)):
            with pytest.raises(OtherVersionError) as refused:
                use(column)
            assert "belong to version 0 of g" in str(refused.value)
            assert "graph has version 2" in str(refused.value)
        with pytest.raises(OtherVersionError, match=r"version 1 of g.* version 2"):
            held.solve(column, version=1)
        assert "w" not in held.info()["columns"]
        assert version_of(held.edges()) == 2
        assert len(held.solve(column)) == len(answer.src)
        # Changes for a version that is not the present one
        with pytest.raises(OtherVersionError, match=r"version 1 of g.* version 2"):
            held.update(version=1, delete=([N - 2], [N - 1]))
        assert held.update(version=2, delete=([N - 2], [N - 1])) == 3


def test_an_upload_waits_for_a_version_that_comes(tmp_path: Path) -> None:
    """The version is compared when the weights are used, not only when they come."""
    write_graph(tmp_path / "g", simple_path(30), 2)
    with served(tmp_path, 2, tmp_path / "g", "-q") as service:
        with service.connect() as client:
            held = client["g"]
            name = held._send_weights(np.ones(29), None)
            held.update(insert=([0], [9], [1]), delete=([0], [1]))
            with pytest.raises(OtherVersionError, match=r"version 0 of g.* version 1"):
                client.connection.ask("solve", graph="g", weights={"upload": name})
        client, options = raw(service)
        command = {"upload": secrets.token_hex(16), "graph": "g", "kind": "vertices"}
        for text, words in ((b"0", "version 0 of g"), (b"x", "give the number")):
            table = arrow.table({"vertex": [1, 2]})
            table = table.replace_schema_metadata({b"version": text})
            descriptor = flight.FlightDescriptor.for_command(json.dumps(command))
            with pytest.raises((KeyError, ValueError, flight.FlightError), match=words):
                writer, _ = client.do_put(descriptor, table.schema, options)
                with writer:
                    writer.write_table(table)


def test_columns_stay_while_weights_change_and_end_with_edges(tmp_path: Path) -> None:
    """A column is read by clients while batches replace versions."""
    graph = drawn(7)
    write_graph(tmp_path / "g", graph, 2)
    hours = np.random.default_rng(8).integers(0, 9, len(graph.src)).astype(np.int16)
    expected = kruskal(N, graph.src, graph.dst, hours.astype(np.int32))
    over = threading.Event()
    with (
        served(tmp_path, 2, tmp_path / "g", "-q") as service,
        service.connect() as client,
        ThreadPoolExecutor(2) as pool,
    ):
        held = client["g"]
        held.store("hours", hours.astype(np.int32))

        looks: list[int] = []

        def look() -> None:
            with service.connect() as other:
                while not over.is_set():
                    assert "hours" in other["g"].info()["columns"]
                    found = other["g"].solve("hours")
                    assert found.details["weight"] == expected.total
                    mixed = other["g"].solve("hours + 0 * weight")
                    assert mixed.details["weight"] == expected.total
                    looks.append(mixed.details["version"])

        looking = pool.submit(look)
        try:
            wait_until(lambda: looks, "the other client does not solve")
            for version in range(1, 13):
                few = np.random.default_rng(version).permutation(M // 2)[:30]
                ends = graph.src[few], graph.dst[few]
                weight = np.full(30, version, np.int32)
                assert held.set_weights(*ends, weight) == version
        finally:
            over.set()
        looking.result(60)
        held.delete(graph.src[:1], graph.dst[:1])
        with pytest.raises(ServiceError, match="no column 'hours'"):
            client.connection.ask("solve", graph="g", weights={"column": "hours"})


def test_the_order_of_edges_outlives_new_weights(tmp_path: Path) -> None:
    """Its positions stay, and every table and sent weight is that of its version."""
    graph = drawn(11)
    write_graph(tmp_path / "g", graph, 2)
    weight, rng = graph.weight.copy(), np.random.default_rng(12)
    with (
        served(tmp_path, 3, tmp_path / "g", "-q") as service,
        service.connect() as client,
    ):
        held = client["g"]
        for version in range(1, 6):
            few = rng.permutation(len(weight))[:200]
            weight[few] = rng.integers(-1000, 1000, 200)
            ends = graph.src[few], graph.dst[few]
            assert held.set_weights(*ends, weight[few]) == version
            if version % 2:
                table = held.edges()
                assert table["weight"].to_pylist() == weight.tolist()
                assert table["src"].to_pylist() == graph.src.tolist()
            doubled = kruskal(N, graph.src, graph.dst, 2 * weight)
            assert held.solve(2 * weight).digest == doubled.digest
            assert held.solve().digest == doubled.digest
        held.delete(graph.src[5:6], graph.dst[5:6])
        assert held.edges()["weight"].to_pylist() == np.delete(weight, 5).tolist()


def test_an_upload_is_for_one_graph(tmp_path: Path) -> None:
    for name in "gh":
        write_graph(tmp_path / name, simple_path(30), 2)
    with (
        served(tmp_path, 2, tmp_path / "g", tmp_path / "h", "-q") as service,
        service.connect() as client,
    ):
        name = client["g"]._send_weights(np.ones(29), None)
        with pytest.raises(ServiceError, match="belong to g; send them for h"):
            client.connection.ask("solve", graph="h", weights={"upload": name})


def test_versions_in_memory_are_told(tmp_path: Path) -> None:
    graph = drawn(9)
    write_graph(tmp_path / "g", graph, 2)
    with (
        served(tmp_path, 2, tmp_path / "g", "-q") as service,
        service.connect() as client,
    ):
        held = client["g"]
        request = {"graph": "g", "table": "edges"}
        held.edges()
        for k in range(4):
            held.delete(graph.src[k : k + 1], graph.dst[k : k + 1])
            held.edges()
        wait_until(lambda: numbers(held) == [3, 4], "other versions stay in memory")
        known = held.info()["versions_in_memory"]
        assert all(each["bytes"] > 4 * len(graph.src) for each in known)
        # A read that has begun keeps its version
        endpoint = client.connection.info(request).endpoints[0]
        low, options = raw(service)
        reader = low.do_get(endpoint.ticket, options)
        first = reader.read_chunk().data.num_rows
        for k in range(4, 8):
            held.delete(graph.src[k : k + 1], graph.dst[k : k + 1])
            held.edges()
        rest = sum(chunk.data.num_rows for chunk in reader)
        assert version_of(reader.schema.empty_table()) == 4
        assert first + rest > 0
        wait_until(  # the server ends a stream after its client has read it
            lambda: "mndmst_versions_in_memory 2.0\n" in client.metrics(),
            "a version stays in memory",
        )
        assert "mndmst_version_bytes" in client.metrics()


def numbers(graph: Any) -> list[int]:
    """Return the versions of a graph that are in memory."""
    return [each["version"] for each in graph.info()["versions_in_memory"]]


@pytest.mark.parametrize("room", (True, False))
def test_two_versions_count_against_the_memory(tmp_path: Path, room: bool) -> None:
    """Where two do not fit one rank, all ranks let the older one go.

    Its tickets are refused, and a read that has begun goes on.
    """
    graph = drawn(9)
    write_graph(tmp_path / "g", graph, 2)
    planted = (ROOT / "tests/mpi/planted_program.py", "no-room")
    program = ("-m", "mndmst") if room else planted
    service = Served(tmp_path, 2, tmp_path / "g", "-q", program=program)
    try:
        with service.connect() as client:
            held, connection = client["g"], client.connection
            info = connection.info({"graph": "g", "table": "edges"})
            low, options = raw(service)
            begun = low.do_get(info.endpoints[0].ticket, options)
            held.delete(graph.src[:1], graph.dst[:1])
            held.edges()
            rows = begun.read_all().num_rows
            assert rows == connection.metadata(info)["counts"][0]
            for endpoint in info.endpoints:
                if room:
                    assert version_of(connection.share(endpoint)) == 0
                    continue
                with pytest.raises(
                    OtherVersionError, match=r"version 0.* version is 1"
                ):
                    connection.share(endpoint)
            del begun
            wait_until(  # the server ends a stream after its client has read it
                lambda: numbers(held) == ([0, 1] if room else [1]),
                "another version stays in memory, or none does",
            )
            client.shutdown()
        assert finish(service.process, 60).returncode == 0
    finally:
        service.kill()
