"""Find forests of points by devices of all ranks; compare them with those of trees."""

import json
import sys

import numpy as np

from mndmst.comm.world import world
from mndmst.host.progress import Progress
from mndmst.points.point_forest import (
    Distribution,
    distributed_forest,
    points_forest,
)
from mndmst.points.search import search_choice
from mndmst.points.search_reporter import SearchReporter

search_choice.DEVICE_POINTS = search_choice.START_POINTS = 2
comm, generator = world(), np.random.default_rng(5)
progress = Progress(True, sys.stderr, verbose=True) if comm.rank == 0 else None
small = Distribution(least=1, batch=64, sample=64)
same, searches = 0, set()
for samples in (0, 5):
    points = np.repeat(generator.normal(size=(7, 30)), 50, axis=0)
    points += 0.2 * generator.normal(size=points.shape)
    points[generator.integers(0, len(points), 40)] = points[0]
    points[3] *= 1000  # far from the centre of most ranks' points
    for given in (points.astype(np.float32), points):
        bounds = [len(given) * rank // comm.size for rank in range(comm.size + 1)]
        found = distributed_forest(
            comm,
            given[bounds[comm.rank] : bounds[comm.rank + 1]],
            "euclidean",
            samples,
            search="product",
            reporter=SearchReporter(progress),
            distribution=small,
        )
        if found is not None:
            tree = points_forest(given, "euclidean", samples, search="tree")
            same += found.forest.digest == tree.forest.digest
            searches.add(found.search)
if comm.rank == 0:
    print(json.dumps({"same": same, "searches": sorted(searches)}))
