"""Find the components of many graphs in one MPI job; rank 0 prints them, as JSON.

Arguments: a folder with `cases.json`, a list of graphs' paths, and `configs.json`, a
list of options, and a stride: the runs whose case, configuration and number of ranks
add up to a multiple of it are done. With `exception` in a configuration the calls of
HyPar are made here, as another program would make them, with that exception
condition. With `two_workers` every rank has two CPU workers, with `near` it goes
through all edges by itself, however many lead to others.
"""

import json
import sys
from pathlib import Path

import numpy as np

from mndmst.backends.base import ContractedComponents
from mndmst.backends.cpu.backend import CpuBackend
from mndmst.comm.world import world
from mndmst.graph.tuning import Tuning
from mndmst.host.progress import Progress
from mndmst.io.results.digest_and_total import forest_digest
from mndmst.label_components import connected_components
from mndmst.pipeline import contract
from mndmst.solver import part_graph
from mndmst.solver.config import Config
from mndmst.solver.contract import any_cut_edge, lightest_cut_edge
from mndmst.solver.run_report import Report
from mndmst.solver.write import smallest_vertices


def nothing(backend, graph):
    """Contract nothing before all is on one rank."""
    return ContractedComponents(
        np.zeros(len(graph), np.bool_), np.arange(len(graph.labels))
    )


EXCEPTIONS = {
    "nothing": nothing,
    "lightest cut edge": lightest_cut_edge,
    "any cut edge": any_cut_edge,
}


def by_hand(path, config, exception):
    """Return the same as the command, found by way of a spanning forest."""
    report = Report(comm, Progress(False))
    run = part_graph.part_graph(comm, path, config, report)
    contract(run, exception=exception)
    joined = comm.sum(sum(len(edges) for edges in run.state.forest_edges))
    labels = smallest_vertices(run.directory)
    digest = forest_digest(comm, labels)
    return {"components": run.num_vertices - joined, "digest": digest}


def by_command(path, config):
    """Return what the command would print."""
    found = connected_components(comm, path, config, Progress(False))
    names = ("components", "largest", "histogram", "digest")
    return {name: getattr(found, name) for name in names}


comm = world()
folder, stride = Path(sys.argv[1]), int(sys.argv[2])
cases = json.loads((folder / "cases.json").read_text())
configs = json.loads((folder / "configs.json").read_text())
make_backends = part_graph.make_backends
found = []
for j, options in enumerate(configs):
    exception = options.pop("exception", None)
    forced = options.pop("near", False)
    tuning = Tuning(near_share=1, locality_share=1) if forced else Tuning()
    part_graph.make_backends = (
        (lambda *_: ([CpuBackend(1), CpuBackend(2)], 1))
        if options.pop("two_workers", False)
        else make_backends
    )
    config = Config(backend="cpu", tuning=tuning).updated(options)
    for i, path in enumerate(cases):
        if (i + j + comm.size) % stride:
            continue
        answer = (
            by_hand(path, config, EXCEPTIONS[exception])
            if exception
            else by_command(path, config)
        )
        found.append({"case": i, "config": j, **answer})
if comm.rank == 0:
    print(json.dumps(found))
