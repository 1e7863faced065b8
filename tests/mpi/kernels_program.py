"""Solve, verify or update in ways of all kinds; print the kernels ranks have called.

Arguments: which of these, and the paths of graphs with one type of weights.
"""

import json
import sys
from pathlib import Path
from unittest.mock import patch

from mndmst.certificate import verify
from mndmst.comm.world import world
from mndmst.host.progress import Progress
from mndmst.io.results.forest_file import read_forest
from mndmst.io.shards.row_reading import read_rows
from mndmst.io.shards.sharded_graph import open_graph
from mndmst.kernels import sorting
from mndmst.label_components import connected_components
from mndmst.native.loader import loaded
from mndmst.pipeline import Targets, solve
from mndmst.solver.config import Config
from mndmst.update_forest import Files, update

OPTIONS: list[dict] = [
    {},
    {"light_edges": 0.0, "merge": "ring"},
    {"merge": "messages"},
    {"merge": "replicated"},
    {"merge": "ring", "leader_edges": 0},
    {"merge": "boruvka"},
    {"threads": 4},
]
# Where NumPy's sort is slow, which depends on the processor and on who else uses it
RADIX = patch.object(sorting, "_numpy_sorts_fast", lambda: False)


def solve_all(graph: Path) -> None:
    """Solve a graph in every way, and find its components."""
    for options in OPTIONS:
        config = Config(backend="cpu").updated(options)
        solve(comm, graph, config, Targets(forests=[forest_of(graph)]), Progress(False))
        connected_components(comm, graph, config, Progress(False))
    with RADIX:
        config = Config(backend="cpu")
        solve(comm, graph, config, Targets(forests=[forest_of(graph)]), Progress(False))


def verify_all(graph: Path) -> None:
    """Verify the forest that `solve_all` has left, by one thread and by several."""
    for threads in (1, 3):
        verdict = verify(comm, open_graph(graph), forest_of(graph), threads)
        assert verdict.ok, verdict.text()


def update_all(graph: Path) -> None:
    """Update the forest that `solve_all` has left after changes of many kinds."""
    changes, out = graph.with_suffix(".csv"), graph.with_suffix(".updated.h5")
    if comm.rank == 0:
        changes.write_text(some_changes(graph))
    comm.barrier()
    files = Files(graph, forest_of(graph), changes, [out])
    update(comm, files, 0, 3, Progress(False))
    with RADIX:
        update(comm, files, 0, 1, Progress(False))


def some_changes(graph: Path) -> str:
    """Return changes: of edges of the forest, of others, and of new ones."""
    opened, file = open_graph(graph), read_forest(forest_of(graph))
    src, dst, _ = file.read(0, file.num_edges)
    kinds = ["delete,{},{},", "set,{},{},1", "set,{},{},2000"]
    lines = [kinds[i % 3].format(src[i], dst[i]) for i in range(0, len(src), 7)]
    indptr, heads, _ = read_rows(opened, 0, opened.num_vertices)
    for vertex in range(0, opened.num_vertices, 5):
        row = set(heads[indptr[vertex] : indptr[vertex + 1]].tolist())
        other = (vertex * 31 + 7) % opened.num_vertices
        if vertex < other and other not in row:
            lines.append(f"insert,{vertex},{other},{other % 50}")
    return "\n".join(["op,src,dst,weight", *lines])


def forest_of(graph: Path) -> Path:
    return graph.with_name(f"{graph.name}.forest.h5")


USERS = {"solve": solve_all, "verify": verify_all, "update": update_all}
comm = world()
for graph in sys.argv[2:]:
    USERS[sys.argv[1]](Path(graph))
called = comm.gather(loaded())
if comm.rank == 0:
    print(json.dumps(sorted(set().union(*called))))
