"""What may befall a run while it is running: launch/TROUBLESHOOTING.md has the table.

The job ends in seconds, with a status that is not 0, and says once what has happened
and what to do; there is nothing under the final name; a run that kept checkpoints can
be resumed.
"""

import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from forests import write
from graphs import Graph, random, write_graph
from oracle import kruskal
from processes import Run, finish, on_ranks, start

from mndmst.comm.mpi_library import remove_leftovers
from mndmst.io.results.forest_file import file_digest
from mndmst.solver.checkpoint.folder import LOCK

PROGRAM = Path(__file__).with_name("fault_program.py")
RANKS = 3
LIMIT = 150  # the first run of all compiles the kernels

pytestmark = pytest.mark.mpi

Solve = Callable[..., Run]


class Known(NamedTuple):
    """A graph, and the digest of its forest."""

    path: Path
    digest: str


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Known:
    edges: Graph = random(60_000, 250_000, seed=8)
    weight = random(1 << 30, 250_000, seed=9).src.astype("int32")
    graph = edges._replace(weight=weight)
    path = write_graph(tmp_path_factory.mktemp("faults") / "graph", graph, parts=4)
    return Known(path, kruskal(*graph).digest)


@pytest.fixture
def graph(original: Known, tmp_path: Path) -> Known:
    return original._replace(path=shutil.copytree(original.path, tmp_path / "graph"))


@pytest.fixture
def forest(tmp_path: Path) -> Path:
    (tmp_path / "out").mkdir()
    return tmp_path / "out" / "forest.h5"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system with room for 200 KiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", str(folder)]
    try:
        mounted = subprocess.run(command, capture_output=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no mount")
    if mounted.returncode:
        pytest.skip(f"no small disk: {mounted.stderr.decode().strip()}")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.fixture
def solve(mpirun: Callable[..., Run]) -> Solve:
    """Solve a graph while rank 1 suffers a fault: `solve(graph, forest, "kill", 7)`."""

    def run(
        graph: Known,
        forest: Path,
        fault: str = "count",
        event: object = 0,
        *options: object,
        ranks: int = RANKS,
    ) -> Run:
        command = ("solve", graph.path, "-o", forest, "--backend", "cpu", *options)
        return mpirun(ranks, PROGRAM, fault, 1, event, *command, timeout=LIMIT)

    return run


def assert_one_message(run: Run, *words: str, status: int = 1) -> None:
    """Check the status and that there is one message with the words in it."""
    assert run.returncode == status, run
    lines = [line for line in run.stderr.splitlines() if "mndmst: error:" in line]
    assert len(lines) == 1, run.stderr
    for word in words:
        assert word in lines[0]
    assert "Traceback" not in run.stderr
    assert "RESULT" not in run.stdout


@pytest.mark.parametrize(
    ("place", "merge"),
    [("ind_comp", "messages"), ("hook_rows", "auto"), ("write_forest", "auto")],
)
def test_a_rank_that_raises(
    graph: Known, forest: Path, solve: Solve, place: str, merge: str
) -> None:
    run = solve(graph, forest, "fail", place, "--merge", merge)
    assert run.returncode == 1, run
    assert_one_message(run, "rank 1 of 3 failed", "--debug", str(graph.path))
    assert not list(forest.parent.iterdir())


def test_a_rank_without_memory(tmp_path: Path, forest: Path, solve: Solve) -> None:
    many_rows = write_graph(tmp_path / "graph", random(6_000_000, 3000, 2), parts=2)
    run = solve(Known(many_rows, ""), forest, "starve", "begin_read")
    assert_one_message(run, "rank 1 of 3 ran out of memory", "Use more ranks")
    assert not list(forest.parent.iterdir())


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("lose_a_part", ["no such file"]),
        ("cut_a_part", ["damaged or cut short"]),
        ("replace_a_part", ["has changed"]),
        # A rank compares the times of the file, or the checksum of the bytes it reads.
        ("flip_a_byte", ["has changed", "damaged or cut short"]),
    ],
)
def test_a_part_that_goes_bad_meanwhile(
    graph: Known, forest: Path, solve: Solve, fault: str, words: list[str]
) -> None:
    run = solve(graph, forest, fault, "begin_read")
    assert_one_message(run, "part-00002.h5")
    assert any(text in run.stderr for text in words)
    assert not list(forest.parent.iterdir())


@pytest.mark.parametrize(
    ("signal", "place", "merge"),
    [
        ("term", "ind_comp", "messages"),
        ("usr1", "ind_comp", "ring"),
        ("term", "hook_rows", "auto"),
    ],
)
def test_a_signal_to_stop(
    graph: Known, tmp_path: Path, forest: Path, solve: Solve,
    signal: str, place: str, merge: str,
) -> None:  # fmt: skip
    kept = tmp_path / "kept"
    stopped = (signal, place, "--merge", merge, "--checkpoint", kept)
    run = solve(graph, forest, *stopped)
    assert run.returncode == 75, run
    assert run.stderr.count(f"mndmst: stopped by SIG{signal.upper()}") == 1
    assert f"--checkpoint {kept} --resume" in run.stderr
    assert not list(forest.parent.iterdir())
    again = ("--checkpoint", kept, "--resume")
    run = solve(graph, forest, "count", 0, *again, ranks=2)
    assert run.result["digest"] == graph.digest
    assert "resumed from" in run.stderr
    assert [path.name for path in kept.iterdir()] == [LOCK]


