"""Solve graphs in ways of all kinds; print the kernels that ranks have called.

Arguments: the paths of graphs with one type of weights.
"""

import json
import sys
import tempfile
from pathlib import Path

from mndmst.comm.communicator import world
from mndmst.host.progress import Progress
from mndmst.native.loader import loaded
from mndmst.pipeline import Targets, solve
from mndmst.run.config import Config

OPTIONS: list[dict] = [
    {},
    {"light_edges": 0.0, "merge": "ring"},
    {"merge": "messages"},
    {"merge": "ring", "leader_edges": 0},
    {"merge": "boruvka"},
    {"threads": 4},
]


def solve_all(graph: str, forest: Path) -> None:
    """Solve a graph in every way."""
    for options in OPTIONS:
        config = Config(**{"backend": "cpu", **options})
        solve(comm, graph, config, Targets(forest), Progress(False))


comm = world()
with tempfile.TemporaryDirectory() as directory:
    forest = Path(comm.bcast(directory)) / "forest.h5"
    for graph in sys.argv[1:]:
        solve_all(graph, forest)
    comm.barrier()
called = comm.gather(loaded())
if comm.rank == 0:
    print(json.dumps(sorted(set().union(*called))))
