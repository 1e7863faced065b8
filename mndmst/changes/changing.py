"""START HERE: a graph on ranks, whose forest follows batches of changes.

A batch first applies deletions and larger weights. All other forest edges stay (cut
property), and the lightest edges between the pieces replace the deleted ones. Then the
batch applies insertions and smaller weights: the new forest is the forest of the old
one and the lighter edges (cycle property). The rows are current in both steps.
"""

from typing import NamedTuple

import numpy as np

from ..comm.communicator import Comm
from ..graph.model import Rows
from ..host.errors import ConfigError, InputError, MndmstError
from ..tree.index import MOST_VERTICES, ForestIndex
from .batch import Batch, NetChanges, impossible, net_changes
from .current_forest import CurrentForest, paths_between
from .edges import PairEdges, among, spanning
from .forest_difference import combined
from .kernels.arcs import ArcRanges
from .replacements import (
    PieceEdges,
    TreePieces,
    cut_off,
    edges_between_pieces,
    with_piece_edges,
)
from .rows import ChangingRows


def with_edges(forest: CurrentForest, more: PairEdges) -> CurrentForest:
    """Return the minimum spanning forest of a forest and further edges.

    Only edges on paths between the ends of the new edges can leave (cycle property).
    `more` is in the order of pairs. An edge of the forest may occur with another
    weight, as a parallel edge: the lighter one stays.
    """
    if len(more.pair) == 0:
        return forest
    located = forest.locate(more)
    paths, near = paths_between(forest, located.positions, located.tops)
    a, b = np.concatenate([[paths.a, paths.b], paths.ends], axis=1)
    in_forest = spanning(paths.num_vertices, a, b, paths.edges.followed_by(more))
    indexed = len(paths.heaviest)
    dropped = paths.heaviest[~in_forest[:indexed]]
    index, position = forest.index, forest.index.rooted.position
    lower = np.maximum(position[index.src[dropped]], position[index.dst[dropped]])
    stays = ~near
    stays[near] = in_forest[indexed : len(in_forest) - len(located)]
    return forest.changed(
        lower, stays, located.take(in_forest[len(in_forest) - len(located) :])
    )


class Applied(NamedTuple):
    """The changes that a batch has made; the same on every rank."""

    version: int  # the new version
    # Numbers of edges; a changed edge has a given weight, which may be the old one.
    inserted: int
    deleted: int
    changed: int


