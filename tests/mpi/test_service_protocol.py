"""What a client gets wrong is refused in one line, and the service goes on."""

import itertools
import json
import os
import secrets
import signal
import socket
import stat
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest
from graphs import simple_path, write_graph
from services import Served, raw, served, wait_until

pytest.importorskip("pyarrow.flight", reason="the service needs pyarrow")

import pyarrow as arrow
from pyarrow import flight

from mndmst.service.client import connect
from mndmst.service.connection import ServiceError
from mndmst.service.protocol import PROTOCOL

pytestmark = [pytest.mark.mpi, pytest.mark.slow]

N = 30


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory):
    """Serve a path as `g`, and as `changed` for the test that changes its graph."""
    folder = tmp_path_factory.mktemp("service")
    paths = [write_graph(folder / name, simple_path(N), 2) for name in ("g", "changed")]
    with served(folder, 2, *paths, "-q", "--memory", "400MiB") as service:
        yield service
        with service.connect() as client:  # nothing has harmed it
            assert len(client["g"].forest) == N - 1


def test_the_service_tells_its_protocol(service: Served) -> None:
    client, options = raw(service)
    (answer,) = client.do_action(flight.Action("list", b""), options)
    assert json.loads(answer.body.to_pybytes())["protocol"] == PROTOCOL


def test_every_call_needs_the_token(service: Served) -> None:
    descriptor = flight.FlightDescriptor.for_command(
        b'{"graph": "g", "table": "edges"}'
    )
    table = arrow.table({"weight": [1.0]})
    for token in ("", "wrong", "x" * 4000, Path(service.token_file).read_text()[:-2]):
        client, options = raw(service, token)
        calls = [
            lambda: list(client.do_action(flight.Action("list", b""), options)),  # noqa: B023
            lambda: client.get_flight_info(descriptor, options),  # noqa: B023
            lambda: client.do_get(flight.Ticket(b"{}"), options).read_all(),  # noqa: B023
            lambda: list(client.list_flights(b"", options)),  # noqa: B023
            lambda: list(client.list_actions(options)),  # noqa: B023
            lambda: client.do_put(descriptor, table.schema, options)[0].close(),  # noqa: B023
        ]
        for call in calls:
            with pytest.raises(flight.FlightUnauthenticatedError):
                call()
    with pytest.raises(ServiceError, match="refused the token"):
        connect(service.url, "wrong")
    assert stat.S_IMODE(Path(service.token_file).stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("action", "body", "words"),
    [
        ("eval", b"{}", "no action is named 'eval'"),
        ("info", b"", "graph is missing"),
        ("info", b"{", "not JSON"),
        ("info", b"[1]", "not a JSON object"),
        ("info", b"[" * 100_000, "not JSON"),
        ("info", b"\xff\xfe", "not JSON"),
        ("info", b" " * (2 << 20), "at most 1 MiB"),
        ("info", b'{"graph": "../../etc"}', "give the graph"),
        ("info", b'{"graph": "h"}', "no graph or points are named 'h'"),
        ("info", b'{"graph": 1}', "give the graph"),
        ("solve", b'{"graph": "g", "path": "/etc"}', "no field 'path'"),
        ("solve", b'{"graph": "g", "maximum": 1}', "maximum"),
        ("solve", b'{"graph": "g", "below": NaN}', "below"),
        ("solve", b'{"graph": "g", "below": "1"}', "below"),
        ("solve", b'{"graph": "g", "weights": {"column": "x"}}', "no column 'x'"),
        ("solve", b'{"graph": "g", "weights": {"file": "x"}}', "other weights"),
        (
            "solve",
            b'{"graph": "g", "weights": {"expression": "__import__(1)"}}',
            "place",
        ),
        (
            "solve",
            b'{"graph": "g", "weights": {"expression": "0 / 0 * weight"}}',
            "NaN",
        ),
        ("solve", b'{"graph": "g", "vertices": "' + b"0" * 32 + b'"}', "no upload"),
        ("update", b'{"graph": "g"}', "no changes"),
        ("snapshot", b'{"graph": "g"}', "give --journal"),
        ("cancel", b'{"request": "1"}', "give its id"),
    ],
)
def test_wrong_requests(service: Served, action: str, body: bytes, words: str) -> None:
    client, options = raw(service)
    with pytest.raises((arrow.ArrowInvalid, flight.FlightError), match=words):
        list(client.do_action(flight.Action(action, body), options))


