"""End runs before each of their steps; then print a whole one's digest.

Arguments: a graph, a strategy, and the program: `forest` or `components`. An MPI
library has about 2,000 communicators, so every run must free those that it makes.
"""

import json
import sys
from contextlib import suppress
from dataclasses import replace

from mndmst.comm.communicator import Comm
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
path, merge, program = sys.argv[1:]
exception = {"forest": lightest_cut_edge, "components": any_cut_edge}[program]
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
    assert not any(part.mpi for part in made), "communicators are left"
    return run, begun


config = Config(merge=merge, group_size=2, leader_edges=0)
held = part_graph(comm, path, config, Report(comm, Progress(False)))
_, steps = run_until(0)
ended = [run_until(step)[1] for step in range(1, steps + 1)]
run, _ = run_until(0)
if program == "forest":
    edges = send_to_owners(run.directory, run.state.forest_edges, run.threads)
    digest = forest_digest(comm, edges.u, edges.v)
else:
    digest = forest_digest(comm, smallest_vertices(run.directory))
if comm.rank == 0:
    found = {"steps": steps, "ended": ended, "digest": digest}
    print(json.dumps({**found, "communicators": len(made)}))