class ChangingForest:
    """A graph in rows on ranks, and on the first rank its forest. Collective.

    The first rank needs 48 bytes a vertex for the index, and the weights. The other
    ranks need 1.5 bits per vertex of the graph while they search replacements of
    deleted edges.

    The rows are consecutive from rank to rank; they are kept without a copy and never
    modified. On rank 0, `index` is an index over the minimum spanning forest, whose
    edges (u, v) with u < v ascend; this is not checked. With `maximum` it is the
    maximum forest, and keys of `rows` descend with weights. Every batch adds 1 to the
    version. Raises InputError on every rank if the graph has too many vertices.
    """

    def __init__(
        self,
        comm: Comm,
        rows: Rows,
        weight_dtype: np.dtype,
        index: ForestIndex | None,
        version: int = 0,
        maximum: bool = False,
    ) -> None:
        if rows.num_vertices > MOST_VERTICES:
            raise InputError(
                f"{rows.num_vertices:,} vertices; a forest of up to {MOST_VERTICES:,} "
                "can follow changes. Solve again instead."
            )
        self.comm, self.version, self.maximum = comm, version, maximum
        self.weight_dtype = np.dtype(weight_dtype)
        self.rows = ChangingRows(rows)
        # On rank 0: the immutable forest of this version, and its difference from the
        # forest before
        self.forest = None if index is None else CurrentForest.of(index)
        self.difference = combined((), self.weight_dtype)

    def apply(self, batch: Batch | MndmstError | None) -> Applied:
        """Make all changes of a batch, or none if one is impossible. Collective.

        Rank 0 passes the batch, or the error by which it failed to read one. Raises
        MndmstError on every rank: this error, or one that names the first impossible
        change.
        """
        net = self._agreed(batch)
        arc, edge = self.rows.local_arcs(net.pair)
        exists, key = self.rows.find(arc)
        self._check(net, edge[exists != net.before[edge]], batch)

        # 1. Deletions and larger weights, in the rows and in the forest
        worse = exists & (net.key[edge] > key)
        better = net.after[edge] & (~exists | (net.key[edge] < key))
        self._change(net, arc, edge, worse | ~net.after[edge])
        forest, lighter = self._reconnected(net)

        # 2. Insertions and smaller weights
        self._change(net, arc, edge, better)
        self.rows.compact()
        if forest is not None:
            forest = with_edges(forest, lighter)
            self.difference = combined(forest.steps, self.weight_dtype)
            self.forest = forest.settled()
        self.version += 1
        counts = (~net.before & net.after, net.before & ~net.after)
        inserted, deleted = (int(np.count_nonzero(mask)) for mask in counts)
        changed = int(np.count_nonzero(net.before & net.after))
        return Applied(self.version, inserted, deleted, changed)

    def _change(
        self, net: NetChanges, arc: ArcRanges, edge: np.ndarray, chosen: np.ndarray
    ) -> None:
        """Set some arcs to the final states of their edges."""
        edge = edge[chosen]
        self.rows.change(arc.take(chosen), net.after[edge], net.key[edge])

    def _agreed(self, batch: Batch | MndmstError | None) -> NetChanges:
        """Check a batch without the graph; return its net changes on every rank."""
        net: NetChanges | None = None
        error: MndmstError | None = None
        if self.comm.rank == 0:
            try:
                if batch is None:
                    raise ConfigError("rank 0 has no batch; give it one")
                if isinstance(batch, MndmstError):
                    raise batch
                num_vertices = self.rows.rows.num_vertices
                net = net_changes(batch, num_vertices, self.weight_dtype, self.maximum)
            except MndmstError as raised:
                error = raised
        net, error = self.comm.bcast((net, error))  # in one message
        if error is not None:
            error.ranks = self.comm.size
            raise error
        assert net is not None
        return net

    def _check(self, net: NetChanges, wrong: np.ndarray, batch: object) -> None:
        """Refuse a batch that contradicts the rows of any rank.

        `wrong` has the positions of the net changes that are impossible on this rank.
        """
        none = np.iinfo(np.int64).max
        first = self.comm.min(int(net.change[wrong].min(initial=none)))
        if first == none:
            return
        with self.comm.raise_on_all():
            if self.comm.rank == 0 and isinstance(batch, Batch):
                at = int(np.flatnonzero(net.change == first)[0])
                missing = bool(net.before[at])
                raise impossible(batch, first, int(net.pair[at]), missing)

    def _reconnected(self, net: NetChanges) -> tuple[CurrentForest | None, PairEdges]:
        """Remove deleted and heavier edges from the forest, and reconnect its pieces.

        Returns, on rank 0, the forest of the graph without insertions and smaller
        weights, and the edges that these may add to it.
        """
        forest, pieces = None, TreePieces.unpacked(np.empty(0, np.uint32))
        lighter = PairEdges(net.pair, net.key)
        if self.forest is not None:
            below, entered, key = self.forest.find(lighter)
            in_forest = (below > 0) | entered
            leaves = in_forest & (~net.after | (net.key > key))
            stays = in_forest & ~leaves & (net.key == key)
            lighter = lighter.take(net.after & ~leaves & ~stays)
            forest = self.forest
            if leaves.any():
                removed = among(forest.entered.edges.pair, net.pair[leaves & entered])
                forest, pieces = cut_off(forest, below[leaves & (below > 0)], removed)
        # Every rank has the net changes, so all agree whether an edge may be worse
        if net.before.any():
            pieces = TreePieces.unpacked(self.comm.allgatherv(pieces.packed()))
        if len(pieces.largest) == 0:
            return forest, lighter
        candidates = edges_between_pieces(self.rows, pieces)
        p, q, pair, key = self.comm.gatherv(
            candidates.p, candidates.q, candidates.edges.pair, candidates.edges.key
        )
        if forest is not None:
            piece_edges = PieceEdges(p, q, PairEdges(pair, key))
            forest = with_piece_edges(forest, pieces.number, piece_edges)
        return forest, lighter
