"""Solve or verify in ways of all kinds; print the kernels that ranks have called.

Arguments: which of both, and the paths of graphs with one type of weights.
"""

import json
import sys
from pathlib import Path
from unittest.mock import patch

from mndmst.comm.communicator import world
from mndmst.components import connected_components
from mndmst.host.progress import Progress
from mndmst.io.shards import open_graph
from mndmst.kernels import sorting
from mndmst.native.loader import loaded
from mndmst.pipeline import Targets, solve
from mndmst.run.config import Config
from mndmst.verify import verify

OPTIONS: list[dict] = [
    {},
    {"light_edges": 0.0, "merge": "ring"},
    {"merge": "messages"},
    {"merge": "ring", "leader_edges": 0},
    {"merge": "boruvka"},
    {"threads": 4},
]
# Where NumPy's sort is slow, which depends on the processor and on who else uses it
RADIX = patch.object(sorting, "_numpy_sorts_fast", lambda: False)


def solve_all(graph: Path) -> None:
    """Solve a graph in every way, and find its components."""
    for options in OPTIONS:
        config = Config(**{"backend": "cpu", **options})
        solve(comm, graph, config, Targets(forest_of(graph)), Progress(False))
        connected_components(comm, graph, config, Progress(False))
    with RADIX:
        config = Config(backend="cpu")
        solve(comm, graph, config, Targets(forest_of(graph)), Progress(False))


def verify_all(graph: Path) -> None:
    """Verify the forest that `solve_all` has left, by one thread and by several."""
    for threads in (1, 3):
        verdict = verify(comm, open_graph(graph), forest_of(graph), threads)
        assert verdict.ok, verdict.text()


def forest_of(graph: Path) -> Path:
    return graph.with_name(f"{graph.name}.forest.h5")


comm = world()
for graph in sys.argv[2:]:
    {"solve": solve_all, "verify": verify_all}[sys.argv[1]](Path(graph))
called = comm.gather(loaded())
if comm.rank == 0:
    print(json.dumps(sorted(set().union(*called))))
