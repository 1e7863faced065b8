"""Columns and the action that follows them, in one call."""

import json
import secrets
from pathlib import Path

import pytest
from graphs import simple_path, write_graph
from services import raw, served

pytest.importorskip("pyarrow.flight", reason="the service needs pyarrow")

import pyarrow as arrow
from pyarrow import flight

from mndmst.host.errors import InputError

pytestmark = [pytest.mark.mpi, pytest.mark.slow]

N = 30
CHANGES = arrow.table({"src": [0], "dst": [N - 1], "weight": [1]})


def put(place: tuple, then: dict) -> list[dict]:
    """Send columns and an action that follows; return what it answers."""
    client, options = place
    name = secrets.token_hex(16)
    command = {"upload": name, "graph": "g", "kind": "changes", "then": then}
    then |= {"graph": "g", "insert": name} if then.get("action") == "update" else {}
    descriptor = flight.FlightDescriptor.for_command(json.dumps(command).encode())
    writer, reader = client.do_put(descriptor, CHANGES.schema, options)
    answers = []
    with writer:
        writer.write_table(CHANGES)
        writer.done_writing()
        while (answer := reader.read()) is not None:
            answers.append(json.loads(answer.to_pybytes()))
    return answers


def test_an_action_follows_columns(tmp_path: Path) -> None:
    write_graph(tmp_path / "g", simple_path(N), 2)
    with served(tmp_path, 2, tmp_path / "g", "-q") as service:
        rank_0 = raw(service)
        *told, result = put(rank_0, {"action": "update", "progress": True})
        assert result["inserted"] == 1
        assert all("progress" in answer for answer in told)
        for then, words in (
            ({}, "then is"),
            ({"action": "eval"}, "no action is named 'eval'"),
            ({"action": "info"}, "graph is missing"),
            ({"action": "update", "path": "/etc"}, "no field 'path'"),
            ({"action": "update"}, "is there already"),
        ):
            with pytest.raises((arrow.ArrowInvalid, flight.FlightError), match=words):
                put(rank_0, then)
        with service.connect() as client:
            graph = client["g"]
            assert graph.info()["version"] == result["version"]
            with pytest.raises(InputError, match="no changes; give"):
                graph.update()
            with pytest.raises(TypeError, match="argument 'remove'"):
                graph.update(remove=([0], [1]))
            info = graph.connection.info({"graph": "g", "table": "edges"})
            (rank_1,) = info.endpoints[1].locations
        other = flight.connect(rank_1.uri.decode()), rank_0[1]
        with pytest.raises((arrow.ArrowInvalid, flight.FlightError), match="for rank"):
            put(other, {"action": "list"})
