"""`python -m tests.benchmarks gpu` and `bench devices` on small graphs."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from processes import ROOT

from mndmst.backends.cuda import unavailable
from tests.benchmarks.__main__ import main

reason = unavailable()
DEMO = ROOT / "partitions" / "demo"


@pytest.mark.gpu
@pytest.mark.skipif(reason is not None, reason=str(reason))
def test_every_kind(tmp_path: Path) -> None:
    file = tmp_path / "bench.json"
    graphs = "rmat12,gnm10,road12"
    assert main(["gpu", "--graphs", graphs, "--json", str(file)]) == 0
    records = json.loads(file.read_text())["graphs"]
    assert [r["graph"] for r in records] == [g for g in graphs.split(",") for _ in "ab"]
    for record in records:
        assert record["agrees"]
        assert 0 < record["edges"] < record["n"]
        assert record["ms"] > 0 < record["read_ms"]
        assert "run_rounds" in dict(record["stages"])


@pytest.mark.gpu
@pytest.mark.skipif(reason is not None, reason=str(reason))
@pytest.mark.parametrize("kind", ("rmat", "gnm", "road"))
def test_graphs_are_simple_and_symmetric(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.benchmarks.kernels import gpu as graphs

    monkeypatch.setattr(graphs, "BLOCK_ARCS", 1 << 10)
    rows = graphs.build(graphs.KINDS[kind](10, 8), np.dtype(np.uint64))
    indptr, heads, keys = (a.get() for a in (rows.indptr, rows.ends, rows.keys))
    tails = np.repeat(np.arange(rows.num_rows), np.diff(indptr))
    assert (tails != heads).all()
    arcs = tails << 32 | heads
    assert (arcs[1:] > arcs[:-1]).all()
    twins = heads.astype(np.int64) << 32 | tails
    order = np.argsort(twins)
    np.testing.assert_array_equal(twins[order], arcs)
    np.testing.assert_array_equal(keys[order], keys)


@pytest.mark.gpu
@pytest.mark.skipif(reason is not None, reason=str(reason))
def test_the_graph_itself_is_verified(capsys: pytest.CaptureFixture) -> None:
    graph = ["--graphs", "rmat12x4", "--keys", "uint64", "--verify"]
    assert main(["gpu", *graph, "--repeat", "1"]) == 0
    (m,) = re.findall(r" m=(\d+)", text := capsys.readouterr().out)
    assert f"forest of {int(m):,} edges: the CPU worker's" in text


@pytest.mark.gpu
@pytest.mark.skipif(reason is not None, reason=str(reason))
def test_devices_take_turns(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    file = tmp_path / "bench.json"
    command = ["devices", str(DEMO), "--arrangements", "gpu,both"]
    assert main([*command, "--repeat", "1", "--json", str(file)]) == 0
    runs = json.loads(file.read_text())["runs"]
    assert [run["arrangement"] for run in runs] == ["gpu", "both"]
    work = [e["work"] for e in runs[1]["ranks"][0]["stages"] if "work" in e]
    assert {entry["device"] for entry in work[0]} == {"cuda", "cpu"}
    assert capsys.readouterr().out.startswith("seconds           gpu     both")


def test_a_device_alone(capsys: pytest.CaptureFixture) -> None:
    command = ["devices", str(DEMO), "--arrangements", "cpu"]
    assert main([*command, "--repeat", "1"]) == 0
    assert "indComp" in capsys.readouterr().out


def test_an_arrangement_that_does_not_exist(capsys: pytest.CaptureFixture) -> None:
    assert main(["devices", "x", "--arrangements", "fpga"]) == 1
    assert "--arrangements fpga: unknown here; give some of" in capsys.readouterr().err


def test_a_graph_that_does_not_exist(capsys: pytest.CaptureFixture) -> None:
    assert main(["gpu", "--graphs", "torus3"]) == 1
    assert "there is no graph torus3; write a kind" in capsys.readouterr().err
