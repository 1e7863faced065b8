"""`mndmst bench gpu` on small graphs."""

import json
from pathlib import Path

import pytest

from mndmst.__main__ import main
from mndmst.backends.cuda import unavailable

reason = unavailable()


@pytest.mark.gpu
@pytest.mark.skipif(reason is not None, reason=str(reason))
def test_every_kind(tmp_path: Path) -> None:
    file = tmp_path / "bench.json"
    graphs = "rmat12,gnm10,road12"
    assert main(["bench", "gpu", "--graphs", graphs, "--json", str(file)]) == 0
    records = json.loads(file.read_text())["graphs"]
    assert [r["graph"] for r in records] == [g for g in graphs.split(",") for _ in "ab"]
    for record in records:
        assert record["agrees"]
        assert 0 < record["edges"] < record["n"]
        assert record["ms"] > 0 < record["read_ms"]
        assert "run_rounds" in dict(record["stages"])


def test_a_graph_that_does_not_exist(capsys: pytest.CaptureFixture) -> None:
    assert main(["bench", "gpu", "--graphs", "torus3"]) == 1
    assert "no graph is called torus3" in capsys.readouterr().err
