"""A run that is killed at any moment goes on from its checkpoint to the same forest.

`MNDMST_KILL_POINTS=200 pytest tests/system/test_kill_points.py` tries that many; the
default is what a check before every commit has time for. `MNDMST_KILL_SEED` chooses
others.
"""

import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from graphs import Graph, random, write_graph
from oracle import kruskal
from processes import Run

from mndmst.io.results.forest_file import file_digest
from mndmst.solver.checkpoint.folder import LOCK

PROGRAM = Path(__file__).with_name("fault_program.py")
POINTS = int(os.environ.get("MNDMST_KILL_POINTS", "4"))
SEED = int(os.environ.get("MNDMST_KILL_SEED", "1"))
LIMIT = 120
CHAIN = 3  # kills of one run, one after the other

# The ways through the pipeline, with thresholds at which a small graph takes them.
PATHS = {
    "ring": ("--merge", "ring", "--set", "leader_edges=0", "--set", "ring_gain=0"),
    "rounds": ("--merge", "boruvka", "--light-edges", 0),
    "bands": ("--merge", "ring", "--light-edges", 0.4, "--set", "group_size=2"),
    "replicated": ("--merge", "replicated", "--set", "leader_edges=0"),
    "shared": (),
}

EVENTS = {"ring": 470, "rounds": 150, "bands": 400, "replicated": 200, "shared": 300}

pytestmark = [pytest.mark.mpi, pytest.mark.timeout(60 + 20 * POINTS)]


def clusters(n: int = 3000, size: int = 30) -> Graph:
    """Return a graph whose light edges make clusters, and no giant component."""
    generator = np.random.default_rng(7)
    near = random(n, 5 * n, seed=5)
    src, dst = near.src, near.src - near.src % size + near.dst % size
    far = random(n, n, seed=6)
    weight = np.concatenate(
        [generator.integers(0, 40, len(src)), generator.integers(50, 90, n)]
    )
    ends = np.concatenate([src, far.src]), np.concatenate([dst, far.dst])
    return Graph(n, *ends, weight.astype(np.int32))


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Return a graph and the digest of its forest."""
    folder = tmp_path_factory.mktemp("kill")
    graph = clusters()
    return write_graph(folder / "graph", graph, parts=5), kruskal(*graph).digest


def events(run: Run) -> list[int]:
    """Return how many events every rank had."""
    found = [json.loads(line) for line in re.findall(r'{"rank".*?}', run.stderr)]
    return [entry["events"] for entry in sorted(found, key=lambda entry: entry["rank"])]


@pytest.mark.parametrize("path", PATHS)
def test_killed_at_any_moment(
    mpirun: Callable[..., Run], graph: tuple[Path, str], tmp_path: Path, path: str
) -> None:
    generator = np.random.default_rng([SEED, *path.encode()])
    directory, digest = graph
    forest, kept = tmp_path / "forest.h5", tmp_path / "kept"
    options = (directory, "-o", forest, "--backend", "cpu", *PATHS[path])
    saving = ("--checkpoint", kept, "--resume", "--checkpoint-interval", 0)

    def solve(ranks: int, fault: str, rank: int = 0, event: int = 0) -> Run:
        command = (PROGRAM, fault, rank, event, "solve", *options, *saving)
        return mpirun(ranks, *command, timeout=LIMIT)

    most = EVENTS[path]  # of a whole run, about
    goal = -(-POINTS // len(PATHS))
    killed = chain = 0
    while killed < goal or chain:
        ranks = int(generator.integers(2, 5))
        last = chain == CHAIN or killed >= goal
        if last:
            run = solve(ranks, "count")
        else:
            rank, event = generator.integers((0, 1), (ranks, most)).tolist()
            run = solve(ranks, "kill", rank, event)
        if run.returncode != 0 and not last:
            # Under the final name there is nothing, or, of a rank that was killed
            # after all its work, a whole forest.
            assert not forest.exists() or file_digest(forest) == digest, run
            killed, chain = killed + 1, chain + 1
        else:
            assert run.returncode == 0, run
            assert run.result["digest"] == digest, run
            assert [file.name for file in kept.iterdir()] == [LOCK]
            forest.unlink()
            chain = 0
    print(f"{path}: {killed} kill points")
