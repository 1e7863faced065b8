"""Batches that unpack to far more than was sent are refused before they take memory."""

import json
import secrets
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from graphs import simple_path, write_graph
from services import Served, peak, raw, served

pytest.importorskip("pyarrow.flight", reason="the service needs pyarrow")

import pyarrow as arrow
from pyarrow import flight

from mndmst.service.arrow_memory import WITHOUT_A_BOUND

pytestmark = [
    pytest.mark.mpi,
    pytest.mark.slow,
    pytest.mark.skipif(
        arrow.__version__.startswith(WITHOUT_A_BOUND),
        reason="the allocator of this PyArrow keeps no bound",
    ),
]

N, MIB, LIMIT = 30, 1 << 20, 300
# Zeros that compress to a few hundred kilobytes
ROWS = 1024 * MIB // 8


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Serve a path as `g`, and as `changed` for the test that changes its graph."""
    folder = tmp_path_factory.mktemp("service")
    graphs = [
        write_graph(folder / name, simple_path(N), 2) for name in ("g", "changed")
    ]
    with served(folder, 2, *graphs, "-q", "--memory", f"{LIMIT}MiB") as running:
        yield running


def compressed(service: Served, codec: str) -> tuple[Any, Any]:
    """Return a client whose uploads are compressed, and the options of its calls."""
    client, _ = raw(service)
    token = Path(service.token_file).read_text().strip()
    headers = [(b"authorization", f"Bearer {token}".encode())]
    how = arrow.ipc.IpcWriteOptions(compression=codec)
    return client, flight.FlightCallOptions(headers=headers, write_options=how)


def command(**fields: Any) -> flight.FlightDescriptor:
    return flight.FlightDescriptor.for_command(json.dumps(fields).encode())


def put(
    service: Served, kind: str, table: arrow.Table, codec: str, graph: str = "g"
) -> str:
    client, options = compressed(service, codec)
    name = secrets.token_hex(16)
    upload = command(upload=name, graph=graph, kind=kind)
    writer, reader = client.do_put(upload, table.schema, options)
    with writer:
        writer.write_table(table, max_chunksize=len(table))
        writer.done_writing()
        reader.read()
    return name


def exchange(service: Served, query: str, table: arrow.Table, codec: str) -> Any:
    client, options = compressed(service, codec)
    writer, reader = client.do_exchange(command(graph="g", query=query), options)
    with writer:
        writer.begin(table.schema, arrow.ipc.IpcWriteOptions(compression=codec))
        writer.write_table(table, max_chunksize=len(table))
        writer.done_writing()
        return reader.read_all()


def zeros(*names: str) -> arrow.Table:
    return arrow.table(dict.fromkeys(names, np.zeros(ROWS // len(names), np.int64)))


def coded() -> arrow.Table:
    """Return a table of few rows whose dictionary is large."""
    values = arrow.array(np.zeros(ROWS, np.int64))
    indices = arrow.array([0, 1], arrow.int32())
    return arrow.table({"weight": arrow.DictionaryArray.from_arrays(indices, values)})


BOMBS = {
    "weights": lambda service, codec: put(service, "weights", zeros("weight"), codec),
    "changes": lambda service, codec: put(
        service, "changes", zeros("src", "dst", "weight"), codec
    ),
    "an unknown column": lambda service, codec: put(
        service, "weights", zeros("x"), codec
    ),
    "a dictionary": lambda service, codec: put(service, "weights", coded(), codec),
    "pairs": lambda service, codec: exchange(
        service, "connected", zeros("u", "v"), codec
    ),
    "paths": lambda service, codec: exchange(service, "path", zeros("u", "v"), codec),
}


@pytest.mark.parametrize("codec", ["zstd", "lz4"])
@pytest.mark.parametrize("kind", BOMBS)
def test_a_bomb_is_refused_and_takes_no_memory(
    service: Served, kind: str, codec: str
) -> None:
    before = peak(service)
    for _ in range(2):
        with pytest.raises(arrow.ArrowInvalid, match="does not fit the memory of the"):
            BOMBS[kind](service, codec)
    assert peak(service) - before < 40 * MIB
    with service.connect() as graphs:
        edges = graphs["g"].info()["num_edges"]
        assert len(graphs["g"].solve(np.arange(edges))) == N - 1


def test_compressed_columns_that_fit_are_taken(service: Served) -> None:
    with service.connect() as graphs:
        version = graphs["changed"].info()["version"]
    changes = arrow.table({"src": [0], "dst": [9], "weight": [5]})
    upload = put(service, "changes", changes, "zstd", graph="changed")
    client, options = raw(service)
    body = json.dumps({"graph": "changed", "insert": upload}).encode()
    (answer,) = client.do_action(flight.Action("update", body), options)
    assert json.loads(answer.body.to_pybytes())["version"] == version + 1
    pairs = arrow.table({"u": np.zeros(1000, np.int64), "v": np.arange(1000) % N})
    found = exchange(service, "connected", pairs, "lz4")
    assert found["connected"].to_pylist() == [True] * 1000


def test_many_bombs_at_once_stay_within_the_limit(service: Served) -> None:
    """Each one fits by itself; together, and beside the others, they do not."""
    table = arrow.table({"weight": np.zeros(100 * MIB // 8)})

    def send(_: int) -> str:
        try:
            return put(service, "weights", table, "zstd") and "kept"
        except arrow.ArrowInvalid as error:
            return str(error)

    before = peak(service)
    with ThreadPoolExecutor(8) as pool:
        ends = list(pool.map(send, range(16)))
    assert all("memory" in end for end in ends)
    assert peak(service) - before < (LIMIT + 64) * MIB
    with service.connect() as graphs:
        edges = graphs["g"].info()["num_edges"]
        assert len(graphs["g"].solve(np.arange(edges))) == N - 1
