"""Solve random graphs in one MPI job and compare them with an independent Kruskal.

    mpirun -n 4 python -m mpi4py -m tests.campaign.solve_program FOLDER \\
        SEED FIRST COUNT SECONDS

Rank 0 prints a line of JSON before each case, and one with what came out after it.
"""

import json
import random
import re
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import forests
import numpy as np
from graphs import Graph, write_graph
from oracle import Answer, kruskal, smallest_of_trees
from ways import stop_early, taking

from mndmst.certificate import verify
from mndmst.comm.communicator import Comm
from mndmst.comm.world import world
from mndmst.host.errors import ConfigError, MndmstError
from mndmst.host.memory import held_bytes
from mndmst.host.memory_costs import MIB
from mndmst.host.progress import Progress
from mndmst.io.results.forest_file import read_forest
from mndmst.io.shards.sharded_graph import open_graph
from mndmst.pipeline import Targets, solve
from mndmst.solver.write import Summary

from .case import Case, expect
from .mutations import mutated
from .shapes import draw_graph, draw_near, draw_way

# What a process of many cases may hold more of than one that solves one graph.
SLACK_BYTES = 16 * MIB
# Words of a way that would take the place of a limit of memory.
NOT_LIMITED = ("stored", "no_room")


class Drawn(NamedTuple):
    """A case. With `point` a first run ends at this safe point, a second goes on."""

    graph: Graph
    parts: int
    way: dict[str, Any]
    ranks: int
    threads: int
    labels: bool
    memory_share: float
    point: int
    first_way: dict[str, Any]
    first_ranks: int

    @classmethod
    def of(cls, draw: random.Random, size: int) -> "Drawn":
        """Draw a case for at most so many ranks."""
        limited = draw.random() < 0.15
        way = draw_way(draw)
        if limited:
            way = {name: way[name] for name in way if name not in NOT_LIMITED}
            way["tight"] = True
        return cls(
            graph=draw_near(draw) if limited else draw_graph(draw),
            parts=draw.randint(1, 8),
            way=way,
            ranks=size if draw.random() < 0.6 else draw.randint(1, size),
            threads=draw.randint(1, 3),
            labels=draw.random() < 0.6,
            memory_share=draw.uniform(0.4, 1.3) if limited else 0.0,
            point=draw.choice((0, 0, 0, 1, 2, 3)),
            first_way=draw_way(draw),
            first_ranks=draw.randint(1, size),
        )

    def outcome(self) -> str:
        """Return what the case does."""
        resumed = ", stopped and resumed" if self.point else ""
        if self.memory_share:
            return f"under --memory{resumed}"
        return f"{'in pieces' if 'stored' in self.way else 'solved'}{resumed}"


def solve_case(comm: Comm, case: Case, folder: Path) -> str:
    """Draw a graph and a way, solve and verify; return what was done. Collective."""
    draw = case.draw()
    drawn = Drawn.of(draw, comm.size)
    if comm.rank == 0:
        write_graph(folder / "graph", drawn.graph, drawn.parts)
    comm.barrier()
    if drawn.point:
        on_ranks(comm, drawn.first_ranks, lambda part: stop(part, drawn, folder))
    summary = on_ranks(comm, drawn.ranks, lambda part: run(part, drawn, folder))
    wrong = False
    with comm.raise_on_all():
        if comm.rank == 0:
            answer = kruskal(*drawn.graph)
            labels = smallest_of_trees(drawn.graph.n, answer.src, answer.dst)
            compare(summary, folder / "forest.h5", answer, labels, drawn)
            wrong = write_wrong(draw, folder, drawn.graph, answer, labels)
    on_ranks(comm, drawn.ranks, lambda part: judge(part, folder, "forest.h5", drawn))
    if comm.bcast(wrong):
        on_ranks(comm, drawn.ranks, lambda part: judge(part, folder, "wrong.h5", drawn))
    return drawn.outcome() + (", wrong one refuted" if comm.bcast(wrong) else "")


def on_ranks(comm: Comm, ranks: int, do: Callable[[Comm], Any]) -> Any:
    """Return what the first ranks do; raise on all what they raise. Collective."""
    part = comm.split(0 if comm.rank < ranks else None)
    result = error = None
    if part is not None:
        try:
            result = do(part)
        except MndmstError as raised:
            error = raised
        part.free()
    comm.barrier(politely=True)
    error = comm.bcast(error)
    if error is not None:
        raise error
    return result


def stop(comm: Comm, drawn: Drawn, folder: Path) -> None:
    """Solve up to a safe point, on the ranks and the way of the first run."""
    with taking(drawn.first_way) as config:
        stop_early(comm, folder / "graph", config, folder / "kept", drawn.point)


