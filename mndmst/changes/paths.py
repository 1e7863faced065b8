"""The paths between a few vertices of a forest, without a walk through all of it.

They go through fragments and along edges that have entered before; inside a fragment
they are compressed. What is left is a graph of a few vertices.
"""

from typing import NamedTuple

import numpy as np

from ..tree.kruskal_tree import heaviest_between, link_by_size
from .current import CurrentForest, numbered
from .edges import HALF, PairEdges
from .kernels.compressed import NONE, hang, label_joined, meetings, on_paths


class Paths(NamedTuple):
    """A forest of a few vertices, each edge the heaviest one of a path.

    Attributes
    ----------
    num_vertices : int
        Of this forest.
    a, b : ndarray of uint32
        Ends of its edges.
    edges : PairEdges
        The edges of the index, followed by the edges that have entered.
    heaviest : ndarray of int64
        The positions in the index of the first ones.
    ends : ndarray of uint32, shape (2, pairs)
        The vertices that the places asked for are.
    """

    num_vertices: int
    a: np.ndarray
    b: np.ndarray
    edges: PairEdges
    heaviest: np.ndarray
    ends: np.ndarray


def paths_between(
    forest: CurrentForest, places: np.ndarray, tops: np.ndarray
) -> tuple[Paths, np.ndarray]:
    """Return the paths between the places of pairs.

    Parameters
    ----------
    places, tops : ndarray of uint32, shape (2, pairs)
        As `CurrentForest.located` returns them.

    Returns
    -------
    paths : Paths
    near : ndarray of bool
        Which of the edges that have entered are among its edges.
    """
    number, fragments, count = _joined(forest, tops)
    needed = np.zeros(fragments, np.bool_)
    needed[number[:, count:]] = True
    near = on_paths(*number[:, :count], needed)
    entered = forest.entered.take(near)
    given = np.concatenate([entered.places, places], axis=1)
    kept = np.concatenate([number[:, :count][:, near], number[:, count:]], axis=1)
    at = (kept.astype(np.uint64) << HALF | given).ravel()
    vertices, above, heaviest = _compressed(forest, at)
    hung = np.flatnonzero(above != NONE)
    ends = np.searchsorted(vertices, at).astype(np.uint32).reshape(2, -1)
    a, b = ends[:, : len(entered)]
    a, b = np.concatenate([hung.astype(np.uint32), a]), np.concatenate([above[hung], b])
    edges = forest.of_index(heaviest).followed_by(entered.edges)
    return Paths(len(vertices), a, b, edges, heaviest, ends[:, len(entered) :]), near


def connected(forest: CurrentForest, u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return whether the vertices of pairs are in the same tree; bool.

    Parameters
    ----------
    u, v : ndarray of uint32
    """
    _, tops = forest.located(np.stack([u, v]))
    number, fragments, count = _joined(forest, tops)
    tree = np.empty(fragments, np.uint32)
    label_joined(fragments, *number[:, :count], tree)
    one, other = tree[number[:, count:]]
    return np.asarray(one == other)


def path_max(
    forest: CurrentForest, u: np.ndarray, v: np.ndarray
) -> tuple[np.ndarray, PairEdges]:
    """Return the heaviest edge on the path between the vertices of each pair.

    Parameters
    ----------
    u, v : ndarray of uint32

    Returns
    -------
    position : ndarray of int64
        In the edges returned; -1 where both are the same vertex or no path exists.
    edges : PairEdges
    """
    paths, _ = paths_between(forest, *forest.located(np.stack([u, v])))
    order = np.lexsort((paths.edges.pair, paths.edges.key)).astype(np.uint32)
    links = np.empty(paths.num_vertices, np.uint64)
    link_by_size(order, paths.a, paths.b, links)
    position = np.empty(len(u), np.int64)
    heaviest_between(links, order, *paths.ends, position)
    return position, paths.edges


def _joined(forest: CurrentForest, tops: np.ndarray) -> tuple[np.ndarray, int, int]:
    """Number the fragments at the ends of entered edges, and of some tops.

    Returns
    -------
    number : ndarray of uint32, shape (2, entered + pairs)
    fragments : int
        How many there are.
    count : int
        How many edges have entered.
    """
    number, distinct = numbered(np.concatenate([forest.entered.tops, tops], axis=1))
    return number, len(distinct), len(forest.entered)


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
        The heaviest edge on the path there; only for vertices with a path.
    """
    index, rooted = forest.index, forest.index.rooted
    vertices = _distinct(at)
    vertices = _distinct(np.concatenate([vertices, meetings(rooted, vertices)]))
    above = np.empty(len(vertices), np.uint32)
    hang(rooted, vertices, above)
    lower = above != NONE
    ids = rooted.vertex[vertices.astype(np.uint32)]
    heaviest = np.empty(np.count_nonzero(lower), np.int64)
    heaviest_between(index.links, index.order, ids[lower], ids[above[lower]], heaviest)
    return vertices, above, heaviest


def _distinct(values: np.ndarray) -> np.ndarray:
    """Return some values ascending, none twice: few are sorted faster than hashed."""
    values = np.sort(values)
    return values[np.r_[True, values[1:] != values[:-1]][: len(values)]]
