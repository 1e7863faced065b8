"""Every failure ends the whole job, says why once, and leaves no forest behind."""

import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import h5py
import numpy as np
import pytest
from graphs import Graph, random, write_arcs, write_graph
from oracle import kruskal
from processes import Run, finish, on_ranks, python, start

RANKS, PARTS = 3, 4
LIMIT = 150  # the first run of all compiles the kernels
PART = "part-00002.h5"
MEND = re.compile(r"again|give|check|copy|use |choose|install", re.IGNORECASE)

pytestmark = pytest.mark.mpi

Solve = Callable[..., Run]


@pytest.fixture
def graph() -> Graph:
    edges = random(2000, 9000, seed=3)
    return edges._replace(weight=np.random.default_rng(4).random(9000))


@pytest.fixture
def forest(tmp_path: Path) -> Path:
    (tmp_path / "out").mkdir()
    return tmp_path / "out" / "forest.h5"


@pytest.fixture
def solve(mpirun: Callable[..., Run]) -> Solve:
    def run(graph: Path, forest: Path, *options: str) -> Run:
        command = ("solve", graph, "-o", forest, "--backend", "cpu", *options)
        return mpirun(RANKS, "-m", "mndmst", *command, timeout=LIMIT)

    return run


def assert_refused(run: Run, place: object) -> None:
    """Check for status 1 and one message with the place and a mend."""
    assert run.returncode == 1, run
    messages = [line for line in run.stderr.splitlines() if "mndmst: error:" in line]
    assert len(messages) == 1, run.stderr
    assert str(place) in messages[0]
    assert MEND.search(messages[0]), messages[0]
    assert "Traceback" not in run.stderr
    assert "RESULT" not in run.stdout


def put_nan(directory: Path) -> None:
    with h5py.File(directory / PART, "r+") as part:
        part["graph/data"][-100] = np.nan


def put_id_out_of_range(directory: Path) -> None:
    with h5py.File(directory / PART, "r+") as part:
        part["graph/indices"][-1] = 2000  # the first that does not exist


def put_negative_id(directory: Path) -> None:
    with h5py.File(directory / PART, "r+") as part:
        part["graph/indices"][0] = -1


def put_ids_out_of_order(directory: Path) -> None:
    with h5py.File(directory / PART, "r+") as part:
        ids = part["graph/indices"]
        begin, end = part["graph/indptr"][7:9]
        ids[begin:end] = ids[begin:end][::-1]


