"""Requests of Arrow Flight: descriptors, tickets, actions and sent columns.

The first byte of an input names the method. Of a sent stream the next two bytes have
the length of the descriptor's command.
"""

import io
import json
from collections.abc import Iterator
from types import SimpleNamespace

import numpy as np
import pyarrow
from pyarrow import flight

from mndmst.host.errors import MndmstError

from .inputs import check_refusal
from .one_rank_service import GRAPH, start_service

UPLOAD_ID = "0123456789abcdef" * 2
POINTS = "pings"
# What would end the service, or wait for a version that does not come
LEFT_OUT = ("shutdown", "wait")
ACTIONS = (
    "list", "info", "solve", "release", "store", "update", "load", "snapshot", "cancel",
    "metrics", "unknown",
)  # fmt: skip
OTHERS = ("put", "exchange", "info of a table", "share")
METHODS = (*ACTIONS, *OTHERS)
CONTEXT = SimpleNamespace(peer=lambda: "ipv4:127.0.0.1:1", is_cancelled=lambda: False)
_server: list = []


class Stream:
    """Sent columns, as Flight gives them to a server."""

    def __init__(self, content: bytes) -> None:
        self._reader = pyarrow.ipc.open_stream(content)
        self.schema = self._reader.schema

    def __iter__(self) -> Iterator[SimpleNamespace]:
        for batch in self._reader:
            yield SimpleNamespace(data=batch)


class Answers:
    """Takes what a server sends back."""

    def begin(self, schema: pyarrow.Schema) -> None:
        assert schema.metadata

    def write(self, answer: bytes) -> None:
        assert json.loads(answer) is not None

    def write_with_metadata(self, batch: pyarrow.RecordBatch, note: bytes) -> None:
        batch.validate(full=True)


def one_input(data: bytes) -> None:
    """Send a request: an answer, or a refusal in one line."""
    method = METHODS[data[0] % len(METHODS) if data else 0]
    try:
        _send(method, data[1:])
    except MndmstError as error:
        check_refusal(error, "")
    except (pyarrow.ArrowInvalid, pyarrow.ArrowKeyError) as error:
        assert str(error)


def _send(method: str, body: bytes) -> None:
    if not _server:
        _server.append(start_service()[0])
        _send("put", _load_of_points()[1:])
    (server,) = _server
    stream = body
    if method in ("put", "exchange"):
        length = int.from_bytes(body[:2], "little")
        body, stream = body[2 : 2 + length], body[2 + length :]
    if _is_left_out(body):
        return
    if method in ACTIONS:
        for result in server.do_action(CONTEXT, flight.Action(method, body)):
            assert json.loads(result.body.to_pybytes()) is not None
    elif method == "info of a table":
        descriptor = flight.FlightDescriptor.for_command(body)
        for endpoint in server.get_flight_info(CONTEXT, descriptor).endpoints:
            server.do_get(CONTEXT, endpoint.ticket)
    elif method == "share":
        server.do_get(CONTEXT, flight.Ticket(body))
    else:
        descriptor = flight.FlightDescriptor.for_command(body)
        call = server.do_put if method == "put" else server.do_exchange
        try:
            sent = Stream(stream)
        except (pyarrow.ArrowException, OSError):  # Flight refuses it before
            return
        try:
            call(CONTEXT, descriptor, sent, Answers())
        except OSError as error:  # of Arrow's reader, in the middle
            assert not error.filename


def _is_left_out(body: bytes) -> bool:
    try:
        text = str(json.loads(body or b"{}"))
    except (ValueError, RecursionError):
        return False
    return any(name in text for name in LEFT_OUT)