@pytest.mark.parametrize(
    ("signal", "place"),
    [
        ("term", "parse"),
        ("usr1", "Init_thread"),
        ("term", "watch"),
        ("term", "part_graph"),
    ],
)
def test_a_signal_to_stop_before_anything_is_computed(
    graph: Known, tmp_path: Path, forest: Path, solve: Solve, signal: str, place: str
) -> None:
    kept = tmp_path / "kept"
    run = solve(graph, forest, signal, place, "--checkpoint", kept)
    assert run.returncode == 75, run
    assert run.stderr.count(f"mndmst: stopped by SIG{signal.upper()}; nothing") == 1
    assert run.stderr.count(f"--checkpoint {kept}\n") == 1
    assert not list(forest.parent.iterdir())
    assert [path.name for path in kept.iterdir()] == [LOCK]


def test_a_rank_that_is_stopped_for_a_while(
    graph: Known, forest: Path, solve: Solve
) -> None:
    run = solve(graph, forest, "pause", "hook_rows")
    assert run.result["digest"] == graph.digest
    assert "mndmst: rank 1 on " in run.stderr
    assert "mndmst: rank 1 runs again" in run.stderr


def test_a_job_with_a_stopped_rank_can_be_ended(graph: Known, forest: Path) -> None:
    options = ("solve", graph.path, "-o", forest, "--backend", "cpu")
    job = start(on_ranks(RANKS, PROGRAM, "stop", 1, "hook_rows", *options))
    assert job.stderr is not None
    found = None
    for line in iter(job.stderr.readline, b""):
        found = re.search(rb"rank 1 on .*kill -CONT (\d+)", line)
        if found:
            break
    assert found
    stopped = Path("/proc", found[1].decode())
    assert stopped.exists()
    remove_leftovers(age=0)  # what the stopped job uses is left alone
    job.terminate()
    run = finish(job, LIMIT)
    assert run.returncode != 0
    assert "RESULT" not in run.stdout
    assert not stopped.exists()
    assert not list(forest.parent.iterdir())


def test_a_full_disk(graph: Known, small_disk: Path, solve: Solve) -> None:
    run = solve(graph, small_disk / "forest.h5")
    assert_one_message(run, str(small_disk), "No space left", "has room")
    assert not list(small_disk.iterdir())


def test_no_room_for_the_report(
    graph: Known, small_disk: Path, forest: Path, solve: Solve
) -> None:
    """Then there is no forest either."""
    (small_disk / "filling").write_bytes(bytes(196 << 10))
    report = small_disk / "run.json"
    run = solve(graph, forest, "count", 0, "--report", report)
    assert_one_message(run, str(report), "No space left", "has room")
    assert not list(forest.parent.iterdir())
    assert [path.name for path in small_disk.iterdir()] == ["filling"]


def test_clusters_on_a_full_disk(
    tmp_path: Path, small_disk: Path, mndmst: Callable[..., Run]
) -> None:
    n = 20_000
    ends = np.arange(n - 1)
    known = write(tmp_path / "f.h5", n, ends, ends + 1, ends.astype(np.int32))
    run = mndmst("cluster", known, "--count", 3, "-o", small_disk / "clusters.h5")
    assert_one_message(run, str(small_disk), "No space left", "has room")
    assert not list(small_disk.iterdir())


def test_no_room_for_a_checkpoint(
    graph: Known, small_disk: Path, forest: Path, solve: Solve
) -> None:
    saving = ("--checkpoint", small_disk, "--checkpoint-interval", 0)
    run = solve(graph, forest, "count", 0, *saving)
    assert run.result["digest"] == graph.digest
    assert "no checkpoint: " in run.stderr
    assert "No space left" in run.stderr
    run = solve(graph, forest.with_name("other"), "term", "hook_rows", *saving)
    assert_one_message(run, str(small_disk), "has room")
    assert [path.name for path in small_disk.iterdir()] == [LOCK]


def test_a_disk_for_reading_only(graph: Known, small_disk: Path, solve: Solve) -> None:
    remount = ["mount", "-o", "remount,ro", str(small_disk)]
    subprocess.run(remount, check=True)
    run = solve(graph, small_disk / "forest.h5")
    assert_one_message(run, str(small_disk), "Read-only", "may be written")


def test_two_runs_with_one_output(graph: Known, forest: Path) -> None:
    command = ("-m", "mndmst", "solve", graph.path, "-o", forest, "--backend", "cpu")
    jobs = [start(on_ranks(2, *command)) for _ in range(2)]
    for job in jobs:
        run = finish(job, LIMIT)
        assert run.result["digest"] == graph.digest
    assert file_digest(forest) == graph.digest
    assert list(forest.parent.iterdir()) == [forest]
