"""Solve many graphs in one MPI job, each under every configuration given.

Arguments: a folder with graphs and `cases.json`, a list of {graph, digest, weight,
edges, m}, and `configs.json`, a list of options; `two_workers` among them puts two
CPU workers on every rank. Rank 0 prints how many runs there were.
"""

import json
import sys
from pathlib import Path

from mndmst import pipeline
from mndmst.backends.numba import NumbaBackend
from mndmst.comm import world
from mndmst.config import Config
from mndmst.io.forest import read_forest
from mndmst.pipeline import Targets, solve
from mndmst.progress import Progress

comm = world()
folder = Path(sys.argv[1])
cases = json.loads((folder / "cases.json").read_text())
configs = json.loads((folder / "configs.json").read_text())
one_worker = pipeline.make_backends
runs = 0
for config in configs:
    two = config.pop("two_workers", False)
    pipeline.make_backends = (
        (lambda *_: [NumbaBackend(1), NumbaBackend(2)]) if two else one_worker
    )
    for case in cases:
        target = folder / f"forest-{comm.size}.h5"
        summary = solve(
            comm,
            folder / case["graph"],
            Config(backend="cpu", **config),
            Targets(target, None, labels=True),
            Progress(False),
        )
        found = (summary.digest, str(summary.weight), summary.forest_edges)
        expected = (case["digest"], case["weight"], case["edges"])
        assert found == expected, (case["graph"], config, comm.size, found, expected)
        assert summary.num_edges == case["m"], (case["graph"], summary.num_edges)
        if comm.rank == 0:
            labels = read_forest(target).read_labels(0, summary.num_vertices)
            assert labels.tolist() == case["labels"], (case["graph"], config)
        runs += 1
if comm.rank == 0:
    print("runs", runs)
