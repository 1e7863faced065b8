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
from .edges import PairEdges, labels_of, spanning
from .kernels.fragments import write_vertices
from .kernels.scan import (
    SLOT_BITS,
    Marked,
    PieceEdgeColumns,
    mark,
    marked_rows,
    scan_rows,
)
from .rows import ChangingRows


class TreePieces(NamedTuple):
    """The pieces of cut trees, without the vertices of the largest piece of each."""

    vertices: np.ndarray  # uint32
    piece: np.ndarray  # uint32: the piece of each vertex
    # uint32, shape (pieces,): for each piece the number of the largest one of its tree.
    # The largest pieces are numbered after the others.
    largest: np.ndarray

    @property
    def number(self) -> int:
        """Number of pieces, including the largest ones."""
        return int(self.largest.max(initial=len(self.largest) - 1)) + 1

    def packed(self) -> np.ndarray:
        """Return the pieces as one array, empty if there are none."""
        if len(self.largest) == 0:
            return np.empty(0, np.uint32)
        return np.concatenate([[len(self.largest)], self.largest, *self[:2]]).astype(
            np.uint32
        )

    @classmethod
    def unpacked(cls, words: np.ndarray) -> "TreePieces":
        """Undo `packed`."""
        if len(words) == 0:
            return cls(words, words, words)
        largest, rest = words[1 : 1 + words[0]], words[1 + words[0] :]
        vertices, piece = rest.reshape(2, -1)
        return cls(vertices, piece, largest)


def cut_off(
    forest: CurrentForest, below: np.ndarray, entered: np.ndarray
) -> tuple[CurrentForest, TreePieces]:
    """Remove edges from a forest; return the forest without them, and its pieces.

    Removes the index's edges whose lower ends are at the positions `below` (uint32),
    and the entered edges with True in `entered`.
    """
    rooted = forest.index.rooted
    none = np.zeros_like(entered)
    rest = forest.changed(below, ~entered, forest.entered.take(none))
    entered_positions = forest.entered.take(entered).positions
    cut = np.concatenate(
        [entered_positions, np.stack([below, rooted.parent[below]])], axis=1
    )
    tops = np.concatenate([rest.entered.tops, rest.tops(cut)], axis=1)
    number, tops = numbered(tops)
    return rest, _smaller_pieces(rest, tops, number, len(rest.entered))


def _smaller_pieces(
    forest: CurrentForest, tops: np.ndarray, number: np.ndarray, first_cut: int
) -> TreePieces:
    """Return the pieces without the largest of each tree.

    Edges connect the fragments `number`, shape (2, edges), whose tops are `tops`; the
    edges from `first_cut` on are removed.
    """
    piece = labels_of(number[:, :first_cut], len(tops))
    tree = labels_of(number, len(tops))
    sizes = forest.sizes(tops)
    size = np.bincount(piece, sizes, minlength=len(tops))
    # Pieces by tree, the largest first
    cut_trees = np.zeros(len(tops), np.bool_)
    cut_trees[tree[number[0, first_cut:]]] = True
    heads = np.flatnonzero((piece == np.arange(len(tops))) & cut_trees[tree])
    heads = heads[np.lexsort((-size[heads], tree[heads]))]
    first = np.r_[True, np.diff(tree[heads].astype(np.int64)) != 0][: len(heads)]
    smaller = heads[~first]
    numbers = np.full(len(tops), -1, np.int64)
    numbers[smaller] = np.arange(len(smaller))
    largest = (len(smaller) + np.cumsum(first) - 1)[~first]
    chosen = np.flatnonzero(numbers[piece] >= 0)
    return _pieces_of_fragments(forest, tops, sizes, chosen, numbers[piece], largest)


