"""Two runs that write one graph: the second one is told, and nothing is lost."""

import errno
import fcntl
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from killed_partition import killed_in
from processes import finish, python, start
from test_partition import made, random_edges

from mndmst.__main__ import main
from mndmst.host.errors import OutputError
from mndmst.io import owned_files
from mndmst.io.partitioner import partition as passes
from mndmst.io.partitioner.graph_lock import TEXT
from mndmst.io.partitioner.partition import build_shards
from mndmst.io.partitioner.partition_run import Options, check_output
from mndmst.io.partitioner.random_graphs import open_random
from mndmst.io.shards.graph_directory import Destination
from mndmst.io.shards.sharded_graph import open_graph

EDGES = random_edges(2000, 9000)


def contents(folder: Path) -> dict[str, bytes]:
    """Return the files below a folder, and what they hold."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


# Starts a partition, tells when it has the lock, and goes on when it is told to
HOLDER = """
import sys
from pathlib import Path
from mndmst.io.partitioner import partition as passes
true = passes.write_parts
def wait(builders, *given):
    if builders.rank == 0:
        print("has it", flush=True)
        sys.stdin.readline()
    true(builders, *given)
passes.write_parts = wait
from mndmst.__main__ import main
sys.exit(main(sys.argv[1:]))
"""


def holder(*arguments: object) -> subprocess.Popen:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, *map(str, arguments)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    assert process.stdout is not None
    while (line := process.stdout.readline()) and line != "has it\n":
        pass
    assert line, process.communicate()
    return process


@pytest.mark.parametrize("jobs", [1, 2])
def test_the_second_of_two_runs_is_told_so(
    tmp_path: Path,
    jobs: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(owned_files, "PATIENCE_SECONDS", 0.1)
    out = tmp_path / "graph"
    link = tmp_path / "link"
    link.symlink_to(out)
    given = ("gnm", "--n", 3000, "--m", 20000, "--parts", 3, "--jobs", jobs)
    first = holder("generate", given[0], out, *given[1:])
    np.save(tmp_path / "points.npy", np.random.default_rng(1).random((50, 2)))
    (tmp_path / "recipe.toml").write_text('[generate]\nkind = "gnm"\nn = 9\nm = 9\n')
    (tmp_path / "few.txt").write_text("0 1 2\n")
    commands = (
        ("partition", tmp_path / "few.txt", out, "--restart"),
        ("partition", tmp_path / "few.txt", link, "--overwrite"),
        ("partition", tmp_path / "recipe.toml", out, "--overwrite"),
        ("generate", "gnm", out, "--n", 9, "--m", 9, "--overwrite"),
        ("neighbours", tmp_path / "points.npy", out, "--overwrite"),
    )
    commands = commands if jobs == 1 else commands[:1]  # the same lock
    for words in commands:
        assert main(list(map(str, words))) == 1
        assert capsys.readouterr().err.strip().splitlines()[-1:] == [
            f"mndmst: error: {words[2]}: another run is writing a graph there. Wait "
            "for it, or give another directory."
        ]
    with pytest.raises(OutputError, match="another run is writing"):
        build_shards(open_random("gnm", n=9, m=9).read(), out, 1)
    out_text, err = first.communicate("\n", timeout=60)
    assert first.returncode == 0, (out_text, err)
    assert open_graph(out).num_vertices == 3000
    left = {"graph", "link", "points.npy", "recipe.toml", "few.txt"}
    assert {path.name for path in tmp_path.iterdir()} == left


def test_many_runs_at_once_make_one_graph(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(
        "".join(f"{i} {i * i % 997} 3\n" for i in range(997))
    )
    words = ("-m", "mndmst", "partition", tmp_path / "a.txt", tmp_path / "graph")
    started = [start(python(*words)) for _ in range(4)]
    runs = [finish(process, 60) for process in started]
    assert sorted(run.returncode for run in runs) == [0, 1, 1, 1], runs
    for run in runs:
        last = run.stderr.strip().splitlines()[-1:]
        told = last and ("another run is writing" in last[0] or "not empty" in last[0])
        assert run.returncode == 0 or told, run
    assert open_graph(tmp_path / "graph").num_vertices == 997
    assert {path.name for path in tmp_path.iterdir()} == {"a.txt", "graph"}


@pytest.mark.parametrize("content", [b"", b"mine", TEXT + b"and mine"])
def test_a_file_with_the_name_of_the_lock_is_not_changed(
    tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "graph.mndmst-lock"
    path.write_bytes(content)
    made(tmp_path / "graph", EDGES)
    assert path.read_bytes() == content


def test_a_lock_is_no_link_and_no_pipe(tmp_path: Path) -> None:
    path, target = tmp_path / "graph.mndmst-lock", tmp_path / "target"
    for make in (lambda: path.symlink_to(target), lambda: os.mkfifo(path), path.mkdir):
        make()
        with pytest.raises(OutputError, match="is not a regular file"):
            made(tmp_path / "graph", EDGES)
        path.rmdir() if path.is_dir() else path.unlink()
    assert not target.exists()


def test_a_lock_that_was_left_behind_is_taken_and_removed(tmp_path: Path) -> None:
    (tmp_path / "graph.mndmst-lock").write_bytes(TEXT)
    made(tmp_path / "graph", EDGES)
    assert [path.name for path in tmp_path.iterdir()] == ["graph"]


def test_a_worker_that_still_writes_keeps_others_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "graph.mndmst-lock"
    path.write_bytes(TEXT)
    monkeypatch.setattr(owned_files, "PATIENCE_SECONDS", 0.1)
    with path.open() as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        with pytest.raises(OutputError, match="another run is writing"):
            made(tmp_path / "graph", EDGES)
    made(tmp_path / "graph", EDGES)


def test_workers_end_with_the_process_that_started_them(tmp_path: Path) -> None:
    code = """
