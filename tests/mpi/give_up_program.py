"""End many runs before a step, one after the other; then print whole ones' digests.

Arguments: a graph, how many runs end, a strategy, and the program: `forest` or
`components`. An MPI library has about 2,000 communicators, so none may be left behind.
"""

import json
import sys
from contextlib import suppress
from dataclasses import replace

from mndmst.comm.directory import Directory
from mndmst.comm.world import world
from mndmst.host.errors import MndmstError
from mndmst.host.progress import Progress
from mndmst.io.results.digest_and_total import forest_digest
from mndmst.pipeline import contract
from mndmst.run.config import Config
from mndmst.run.report import Report
from mndmst.run.run import State
from mndmst.steps.contract import any_cut_edge, lightest_cut_edge
from mndmst.steps.part_graph import part_graph
from mndmst.steps.write import send_to_owners, smallest_vertices

comm = world()
path, times, merge = sys.argv[1], int(sys.argv[2]), sys.argv[3]
exception = {"forest": lightest_cut_edge, "components": any_cut_edge}[sys.argv[4]]


class EnoughError(MndmstError):
    """All ranks raise it."""

    ranks = comm.size


def run_until(last):
    """Return a run and the steps that it has begun; at the last one it ends."""
    state = State(Directory(comm, held.directory.vtxdist))
    run = replace(held, state=state, report=Report(comm, Progress(False)))
    begun = 0

    def proceed():
        nonlocal begun
        begun += 1
        if begun == last:
            raise EnoughError

    with suppress(EnoughError):
        contract(run, proceed, exception)
    return run, begun


held = part_graph(comm, path, Config(merge=merge), Report(comm, Progress(False)))
_, steps = run_until(0)
ended = {run_until(1 + number % steps)[1] for number in range(times)}
run, _ = run_until(0)
if sys.argv[4] == "forest":
    edges = send_to_owners(run.directory, run.state.forest_edges, run.threads)
    digest = forest_digest(comm, edges.u, edges.v)
else:
    digest = forest_digest(comm, smallest_vertices(run.directory))
if comm.rank == 0:
    print(json.dumps({"steps": steps, "ended": sorted(ended), "digest": digest}))
