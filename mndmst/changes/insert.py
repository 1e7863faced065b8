"""The forest of a forest and a few more edges, without a walk through all of it.

Only edges on paths between the ends of new edges can leave. The paths go through
fragments and along edges that have entered before; inside a fragment they are
compressed. What is left is a graph of a few vertices, whose forest is computed.
"""

import numpy as np

from ..graph.order import weights_to_keys
from .current import CurrentForest
from .edges import PairEdges, spanning
from .kernels.compressed import NONE, compress_paths, meetings, on_paths

HALF = np.uint64(32)


def with_edges(forest: CurrentForest, more: PairEdges) -> CurrentForest:
    """Return the forest of the edges of a forest and others.

    Parameters
    ----------
    forest : CurrentForest
    more : PairEdges
        Other weights of edges of the forest are parallel edges here: the lighter one
        is kept.
    """
    if len(more.pair) == 0:
        return forest
    index, rooted = forest.index, forest.index.rooted
    near, far = _between(forest, more)
    ends = np.stack(near.followed_by(more).ends)
    fragment = forest.tops(ends.ravel()).astype(np.uint64) << HALF
    at = fragment | rooted.place[ends.ravel()]
    vertices = np.unique(at)
    vertices = np.unique(np.concatenate([vertices, meetings(rooted, vertices)]))
    parent, rank = np.empty((2, len(vertices)), np.uint32)
    compress_paths(rooted, index.links, vertices, parent, rank)
    hung = np.flatnonzero(parent != NONE)
    heaviest = index.order[rank[hung]]
    a, b = np.searchsorted(vertices, at).astype(np.uint32).reshape(2, -1)
    a, b = np.concatenate([hung, a]), np.concatenate([parent[hung], b])
    edges = _of_index(forest, heaviest).followed_by(near).followed_by(more)
    kept = spanning(len(vertices), a.astype(np.uint32), b, edges)
    leaving = forest.lower_ends(heaviest[~kept[: len(hung)]])
    come = edges.take(len(hung) + np.flatnonzero(kept[len(hung) :]))
    left = np.concatenate([forest.left, leaving])
    return forest.changed(left, far.followed_by(come))


def _between(forest: CurrentForest, more: PairEdges) -> tuple[PairEdges, PairEdges]:
    """Return the edges entered before on paths between ends of more, and the others."""
    entered = forest.entered
    if len(entered.pair) == 0:
        return entered, entered
    ends = np.concatenate([*entered.ends, *more.ends])
    fragments, number = np.unique(forest.tops(ends), return_inverse=True)
    number, count = number.astype(np.uint32), len(entered.pair)
    needed = np.zeros(len(fragments), np.bool_)
    needed[number[2 * count :]] = True
    near = on_paths(number[:count], number[count : 2 * count], needed)
    return entered.take(near), entered.take(~near)


def _of_index(forest: CurrentForest, positions: np.ndarray) -> PairEdges:
    """Return edges of the index as edges by pairs."""
    index = forest.index
    pair = index.src[positions].astype(np.uint64) << HALF | index.dst[positions]
    return PairEdges(pair, weights_to_keys(index.weight[positions]))
