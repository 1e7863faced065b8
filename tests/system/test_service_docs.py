"""The page of the service does what it says, from a shell and in Python."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from graphs import simple_path, write_graph
from oracle import kruskal
from processes import ROOT, finish, python, start
from services import served

pytest.importorskip("pyarrow.flight", reason="the service needs pyarrow")

import pyarrow.csv
import pyarrow.parquet

import mndmst
from mndmst.service.connection import ServiceError

pytestmark = pytest.mark.mpi


def script(text: str, folder: Path) -> str:
    """Run lines of a shell where `mndmst`, `python` and `mpirun` are ours."""
    binary = folder / "bin/mndmst"
    binary.parent.mkdir()
    binary.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m mndmst "$@"\n')
    binary.chmod(0o755)
    search = [binary.parent, Path(sys.executable).parent, os.environ["PATH"]]
    done = subprocess.run(
        ["bash", "-e", "-c", text], cwd=folder, capture_output=True, text=True,
        timeout=250, check=False, env=os.environ | {
            "PATH": os.pathsep.join(map(str, search)), "PYTHONPATH": str(ROOT)
        },
    )  # fmt: skip
    assert done.returncode == 0, f"{text}\n{done.stdout}{done.stderr}"
    return done.stdout


def test_the_page(tmp_path: Path) -> None:
    pytest.importorskip("kagen", reason="the page makes a graph with KaGen")
    page = (ROOT / "mndmst/docs/service.md").read_text()
    blocks = re.findall(r"^```console\n(.*?)^```", page, re.S | re.M)
    (program,) = re.findall(r"^```python\n(.*?)^```", page, re.S | re.M)
    lines = []
    for block in blocks:
        lines += [line.removeprefix("$ ") for line in block.splitlines()]
        lines.append("wait")
    out = script("\n".join([*lines, f"python - <<'END'\n{program}END"]), tmp_path)
    assert "city version=0" in out
    assert "RESULT n=20000" in out
    printed = re.findall(
        r"^The(?: last|se) commands print\n\n```\n(.*?)^```", page, re.S | re.M
    )
    assert len(printed) == 2
    assert all(text in out for text in printed)
    assert "0,2,1,2,0.4" in out and "vertex,label\n0,0\n1,0\n2,1\n" in out
    assert len(pyarrow.parquet.read_table(tmp_path / "light.parquet"))


def test_the_page_of_examples(tmp_path: Path) -> None:
    for package in ("scipy", "matplotlib"):
        pytest.importorskip(package, reason=f"the examples need {package}")
    page = (ROOT / "mndmst/docs/service-examples.md").read_text()
    blocks = re.findall(r"^```(console|python)\n(.*?)^```", page, re.S | re.M)
    assert [kind for kind, _ in blocks] == ["console", "python", "python"]
    lines = [
        block.removeprefix("$ ")
        if kind == "console"
        else f"python - <<'END'\n{block}END"
        for kind, block in blocks
    ]
    script("\n".join(lines), tmp_path)
    for picture in re.findall(r"^!\[.*\]\((.*)\)$", page, re.M):
        assert (tmp_path / picture).read_bytes().startswith(b"\x89PNG")


def test_the_command_client(tmp_path: Path) -> None:
    graph = simple_path(50)
    write_graph(tmp_path / "g", graph, 2)
    np.save(tmp_path / "w.npy", np.arange(49, 0, -1))
    np.save(tmp_path / "v.npy", np.arange(10))
    (tmp_path / "change.csv").write_text("src,dst,weight\n0,49,-5\n")
    (tmp_path / "gone.csv").write_text("src,dst\n0,49\n")

    with served(tmp_path, 2, tmp_path / "g", "-q") as service:

        def client(*words: object) -> str:
            command = ("-m", "mndmst", "client", service.address, *words)
            done = finish(start(python(*command)), 60)
            assert done.returncode == 0, done
            return done.stdout

        digest = kruskal(*graph).digest
        assert f"edges=49 trees=1 weight=1176 digest={digest}" in client("solve", "g")
        facts = client("info", "g")
        assert "num_vertices     50" in facts
        assert 'columns          {"weight": ' in facts
        assert "weight=1225 " in client("solve", "g", "--weights", tmp_path / "w.npy")
        client("store", "g", "down", tmp_path / "w.npy")
        assert "weight=2450 " in client("solve", "g", "--weights", "down * 2")
        assert "edges=9 " in client("solve", "g", "--vertices", tmp_path / "v.npy")
        assert "edges=7 " in client("solve", "g", "--below", "7")
        edges = tmp_path / "edges.csv"
        client("edges", "g", "-o", edges)
        assert pyarrow.csv.read_csv(edges)["dst"].to_pylist() == list(range(1, 50))
        insert = ("--insert", tmp_path / "change.csv")
        assert client("update", "g", *insert) == "version=1\n"
        found = client("solve", "g", "-o", tmp_path / "f.arrow")
        assert "edges=49 trees=1 weight=1123 " in found
        assert "weight=1123 " in client("solve", "g")
        without = ("--without", tmp_path / "gone.csv")
        assert "weight=1176 " in client("solve", "g", *without)
        assert 'mndmst_graph_version{graph="g"} 1' in client("metrics")
        wrong = ("-m", "mndmst", "client", service.address, "solve", "h")
        done = finish(start(python(*wrong)), 60)
        assert done.returncode == 1
        assert done.stderr.count("\n") == 1
        assert "no graph or points are named 'h'" in done.stderr
        for action in ("solve", "edges"):
            table = (action, "no", "-o", tmp_path / "f.h5")
            wrong = ("-m", "mndmst", "client", service.address, *table)
            done = finish(start(python(*wrong)), 60)
            assert done.returncode == 1
            assert "f.h5: give a name in .csv" in done.stderr
        client("shutdown")
        assert finish(service.process, 30).returncode == 0
        listed = ("-m", "mndmst", "client", service.address, "list")
        done = finish(start(python(*listed)), 60)
        assert "The service has ended" in done.stderr


def test_sessions(tmp_path: Path) -> None:
    graph = simple_path(50)
    write_graph(tmp_path / "g", graph, 2)
    for ranks in (1, 3):
        session = mndmst.Session(tmp_path / "g", ranks=ranks)
        with session as held:
            assert held.forest.digest == kruskal(*graph).digest
            folder = session._folder
            assert folder.exists()
        assert not folder.exists()
        with pytest.raises(ServiceError):
            held.info()
    with pytest.raises(ServiceError, match="has no index"), mndmst.Session(tmp_path):
        pass
    (tmp_path / "p.csv").write_text("x,y\n0,0\n0,1\n1,0\n9,9\n9,8\n8,9\n")
    rule = {"min_samples": 1, "min_cluster_size": 3}
    session = mndmst.Session(points=tmp_path / "p.csv", columns="y,x", **rule)
    with pytest.raises(ZeroDivisionError), session as held:
        assert held.coordinates == ("y", "x")
        assert held.labels()["cluster"].to_pylist() == [0, 0, 0, 1, 1, 1]
        raise ZeroDivisionError
    with pytest.raises(ServiceError):
        held.info()


def test_ranks_end_with_a_program_that_is_killed(tmp_path: Path) -> None:
    write_graph(tmp_path / "g", simple_path(50), 2)
    program = """if True:
        import os, signal, sys, mndmst
        session = mndmst.Session(sys.argv[1], ranks=2)
        session.start()
        print(session._process.pid, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    """
    run = finish(start(python("-c", program, tmp_path / "g")), 100)
    launcher = Path("/proc") / run.stdout.strip()
    assert run.returncode == -signal.SIGKILL
    deadline = time.monotonic() + 60
    while launcher.exists():
        assert time.monotonic() < deadline, "the ranks go on"
        time.sleep(0.1)
