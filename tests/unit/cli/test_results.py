"""What commands say of their results, and what they refuse before they begin."""

import gzip
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import graphs
import numpy as np
import pytest
from processes import environment, finish, python, start, without_first_uses

from mndmst.io.formats import read_edges, write_edges
from mndmst.io.shards.sharded_graph import open_graph

pytestmark = pytest.mark.slow

EDGES = b"0 1 5\n1 2 3\n2 0 9\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, mndmst: Callable) -> Path:
    """A directory with a graph, its forest, edges and points."""
    folder = tmp_path_factory.mktemp("results")
    graphs.write_graph(folder / "roads", graphs.path(9))
    (folder / "edges.txt").write_bytes(EDGES)
    np.save(folder / "points.npy", np.random.default_rng(1).random((50, 2)))
    made = ("solve", folder / "roads", "-o", folder / "f.h5", "-q")
    assert mndmst(*made).returncode == 0
    return folder


@pytest.mark.parametrize(
    ("command", "what"),
    [
        (("solve", "roads"), "the forest is"),
        (("solve", "roads", "--report", "run.json"), "the forest is"),
        (("components", "roads"), "the labels are"),
        (("cluster", "f.h5", "--count", "2"), "the clusters are"),
    ],
)
def test_what_is_not_kept_is_said(folder, mndmst, tmp_path, command, what):
    name, path, *rest = command
    rest = [tmp_path / word if "." in word else word for word in rest]
    said = f"mndmst: {what} not kept; name a file with -o"
    run = mndmst(name, folder / path, *rest)
    assert run.returncode == 0 and run.stderr.endswith(f"{said}\n")
    assert run.stdout.splitlines()[-1].startswith("RESULT ")
    assert said not in mndmst(name, folder / path, *rest, "-q").stderr
    kept = mndmst(name, folder / path, *rest, "-o", tmp_path / "out.h5")
    assert kept.returncode == 0 and "not kept" not in kept.stderr


@pytest.mark.parametrize("option", ["--plot", "--forest", "-o"])
def test_one_file_of_a_result_is_enough(folder, mndmst, tmp_path, option):
    pytest.importorskip("matplotlib")
    name = tmp_path / {"--plot": "a.png"}.get(option, "a.h5")
    run = mndmst("hdbscan", folder / "points.npy", option, name)
    assert run.returncode == 0 and "not kept" not in run.stderr
    saved = mndmst("hdbscan", "rings", "--count", 50, "--save", tmp_path / "p.npy")
    assert saved.returncode == 0 and "the result is not kept" in saved.stderr


@pytest.mark.parametrize(
    "command",
    [
        "solve {0}/roads",
        "components {0}/roads",
        "cluster {0}/f.h5 --count 2",
        "partition {0}/edges.txt {1}/graph",
        "generate gnm {1}/graph --n 9 --m 9",
        "neighbours {0}/points.npy {1}/graph --k 3",
    ],
)
def test_quiet_commands_print_the_result_alone(folder, mndmst, tmp_path, command):
    words = command.format(folder, tmp_path).split()
    quiet = mndmst(*words, "-q")
    assert quiet.returncode == 0 and quiet.stderr == ""
    assert quiet.stdout.startswith("RESULT n=") and quiet.stdout.count("\n") == 1
    if words[0] in ("partition", "generate", "neighbours"):
        words.append("--overwrite")
    assert mndmst(*words).stdout.count("\n") > 1


def partition(data: bytes, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mndmst", "partition", "-", *map(str, arguments)]
    done = subprocess.run(
        command, input=data, env=environment(), capture_output=True, check=False,
        timeout=120,
    )  # fmt: skip
    return subprocess.CompletedProcess(
        command, done.returncode, done.stdout.decode(), done.stderr.decode()
    )


def test_partition_reads_standard_input(folder, mndmst, tmp_path):
    plain, packed, file = (tmp_path / name for name in ("plain", "packed", "file"))
    assert partition(EDGES, plain).returncode == 0
    assert partition(gzip.compress(EDGES), packed, "--jobs", 2).returncode == 0
    assert mndmst("partition", folder / "edges.txt", file).returncode == 0
    assert open_graph(plain).uuid == open_graph(packed).uuid == open_graph(file).uuid
    metis = partition(b"2 1\n2\n1\n", tmp_path / "metis", "--format", "metis")
    assert metis.returncode == 0, metis.stderr
    assert open_graph(tmp_path / "metis").num_arcs == 2
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"plain", "packed", "file", "metis"}