def test_progress_is_told_if_asked_for(service: Served) -> None:
    client, options = raw(service)

    def answers(body: bytes) -> list[dict]:
        found = client.do_action(flight.Action("solve", body), options)
        return [json.loads(answer.body.to_pybytes()) for answer in found]

    (result,) = answers(b'{"graph": "g"}')
    begin = time.monotonic()
    *told, last = answers(b'{"graph": "g", "progress": true}')
    elapsed = time.monotonic() - begin
    assert {"choose", "indComp"} <= {event["progress"] for event in told}
    seconds = [event["seconds"] for event in told]
    assert seconds == sorted(seconds)
    assert result["weight"] == last["weight"]
    assert 0 < last["seconds"] < elapsed


def test_a_forest_is_read_where_its_flight_info_says(service: Served) -> None:
    client, options = raw(service)
    (answer,) = client.do_action(flight.Action("solve", b'{"graph": "g"}'), options)
    name = json.loads(answer.body.to_pybytes())["forest"]
    table = json.dumps({"graph": "g", "table": "forest", "forest": name}).encode()
    with pytest.raises(arrow.ArrowInvalid, match="ask for its flight info"):
        client.do_get(flight.Ticket(table), options).read_all()
    descriptor = flight.FlightDescriptor.for_command(table)
    for _ in range(2):
        info = client.get_flight_info(descriptor, options)
        assert json.loads(info.app_metadata)["forest"] == name
    assert info.total_records == N - 1
    # The graph of another name, or a forest that is not there
    for change in ({"forest": "g.999"}, {"forest": "h.v0"}):
        wrong = json.dumps({"graph": "g", "table": "forest", **change}).encode()
        with pytest.raises(arrow.ArrowInvalid, match="no forest is named"):
            client.get_flight_info(flight.FlightDescriptor.for_command(wrong), options)


def test_requests_leave_nothing_behind(service: Served) -> None:
    process = service.ranks()[0]

    def held() -> int:
        pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    with service.connect() as client:
        sizes = []
        for _ in range(4):
            for _ in range(600):
                client["g"].info()
            sizes.append(held())
    # What is there once for all may come late; what each request leaves comes always
    grown = min(after - before for before, after in itertools.pairwise(sizes))
    assert grown < 100 * 600


def put(service: Served, kind: str, table, **more: str) -> str:
    client, options = raw(service)
    name = secrets.token_hex(16)
    command = json.dumps({"upload": name, "graph": "g", "kind": kind, **more})
    descriptor = flight.FlightDescriptor.for_command(command.encode())
    writer, _ = client.do_put(descriptor, table.schema, options)
    with writer:
        writer.write_table(table)
    return name


def test_wrong_columns(service: Served) -> None:
    texts = arrow.table({"weight": ["a"]})
    for kind, table, words in (
        ("weights", texts, "give numbers"),
        ("weights", arrow.table({"w": [1]}), "no column 'weight'"),
        (
            "weights",
            arrow.table({"weight": arrow.array([1, None])}),
            "no value in row 1",
        ),
        ("edges", arrow.table({"src": [1.5], "dst": [2]}), "give integers"),
        ("edges", arrow.table({"src": [1]}), "no column 'dst'"),
        ("nonsense", texts, "no upload is of kind"),
        ("vertices", arrow.table({"vertex": [[1]]}), "type"),
    ):
        with pytest.raises((arrow.ArrowInvalid, flight.FlightError), match=words):
            put(service, kind, table)
    with pytest.raises(arrow.ArrowInvalid, match="memory"):
        put(service, "weights", arrow.table({"weight": np.zeros(40_000_000)}))
    with service.connect() as client:
        held = client["g"]
        for weights, words in (
            (np.zeros(3), "3 weights and 29 edges"),
            (np.full(29, np.nan), "NaN"),
        ):
            with pytest.raises(Exception, match=words):
                held.solve(weights)
        with pytest.raises(ServiceError, match="no vertex 30: ids run"):
            held.solve(vertices=[0, 30])
        with pytest.raises(ServiceError, match="self-loop"):
            held.insert([1], [1], [1])
        with pytest.raises(ServiceError, match="no edge"):
            held.delete([0], [2])
        assert held.info()["version"] == 0


