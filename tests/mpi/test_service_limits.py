"""Limits of a client: refused requests, accepted ones, and requests after a release."""

import json
import re
import secrets
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from typing import Any

import numpy as np
import pytest
from graphs import simple_path, write_graph
from services import Served, raw, served

import mndmst

pytest.importorskip("pyarrow.flight", reason="the service needs pyarrow")

import pyarrow as arrow
from pyarrow import flight

pytestmark = [pytest.mark.mpi, pytest.mark.slow]

REQUESTS, MIB = 2, 1 << 20


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("service")
    write_graph(folder / "g", simple_path(30), 2)
    limits = ("--client-requests", REQUESTS, "--client-bytes", "1MiB")
    with served(folder, 2, folder / "g", "-q", *limits) as running:
        yield running


def command(**fields: Any) -> flight.FlightDescriptor:
    return flight.FlightDescriptor.for_command(json.dumps(fields).encode())


def open_query(service: Served, stack: ExitStack) -> None:
    """Begin a query that lasts until the stack ends."""
    client, options = raw(service)
    query = command(graph="g", query="connected")
    writer, reader = client.do_exchange(query, options)
    stack.enter_context(writer)
    pairs = arrow.record_batch({"u": np.array([0]), "v": np.array([1])})
    writer.begin(pairs.schema)
    writer.write_batch(pairs)
    assert reader.read_chunk().data.num_rows == 1


def test_requests_beyond_the_limit_are_refused_until_one_ends(service: Served) -> None:
    client, options = raw(service)
    cancel = flight.Action("cancel", json.dumps({"request": "0" * 32}).encode())
    with ExitStack() as stack:
        for _ in range(REQUESTS):
            open_query(service, stack)
        with pytest.raises(arrow.ArrowInvalid) as refused:
            list(client.do_action(flight.Action("list", b""), options))
        assert "client 127.0.0.1 has 2 requests at once" in str(refused.value)
        assert "--client-requests" in str(refused.value)
        assert list(client.do_action(cancel, options))  # a way out stays open
    with mndmst.connect(service.address) as graphs:
        assert graphs["g"].solve().num_trees == 1
        text = graphs.metrics()
    # Another test may have been refused the same request before
    assert re.search(r'_total{request="list",status="limited"} [1-9]\d*\.0\n', text)
    assert (
        'mndmst_client_requests{client="127.0.0.1"} 1.0\n' in text
    )  # `metrics` itself


def test_a_stream_that_is_left_unread_ends_as_a_request(service: Served) -> None:
    client, options = raw(service)
    info = client.get_flight_info(command(graph="g", table="edges"), options)
    for _ in range(3 * REQUESTS):
        with suppress(arrow.ArrowInvalid):  # streams just left may count for a moment
            reader = client.do_get(info.endpoints[0].ticket, options)
            reader.cancel()
            del reader
    text, deadline = "", time.monotonic() + 20
    while 'client="127.0.0.1"} 1.0\n' not in text:  # the call of `metrics` itself
        assert time.monotonic() < deadline
        with suppress(mndmst.ServiceError), mndmst.connect(service.address) as graphs:
            text = graphs.metrics()


def test_uploads_beyond_the_limit_are_refused_and_hold_nothing(service: Served) -> None:
    client, options = raw(service)

    def put(values: int) -> None:
        sent = arrow.record_batch({"weight": np.zeros(values)})
        upload = command(upload=secrets.token_hex(16), graph="g", kind="weights")
        writer, _ = client.do_put(upload, sent.schema, options)
        with writer:
            writer.write_batch(sent)

    for _ in range(3):
        with pytest.raises(arrow.ArrowInvalid) as refused:
            put(MIB // 8 + 100)
        assert "the limit of this service is 1 MiB" in str(refused.value)
        assert "--client-bytes" in str(refused.value)
    put(MIB // 16)
    with mndmst.connect(service.address) as graphs:
        text = graphs.metrics()
        assert f'mndmst_client_upload_bytes{{client="127.0.0.1"}} {MIB / 2}\n' in text
        with pytest.raises(arrow.ArrowInvalid, match="--client-bytes"):
            put(MIB // 16 + 100)  # both together are too many
        weights = np.arange(graphs["g"].info()["num_edges"], dtype=float)
        assert graphs["g"].solve(weights).num_trees == 1  # used uploads do not count
