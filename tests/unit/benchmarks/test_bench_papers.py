"""The bench of the papers: every row can be run and is printed."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from processes import ROOT

from mndmst.host.errors import MndmstError
from tests.benchmarks import papers
from tests.benchmarks.graphs import BenchGraph

pytestmark = pytest.mark.slow

PAPERS = tomllib.loads((ROOT / "tests/benchmarks/papers.toml").read_text())


@pytest.mark.parametrize("key", PAPERS)
def test_every_row_finds_its_recipe_and_a_graph_and_is_printed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, key: str
) -> None:
    """No file is at hand, so small graphs stand in; their times are made up."""

    def measure(
        graph: BenchGraph, ours: str, plan: papers.PapersPlan
    ) -> dict[str, Any]:
        assert graph.num_edges > 0
        name = "1 thread" if ours == "kernel" else "1 rank"
        return {"graph": graph.name, "edges": graph.num_edges, "ours": {name: 2.0}}

    monkeypatch.setattr(papers, "_measure", measure)
    rows = [row for table in PAPERS[key]["tables"] for row in table["rows"]]
    records = list(papers.run(papers.PapersPlan((key,), 6, 1, tmp_path)))
    for row, record in zip(rows, records, strict=True):
        text = papers.text(record)
        assert text.startswith(f"  {row['graph']}\n")
        assert "ours    a graph of kind" in text and "2 ms" in text
        printed = re.search(r"theirs  (?:.* edges: )?(.*)", text)
        figures = printed[1].split("; ") if printed else []
        assert len(figures) == len(row.get("figures", ()))


def test_a_row_is_run_and_printed(tmp_path: Path) -> None:
    plan = papers.PapersPlan(("kolganov-2016",), 8, 1, tmp_path)
    record, ssca2 = papers.run(plan)
    assert "a graph of kind ssca2, clique 45" in papers.text(ssca2)
    assert record["vertices"] == 256
    assert "1 thread" in record["ours"]
    text = papers.text(record)
    assert "CPU + GPU, theirs 1500 Medges/s" in text
    assert "a graph of kind rmat" in text
    header = papers.header(record["paper"], record["table"], True)
    assert "GTX Titan" in header


def test_speedups_are_printed_as_such() -> None:
    table = PAPERS["sousa-2014"]["tables"][0]
    ours = {"1 thread": 30.0, "2 threads": 20.0}
    record = {"table": table, "row": table["rows"][0], "graph": "USA-road-d.NE"}
    text = papers.text(record | {"edges": 3_000_000, "ours": ours})
    assert "2 threads 1.47 x" in text
    assert "the same graph, 3 M edges: 1 thread 30 ms = 100 Medges/s" in text
    assert "2 threads 1.50 x" in text


def test_without_mpirun(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)
    python = str(tmp_path / "python")
    monkeypatch.setattr("mndmst.host.launcher.sys.executable", python)
    with pytest.raises(MndmstError, match="no mpirun on PATH"):
        list(papers.run(papers.PapersPlan(("mnd-mst-2018",), 6, 1, tmp_path)))