def test_noise_and_silence(service: Served) -> None:
    """Bytes that are no protocol, and clients that say nothing, or leave."""
    place = urlsplit(service.url)
    rng = np.random.default_rng(1)
    silent = [socket.create_connection((place.hostname, place.port)) for _ in range(50)]
    for size in (1, 24, 1000, 100_000):
        with socket.create_connection((place.hostname, place.port)) as link:
            try:
                link.sendall(rng.bytes(size))
                link.settimeout(5)
                link.recv(1000)
            except OSError:
                pass
    for size in (0, 1, 7, 64, 1000):
        client, options = raw(service)
        noise = rng.bytes(size)
        with pytest.raises((arrow.ArrowException, flight.FlightError)):
            client.do_get(flight.Ticket(noise), options).read_all()
        with pytest.raises((arrow.ArrowException, flight.FlightError)):
            client.get_flight_info(flight.FlightDescriptor.for_command(noise), options)
        with pytest.raises((arrow.ArrowException, flight.FlightError)):
            list(client.do_action(flight.Action("info", noise), options))
    client, options = raw(service)  # begins to send, and goes
    command = {"upload": "0" * 32, "graph": "g", "kind": "weights"}
    descriptor = flight.FlightDescriptor.for_command(json.dumps(command).encode())
    schema = arrow.schema([("weight", arrow.float64())])
    for _ in range(5):
        writer, _ = client.do_put(descriptor, schema, options)
        writer.write_table(arrow.table({"weight": np.zeros(10)}))
        del writer
    del client
    with service.connect() as client:
        assert len(client["g"].solve()) == N - 1
    for link in silent:
        link.close()


def test_a_request_is_cancelled_while_it_waits(service: Served) -> None:
    client, options = raw(service)
    names = [secrets.token_hex(16) for _ in range(40)]
    ended: dict[str, str] = {}

    def ask(name: str) -> None:
        body = json.dumps({"graph": "g", "request": name}).encode()
        try:
            list(client.do_action(flight.Action("solve", body), options))
            ended[name] = "solved"
        except flight.FlightCancelledError:
            ended[name] = "cancelled"

    with ThreadPoolExecutor(len(names)) as pool, service.connect() as other:
        first, *others = names
        pool.submit(ask, first).result(60)
        rank_1 = service.ranks()[1]
        os.kill(rank_1, signal.SIGSTOP)  # any of the others begins, and none can end
        try:
            state = Path(f"/proc/{rank_1}/stat")
            wait_until(lambda: ") T " in state.read_text(), "rank 1 goes on")
            asked = [pool.submit(ask, name) for name in others]
            # Until a request has come, its id is unknown, and the answer is false
            for name in others:
                wait_until(partial(other.cancel, name), "a solve is not cancelled")
        finally:
            os.kill(rank_1, signal.SIGCONT)
        for each in asked:
            each.result(60)
        assert ended == {first: "solved", **dict.fromkeys(others, "cancelled")}
        assert not other.cancel(first)


def test_an_update_is_cancelled_or_made(service: Served) -> None:
    """`cancel` answers true only for batches that are not there afterwards."""
    client, options = raw(service)
    with service.connect() as other, ThreadPoolExecutor(2) as pool:
        graph = other["changed"]
        made = graph.info()["version"]
        for attempt in range(300):
            name = secrets.token_hex(16)
            changes = arrow.table({"src": [0], "dst": [1], "weight": [attempt]})
            upload = put(service, "changes", changes, graph="changed")
            body = {"graph": "changed", "set_weights": upload, "request": name}

            def update(body: dict = body) -> bool:
                action = flight.Action("update", json.dumps(body).encode())
                try:
                    return bool(list(client.do_action(action, options)))
                except flight.FlightCancelledError:
                    return False

            acknowledged = pool.submit(update)
            time.sleep(attempt % 30 / 5000)  # before, while and after it is made
            cancelled = other.cancel(name)
            assert acknowledged.result(60) != cancelled
            made += not cancelled
            assert graph.info()["version"] == made