def test_mistakes_in_standard_input_name_it(tmp_path):
    run = partition(b"0 1 5\n1 2 x\n", tmp_path / "graph")
    assert run.returncode == 1
    assert "mndmst: error: standard input: line 2 " in run.stderr
    assert str(tmp_path / "graph.") not in run.stderr
    run = partition(EDGES, tmp_path / "graph", "--restart")
    assert run.returncode == 1 and "cannot be used with --restart" in run.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_a_copy_of_standard_input_is_swept(tmp_path, end):
    """The next run removes the copy of a killed run, but not that of a running one."""
    out, work = tmp_path / "graph", tmp_path / "graph.input-work"
    command = [sys.executable, "-m", "mndmst", "partition", "-", str(out)]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(command, env=environment(), **pipes) as run:
        run.stdin.write(b"0 1 5\n" * 400_000)  # more than it copies at a time
        run.stdin.flush()
        deadline = time.monotonic() + 60
        while not list(work.glob("input.*")) and time.monotonic() < deadline:
            time.sleep(0.02)
        other = partition(EDGES, out)
        assert other.returncode == 1
        assert f"{out}: another run is writing a graph there" in other.stderr
        run.send_signal(end)
        run.communicate(timeout=60)
    assert list(work.glob("input.*"))
    (work / "notes").write_text("theirs")
    other = partition(EDGES, out)
    assert other.returncode == 1
    assert "holds files that mndmst has not made" in other.stderr
    assert [path.name for path in work.iterdir()] == ["notes"]
    (work / "notes").unlink()
    assert partition(EDGES, out).returncode == 0
    assert [path.name for path in tmp_path.iterdir()] == ["graph"]


@pytest.mark.parametrize("before", ["nothing", "a folder"])
def test_a_partition_that_fails_leaves_no_new_folder(tmp_path, mndmst, before):
    out = tmp_path / "some/where/graph"
    if before == "a folder":
        out.mkdir(parents=True)
    (tmp_path / "edges.txt").write_text("0 1 5\n1 2 nan\n")
    for command in (
        ("partition", tmp_path / "edges.txt", out),
        ("partition", "-", out),
    ):
        run = partition(b"0 2 nan\n", out) if "-" in command else mndmst(*command)
        assert run.returncode == 1
        assert out.exists() == (before == "a folder")
        assert (tmp_path / "some").exists() == out.exists()


@pytest.mark.mpi
def test_ranks_do_not_share_standard_input(mpirun, tmp_path):
    run = mpirun(2, "-m", "mndmst", "partition", "-", tmp_path / "graph")
    assert run.returncode == 1
    assert run.stderr.count("only one rank can read it") == 1
    assert not (tmp_path / "graph").exists()


def test_csv_is_read_by_pandas_as_it_stands(folder, mndmst, tmp_path):
    pandas = pytest.importorskip("pandas")
    table, graph = tmp_path / "f.csv", tmp_path / "graph"
    assert mndmst("convert", folder / "f.h5", table).returncode == 0
    frame = pandas.read_csv(table)
    forest = read_edges(folder / "f.h5")
    assert list(frame.columns) == ["source", "target", "weight"]
    assert frame["source"].tolist() == forest.src.tolist()
    assert frame["target"].tolist() == forest.dst.tolist()
    assert frame["weight"].tolist() == forest.weight.tolist()
    assert mndmst("partition", table, graph).returncode == 0
    assert open_graph(graph).num_vertices == 9


def test_csv_that_loses_the_number_of_vertices_says_so(mndmst, tmp_path):
    (tmp_path / "a.txt").write_text("# 7 vertices\n0 1 5\n")
    run = mndmst("convert", tmp_path / "a.txt", tmp_path / "a.csv")
    assert "partition --num-vertices 7" in run.stderr
    (tmp_path / "b.txt").write_text("# 2 vertices\n0 1 5\n")
    run = mndmst("convert", tmp_path / "b.txt", tmp_path / "b.csv")
    assert without_first_uses(run.stderr) == ""


