"""End runs before each of their steps; then print a whole one's digest.

Argument: a graph. For each strategy of two, and for forests and components, rank 0
prints a line of JSON. An MPI library has about 2,000 communicators, so every run must
free the communicators that it makes.
"""

import json
import sys
from contextlib import suppress
from dataclasses import replace
from itertools import product

from mndmst.comm.communicator import Comm
from mndmst.comm.directory import Directory
from mndmst.comm.world import world
from mndmst.graph.tuning import Tuning
from mndmst.host.errors import MndmstError
from mndmst.host.progress import Progress
from mndmst.io.results.digest_and_total import forest_digest
from mndmst.pipeline import contract
from mndmst.solver.config import Config
from mndmst.solver.contract import any_cut_edge, lightest_cut_edge
from mndmst.solver.part_graph import part_graph
from mndmst.solver.run import State
from mndmst.solver.run_report import Report
from mndmst.solver.write import send_to_owners, smallest_vertices

comm = world()
EXCEPTIONS = {"forest": lightest_cut_edge, "components": any_cut_edge}
made = []


def note(comm, color):
    """Split a communicator and keep the part."""
    part = split(comm, color)
    if part is not None:
        made.append(part)
    return part


split, Comm.split = Comm.split, note


class EnoughError(MndmstError):
    """All ranks raise it."""

    ranks = comm.size


def run_until(held, exception, last):
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
    assert not any(part.mpi for part in made), "communicators are left"
    return run, begun


for merge, program in product(("auto", "ring"), EXCEPTIONS):
    made.clear()
    config = Config(merge=merge, tuning=Tuning(group_size=2, leader_edges=0))
    held = part_graph(comm, sys.argv[1], config, Report(comm, Progress(False)))
    exception = EXCEPTIONS[program]
    _, steps = run_until(held, exception, 0)
    ended = [run_until(held, exception, step)[1] for step in range(1, steps + 1)]
    run, _ = run_until(held, exception, 0)
    if program == "forest":
        edges = send_to_owners(run.directory, run.state.forest_edges, run.threads)
        digest = forest_digest(comm, edges.u, edges.v)
    else:
        digest = forest_digest(comm, smallest_vertices(run.directory))
    if comm.rank == 0:
        found = {"merge": merge, "program": program, "digest": digest, "steps": steps}
        print(json.dumps({**found, "ended": ended, "communicators": len(made)}))
