"""The forest of a version: an index over one before, and what differs from it.

The index is over the forest of some earlier version. Of it some edges have left: the
forest is cut there, into fragments. Others have entered, and join fragments. An object
never changes, so what asks one sees one version.
"""

from dataclasses import dataclass, replace

import numpy as np

from ..graph.model import EdgeList
from ..graph.order import keys_to_weights, weights_to_keys
from ..graph.ordered import places_among
from ..tree.index import ForestIndex
from .edges import HALF, PairEdges, PlacedEdges, among
from .kernels.fragments import Cuts, lower_tops, nest, number, sizes_of

# What differs takes part in every batch. If that has been so for this many changes a
# vertex, all in all, an index made anew has been as much work: 0.2 us a vertex.
MOST_WORK = 1.5


@dataclass(frozen=True)
class CurrentForest:
    """A forest as the changes of an indexed one.

    Attributes
    ----------
    index : ForestIndex
        Its edges are in the order of pairs.
    cuts : Cuts
        Where edges of the index have left: each cut has the place of its lower end in
        the rooted forest as its top.
    entered : PlacedEdges
        The edges that have entered, by pairs.
    work : int
        The changes there have been in all versions since the index, added up.
    """

    index: ForestIndex
    cuts: Cuts
    entered: PlacedEdges
    work: int = 0

    @classmethod
    def of(cls, index: ForestIndex) -> "CurrentForest":
        """Return an indexed forest without changes."""
        entered = PlacedEdges(
            PairEdges(np.empty(0, np.uint64), weights_to_keys(index.weight[:0].copy())),
            *np.empty((2, 2, 0), np.uint32),
        )
        nowhere = np.empty(0, np.uint32)
        return cls(index, _cuts_at(nowhere, nowhere, index.num_vertices), entered)

    def __len__(self) -> int:
        return len(self.index) - len(self.left) + len(self.entered)

    @property
    def left(self) -> np.ndarray:
        """The places of the lower ends of the edges of the index that have left."""
        return self.cuts.top

    def placed(self, edges: PairEdges) -> PlacedEdges:
        """Return edges with the positions and fragments of their ends."""
        return PlacedEdges(edges, *self.located(edges.ends))

    def located(self, vertices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the positions of vertices, and of the tops of their fragments."""
        places = self.index.rooted.place[vertices]
        return places, self.tops(places)

    def tops(self, places: np.ndarray) -> np.ndarray:
        """Return the places of the tops of the fragments that some places are in."""
        rooted = self.index.rooted
        tops = rooted.place[self.index.labels[rooted.vertex[places.ravel()]]]
        lower_tops(self.cuts, places.ravel(), tops)
        return tops.reshape(places.shape)

    def sizes(self, tops: np.ndarray) -> np.ndarray:
        """Return how many vertices the fragments of some tops have; int64."""
        sizes = np.empty(len(tops), np.int64)
        sizes_of(self.cuts, self.index.rooted.end, tops, sizes)
        return sizes

    def find(self, edges: PairEdges) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Look edges up in the forest; their weights are not looked at.

        Returns
        -------
        below : ndarray of uint32
            Of an edge of the index that has not left, the place of its lower end; 0,
            which no lower end has, for others.
        entered : ndarray of bool
            Which have entered.
        key : ndarray of uint32 or uint64
            The weights of the edges found in the forest.
        """
        rooted, (pair, given) = self.index.rooted, edges
        one, other = rooted.place[edges.ends]
        low, below = np.minimum(one, other), np.maximum(one, other)
        below[(rooted.parent[below] != low) | among(below, self.left)] = 0
        key, here = np.zeros_like(given), below > 0
        key[here] = weights_to_keys(self.index.weight[rooted.edge[below[here]]])
        entered = among(pair, self.entered.edges.pair)
        place = np.searchsorted(self.entered.edges.pair, pair[entered])
        key[entered] = self.entered.edges.key[place]
        return below, entered, key

    def changed(
        self, below: np.ndarray, stays: np.ndarray, come: PlacedEdges
    ) -> "CurrentForest":
        """Return the forest with more changes.

        Parameters
        ----------
        below : ndarray of uint32
            The places of the lower ends of edges of the index that leave; in any order.
        stays : ndarray of bool
            Which of the edges that have entered stay.
        come : PlacedEdges
            Edges that enter, in the order of pairs.
        """
        cuts, entered = self.cuts, self.entered.merged(stays, come)
        if len(below):
            more, index = np.sort(below), self.index
            left = np.insert(cuts.top, np.searchsorted(cuts.top, more), more)
            ends, tops = index.rooted.end, entered.tops.flatten()
            new = _cuts_at(more, ends, index.num_vertices)
            lower_tops(new, entered.places.ravel(), tops)
            cuts = _cuts_at(left, ends, index.num_vertices)
            entered = PlacedEdges(*entered[:2], tops.reshape(2, -1))
        return CurrentForest(self.index, cuts, entered, self.work)

    def settled(self) -> "CurrentForest":
        """Return the forest of a version, with a new index if changes are many."""
        work = self.work + self.differs
        if work > MOST_WORK * self.index.num_vertices:
            return CurrentForest.of(self.indexed())
        return replace(self, work=work)

    def of_index(self, positions: np.ndarray) -> PairEdges:
        """Return some edges of the index."""
        index = self.index
        pair = index.src[positions].astype(np.uint64) << HALF | index.dst[positions]
        return PairEdges(pair, weights_to_keys(index.weight[positions]))

    def edges(self) -> EdgeList:
        """Return the edges in the order of pairs."""
        index = self.index
        stays = np.ones(len(index), np.bool_)
        if len(self.left):
            stays[index.rooted.edge[self.left]] = False
        keys = weights_to_keys(index.weight[stays])
        held = EdgeList(index.src[stays], index.dst[stays], keys)
        u, v = self.entered.edges.ends
        come = EdgeList(u, v, self.entered.edges.key)
        places = places_among(held, come)
        columns = ((held.u, come.u), (held.v, come.v), (held.key, come.key))
        return EdgeList(*(np.insert(a, places, b) for a, b in columns))

    @property
    def differs(self) -> int:
        """How many edges have left or entered since the index was made."""
        return len(self.left) + len(self.entered)

    def indexed(self) -> ForestIndex:
        """Return an index over this forest: that there is, if nothing differs."""
        if self.differs == 0:
            return self.index
        edges = self.edges()
        weight = keys_to_weights(edges.key, self.index.weight.dtype)
        return ForestIndex(self.index.num_vertices, edges.u, edges.v, weight)


def numbered(tops: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Number the fragments of some tops.

    Returns
    -------
    numbers : ndarray of uint32
        As `tops`.
    distinct : ndarray of uint32
        The top of each fragment.
    """
    numbers, distinct = np.empty((2, tops.size), np.uint32)
    count = number(tops.ravel(), numbers, distinct)
    return numbers.reshape(tops.shape), distinct[:count]


def _cuts_at(top: np.ndarray, ends: np.ndarray, places: int) -> Cuts:
    """Return cuts with ascending tops, of a rooted forest of `places` vertices."""
    count = len(top)
    shift = max(0, places.bit_length() - (2 * count).bit_length())
    end, bound = np.empty(count, np.uint32), np.empty(2 * count, np.uint32)
    after, inner = np.empty(count, np.int64), np.empty(2 * count, np.int64)
    block = np.empty((places >> shift) + 1, np.int64)
    cuts = Cuts(top, end, after, bound, inner, block, shift)
    nest(ends, cuts)
    return cuts
