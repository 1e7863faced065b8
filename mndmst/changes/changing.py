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
from .kernels.arcs import PlacedArcs
from .replacements import Joining, TreePieces, cut_off, joined, joining_edges
from .rows import ChangingRows


def with_edges(forest: CurrentForest, more: PairEdges) -> CurrentForest:
    """Return the minimum spanning forest of a forest and further edges.

    Only edges on paths between the ends of the new edges can leave (cycle property).
    `more` is in the order of pairs. Other weights of edges of the forest are parallel
    edges here: the lighter one is kept.
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


class Applied(NamedTuple):
    """The changes that a batch has made; the same on every rank."""

    version: int  # The version that there is now
    # Edges that the graph did not have before, has no longer, and has with a weight
    # that was given (which may be the same).
    inserted: int
    deleted: int
    changed: int


class ChangingForest:
    """A graph in rows on ranks, and on the first rank its forest. Collective.

    The first rank needs 48 bytes a vertex for the index, and the weights; the others
    nothing that grows with the vertices of the graph but a bit and a half for each,
    while they look for edges in the place of deleted ones.

    The rows are consecutive from rank to rank; they are kept, and not written to. On
    rank 0, `index` is that of the minimum spanning forest, its edges as (u, v) with u <
    v, ascending; it is not checked. `maximum` says that it is the maximum forest, and
    that keys of `rows` descend with weights. Every batch adds 1 to the version. Raises
    InputError on every rank if the graph has too many vertices.
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
        # The forest of the present version, on rank 0. It is replaced, not changed, so
        # that its holder sees one version.
        self.forest = None if index is None else CurrentForest.of(index)

    def apply(self, batch: Batch | MndmstError | None) -> Applied:
        """Make the changes of a batch: all, or none if one cannot be made. Collective.

        Rank 0 gives the batch. An error that has kept it from reading one is raised on
        all ranks. Raises MndmstError on every rank, naming the first change that cannot
        be made.
        """
        net = self._agreed(batch)
        arc, edge = self.rows.own(net.pair)
        here, key = self.rows.find(arc)
        self._check(net, edge[here != net.before[edge]], batch)

        # 1. What gets worse, in the rows and in the forest
        worse = here & (net.key[edge] > key)
        better = net.after[edge] & (~here | (net.key[edge] < key))
        self._change(net, arc, edge, worse | ~net.after[edge])
        forest, lighter = self._rejoined(net)

        # 2. What gets better
        self._change(net, arc, edge, better)
        self.rows.keep_small()
        if forest is not None:
            self.forest = with_edges(forest, lighter).settled()
        self.version += 1
        counts = (~net.before & net.after, net.before & ~net.after)
        inserted, deleted = (int(np.count_nonzero(mask)) for mask in counts)
        changed = int(np.count_nonzero(net.before & net.after))
        return Applied(self.version, inserted, deleted, changed)

    def _change(
        self, net: NetChanges, arc: PlacedArcs, edge: np.ndarray, chosen: np.ndarray
    ) -> None:
        """Make some arcs what their edges are in the end."""
        edge = edge[chosen]
        self.rows.change(arc.take(chosen), net.after[edge], net.key[edge])

    def _agreed(self, batch: Batch | MndmstError | None) -> NetChanges:
        """Check a batch by itself, and return its net changes on every rank."""
        agreed: NetChanges | MndmstError | None = None
        if self.comm.rank == 0:
            try:
                if batch is None:
                    raise ConfigError("rank 0 has no batch; give it one")
                if isinstance(batch, MndmstError):
                    raise batch
                num_vertices = self.rows.rows.num_vertices
                agreed = net_changes(
                    batch, num_vertices, self.weight_dtype, self.maximum
                )
            except MndmstError as error:
                agreed = error
        agreed = self.comm.bcast(agreed)  # one message, be it one or the other
        if isinstance(agreed, MndmstError):
            agreed.ranks = self.comm.size
            raise agreed
        assert agreed is not None
        return agreed

    def _check(self, net: NetChanges, wrong: np.ndarray, batch: object) -> None:
        """Refuse a batch if rows are not as it needs them.

        `wrong` has the positions of the net changes that this rank cannot make.
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

    def _rejoined(self, net: NetChanges) -> tuple[CurrentForest | None, PairEdges]:
        """Take edges that got worse out of the forest, and join its pieces again.

        Returns, on rank 0, the forest of the graph without the changes that make edges
        lighter, and the edges that may enter it by these.
        """
        forest, pieces = None, TreePieces.unpacked(np.empty(0, np.uint32))
        lighter = PairEdges(net.pair, net.key)
        if self.forest is not None:
            below, entered, key = self.forest.find(lighter)
            held = (below > 0) | entered
            out = held & (~net.after | (net.key > key))
            stays = held & ~out & (net.key == key)
            lighter = lighter.take(net.after & ~out & ~stays)
            forest = self.forest
            if out.any():
                gone = among(forest.entered.edges.pair, net.pair[out & entered])
                forest, pieces = cut_off(forest, below[out & (below > 0)], gone)
        # All know whether there is an edge that may have got worse
        if net.before.any():
            pieces = TreePieces.unpacked(self.comm.allgatherv(pieces.packed()))
        if len(pieces.largest) == 0:
            return forest, lighter
        found = joining_edges(self.rows, pieces)
        p, q, pair, key = self.comm.gatherv(
            found.p, found.q, found.edges.pair, found.edges.key
        )
        if forest is not None:
            joining = Joining(p, q, PairEdges(pair, key))
            forest = joined(forest, pieces.number, joining)
        return forest, lighter
