"""The forest of a forest and a few more edges, without a walk through all of it.

Only edges on paths between the ends of new edges can leave. The paths go through
fragments and along edges that have entered before; inside a fragment they are
compressed. What is left is a graph of a few vertices, whose forest is computed.
"""

import numpy as np

from ..tree.kruskal_tree import heaviest_between
from .current import CurrentForest
from .edges import HALF, PairEdges, PlacedEdges, spanning
from .kernels.compressed import NONE, hang, meetings, on_paths


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
    near, far = _between(forest, forest.placed(more))
    places = near.places.ravel()
    at = forest.fragments(places)[0].astype(np.uint64) << HALF | places
    vertices, above, heaviest = _compressed(forest, at)
    hung = np.flatnonzero(above != NONE)
    a, b = np.searchsorted(vertices, at).astype(np.uint32).reshape(2, -1)
    a, b = np.concatenate([hung.astype(np.uint32), a]), np.concatenate([above[hung], b])
    edges = forest.of_index(heaviest).followed_by(near.edges)
    kept = spanning(len(vertices), a, b, edges)
    dropped = heaviest[~kept[: len(hung)]]
    place = forest.index.rooted.place
    lower = np.maximum(
        place[forest.index.src[dropped]], place[forest.index.dst[dropped]]
    )
    left = np.concatenate([forest.left, lower])
    return forest.changed(left, far.followed_by(near.take(kept[len(hung) :])))


def _between(
    forest: CurrentForest, more: PlacedEdges
) -> tuple[PlacedEdges, PlacedEdges]:
    """Return the edges entered before on paths between the ends of more, and more.

    The others that have entered come second.
    """
    entered, count = forest.entered, len(forest.entered)
    places = np.concatenate([entered.places.ravel(), more.places.ravel()])
    number, tops = forest.fragments(places)
    needed = np.zeros(len(tops), np.bool_)
    needed[number[2 * count :]] = True
    near = on_paths(number[:count], number[count : 2 * count], needed)
    return entered.take(near).followed_by(more), entered.take(~near)


def _compressed(
    forest: CurrentForest, at: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the compressed paths between vertices inside their fragments.

    Parameters
    ----------
    at : ndarray of uint64
        The place of each vertex, and above that the number of its fragment.

    Returns
    -------
    vertices : ndarray of uint64
        These and where paths meet; ascending.
    above : ndarray of uint32
        For each the position of the next one above; `NONE` without one.
    heaviest : ndarray of int64
        For those that have one the heaviest edge on the path there.
    """
    index, rooted = forest.index, forest.index.rooted
    vertices = _distinct(at)
    vertices = _distinct(np.concatenate([vertices, meetings(rooted, vertices)]))
    above = np.empty(len(vertices), np.uint32)
    hang(rooted, vertices, above)
    lower = above != NONE
    ids = rooted.vertex[vertices.astype(np.uint32)]
    heaviest = np.empty(np.count_nonzero(lower), np.int64)
    ends = ids[lower], ids[above[lower]]
    heaviest_between(index.links, index.order, *ends, heaviest)
    return vertices, above, heaviest


def _distinct(values: np.ndarray) -> np.ndarray:
    """Return some values ascending, none twice: few are sorted faster than hashed."""
    values = np.sort(values)
    return values[np.r_[True, values[1:] != values[:-1]][: len(values)]]