def run(comm: Comm, drawn: Drawn, folder: Path) -> Summary:
    """Solve; where `--memory` is refused, once more with what suffices."""
    kept = folder / "kept" if drawn.point else None
    targets = Targets(
        forests=[folder / "forest.h5"],
        labels=drawn.labels,
        checkpoint=kept,
        resume=kept is not None,
    )
    limit = 0
    if drawn.memory_share:
        limit = comm.max(held_bytes()) + int(drawn.memory_share * needed(comm, drawn))
    try:
        return run_once(comm, drawn, folder, targets, limit)
    except ConfigError as error:
        enough = re.search(r"(\d+)MiB suffices", str(error))
        if enough is None or not limit:
            raise
    limit = int(enough[1]) * MIB + SLACK_BYTES
    return run_once(comm, drawn, folder, targets, limit)


def run_once(
    comm: Comm, drawn: Drawn, folder: Path, targets: Targets, limit: int
) -> Summary:
    """Solve with a limit of memory, if there is one."""
    way = {**drawn.way, "memory": limit} if limit else drawn.way
    with taking(way) as config:
        return solve(comm, folder / "graph", config, targets, Progress(False))


def needed(comm: Comm, drawn: Drawn) -> int:
    """Return about as many bytes as a rank needs for its rows."""
    edges, rows = len(drawn.graph.src), drawn.graph.n
    merging = 80 * 2 * edges if drawn.way["light_edges"] == 0 else 4 * 24 * 2 * rows
    return (24 * edges + 32 * rows + merging) // comm.size


def compare(
    summary: Summary, path: Path, right: Answer, labels: np.ndarray, drawn: Drawn
) -> None:
    """Compare what a run has said and written with what the oracle has found."""
    said = (
        summary.num_vertices, summary.num_edges, summary.forest_edges, summary.trees,
        str(summary.weight), summary.digest,
    )  # fmt: skip
    true = (
        drawn.graph.n, right.m, len(right.src), right.trees, str(right.total),
        right.digest,
    )  # fmt: skip
    expect(said == true, f"a run says {said}, the oracle {true}")
    forest = read_forest(path)
    found = forest.read(0, forest.num_edges)
    columns = right.src, right.dst, right.weight
    for name, mine, its in zip(("src", "dst", "weight"), found, columns, strict=True):
        expect(np.array_equal(mine, its), f"{name} is not the oracle's")
    expect(forest.weight_dtype == right.weight.dtype, "the weights have another type")
    expect(forest.has_labels == drawn.labels, "labels are not as asked for")
    if drawn.labels:
        written = forest.read_labels(0, drawn.graph.n)
        expect(np.array_equal(written, labels), "labels are not the oracle's")


def write_wrong(
    draw: random.Random, folder: Path, graph: Graph, right: Answer, labels: np.ndarray
) -> bool:
    """Write a wrong forest; return False where what was drawn cannot be."""
    wrong = mutated(draw, graph, right, labels)
    if wrong is None:
        return False
    n, answer, others = wrong
    columns = answer.src, answer.dst, answer.weight
    forests.write(folder / "wrong.h5", n, *columns, others)
    return True


def judge(comm: Comm, folder: Path, name: str, drawn: Drawn) -> None:
    """Check that the right forest is accepted and any other refused."""
    opened = open_graph(folder / "graph")
    verdict = verify(comm, opened, folder / name, drawn.threads)
    right = name == "forest.h5"
    expect(verdict.ok == right, f"{name}: the verdict is {verdict.text()}")


def main() -> None:
    """Do the cases, one after the other, until there is no time left."""
    seed, first, count, seconds = map(int, sys.argv[2:])
    comm, end = world(), time.monotonic() + seconds
    for number in range(first, first + count):
        if not comm.bcast(time.monotonic() < end):
            break
        case = Case(seed, "solves", number)
        folder = Path(sys.argv[1]) / str(case)
        if comm.rank == 0:
            folder.mkdir()
        say(comm, {"begin": number})
        try:
            said = {"case": number, "outcome": solve_case(comm, case, folder)}
        except MndmstError as error:
            problem = f"{type(error).__name__}: {error}"
            said = {"case": number, "problem": problem}
        say(comm, said)
        if comm.rank == 0:
            shutil.rmtree(folder)


def say(comm: Comm, what: dict[str, Any]) -> None:
    """Print a line on rank 0."""
    if comm.rank == 0:
        print(json.dumps(what), flush=True)


if __name__ == "__main__":
    main()
