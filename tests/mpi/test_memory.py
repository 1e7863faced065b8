"""What `--memory` promises: a run stays below it, or says what would do."""

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

pytestmark = pytest.mark.mpi

RANKS = 4
EDGES = 2_000_000
# Of an edge between components, three times over while leaders merge.
PLAIN_MERGE = 3 * 20 * EDGES


class Case(NamedTuple):
    """A graph without locality, its digest, and the least limit that is accepted."""

    path: Path
    digest: str
    limit: int
    refused: Run


@pytest.fixture(scope="module")
def case(mpirun: Callable, tmp_path_factory: pytest.TempPathFactory) -> Case:
    """Return a graph and what a run with hardly any memory says about it."""
    graph = graphs.random(1 << 16, EDGES, 1)
    weight = np.random.default_rng(1).integers(0, 1 << 30, EDGES)
    graph = graph._replace(weight=weight.astype(np.int32))
    path = graphs.write_graph(tmp_path_factory.mktemp("memory") / "graph", graph, RANKS)
    solve(mpirun, path)  # a rank that compiles kernels holds more
    refused = solve(mpirun, path, "--memory", "1MiB")
    enough = re.search(r"(\d+)MiB would do", refused.stderr)
    assert enough is not None, refused.stderr
    limit = int(enough[1]) << 20
    return Case(path, kruskal(*graph).digest, limit, refused)


def solve(mpirun: Callable, path: Path, *options: object) -> Run:
    return mpirun(
        RANKS, "-m", "mndmst", "solve", path, "-o", path.parent / "forest.h5",
        "--report", path.parent / "report.json", "--backend", "cpu", *options,
    )  # fmt: skip


def test_too_little_is_refused_once(case: Case) -> None:
    assert case.refused.returncode == 1
    assert case.refused.stderr.count("mndmst: error") == 1
    assert not (case.path.parent / "forest.h5.tmp").exists()


def test_all_edges_at_once_need_more(mpirun: Callable, case: Case) -> None:
    at_once = ("--merge", "ring", "--light-edges", 0)
    refused = solve(mpirun, case.path, "--memory", case.limit, *at_once)
    enough = re.search(r"(\d+)MiB would do", refused.stderr)
    assert enough is not None, refused.stderr
    limit = int(enough[1]) << 20
    run = solve(mpirun, case.path, "--memory", limit, *at_once)
    assert run.result["digest"] == case.digest
    report = json.loads((case.path.parent / "report.json").read_text())
    assert max(rank["peak_bytes"] for rank in report["ranks"]) <= limit


@pytest.mark.parametrize("merge", ["auto", "ring"])
def test_a_run_stays_below_the_least_limit(
    mpirun: Callable, case: Case, merge: str
) -> None:
    run = solve(mpirun, case.path, "--memory", case.limit, "--merge", merge)
    assert run.returncode == 0, run.stderr
    assert run.result["digest"] == case.digest
    report = json.loads((case.path.parent / "report.json").read_text())
    for rank in report["ranks"]:
        assert rank["peak_bytes"] <= case.limit
        (read,) = [stage for stage in rank["stages"] if stage["stage"] == "read"]
        assert case.limit <= read["resident_bytes"] + PLAIN_MERGE // 4
