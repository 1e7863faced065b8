"""No number of a request ends the ranks: each gets an answer or one clear line."""

import json
import random
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import graphs
import numpy as np
import pytest
from services import Served, raw, served

pytest.importorskip("pyarrow.flight", reason="the service needs pyarrow")

import pyarrow as arrow
from pyarrow import flight

from mndmst.service.connection import ServiceError

pytestmark = [pytest.mark.slow, pytest.mark.mpi, pytest.mark.timeout(300)]

TYPES = ("int32", "uint64", "float32", "float64")
NUMBERS = (
    "0", "-0", "-0.0", "1", "-1", "7", "1.5", "-1.5", "1e300", "-1e300", "1e400",
    "-1e400", "1e-400", "5e-324", "NaN", "Infinity", "-Infinity", '"Infinity"',
    '"-Infinity"', '"NaN"', "9" * 400, "-" + "9" * 400, "9" * 5000, "true", "null",
    '"1"', "[1]", "{}", "1" + "0" * 30 + ".5", "0." + "1" * 1000,
    *(str(sign * (1 << bits) + off) for bits in (31, 32, 53, 63, 64)
      for off in (-1, 0, 1) for sign in (1, -1)),
)  # fmt: skip
VERTICES = (-1, 0, 6, 29, 30, 31, (1 << 31), (1 << 32), (1 << 63) - 1, -(1 << 63))


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Serve a graph for each type of weights, and a second one for the changes."""
    folder, words = tmp_path_factory.mktemp("numbers"), []
    for dtype in TYPES:
        graph = graphs.random(30, 90, 3)
        weight = np.random.default_rng(1).integers(0, 9, len(graph.src)).astype(dtype)
        for path in (folder / dtype, folder / f"changed-{dtype}"):
            words.append(graphs.write_graph(path, graph._replace(weight=weight), 2))
    with served(folder, 2, *words, "-q") as service:
        with service.connect() as client:
            for dtype in TYPES:
                weight = client[dtype].edges()["weight"].to_numpy()
                client[dtype].store("other", weight)
        yield service
        with service.connect() as client:
            for graph in (client[path.name] for path in words):
                assert len(graph.forest) == len(graph.solve())


def asked(ask: Callable[[], Any]) -> str:
    """Ask, and return how that ended; fail if it was a fault."""
    try:
        ask()
    except (arrow.ArrowInvalid, arrow.ArrowKeyError) as error:
        line = str(error).partition(" Detail:")[0]
        assert "\n" not in line.strip()
        assert "Error" not in line
        return "refused"
    return "answered"


def act(service: Served, action: str, body: str) -> Callable[[], Any]:
    client, options = raw(service)
    return lambda: [
        json.loads(answer.body.to_pybytes())
        for answer in client.do_action(flight.Action(action, body.encode()), options)
    ]


def read(service: Served, body: str) -> Callable[[], Any]:
    """Return a call that asks for flight info and reads its first endpoint."""
    client, options = raw(service)
    descriptor = flight.FlightDescriptor.for_command(body.encode())

    def ask() -> None:
        info = client.get_flight_info(descriptor, options)
        table = client.do_get(info.endpoints[0].ticket, options).read_all()
        if '"labels"' in body or '"clusters"' in body:
            assert table.schema.names == info.schema.names
            assert table.num_rows == 30

    return ask


@pytest.mark.parametrize("dtype", TYPES)
def test_bounds_of_solves(service: Served, dtype: str) -> None:
    ended = set()
    for number in NUMBERS:
        for maximum, side in (("false", "below"), ("true", "above")):
            weights = '"weights": {"column": "other"}, "maximum": ' + maximum
            body = f'{{"graph": "{dtype}", "{side}": {number}, {weights}}}'
            ended.add(asked(act(service, "solve", body)))
    assert ended == {"answered", "refused"}


@pytest.mark.parametrize("dtype", ["int32", "float64"])
def test_numbers_of_tables(service: Served, dtype: str) -> None:
    for table, names in (
        ("labels", ("below",)),
        ("clusters", ("count", "threshold", "min_size")),
    ):
        for name in names:
            ended = set()
            for number in NUMBERS:
                body = f'{{"graph": "{dtype}", "table": "{table}", "{name}": {number}}}'
                ended.add(asked(read(service, body)))
                client, options = raw(service)
                ticket = flight.Ticket(body.encode())
                asked(lambda c=client, t=ticket, o=options: c.do_get(t, o).read_all())
            assert ended == {"answered", "refused"}, name


def test_a_count_beyond_the_vertices_is_refused_at_once(service: Served) -> None:
    client, options = raw(service)
    for rule in (
        '"count": 31',
        '"min_size": 1',
        '"count": 3, "threshold": 2',
        '"below": 1',
    ):
        body = f'{{"graph": "int32", "table": "clusters", {rule}}}'
        descriptor = flight.FlightDescriptor.for_command(body.encode())
        with pytest.raises(arrow.ArrowInvalid, match="clusters: "):
            client.get_flight_info(descriptor, options)


def test_flight_info_of_clusters_names_their_columns(service: Served) -> None:
    client, options = raw(service)
    for rule, columns in (
        ('"count": 9', ["label"]),
        ('"threshold": 2.5', ["label"]),
        ('"min_size": 3', ["label", "probability"]),
    ):
        body = f'{{"graph": "float64", "table": "clusters", {rule}}}'
        descriptor = flight.FlightDescriptor.for_command(body.encode())
        info = client.get_flight_info(descriptor, options)
        table = client.do_get(info.endpoints[0].ticket, options).read_all()
        assert info.schema.names == table.schema.names == columns
        assert info.schema.types == table.schema.types


@pytest.mark.parametrize("dtype", ["int32", "float64"])
def test_numbers_of_expressions(service: Served, dtype: str) -> None:
    ended = set()
    for number in NUMBERS:
        for text in ("{}", "weight * {}", "weight / {}", "max(weight, {})", "-{}"):
            expression = json.dumps({"expression": text.format(number.strip('"'))})
            body = f'{{"graph": "{dtype}", "weights": {expression}}}'
            ended.add(asked(act(service, "solve", body)))
    assert ended == {"answered", "refused"}


def put(service: Served, graph: str, kind: str, table: Any) -> str:
    client, options = raw(service)
    name = secrets.token_hex(16)
    command = json.dumps({"upload": name, "graph": graph, "kind": kind})
    descriptor = flight.FlightDescriptor.for_command(command.encode())
    writer, _ = client.do_put(descriptor, table.schema, options)
    with writer:
        writer.write_table(table)
    return name


def test_numbers_in_columns(service: Served) -> None:
    """Vertices and weights of every type and size, in uploads and queries."""
    draw = random.Random(1)
    weights = (0, 1.5, -1, 1e300, -np.inf, np.inf, np.nan, 2**31, 2**53 + 1, 2**63)
    for turn in range(150):
        graph = f"changed-{draw.choice(TYPES)}"
        ids = [draw.choice(VERTICES) for _ in range(draw.randint(0, 3))]
        dtype = draw.choice(("int64", "uint64", "uint32", "int8"))
        with np.errstate(all="ignore"):
            vertex = np.array(ids, np.int64).astype(dtype)
            values = np.array([draw.choice(weights) for _ in ids], float)
            weight = values.astype(draw.choice(("f8", "f4", "i4", "i8", "u8")))
        columns = {"src": vertex, "dst": vertex[::-1].copy()}

        def ask(
            turn: int = turn,
            graph: str = graph,
            vertex: np.ndarray = vertex,
            weight: np.ndarray = weight,
            columns: dict[str, np.ndarray] = columns,
        ) -> None:
            kind = turn % 4
            if kind == 0:
                name = put(service, graph, "vertices", arrow.table({"vertex": vertex}))
                body = {"graph": graph, "vertices": name}
                act(service, "solve", json.dumps(body))()
            elif kind == 1:
                name = put(service, graph, "edges", arrow.table(columns))
                body = {"graph": graph, "without_edges": name}
                act(service, "solve", json.dumps(body))()
            elif kind == 2:
                table = arrow.table(columns | {"weight": weight})
                name = put(service, graph, "changes", table)
                body = {"graph": graph, draw.choice(("insert", "set_weights")): name}
                act(service, "update", json.dumps(body))()
            else:
                with service.connect() as client:
                    u, v = columns.values()
                    try:
                        client[graph].path_max(u, v)
                    except Exception as error:
                        raise arrow.ArrowInvalid(str(error)) from None

        assert asked(ask) in ("answered", "refused")


@pytest.mark.parametrize(
    "vertices", [[1.5], [True], np.array([1 << 63], np.uint64), [-1], [30]]
)
def test_vertices_of_queries(service: Served, vertices: Any) -> None:
    with service.connect() as client:
        graph = client["int32"]
        for ask in (graph.connected, graph.path_max, graph.path):
            with pytest.raises(ServiceError, match="vert"):
                ask(vertices, vertices)
            assert len(ask([], [])) == 0


def test_infinite_weights_are_answered_in_json(tmp_path: Path) -> None:
    graph = graphs.simple_path(4)
    for name, weight in (
        ("up", [1, np.inf, 2]), ("both", [np.inf, -np.inf, 1.0]),
    ):  # fmt: skip
        graphs.write_graph(tmp_path / name, graph._replace(weight=np.array(weight)), 2)

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    words = (tmp_path / "up", tmp_path / "both", "-q")
    with served(tmp_path, 2, *words) as service, service.connect() as client:
        assert client["up"].solve().total_weight == np.inf
        assert np.isnan(client["both"].solve().total_weight)
        flights, options = raw(service)
        action = flight.Action("solve", b'{"graph": "both"}')
        for answer in flights.do_action(action, options):
            json.loads(answer.body.to_pybytes(), parse_constant=refuse)
        assert len(client["up"].solve(below=np.inf)) == 2
