"""An MPI job that reads a graph once and solves it again and again.

Started by `scaling.job` with a graph, the device, the threads of a rank, the turns and
the group sizes; rank 0 prints one line of JSON for each solution.
"""

import json
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

from mndmst.comm.communicator import Comm
from mndmst.comm.directory import Directory
from mndmst.comm.world import world
from mndmst.host.progress import Progress
from mndmst.io.results.digest_and_total import forest_digest
from mndmst.pipeline import contract
from mndmst.solver.config import Config
from mndmst.solver.part_graph import part_graph
from mndmst.solver.run import Run, State
from mndmst.solver.run_report import Report
from mndmst.solver.write import send_to_owners

from .machine import peak, reset_peak
from .whole_commands import slowest_stages


@dataclass(frozen=True)
class MethodTurn:
    """The times and the result of one solution."""

    method: str
    group_size: int
    # Of each rank, from rows in memory to edges that are fixed where they are.
    seconds: list[float]
    # Of all ranks together, those in which they wait for others included.
    cpu_seconds: float
    # By all ranks together.
    bytes_sent: int
    edges_sent: int
    peak_bytes: int  # The highest memory of a rank
    num_vertices: int
    num_edges: int
    digest: str  # Of the forest
    stages: dict[str, float]  # Seconds of the slowest rank in each stage


def main() -> None:
    """Let the methods take turns."""
    path, backend, threads, repeat, group_sizes = sys.argv[1:]
    comm = world()
    config = Config.load(None, {"backend": backend, "threads": threads})
    first = part_graph(comm, path, config, Report(comm, Progress(False)))
    for _ in range(int(repeat)):
        for method, options in methods([int(size) for size in group_sizes.split(",")]):
            turn = solve(comm, anew(first, config.updated(options)), method)
            if comm.rank == 0:
                print(json.dumps(asdict(turn)), flush=True)


def methods(group_sizes: list[int]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the compared methods: the default, and the plain method of the paper.

    The default also runs without shared memory, as between hosts.
    """
    yield "auto", {}
    yield "replicated", {"merge": "replicated"}
    for size in group_sizes:
        yield "ring", {"merge": "ring", "light_edges": 0.0, "group_size": size}


def anew(run: Run, config: Config) -> Run:
    """Return the run as it was when the graph had been read."""
    state = State(Directory(run.comm, run.directory.vtxdist))
    report = Report(run.comm, Progress(False))
    return replace(run, config=config, state=state, report=report)


def solve(comm: Comm, run: Run, method: str) -> MethodTurn:
    """Solve and take the time."""
    reset_peak()
    comm.barrier()
    sent, computed, begin = comm.bytes_sent, time.process_time(), time.perf_counter()
    contract(run)
    seconds, computed = time.perf_counter() - begin, time.process_time() - computed
    sent, highest = comm.sum(comm.bytes_sent - sent), comm.max(peak())
    forest = send_to_owners(run.directory, run.state.forest_edges)
    record = run.report.gather()
    return MethodTurn(
        method,
        run.config.tuning.group_size,
        comm.gather(seconds) or [],
        comm.sum(computed),
        sent,
        comm.sum(run.report.edges_sent),
        highest,
        run.num_vertices,
        run.num_edges,
        forest_digest(comm, forest.u, forest.v),
        slowest_stages(record) if record else {},
    )


if __name__ == "__main__":
    main()
