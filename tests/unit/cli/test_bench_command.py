"""The command `bench`: one small run, its table, and what it refuses."""

import json
import platform
import re
from pathlib import Path

import pytest

from mndmst.__main__ import main
from mndmst.report import contest
from mndmst.report.contest import ContestPlan, Result
from mndmst.report.peers import Answer


@pytest.fixture
def no_processes(monkeypatch: pytest.MonkeyPatch) -> dict[str, Answer]:
    """Let programs answer without processes; return the answers, to be changed."""
    answers = {"mndmst": Answer(3, 9), "scipy": Answer(3, 9)}

    def made(program: str, package: str, *_: object) -> Result:
        answer = answers.get(package, Answer(3, 9))
        return Result(program, "1", None, (1.0,), {"": answer})

    def solved(graph: Path, *_: object) -> tuple[Result, dict]:
        return made("mndmst solve", "mndmst"), {}

    monkeypatch.setattr(contest, "in_memory", made)
    monkeypatch.setattr(contest, "file_to_file", solved)
    monkeypatch.setattr(contest, "installed", lambda *_: ("scipy",))
    return answers


@pytest.fixture
def edges(tmp_path: Path) -> Path:
    path = tmp_path / "roads.csv"
    path.write_text("from,to,km\na,b,3\nb,c,4\na,c,5\nc,d,2\na,b,8\n")
    return path


@pytest.mark.usefixtures("no_processes")
def test_a_file_of_edges_is_partitioned_first(
    edges: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "bench.json"
    assert main(["bench", str(edges), "-o", str(output)]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("roads.csv: 4 vertices, 4 edges, weights int32; 3 edges")
    assert "source: from, target: to, weight: km" in err
    (graph,) = json.loads(output.read_text())["inputs"]
    programs = {row["program"]: row for row in graph["results"]}
    assert programs["mndmst solve"]["build_seconds"] > 0  # the partition
    assert main(["bench", str(edges), "-q", "-o", str(output)]) == 0  # once more


def test_another_forest_fails_the_command(
    no_processes: dict[str, Answer],
    edges: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    no_processes["scipy"] = Answer(3, 10)
    output = tmp_path / "bench.md"
    assert main(["bench", str(edges), "-q", "-o", str(output)]) == 1
    assert capsys.readouterr().err == "mndmst: scipy has another result than mndmst\n"
    assert "DIFFERS: 3 edges of weight 10" in output.read_text()


@pytest.mark.usefixtures("no_processes")
def test_without_a_graph_graphs_and_points_are_generated(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["bench", "-q", "--repeats", "1"]) == 0
    found = re.findall(
        r"^(.*): [\d,]+ (?:vertices|points),", capsys.readouterr().out, re.M
    )
    assert found == ["R-MAT", "streets", "blobs, tree", "blobs, clusters"]


@pytest.mark.usefixtures("no_processes")
def test_missing_packages_are_named(
    edges: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "mndmst.report.peers.installed", lambda _: ("scipy", "networkx")
    )
    assert main(["bench", str(edges), "-q"]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == "not installed: pip install networkit rustworkx igraph"


def test_what_cannot_be_timed_is_refused(
    edges: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", str(edges), "-o", str(tmp_path / "bench.txt")]) == 1
    assert "give a name in .md, .csv, .json" in capsys.readouterr().err
    assert main(["bench", str(tmp_path / "none.csv")]) == 1
    assert "none.csv: no such file" in capsys.readouterr().err
    edges.write_text("x,y\n1,2\n")
    assert main(["bench", str(edges)]) == 1
    error = capsys.readouterr().err
    assert "--columns" in error
    assert error.endswith("of mndmst partition; give bench its graph.\n")
    page = tmp_path / "page.md"
    page.write_text("mine")
    assert main(["bench", str(edges), "-o", str(page)]) == 1
    assert "--overwrite" in capsys.readouterr().err
    assert page.read_text() == "mine"


@pytest.mark.slow
def test_of_the_demo(mndmst, tmp_path: Path) -> None:
    output = tmp_path / "bench.json"
    done = mndmst(
        "bench", "partitions/demo", "-q", "--repeats", "2", "--threads", "1",
        "-o", output,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    record = json.loads(output.read_text())
    (graph,) = record["inputs"]
    assert {row["result"] for row in graph["results"]} == {"same forest"}
    assert [row["program"] for row in graph["results"]][:2] == [
        "mndmst, 1 thread",
        "mndmst solve, file to file",
    ]
    assert graph["results"][1]["forest_edges"] == 5094
    assert ContestPlan(**record["plan"]).turns == 2
    assert record["devices"] == ["cpu, 1 thread"]
    for text in (output.read_text(), done.stdout):
        assert platform.node() not in re.split(r"[^\w.-]+", text)
        assert str(Path.home()) + "/" not in text
        assert str(tmp_path) not in text