def seeds() -> list[bytes]:
    """Return a request of each kind."""
    ends = {"src": np.array([0, 1]), "dst": np.array([4, 2])}
    edges = pyarrow.table({**ends, "weight": np.array([2, 7])})
    pairs, vertices = pyarrow.table(ends), pyarrow.table({"vertex": np.array([0, 5])})
    query = pyarrow.table({"u": ends["src"], "v": ends["dst"]})
    upload, graph = {"upload": UPLOAD_ID, "graph": GRAPH}, {"graph": GRAPH}
    then = {"action": "update", **graph, "insert": UPLOAD_ID}
    requests: list[tuple[str, dict, pyarrow.Table | None]] = [
        ("list", {}, None),
        ("info", graph, None),
        ("solve", {**graph, "weights": {"expression": "weight * 2"}}, None),
        ("solve", {**graph, "below": 5, "digest": True}, None),
        ("solve", {**graph, "vertices": UPLOAD_ID, "maximum": True}, None),
        ("release", {"forest": "city-1"}, None),
        ("store", {**graph, "column": "speed", "upload": UPLOAD_ID}, None),
        ("update", {**graph, "set_weights": UPLOAD_ID}, None),
        ("cancel", {"request": UPLOAD_ID}, None),
        ("put", {**upload, "kind": "changes", "then": then}, edges),
        ("put", {**upload, "kind": "edges"}, pairs),
        ("put", {**upload, "kind": "vertices"}, vertices),
        ("put", {**upload, "kind": "weights"}, edges.select(["weight"])),
        ("exchange", {**graph, "query": "connected"}, query),
        ("exchange", {**graph, "query": "path"}, query),
        ("exchange", {**graph, "query": "path_max"}, query),
        ("exchange", {**graph, "query": "names"}, vertices),
        ("exchange", {**graph, "query": "vertices"}, pyarrow.table({"name": ["a"]})),
        ("info of a table", {**graph, "table": "edges"}, None),
        ("info of a table", {**graph, "table": "clusters", "count": 2}, None),
        ("share", {**graph, "table": "labels", "below": 4, "version": 0}, None),
        ("share", {**graph, "table": "forest_changes", "since": 0}, None),
        ("share", {**graph, "table": "clusters", "min_size": 2}, None),
    ]
    return [_packed(*request) for request in (*requests, *_point_requests())]


def _load_of_points() -> bytes:
    """Return the upload of points that a service keeps as `POINTS`."""
    values = np.random.default_rng(1).random(60)
    places = pyarrow.FixedSizeListArray.from_arrays(values, 2)
    rule = {"min_cluster_size": 5, "min_samples": 3}
    load = {"action": "load", "graph": POINTS, "upload": UPLOAD_ID, "rule": rule}
    fields = {"upload": UPLOAD_ID, "kind": "points", "then": load}
    return _packed("put", fields, pyarrow.table({"point": places}))


def _point_requests() -> Iterator[tuple[str, dict, pyarrow.Table | None]]:
    """Yield a request of each kind for points."""
    upload, points = {"upload": UPLOAD_ID}, {"graph": POINTS}
    places = pyarrow.FixedSizeListArray.from_arrays(np.linspace(0, 1, 6), 2)
    ids, place = np.array([0, 70, 71]), pyarrow.table({"point": places})
    named = pyarrow.table({"id": ids, "point": places})
    update = {"action": "update", **points, "insert": UPLOAD_ID}
    remove = {"action": "update", **points, "remove": UPLOAD_ID}
    load = {"action": "load", "graph": "more", **upload, "rule": {"min_samples": 1}}
    yield "put", {**upload, **points, "kind": "points", "then": update}, place
    yield "put", {**upload, **points, "kind": "points-with-ids", "then": update}, named
    yield "put", {**upload, **points, "kind": "ids", "then": remove}, named.select([0])
    yield "put", {**upload, "kind": "points", "then": load}, place
    yield "update", {**points, "rule": {"min_cluster_size": 3}}, None
    yield "info", points, None
    yield "exchange", {**points, "query": "predict"}, place
    yield "exchange", {**points, "query": "neighbours", "count": 2}, place
    yield "exchange", {**points, "query": "labels"}, named.select([0])
    for table in ("labels", "points", "forest"):
        yield "info of a table", {**points, "table": table}, None
    yield "info of a table", {**points, "table": "events", "since": 0}, None


def _packed(method: str, fields: dict, table: pyarrow.Table | None) -> bytes:
    body = json.dumps(fields).encode()
    if table is not None:
        sink = io.BytesIO()
        with pyarrow.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        body = len(body).to_bytes(2, "little") + body + sink.getvalue()
    return bytes([METHODS.index(method)]) + body