def test_csv_without_edges_is_read_again(tmp_path):
    (tmp_path / "a.txt").write_text("# 0 vertices\n")
    write_edges(read_edges(tmp_path / "a.txt"), tmp_path / "a.csv")
    assert len(read_edges(tmp_path / "a.csv")) == 0


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("partition {}/none.txt {}/taken", "taken: is not empty"),
        ("partition - {}/taken", "taken: is not empty"),
        ("generate gnm {}/taken", "taken: is not empty"),
        ("neighbours {}/none.npy {}/taken --save {}/new.npy", "taken: is not empty"),
        ("neighbours {}/none.npy {}/file --save {}/new.npy", "file: is a file"),
        (
            "neighbours {}/none.npy {}/empty --save {}/empty/new.npy",
            "which holds only the graph",
        ),
        ("convert {}/none.txt {}/out.xyz", "out.xyz: cannot write .xyz"),
        ("convert {}/none.txt {}/away/out.csv", "cannot be written (No such"),
        ("report {}/none.json -o {}/out.doc", "out.doc: give a name in .html"),
        (
            "cluster {}/none.h5 --count 2 -o {}/away/out.h5",
            "cannot be written (No such",
        ),
        ("solve {}/none -o {}/away/out.h5", "away/out.h5: cannot be written"),
        ("solve {}/none -o {}/taken", "taken: is a directory"),
        (
            "solve {}/none -o {}/f.json",
            "f.json: give a name in .h5, .hdf5, .csv, .tsv; mndmst convert",
        ),
        (
            "solve {}/none -o {}/f.csv.gz",
            "f.csv.gz: give a name in .h5, .hdf5, .csv, .tsv; mndmst",
        ),
        ("solve {}/none --report {}/run.html", "run.html: give a name in .json"),
        ("components {}/none -o {}/x.npy", "x.npy: give a name in .h5, .hdf5"),
        (
            "update {0}/a {0}/b {0}/c -o {0}/f.mtx",
            "f.mtx: give a name in .h5, .hdf5, .csv, .tsv; mndmst",
        ),
        (
            "cluster {}/none.h5 --count 2 -o {}/c.npy",
            "c.npy: give a name in .h5, .hdf5, .csv",
        ),
        (
            "linkage {}/none.npy -o {}/l.npy",
            "l.npy: give a name in .h5, .hdf5, .csv",
        ),
        (
            "linkage {}/none.npy --forest {}/f.png",
            "f.png: give a name in .h5, .hdf5, .csv, .tsv; mndmst",
        ),
        (
            "hdbscan {}/none.npy -o {}/c.json",
            "c.json: give a name in .h5, .hdf5, .csv",
        ),
        ("hdbscan rings --save {}/points.csv", "points.csv: give a name in .npy"),
        ("hdbscan rings --plot {}/points.csv", "points.csv: give a name in .png"),
        ("neighbours rings {}/new --save {}/p.csv", "p.csv: give a name in .npy"),
        ("report {}/none.json --trace {}/t.html", "t.html: give a name in .json"),
    ],
)
def test_an_output_in_the_way_is_refused_before_any_work(
    mndmst, tmp_path, command, why
):
    """Before inputs are looked for: there are none."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken/notes.txt").write_text("of somebody else")
    (tmp_path / "file").write_text("of somebody else")
    run = mndmst(*command.format(*[tmp_path] * 3).split())
    assert run.returncode == 1
    assert why in run.stderr and run.stderr.count("error:") == 1
    assert run.stderr.splitlines()[-1].startswith("mndmst: error: ")
    names = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")}
    assert names == {"empty", "taken", "taken/notes.txt", "file"}


@pytest.mark.parametrize("more", [(), ("--overwrite",)])
def test_two_jobs_with_one_folder_leave_one_whole_graph(
    tmp_path: Path, mndmst: Callable, more: tuple[str, ...]
) -> None:
    """The other is refused, or what it made has been replaced as a whole."""
    given = "-m", "mndmst", "generate", "gnm", tmp_path / "graph", "-q", *more
    small = start(python(*given, "--n", 2000, "--m", 9000))
    large = start(python(*given, "--n", 3000, "--m", 9000, "--parts", 3))
    runs = [finish(process, 60) for process in (small, large)]
    refused = [run for run in runs if run.returncode]
    assert len(refused) < 2, runs
    told = (
        "another run is writing a graph there" if more else "is not empty|another run"
    )
    assert all(re.search(told, run.stderr) for run in refused), runs
    files = sorted(path.name for path in (tmp_path / "graph").iterdir())
    graph = open_graph(tmp_path / "graph")
    parts = {2000: 1, 3000: 3}[graph.num_vertices]
    assert files == ["index.h5", *(f"part-{i:05d}.h5" for i in range(parts))]
    assert mndmst("solve", tmp_path / "graph", "-q").returncode == 0
