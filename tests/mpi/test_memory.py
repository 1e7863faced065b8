"""What `--memory` promises: a run stays below it, or says what suffices."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import graphs
import numpy as np
import pytest
from oracle import kruskal
from processes import Run

pytestmark = [pytest.mark.mpi, pytest.mark.slow]

RANKS = 4
EDGES = 2_000_000
# Vertices of a graph most of which have no edge
ISOLATED = 2_000_000
# Of an edge between components, three times over while leaders merge.
PLAIN_MERGE = 3 * 20 * EDGES
AT_ONCE = ("--merge", "ring", "--light-edges", 0)


class Case(NamedTuple):
    """A graph without locality, its digest, and the least limit that holds its rows.

    `base` is what a rank holds before it reads.
    """

    path: Path
    digest: str
    base: int
    limit: int
    refused: Run


def weighted(graph: graphs.Graph) -> graphs.Graph:
    """Return a graph with random weights, hardly any of them the same."""
    weight = np.random.default_rng(1).integers(0, 1 << 30, len(graph.src))
    return graph._replace(weight=weight.astype(np.int32))


def belt(n: int, reach: int) -> graphs.Graph:
    """Return a graph where vertices know those whose numbers are close."""
    src = np.repeat(np.arange(n - reach), reach)
    dst = src + np.tile(np.arange(1, reach + 1), n - reach)
    return weighted(graphs.Graph(n, src, dst, src))


@pytest.fixture(scope="module")
def case(mpirun: Callable, tmp_path_factory: pytest.TempPathFactory) -> Case:
    """Return a graph and what a run with hardly any memory says about it."""
    graph = weighted(graphs.random(1 << 16, EDGES, 1))
    path = graphs.write_graph(tmp_path_factory.mktemp("memory") / "graph", graph, RANKS)
    solve(mpirun, path)  # a rank that compiles kernels holds more
    solve(mpirun, path, "--memory", "8GiB")  # the kernels come before the rows
    base = max(read["resident_bytes"] for read, _ in ranks(path))
    refused = solve(mpirun, path, "--memory", "1MiB")
    digest = kruskal(*graph).digest
    return Case(path, digest, base, least(refused), refused)


def solve(mpirun: Callable, path: Path, *options: object, count: int = RANKS) -> Run:
    return mpirun(
        count, "-m", "mndmst", "solve", path, "-o", path.parent / "forest.h5",
        "--report", path.parent / "report.json", "--backend", "cpu", *options,
    )  # fmt: skip


def least(refused: Run) -> int:
    """Return the limit that an error names."""
    enough = re.search(r"(\d+)MiB suffices", refused.stderr)
    assert enough is not None, refused.stderr
    return int(enough[1]) << 20


def ranks(path: Path) -> list[tuple[dict, int]]:
    """Return of each rank of the last run how it began to read, and its peak."""
    report = json.loads((path.parent / "report.json").read_text())
    return [
        (next(s for s in rank["stages"] if s["stage"] == "read"), rank["peak_bytes"])
        for rank in report["ranks"]
    ]


def test_too_little_is_refused_once(case: Case) -> None:
    assert case.refused.returncode == 1
    assert case.refused.stderr.count("mndmst: error") == 1
    assert not (case.path.parent / "forest.h5.tmp").exists()


def test_all_edges_at_once_in_memory_need_more(mpirun: Callable, case: Case) -> None:
    limit = least(solve(mpirun, case.path, "--memory", "1MiB", *AT_ONCE))
    assert limit > case.limit
    run = solve(mpirun, case.path, "--memory", limit, *AT_ONCE)
    assert run.result["digest"] == case.digest
    assert max(peak for _, peak in ranks(case.path)) <= limit


@pytest.mark.parametrize("count", [1, 2, RANKS])
@pytest.mark.parametrize("edges", [2, ISOLATED // 10])
@pytest.mark.parametrize("options", [(), ("--merge", "messages"), AT_ONCE])
def test_a_limit_that_is_named_suffices_for_isolated_vertices(
    mpirun: Callable,
    tmp_path: Path,
    count: int,
    edges: int,
    options: tuple[object, ...],
) -> None:
    graph = weighted(graphs.random(ISOLATED, edges, 3))
    path = graphs.write_graph(tmp_path / "graph", graph, RANKS)
    limit = least(solve(mpirun, path, "--memory", "1MiB", *options, count=count))
    run = solve(mpirun, path, "--memory", limit, *options, count=count)
    assert run.result["digest"] == kruskal(*graph).digest
    assert max(peak for _, peak in ranks(path)) <= limit


@pytest.mark.parametrize("options", [(), ("--merge", "ring"), AT_ONCE])
def test_a_run_stays_below_the_least_limit(
    mpirun: Callable, case: Case, options: tuple
) -> None:
    run = solve(mpirun, case.path, "--memory", case.limit, *options)
    assert run.returncode == 0, run.stderr
    assert run.result["digest"] == case.digest
    for read, peak in ranks(case.path):
        assert peak <= case.limit
        assert case.limit <= read["resident_bytes"] + PLAIN_MERGE // 4


def test_rows_that_do_not_fit_stay_in_their_file(
    mpirun: Callable, case: Case, tmp_path: Path
) -> None:
    graph = belt(1 << 17, 40)
    path = graphs.write_graph(tmp_path / "graph", graph)
    digest = solve(mpirun, path, count=2).result["digest"]
    row_bytes = 2 * len(graph.src) * 8 // 2
    limit = case.base + (24 << 20)  # two ranks hold less before they read than four
    run = solve(mpirun, path, "--memory", limit, count=2)
    assert run.returncode == 0, run.stderr
    assert run.result["digest"] == digest
    for read, peak in ranks(path):
        assert peak <= limit < read["resident_bytes"] + row_bytes


def test_components_of_rows_that_pass_in_pieces(
    mpirun: Callable, case: Case, tmp_path: Path
) -> None:
    near = belt(1 << 15, 40)
    graph = graphs.Graph(1 << 16, *(np.tile(end, 2) for end in near[1:]))
    graph.src[len(near.src) :] += near.n
    graph.dst[len(near.src) :] += near.n
    path = graphs.write_graph(tmp_path / "graph", graph)
    command = ("-m", "mndmst", "components", path, "--backend", "cpu", "-q", "--report")
    record = tmp_path / "report.json"
    whole = mpirun(2, *command, record)  # a rank that compiles kernels holds more
    run = mpirun(2, *command, record, "--memory", case.base + (16 << 20))
    assert run.returncode == 0, run.stderr
    assert (run.result["components"], run.result["largest"]) == ("2", str(near.n))
    assert run.result["digest"] == whole.result["digest"]


def test_what_waits_at_too_many_borders_is_refused(
    mpirun: Callable, case: Case, tmp_path: Path
) -> None:
    graph = weighted(graphs.random(1 << 19, 1 << 20, 2))
    path = graphs.write_graph(tmp_path / "graph", graph, RANKS)
    limit = case.base + (24 << 20)
    run = solve(mpirun, path, "--memory", limit)
    assert run.returncode == 1
    assert run.stderr.count("mndmst: error") == 1
    assert "pass in pieces" in run.stderr
    assert least(run) > limit