import os, sys, time
from mndmst.io.partitioner.forked_processes import run_forked
def task(comm):
    pids = comm.allgather(os.getpid())
    if comm.rank == 0:
        print(pids[1], flush=True)
    time.sleep(600)
run_forked(2, task)
"""
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    worker = Path(f"/proc/{int(process.stdout.readline())}/stat")
    process.kill()
    process.communicate()
    until = time.monotonic() + 30
    while worker.exists() and worker.read_text().rpartition(") ")[2][0] != "Z":
        assert time.monotonic() < until
        time.sleep(0.01)


def test_a_file_system_without_locks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def no_locks(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", no_locks)
    out = tmp_path / "graph"
    made(out, EDGES, quiet=False)
    assert "has no locks, so another run" in capfd.readouterr().err
    with killed_in("finish_graph"):
        made(out, EDGES, overwrite=True, restart=True, parts=2)
    before = contents(tmp_path)
    with pytest.raises(OutputError, match="killed, or is still at work"):
        made(out, EDGES, overwrite=True)
    assert contents(tmp_path) == before
    made(out, EDGES, overwrite=True, restart=True, parts=2)
    assert open_graph(out).num_parts == 2


@pytest.mark.parametrize(
    "words",
    [
        ("generate", "gnm", "{out}", "--n", 300, "--m", 900),
        ("partition", "{folder}/edges.txt", "{out}"),
        ("neighbours", "{folder}/points.npy", "{out}", "--k", 4),
    ],
)
def test_a_run_tells_of_its_own_graph_though_another_replaces_it_at_once(
    tmp_path: Path,
    words: tuple[object, ...],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The next run gets the lock as soon as it is free, and leaves a single part."""
    out, true = tmp_path / "graph", passes.locked
    np.save(tmp_path / "points.npy", np.random.default_rng(1).normal(size=(300, 2)))
    (tmp_path / "edges.txt").write_text("0 299 1\n" * 3)

    @contextmanager
    def followed(*given: Any) -> Iterator[bool]:
        with true(*given) as has_locks:
            yield has_locks
        monkeypatch.setattr(passes, "locked", true)
        build_shards(random_edges(20, 90), out, 1, overwrite=True)

    monkeypatch.setattr(passes, "locked", followed)
    given = [str(word).format(out=out, folder=tmp_path) for word in words]
    assert main([*given, "--parts", "3", "--overwrite", "--quiet"]) == 0
    found = capsys.readouterr().out
    assert found.startswith("RESULT n=300 ") and " parts=3 " in found
    assert open_graph(out).num_parts == 1


def test_a_graph_that_is_being_replaced_is_judged_by_the_run_with_the_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the removal of one index and the next, parts belong to no graph."""
    out = tmp_path / "graph"
    build_shards(EDGES, out, 3)
    options = Options(out, 3, overwrite=True)
    check_output(options)
    (out / "index.h5").rename(out / "index.h5.0123456789abcdef.old")
    with pytest.raises(OutputError, match="is in the way"):
        check_output(options)
    lock = tmp_path / "graph.mndmst-lock"
    lock.write_bytes(TEXT)
    check_output(options)
    lock.unlink()

    def begun(target: Destination, num_parts: int) -> None:
        lock.write_bytes(TEXT)
        raise OutputError("seen in between")

    monkeypatch.setattr(Destination, "check", begun)
    check_output(options)
