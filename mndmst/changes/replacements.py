"""Find the edges that replace deleted edges of a forest.

Deletions cut trees into pieces. An edge between two pieces of a tree has an end in a
piece other than the largest, so the rows of the smaller pieces contain all such edges.
Each rank keeps the forest of its own edges between pieces (cycle property), and rank 0
computes the forest of these forests.
"""

from typing import NamedTuple

import numpy as np

from ..graph.model import EdgeColumns, Rows
from ..kernels.kruskal import HALF
from .current_forest import CurrentForest, numbered
from .edges import PairEdges, spanning
from .kernels.compressed import label_joined
from .kernels.fragments import write_vertices
from .kernels.scan import SLOT_BITS, Leaving, Marked, mark, marked_rows, scan_rows
from .rows import ChangingRows


class TreePieces(NamedTuple):
    """The pieces that trees are cut into, but for the largest of each tree."""

    vertices: np.ndarray  # uint32
    piece: np.ndarray  # uint32: the piece of each of these
    # uint32, shape (pieces,): for each piece the number of the largest one of its tree.
    # These are numbered after the others.
    largest: np.ndarray

    @property
    def number(self) -> int:
        """Number of pieces, with the largest ones."""
        return int(self.largest.max(initial=len(self.largest) - 1)) + 1

    def packed(self) -> np.ndarray:
        """Return all in one array, of no words if there are none."""
        if len(self.largest) == 0:
            return np.empty(0, np.uint32)
        return np.concatenate([[len(self.largest)], self.largest, *self[:2]]).astype(
            np.uint32
        )

    @classmethod
    def unpacked(cls, words: np.ndarray) -> "TreePieces":
        """Undo `packed`; of no words none."""
        if len(words) == 0:
            return cls(words, words, words)
        largest, rest = words[1 : 1 + words[0]], words[1 + words[0] :]
        vertices, piece = rest.reshape(2, -1)
        return cls(vertices, piece, largest)


def cut_off(
    forest: CurrentForest, below: np.ndarray, entered: np.ndarray
) -> tuple[CurrentForest, TreePieces]:
    """Take edges out of a forest; return the forest without them, and its pieces.

    Of the index these are the edges with lower ends at the places `below` (uint32), of
    the edges that have entered those with True in `entered`.
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
) -> TreePieces:
    """Return the pieces but the largest of each tree; edges from `joining` on are cut.

    Edges join the fragments at positions `number`, shape (2, edges), in `tops`.
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
) -> TreePieces:
    """Return pieces with all vertices of some fragments."""
    vertices, piece = np.empty((2, int(sizes[chosen].sum())), np.uint32)
    names = numbers[chosen].astype(np.uint32)
    write_vertices(
        forest.cuts, forest.index.rooted, tops[chosen], names, vertices, piece
    )
    return TreePieces(vertices, piece, largest.astype(np.uint32))


class Joining(NamedTuple):
    """Edges between pieces."""

    # uint32: the pieces that each edge joins.
    p: np.ndarray
    q: np.ndarray
    edges: PairEdges

    def followed_by(self, other: "Joining") -> "Joining":
        """Return these edges and then others."""
        p, q = np.concatenate([self.p, other.p]), np.concatenate([self.q, other.q])
        return Joining(p, q, self.edges.followed_by(other.edges))

    def spanning(self, count: int) -> "Joining":
        """Return the minimum spanning forest of `count` pieces."""
        kept = spanning(count, self.p, self.q, self.edges)
        return Joining(self.p[kept], self.q[kept], self.edges.take(kept))


def joined(forest: CurrentForest, count: int, joining: Joining) -> CurrentForest:
    """Return a forest with the lightest edges that join its `count` pieces."""
    come = joining.spanning(count).edges.by_pair()
    stays = np.ones(len(forest.entered), np.bool_)
    return forest.changed(np.empty(0, np.uint32), stays, forest.placed(come))


ROOM = 1 << 16


def joining_edges(rows: ChangingRows, pieces: TreePieces) -> Joining:
    """Return the forest of the edges between pieces that some rows have."""
    base = rows.rows
    marked = _marked(pieces, base.num_vertices)
    nearest, between = _room(len(pieces.largest), base), _room(1 << SLOT_BITS, base)
    for places in (nearest, between):
        places.q[:], places.edges.key[:] = 0, np.iinfo(base.keys.dtype).max
    left, room = marked_rows(marked, base.first, base.last), _room(ROOM, base)
    moved = _some(room, np.empty(0, np.int64))
    while len(left):
        done, count = scan_rows(
            rows.csr, rows.delta, marked, pieces.largest, left, (nearest, between), room
        )
        left = left[done:]
        if count:
            moved = moved.followed_by(_some(room, np.arange(count)))
            moved = moved.spanning(pieces.number)
        elif done == 0:
            room = _room(2 * len(room.p), base)
    for places in (nearest, between):
        moved = moved.followed_by(_some(places, np.flatnonzero(places.q)))
    return moved


def _marked(pieces: TreePieces, num_vertices: int) -> Marked:
    words = num_vertices // 64 + 1
    marked = Marked(
        np.zeros(words, np.uint64),
        np.empty(words, np.uint32),
        np.empty(len(pieces.vertices), np.uint32),
    )
    mark(pieces.vertices, pieces.piece, marked)
    return marked


def _room(count: int, rows: Rows) -> Leaving:
    """Return a buffer for edges."""
    u, v, p, q = (np.empty(count, np.uint32) for _ in range(4))
    return Leaving(p, q, EdgeColumns(u, v, np.empty(count, rows.keys.dtype)))


def _some(leaving: Leaving, index: np.ndarray) -> Joining:
    """Return some of the edges between pieces."""
    u, v, key = (column[index] for column in leaving.edges)
    pair = u.astype(np.uint64) << HALF | v
    return Joining(leaving.p[index], leaving.q[index], PairEdges(pair, key))
