"""The pieces that deletions cut a forest into, and the vertices of the smaller ones."""

from typing import NamedTuple

import numpy as np

from .current import CurrentForest, numbered
from .edges import PairEdges, spanning
from .kernels.compressed import label_joined
from .kernels.fragments import write_vertices


class Pieces(NamedTuple):
    """The pieces that trees are cut into, but for the largest of each tree.

    Attributes
    ----------
    vertices : ndarray of uint32
    piece : ndarray of uint32
        The piece of each of these.
    largest : ndarray of uint32, shape (pieces,)
        For each piece the number of the largest one of its tree. These are numbered
        after the others.
    """

    vertices: np.ndarray
    piece: np.ndarray
    largest: np.ndarray

    @property
    def number(self) -> int:
        """How many pieces there are, with the largest ones."""
        return int(self.largest.max(initial=len(self.largest) - 1)) + 1

    def packed(self) -> np.ndarray:
        """Return all in one array, of no words if there are none."""
        if len(self.largest) == 0:
            return np.empty(0, np.uint32)
        return np.concatenate([[len(self.largest)], self.largest, *self[:2]]).astype(
            np.uint32
        )

    @classmethod
    def unpacked(cls, words: np.ndarray) -> "Pieces":
        """Undo `packed`; of no words none."""
        if len(words) == 0:
            return cls(words, words, words)
        largest, rest = words[1 : 1 + words[0]], words[1 + words[0] :]
        vertices, piece = rest.reshape(2, -1)
        return cls(vertices, piece, largest)


def cut_off(
    forest: CurrentForest, below: np.ndarray, entered: np.ndarray
) -> tuple[CurrentForest, Pieces]:
    """Take edges out of a forest.

    Parameters
    ----------
    forest : CurrentForest
    below : ndarray of uint32
        The places of the lower ends of edges of the index.
    entered : ndarray of bool
        Which of the edges that have entered are taken out.

    Returns
    -------
    forest : CurrentForest
        Without the edges.
    pieces : Pieces
    """
    rooted = forest.index.rooted
    none = np.zeros_like(entered)
    rest = forest.changed(below, ~entered, forest.entered.take(none))
    out = forest.entered.take(entered).places
    cut = np.concatenate([out, np.stack([below, rooted.parent[below]])], axis=1)
    tops = np.concatenate([rest.entered.tops, rest.tops(cut)], axis=1)
    number, tops = numbered(tops)
    return rest, _but_largest(rest, tops, number, len(rest.entered))


def _but_largest(
    forest: CurrentForest, tops: np.ndarray, number: np.ndarray, joining: int
) -> Pieces:
    """Return the pieces but the largest of each tree.

    Parameters
    ----------
    tops : ndarray of uint32
        Of fragments.
    number : ndarray of uint32, shape (2, edges)
        The fragments that edges join, as positions in `tops`.
    joining : int
        So many of these edges are still there; the others are cut.
    """
    piece, tree = np.empty((2, len(tops)), np.uint32)
    label_joined(len(tops), *number[:, :joining], piece)
    label_joined(len(tops), *number, tree)
    sizes = forest.sizes(tops)
    size = np.bincount(piece, sizes, minlength=len(tops))
    # By tree, the largest piece first.
    cut_trees = np.zeros(len(tops), np.bool_)
    cut_trees[tree[number[0, joining:]]] = True
    heads = np.flatnonzero((piece == np.arange(len(tops))) & cut_trees[tree])
    heads = heads[np.lexsort((-size[heads], tree[heads]))]
    first = np.r_[True, np.diff(tree[heads].astype(np.int64)) != 0][: len(heads)]
    small = heads[~first]
    numbers = np.full(len(tops), -1, np.int64)
    numbers[small] = np.arange(len(small))
    largest = (len(small) + np.cumsum(first) - 1)[~first]
    chosen = np.flatnonzero(numbers[piece] >= 0)
    return _listed(forest, tops, sizes, chosen, numbers[piece], largest)


def _listed(
    forest: CurrentForest,
    tops: np.ndarray,
    sizes: np.ndarray,
    chosen: np.ndarray,
    numbers: np.ndarray,
    largest: np.ndarray,
) -> Pieces:
    """Return pieces with all vertices of some fragments."""
    vertices, piece = np.empty((2, int(sizes[chosen].sum())), np.uint32)
    names = numbers[chosen].astype(np.uint32)
    write_vertices(
        forest.cuts, forest.index.rooted, tops[chosen], names, vertices, piece
    )
    return Pieces(vertices, piece, largest.astype(np.uint32))


def joined(
    forest: CurrentForest, count: int, p: np.ndarray, q: np.ndarray, edges: PairEdges
) -> CurrentForest:
    """Return a forest with the lightest edges that join its pieces.

    Parameters
    ----------
    count : int
        How many pieces there are.
    p, q : ndarray of uint32
        The pieces that the edges join.
    edges : PairEdges
    """
    come = edges.take(spanning(count, p, q, edges)).by_pair()
    stays = np.ones(len(forest.entered), np.bool_)
    return forest.changed(np.empty(0, np.uint32), stays, forest.placed(come))