def _pieces_of_fragments(
    forest: CurrentForest,
    tops: np.ndarray,
    sizes: np.ndarray,
    chosen: np.ndarray,
    numbers: np.ndarray,
    largest: np.ndarray,
) -> TreePieces:
    """Return pieces with all vertices of the chosen fragments."""
    vertices, piece = np.empty((2, int(sizes[chosen].sum())), np.uint32)
    names = numbers[chosen].astype(np.uint32)
    write_vertices(
        forest.cuts, forest.index.rooted, tops[chosen], names, vertices, piece
    )
    return TreePieces(vertices, piece, largest.astype(np.uint32))


class PieceEdges(NamedTuple):
    """Edges between pieces."""

    # uint32: the pieces at both ends
    p: np.ndarray
    q: np.ndarray
    edges: PairEdges

    def followed_by(self, other: "PieceEdges") -> "PieceEdges":
        """Return these edges and then others."""
        p, q = np.concatenate([self.p, other.p]), np.concatenate([self.q, other.q])
        return PieceEdges(p, q, self.edges.followed_by(other.edges))

    def spanning(self, count: int) -> "PieceEdges":
        """Return the minimum spanning forest of `count` pieces."""
        in_forest = spanning(count, self.p, self.q, self.edges)
        return PieceEdges(
            self.p[in_forest], self.q[in_forest], self.edges.take(in_forest)
        )


def with_piece_edges(
    forest: CurrentForest, count: int, piece_edges: PieceEdges
) -> CurrentForest:
    """Return a forest whose `count` pieces are connected by their lightest edges."""
    added = piece_edges.spanning(count).edges.by_pair()
    stays = np.ones(len(forest.entered), np.bool_)
    return forest.changed(np.empty(0, np.uint32), stays, forest.locate(added))


BUFFER_EDGES = 1 << 16


def edges_between_pieces(
    rows: ChangingRows, pieces: TreePieces, buffer_edges: int = BUFFER_EDGES
) -> PieceEdges:
    """Return the forest of the edges between pieces in some rows.

    `buffer_edges` is the initial size of the buffer of evicted edges (`scan_rows`).
    """
    base = rows.rows
    marked = _marked(pieces, base.num_vertices)
    nearest, between = _buffer(len(pieces.largest), base), _buffer(1 << SLOT_BITS, base)
    for lightest in (nearest, between):
        lightest.q[:], lightest.edges.key[:] = 0, np.iinfo(base.keys.dtype).max
    unread, evicted = (
        marked_rows(marked, base.first, base.last),
        _buffer(buffer_edges, base),
    )
    edges = _some(evicted, np.empty(0, np.int64))
    while len(unread):
        done, count = scan_rows(
            rows.csr,
            rows.delta,
            marked,
            pieces.largest,
            unread,
            (nearest, between),
            evicted,
        )
        unread = unread[done:]
        if count:
            edges = edges.followed_by(_some(evicted, np.arange(count)))
            edges = edges.spanning(pieces.number)
        elif done == 0:
            evicted = _buffer(2 * len(evicted.p), base)
    for lightest in (nearest, between):
        edges = edges.followed_by(_some(lightest, np.flatnonzero(lightest.q)))
    return edges


def _marked(pieces: TreePieces, num_vertices: int) -> Marked:
    words = num_vertices // 64 + 1
    marked = Marked(
        np.zeros(words, np.uint64),
        np.empty(words, np.uint32),
        np.empty(len(pieces.vertices), np.uint32),
    )
    mark(pieces.vertices, pieces.piece, marked)
    return marked


def _buffer(count: int, rows: Rows) -> PieceEdgeColumns:
    """Return a buffer for edges."""
    u, v, p, q = (np.empty(count, np.uint32) for _ in range(4))
    return PieceEdgeColumns(p, q, EdgeColumns(u, v, np.empty(count, rows.keys.dtype)))


def _some(columns: PieceEdgeColumns, index: np.ndarray) -> PieceEdges:
    """Return some of the edges between pieces."""
    u, v, key = (column[index] for column in columns.edges)
    pair = u.astype(np.uint64) << HALF | v
    return PieceEdges(columns.p[index], columns.q[index], PairEdges(pair, key))