def cut_short(directory: Path) -> None:
    os.truncate(directory / PART, (directory / PART).stat().st_size // 2)


def flip_a_byte(directory: Path) -> None:
    with h5py.File(directory / PART) as part:
        place = part["graph/data"].id.get_chunk_info(0).byte_offset + 1001
    with (directory / PART).open("r+b") as file:
        file.seek(place)
        byte = file.read(1)[0]
        file.seek(place)
        file.write(bytes([byte ^ 0x10]))


def lose_a_part(directory: Path) -> None:
    (directory / PART).unlink()


def swap_parts(directory: Path) -> None:
    (directory / PART).rename(directory / "other")
    (directory / "part-00001.h5").rename(directory / PART)
    (directory / "other").rename(directory / "part-00001.h5")


def lie_about_arcs(directory: Path) -> None:
    with h5py.File(directory / PART, "r+") as part:
        part.attrs["num_arcs"] = 1 << 60


def lie_about_parts(directory: Path) -> None:
    with h5py.File(directory / "index.h5", "r+") as index:
        index.attrs["num_parts"] = PARTS + 1


DAMAGES = {
    put_nan: PART,
    put_id_out_of_range: PART,
    put_negative_id: PART,
    put_ids_out_of_order: PART,
    cut_short: PART,
    flip_a_byte: PART,
    lose_a_part: PART,
    swap_parts: "part-0000",
    lie_about_arcs: PART,
    lie_about_parts: "index.h5",
}


def test_the_whole_graph_is_solved(
    tmp_path: Path, graph: Graph, forest: Path, solve: Solve
) -> None:
    run = solve(write_graph(tmp_path / "graph", graph, PARTS), forest)
    assert run.returncode == 0, run.stderr
    assert run.result["digest"] == kruskal(*graph).digest
    assert list(forest.parent.iterdir()) == [forest]


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_a_damaged_graph(
    tmp_path: Path, graph: Graph, forest: Path, solve: Solve, damage: Callable
) -> None:
    directory = write_graph(tmp_path / "graph", graph, PARTS)
    damage(directory)
    assert_refused(solve(directory, forest), DAMAGES[damage])
    assert not list(forest.parent.iterdir())


@pytest.mark.parametrize("field", ["dst", "weight"])
def test_an_arc_whose_reverse_differs(
    tmp_path: Path, graph: Graph, forest: Path, solve: Solve, field: str
) -> None:
    edges = Graph(2000, *(column[graph.src != graph.dst] for column in graph[1:]))
    arcs = Graph(
        edges.n,
        np.concatenate((edges.src, edges.dst)),
        np.concatenate((edges.dst, edges.src)),
        np.tile(edges.weight, 2),
    )
    getattr(arcs, field)[17] = {"dst": (arcs.dst[17] + 1) % 2000, "weight": 2.0}[field]
    directory = write_arcs(tmp_path / "graph", arcs, PARTS)
    assert_refused(solve(directory, forest), directory)
    assert not list(forest.parent.iterdir())


def test_no_graph(tmp_path: Path, forest: Path, solve: Solve) -> None:
    assert_refused(solve(tmp_path / "nowhere", forest), tmp_path / "nowhere")


def test_a_file_that_is_no_graph(tmp_path: Path, forest: Path, solve: Solve) -> None:
    (tmp_path / "graph.h5").write_text("a text")
    assert_refused(solve(tmp_path / "graph.h5", forest), tmp_path / "graph.h5")


def test_an_option_that_cannot_be(tmp_path: Path, forest: Path, solve: Solve) -> None:
    run = solve(tmp_path / "nowhere", forest, "--set", "group_size=1")
    assert_refused(run, "--set group_size=1: give a whole number, 2 or more")


@pytest.mark.parametrize("place", ["missing/forest.h5", "is-a-directory", "/proc/f.h5"])
def test_an_output_that_cannot_be_written(
    tmp_path: Path, graph: Graph, solve: Solve, place: str
) -> None:
    target = tmp_path / place
    (tmp_path / "is-a-directory").mkdir()
    directory = write_graph(tmp_path / "graph", graph, PARTS)
    assert_refused(solve(directory, target), target)
    assert {p.name for p in tmp_path.iterdir()} == {"graph", "is-a-directory"}
    assert not list((tmp_path / "is-a-directory").iterdir())


def test_a_launcher_of_another_mpi(tmp_path: Path, graph: Graph, forest: Path) -> None:
    directory = write_graph(tmp_path / "graph", graph, PARTS)
    command = python("-m", "mndmst", "solve", directory, "-o", forest)
    run = finish(start(command, PMI_SIZE="4"), LIMIT)
    assert_refused(run, "the launcher started 4 processes")
    assert not list(forest.parent.iterdir())


def descendants(process: int) -> Iterator[int]:
    """Yield the processes below a process."""
    for tasks in Path(f"/proc/{process}/task").glob("*/children"):
        for child in map(int, tasks.read_text().split()):
            yield child
            yield from descendants(child)


def words_of(process: int) -> list[str]:
    """Return the command line of a process, if it is still there."""
    try:
        return Path(f"/proc/{process}/cmdline").read_text().split("\0")
    except OSError:
        return []


def test_a_rank_that_is_killed(tmp_path: Path, graph: Graph, forest: Path) -> None:
    directory = write_graph(tmp_path / "graph", graph, PARTS)
    solve = ("-m", "mndmst", "solve", directory, "-o", forest, "--backend", "cpu")
    command = on_ranks(RANKS, *solve)
    # Without compiled kernels at hand the run lasts for seconds.
    job = start(command, MNDMST_CACHE_DIR=str(tmp_path / "cache"))
    deadline = time.monotonic() + LIMIT
    compilers: list[int] = []
    while not compilers and job.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
        below = {pid: words_of(pid) for pid in descendants(job.pid)}
        compilers = [pid for pid in below if "mndmst.native.precompile" in below[pid]]
    ranks = [
        pid
        for pid, words in below.items()
        if "solve" in words and words[0].rpartition("/")[2].startswith("python")
    ]
    if len(ranks) == RANKS:
        os.kill(ranks[1], signal.SIGKILL)
    run = finish(job, timeout=20)
    assert len(ranks) == RANKS, run
    assert run.returncode != 0
    assert not forest.exists()
    deadline = time.monotonic() + LIMIT  # they end after the kernel at hand
    while any(map(words_of, compilers)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(map(words_of, compilers))
