"""The log of a service: a line for each request, and for the batches of its journal."""

import json
import re
from pathlib import Path

import pytest
from graphs import simple_path, write_graph
from processes import finish
from services import served

pytest.importorskip("pyarrow.flight", reason="the service needs pyarrow")

import mndmst

pytestmark = [pytest.mark.mpi, pytest.mark.slow]

LINE = re.compile(
    r"\d{4}-\d\d-\d\dT\S+ mndmst (\S+) graph=(\S+) status=(\S+) .*client=(\S+) "
    r"request=\w+(?: error=(.*))?"
)


def test_requests_without_the_token_have_one_line(tmp_path: Path) -> None:
    write_graph(tmp_path / "g", simple_path(30))
    with served(tmp_path, 1, tmp_path / "g") as service:
        url = json.loads(service.address.read_text())["url"]
        for _ in range(3):
            with pytest.raises(mndmst.ServiceError, match="token"):
                mndmst.connect(url, token="a token of another service").list()
        service.process.terminate()
        said = finish(service.process, 60).stderr
    refused = [line for line in said.splitlines() if " mndmst token " in line]
    assert len(refused) == 1
    assert "status=refused" in refused[0] and 'error="a wrong token"' in refused[0]


def test_each_request_has_one_line_and_a_start_its_batches(tmp_path: Path) -> None:
    write_graph(tmp_path / "g", simple_path(30))
    words = (tmp_path / "g", "--journal", tmp_path / "journal")
    said = []
    for start in range(2):
        with served(tmp_path, 1, *words) as service:
            with mndmst.connect(service.address) as client:
                graph = client["g"]  # asks for the list and for facts
                graph.insert([0, start], [9, 11], [3, 4])
                graph.insert([5], [20 + start], [3])
                with pytest.raises(mndmst.ServiceError, match="no edge"):
                    graph.delete([0], [29])
                assert graph.edges().num_rows == 32 + 2 * start
                assert graph.connected(0, 1)
                graph.delete([0], [9])
            service.process.terminate()
            said.append(finish(service.process, 60).stderr)
    assert "journal of g: 0 batches replayed, version 0" in said[0]
    assert "journal of g: 3 batches replayed, version 3" in said[1]
    for text in said:
        lines = [
            found.groups() for found in map(LINE.match, text.splitlines()) if found
        ]
        assert [line[:3] for line in lines] == [
            ("update", "g", "ok"),
            ("update", "g", "ok"),
            ("update", "g", "refused"),
            ("get", "g", "ok"),
            ("exchange", "g", "ok"),
            ("update", "g", "ok"),
        ]
        assert {line[3] for line in lines} == {"127.0.0.1"}
        assert "(0, 29)" in lines[2][4]
        assert [line[4] is None for line in lines] == [True, True, False, *[True] * 3]
