"""The forest of a forest and a few more edges.

Only edges on paths between the ends of new edges can leave (cycle property).
"""

import numpy as np

from .current import CurrentForest
from .edges import PairEdges, spanning
from .paths import paths_between


def with_edges(forest: CurrentForest, more: PairEdges) -> CurrentForest:
    """Return the forest of the edges of a forest and others.

    Parameters
    ----------
    forest : CurrentForest
    more : PairEdges
        In the order of pairs. Other weights of edges of the forest are parallel edges
        here: the lighter one is kept.
    """
    if len(more.pair) == 0:
        return forest
    placed = forest.placed(more)
    paths, near = paths_between(forest, placed.places, placed.tops)
    a, b = np.concatenate([[paths.a, paths.b], paths.ends], axis=1)
    kept = spanning(paths.num_vertices, a, b, paths.edges.followed_by(more))
    held = len(paths.heaviest)
    dropped = paths.heaviest[~kept[:held]]
    index, place = forest.index, forest.index.rooted.place
    lower = np.maximum(place[index.src[dropped]], place[index.dst[dropped]])
    stays = ~near
    stays[near] = kept[held : len(kept) - len(placed)]
    return forest.changed(lower, stays, placed.take(kept[len(kept) - len(placed) :]))
