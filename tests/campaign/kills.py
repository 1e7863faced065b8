"""Runs that are killed or stopped at a random moment, and go on to the right result."""

import random
import tempfile
from pathlib import Path

import numpy as np
import pytest
from graphs import Graph, write_graph
from oracle import kruskal
from processes import Run, finish, on_ranks, start

from mndmst.io.results.forest_file import file_digest
from mndmst.io.shards.row_reading import read_rows
from mndmst.io.shards.sharded_graph import open_graph
from mndmst.solver.checkpoint.folder import LOCK
from mndmst.solver.config import MERGES

from . import TESTS
from .case import Case, CaseError, contents, expect
from .results import Results
from .shapes import draw_graph

PROGRAM = TESTS / "system" / "fault_program.py"
LONGEST = 300
FAULTS = ("kill", "kill", "kill", "term", "usr1")
STOPPED = 75
# A run has some hundred events; one that has fewer ends well.
EVENTS = 300
KINDS = ("solve", "solve", "partition", "generate")


def run_one(results: Results, case: Case) -> None:
    """Do one case: some runs with faults, then one without."""
    draw = case.draw()
    kind = draw.choice(KINDS)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for canary in ("notes.json", "old-forest.h5", "part-00000.h5.txt"):
            (folder / canary).write_text("a canary")
        before = contents(folder)
        try:
            count = DO[kind](draw, folder)
            after = contents(folder)
            lost = [name for name in before if after.get(name) != before[name]]
            expect(not lost, f"changed or removed: {lost}")
            results.add(case, f"{kind}, {count} faults")
        except (CaseError, pytest.fail.Exception) as error:
            results.add(case, "failed", CaseError(str(error)))


def solve(draw: random.Random, folder: Path) -> int:
    """Solve with checkpoints; compare the forest with the oracle."""
    graph = draw_graph(draw, 3000)
    write_graph(folder / "graph", graph, draw.randint(1, 5))
    right = kruskal(*graph)
    forest, kept = folder / "forest.h5", folder / "kept"
    saving = ("--checkpoint", kept, "--resume", "--checkpoint-interval", 0)
    command = ("solve", folder / "graph", "-o", forest, "--backend", "cpu", "-q")
    faults = draw.randint(1, 3)
    for _ in range(faults):
        run = broken(draw, *command, *saving, *options(draw))
        expect(
            not forest.exists() or file_digest(forest) == right.digest,
            f"another forest stands after status {run.returncode}: {run.stderr}",
        )
        forest.unlink(missing_ok=True)
    run = on(draw.randint(1, 4), "count", 0, 0, *command, *saving, *options(draw))
    expect(run.returncode == 0, run)
    expect(run.result["digest"] == right.digest, f"not the oracle's forest: {run}")
    expect(file_digest(forest) == right.digest, "the file has another forest")
    left = sorted(path.name for path in kept.iterdir())
    expect(left == [LOCK], f"the checkpoint's folder has {left}")
    return faults


def partition(draw: random.Random, folder: Path) -> int:
    """Make shards of a list of edges; compare their forest with the list's."""
    graph = draw_graph(draw, 3000)
    weight = np.arange(len(graph.src)) // draw.randint(1, 4) % 1000
    lines = [f"{u} {v} {w}" for u, v, w in zip(graph.src, graph.dst, weight)]  # noqa: B905
    (folder / "edges.txt").write_text("\n".join(["0 0 0", *lines, ""]))
    # Three edges may look like a matrix of distances.
    columns = ("--columns", "source=1,target=2,weight=3")
    reordered = ("--reorder", draw.choice(("none", "none", "degree", "bfs")))
    command = ("partition", folder / "edges.txt", folder / "graph", "--restart", "-q")
    count = make(draw, *command, "--parts", draw.randint(1, 6), *columns, *reordered)
    if reordered[1] == "none":
        n = int(max(graph.src.max(initial=0), graph.dst.max(initial=0))) + 1
        right = kruskal(n, graph.src, graph.dst, weight)
        found = kruskal(*read(folder / "graph"))
        expect(found.digest == right.digest, "the shards have another forest")
        expect((found.m, found.total) == (right.m, right.total), "edges were lost")
    return count


def generate(draw: random.Random, folder: Path) -> int:
    """Make a random graph; compare its files with those of a run without faults."""
    n, seed, parts = draw.randint(2, 4000), draw.randint(0, 99), draw.randint(1, 6)
    command = ("--n", n, "--m", 3 * n, "--seed", seed, "--parts", parts, "-q")
    count = make(draw, "generate", "gnm", folder / "graph", *command, "--restart")
    run = on(1, "count", 0, 0, "generate", "gnm", folder / "other", *command)
    expect(run.returncode == 0, run)
    mine, its = read(folder / "graph"), read(folder / "other")
    for one, other in zip(mine[1:], its[1:], strict=True):
        expect(np.array_equal(one, other), "the graph is not that of a run alone")
    return count


DO = {"solve": solve, "partition": partition, "generate": generate}


def make(draw: random.Random, *command: object) -> int:
    """Make a graph, after some runs that suffer a fault; return how many."""
    faults = draw.randint(1, 3)
    for _ in range(faults):
        broken(draw, *command)
    run = on(draw.randint(1, 4), "count", 0, 0, *command)
    expect(run.returncode == 0, run)
    return faults


def broken(draw: random.Random, *command: object) -> Run:
    """Run a command on some ranks, one of which suffers a fault at some moment."""
    ranks, fault = draw.randint(1, 4), draw.choice(FAULTS)
    event = int(EVENTS ** draw.random())  # early moments are the rarer ones else
    run = on(ranks, fault, draw.randrange(ranks), event, *command)
    if fault != "kill" and "--checkpoint" in command:
        expect(run.returncode in (0, STOPPED), f"SIG{fault} at {event}: {run}")
    expect("Traceback" not in run.stderr, run)
    return run


def on(ranks: int, *arguments: object) -> Run:
    """Run the program with a fault on some ranks."""
    return finish(start(on_ranks(ranks, PROGRAM, *arguments)), LONGEST)


def options(draw: random.Random) -> tuple[object, ...]:
    """Return options that force a path through the program."""
    return (
        *("--merge", draw.choice(MERGES), "--light-edges", draw.choice((0, 0.4, 1.3))),
        *("--set", f"leader_edges={draw.choice((0, 10**6))}", "--set", "ring_gain=0"),
        *("--set", f"group_size={draw.choice((2, 4))}"),
        *("--threads", draw.randint(1, 2)),
    )


def read(folder: Path) -> Graph:
    """Return the edges of shards."""
    graph = open_graph(folder)
    indptr, indices, weight = read_rows(graph, 0, graph.num_vertices)
    src = np.repeat(np.arange(graph.num_vertices), np.diff(indptr))
    return Graph(graph.num_vertices, src, indices.astype(np.int64), weight)
