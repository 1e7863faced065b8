"""Find forests of points by all ranks, and by one alone; rank 0 prints what differs.

Argument: a stride. Of all cases those are taken whose number and the number of ranks
add up to a multiple of it.
"""

import json
import sys

import numpy as np

from mndmst.comm.world import world
from mndmst.points.distribute import distribute
from mndmst.points.point_forest import (
    Distribution,
    distributed_forest,
    points_forest,
)

KINDS = ("uniform", "grid", "line", "equal", "far", "doubled", "blobs")


def points_of(kind, n, dimensions, seed):
    """Return points of which many are equal, equally far, or in clusters."""
    generator = np.random.default_rng(seed)
    if kind == "uniform":
        return generator.random((n, dimensions))
    if kind == "grid":
        return generator.integers(0, 6, (n, dimensions)).astype(float)
    if kind == "line":
        return np.outer(generator.random(n).round(2), np.arange(1.0, dimensions + 1))
    if kind == "equal":
        return np.ones((n, dimensions))
    if kind == "doubled":
        few = generator.integers(0, 40, (max(n // 3, 1), dimensions)) / 8
        return few[generator.integers(0, len(few), n)]
    if kind == "blobs":
        centres = generator.normal(size=(5, dimensions)) * 3
        return centres[generator.integers(0, 5, n)] + generator.normal(
            size=(n, dimensions)
        )
    centres = generator.uniform(-50, 50, (3, dimensions))
    return centres[generator.integers(0, 3, n)] + generator.random((n, dimensions))


def cases():
    """Yield points and how their forest is to be found."""
    generator = np.random.default_rng(5)
    for number in range(210):
        n = int(generator.choice([2, 3, 7, 40, 300, 1500]))
        dimensions = int(generator.integers(1, 6))
        points = points_of(KINDS[number % len(KINDS)], n, dimensions, number)
        metric = ("euclidean", "manhattan", "chebyshev")[number // len(KINDS) % 3]
        samples = int(generator.choice([0, 0, 1, 2, 5, 9]))
        yield points, metric, samples, int(generator.choice([0, 1, 3, 12]))
    sphere = generator.uniform(-1.5, 1.5, (900, 2))
    yield sphere, "haversine", 3, 0
    yield sphere, "cosine", 0, 2
    yield 1e-200 * generator.random((700, 2)), "euclidean", 2, 0
    for samples in (0, 5):
        centres = generator.normal(size=(9, 70))
        many = centres[generator.integers(0, 9, 800)]
        many += 0.2 * generator.normal(size=many.shape)
        many[generator.integers(0, 800, 100)] = many[0]
        yield many.astype(np.float32), "euclidean", samples, 0
        yield many, "cosine", samples, 0
    wide = points_of("doubled", 600, 2, 7)
    yield np.c_[wide, 1e-310 * wide[:, :1]], "euclidean", 0, 0


comm, stride = world(), int(sys.argv[1])
small = Distribution(least=1, batch=128, sample=64)
differing, done, kept = [], 0, 0
for number, (points, metric, samples, neighbours) in enumerate(cases()):
    if (number + comm.size) % stride:
        continue
    n = len(points)
    search = "tree" if metric in ("manhattan", "chebyshev") else "product"
    if number % 4 == 0:
        search = "auto"
    first, last = n * comm.rank // comm.size, n * (comm.rank + 1) // comm.size
    found = distributed_forest(
        comm,
        points[first:last],
        metric,
        samples,
        neighbours=neighbours,
        threads=2,
        search=search,
        distribution=small,
    )
    if found is not None:
        one, other = (
            found.forest,
            points_forest(points, metric, samples, search="tree").forest,
        )
        same = all(
            np.array_equal(getattr(one, name), getattr(other, name))
            for name in ("src", "dst", "weight")
        )
        done += 1
        if not same:
            differing.append([number, n, metric, samples, neighbours])
mine = distribute(
    comm, np.random.default_rng(comm.rank).random((3000, 3)), 0, small.sample
)
shares = comm.allgather(len(mine.point)).tolist()
if comm.rank == 0:
    print(json.dumps({"done": done, "differing": differing, "shares": shares}))
