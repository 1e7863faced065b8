"""Join blobs of equal size on all ranks; compare their forests with those of a tree.

With the argument "device", devices search. Rank 0 prints for each case: the noise,
whether both forests are the same, the number of components of each pass over all pairs,
and of each round that searches from points.
"""

import json
import sys

import numpy as np

from mndmst.comm.world import world
from mndmst.points.point_forest import (
    Distribution,
    distributed_forest,
    points_forest,
)
from mndmst.points.search import search_choice
from mndmst.points.search.product_search import ProductSearch
from mndmst.points.search.search_rounds import BoruvkaRounds

passes, searches = [], []
pass_all, search = ProductSearch.pass_all, BoruvkaRounds._search


def count_pass(self, components, known):
    """Note the components of a pass that finds edges."""
    found = pass_all(self, components, known)
    if found is not None:
        passes.append(len(components.bound))
    return found


def count_search(self, components, queries):
    """Note the components of a round that searches."""
    searches.append(len(components.bound))
    return search(self, components, queries)


if sys.argv[1:] == ["device"]:
    from mndmst.points.cuda import component_pairs, point_products

    search_choice.DEVICE_POINTS = search_choice.START_POINTS = 2
    point_products.FILLED = 0
    component_pairs.UNIT = 256
ProductSearch.pass_all, BoruvkaRounds._search = count_pass, count_search
comm, generator = world(), np.random.default_rng(5)
small = Distribution(least=1, batch=64, sample=64)
cases = []
for samples in (0, 5):
    for dtype in (np.float32, np.float64):
        for noise in (0.3, 2.0):
            centres = np.repeat(3 * generator.normal(size=(9, 40)), 70, axis=0)
            points = centres[generator.permutation(len(centres))]
            points += noise * generator.normal(size=points.shape)
            points = points.astype(dtype)
            first, last = (
                len(points) * rank // comm.size for rank in (comm.rank, comm.rank + 1)
            )
            passes.clear()
            searches.clear()
            found = distributed_forest(
                comm,
                points[first:last],
                "euclidean",
                samples,
                search="product",
                distribution=small,
            )
            counted = list(passes), list(searches)
            if found is not None:
                one = found.forest
                tree = points_forest(points, "euclidean", samples, search="tree").forest
                same = all(
                    np.array_equal(getattr(one, name), getattr(tree, name))
                    for name in ("src", "dst", "weight")
                )
                cases.append([noise, same, *counted, found.search])
if comm.rank == 0:
    print(json.dumps(cases))
