"""The edges that join pieces again, found in the rows of all but the largest ones.

An edge between two pieces of a tree has an end in one that is not the largest, so these
rows have all of them. A rank drops, by the cycle property, all but a forest of its own
edges between pieces, and the first rank computes the forest of these forests.
"""

import numpy as np

from ..graph.model import EdgeColumns, Rows
from .edges import HALF, PairEdges, spanning
from .kernels.scan import SLOT_BITS, Leaving, Marked, mark, marked_rows, scan_rows
from .pieces import Pieces
from .rows import ChangingRows

ROOM = 1 << 16

Joining = tuple[np.ndarray, np.ndarray, PairEdges]


def joining_edges(rows: ChangingRows, pieces: Pieces) -> Joining:
    """Return the forest of the edges between pieces that some rows have.

    Parameters
    ----------
    rows : ChangingRows
    pieces : Pieces

    Returns
    -------
    p, q : ndarray of uint32
        The pieces that the edges join.
    edges : PairEdges
    """
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
            moved = _both(moved, _some(room, np.arange(count)))
            moved = _forest(pieces.number, moved)
        elif done == 0:
            room = _room(2 * len(room.p), base)
    found = (_some(places, np.flatnonzero(places.q)) for places in (nearest, between))
    return _both(moved, _both(*found))


def _marked(pieces: Pieces, num_vertices: int) -> Marked:
    words = num_vertices // 64 + 1
    marked = Marked(
        np.zeros(words, np.uint64),
        np.empty(words, np.uint32),
        np.empty(len(pieces.vertices), np.uint32),
    )
    mark(pieces.vertices, pieces.piece, marked)
    return marked


def _room(count: int, rows: Rows) -> Leaving:
    """Return room for edges."""
    u, v, p, q = (np.empty(count, np.uint32) for _ in range(4))
    return Leaving(p, q, EdgeColumns(u, v, np.empty(count, rows.keys.dtype)))


def _some(leaving: Leaving, index: np.ndarray) -> Joining:
    """Return some of the edges between pieces."""
    u, v, key = (column[index] for column in leaving.edges)
    pair = u.astype(np.uint64) << HALF | v
    return leaving.p[index], leaving.q[index], PairEdges(pair, key)


def _both(one: Joining, other: Joining) -> Joining:
    p, q = (np.concatenate(columns) for columns in zip(one[:2], other[:2], strict=True))
    return p, q, one[2].followed_by(other[2])


def _forest(count: int, found: Joining) -> Joining:
    """Return the forest of edges between pieces."""
    p, q, edges = found
    kept = spanning(count, p, q, edges)
    return p[kept], q[kept], edges.take(kept)
