"""The bench of the papers: its data fits the recipes, and a row can be run."""

import tomllib
from pathlib import Path

import pytest
from processes import ROOT

from mndmst.bench import papers
from mndmst.host.errors import MndmstError

PAPERS = tomllib.loads((ROOT / "mndmst/bench/papers.toml").read_text())
ROWS = [
    (key, table, row)
    for key, paper in PAPERS.items()
    for table in paper["tables"]
    for row in table["rows"]
]


def test_five_papers() -> None:
    assert set(papers.names()) == set(PAPERS)
    assert len(PAPERS) == 5


@pytest.mark.parametrize(("key", "table", "row"), ROWS)
def test_every_row_has_its_recipe_and_its_figures(
    key: str, table: dict, row: dict
) -> None:
    recipe = tomllib.loads((ROOT / f"partitions/{row['graph']}.toml").read_text())
    assert len(row.get("figures", ())) == len(table["columns"])
    assert key in {printed["paper"] for printed in recipe["printed"]}
    assert row.get("like") or table["like"]
    arcs = recipe.get("counts", {}).get("arcs")
    if arcs and "USA-road" in row["graph"] and "edges" in row:
        assert row["edges"] == arcs // 2


def test_a_row_is_run_and_printed(tmp_path: Path) -> None:
    plan = papers.Plan(("kolganov-2016",), 8, 1, tmp_path)
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
    monkeypatch.setattr("mndmst.bench.ranks.shutil.which", lambda name: None)
    monkeypatch.setattr("mndmst.bench.ranks.sys.executable", str(tmp_path / "python"))
    with pytest.raises(MndmstError, match="there is no mpirun"):
        list(papers.run(papers.Plan(("mnd-mst-2018",), 6, 1, tmp_path)))
