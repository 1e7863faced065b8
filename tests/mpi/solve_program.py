"""Solve many graphs in one MPI job; rank 0 prints what was found, as JSON.

Arguments: a folder with `cases.json`, a list of graphs' paths, and `configs.json`, a
list of ways (`ways.py`), and a stride: the runs whose case, configuration and number of
ranks add up to a multiple of it are done. With `stopped` the run goes on from the
checkpoint that another has left at its first safe point.
"""

import json
import sys
import zlib
from pathlib import Path

from ways import stop_early, taking

from mndmst.comm.world import world
from mndmst.host.progress import Progress
from mndmst.io.results.forest_file import read_forest
from mndmst.pipeline import Targets, solve

comm = world()
folder, stride = Path(sys.argv[1]), int(sys.argv[2])
cases = json.loads((folder / "cases.json").read_text())
configs = json.loads((folder / "configs.json").read_text())
target = folder / f"forest-{comm.size}.h5"
found = []
for j, way in enumerate(configs):
    kept = folder / "kept" if way.pop("stopped", False) else None
    targets = Targets(
        forests=[target], labels=True, checkpoint=kept, resume=kept is not None
    )
    with taking(way) as config:
        for i, graph in enumerate(cases):
            if (i + j + comm.size) % stride:
                continue
            if kept:
                stop_early(comm, graph, config, kept)
            summary = solve(comm, graph, config, targets, Progress(False))
            if comm.rank == 0:
                labels = read_forest(target).read_labels(0, summary.num_vertices)
                run = {"case": i, "config": j, "digest": summary.digest}
                run |= {"weight": str(summary.weight), "edges": summary.forest_edges}
                run |= {"m": summary.num_edges, "labels": zlib.crc32(labels.tobytes())}
                found.append(run)
if comm.rank == 0:
    print(json.dumps(found))
