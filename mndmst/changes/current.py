"""The forest of a version: an index over one before, and what differs from it.

The index is over the forest of some earlier version. Of it some edges have left: the
forest is cut there, into fragments. Others have entered, and join fragments. An object
never changes, so what asks one sees one version.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..graph.model import EdgeList
from ..graph.order import keys_to_weights, weights_to_keys
from ..graph.ordered import places_among
from ..tree.index import ForestIndex
from .edges import HALF, PairEdges, PlacedEdges, among
from .kernels.fragments import Cuts, nest, number, sizes_of, tops_of

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
    left : ndarray of uint32
        The edges of the index that have left, each by the place of its lower end in
        the rooted forest; ascending.
    entered : PlacedEdges
        The edges that have entered, by pairs.
    work : int
        The changes there have been in all versions since the index, added up.
    """

    index: ForestIndex
    left: np.ndarray
    entered: PlacedEdges
    work: int = 0

    @classmethod
    def of(cls, index: ForestIndex) -> "CurrentForest":
        """Return an indexed forest without changes."""
        none = np.empty(0, np.uint64), weights_to_keys(index.weight[:0].copy())
        entered = PlacedEdges(PairEdges(*none), np.empty((2, 0), np.uint32))
        return cls(index, np.empty(0, np.uint32), entered)

    def __len__(self) -> int:
        return len(self.index) - len(self.left) + len(self.entered)

    @cached_property
    def cuts(self) -> Cuts:
        """Where the indexed forest is cut."""
        count, places = len(self.left), self.index.num_vertices
        shift = max(0, places.bit_length() - (2 * count).bit_length())
        around, after = np.empty((2, count), np.int64)
        block = np.empty((places >> shift) + 1, np.int64)
        bound, inner = np.empty(2 * count, np.uint32), np.empty(2 * count, np.int64)
        cuts = Cuts(self.left, around, after, bound, inner, block, shift)
        nest(self.left, self.index.rooted.end, cuts)
        return cuts

    def placed(self, edges: PairEdges) -> PlacedEdges:
        """Return edges with the places of their ends."""
        return PlacedEdges(edges, self.index.rooted.place[edges.ends])

    def fragments(self, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Number the fragments that some places are in.

        Parameters
        ----------
        places : ndarray of uint32

        Returns
        -------
        numbers : ndarray of uint32
            The fragment of each place.
        tops : ndarray of uint32
            The place of the top of each fragment.
        """
        found, numbers, tops = np.empty((3, len(places)), np.uint32)
        tops_of(self.cuts, self.index.rooted, self.index.labels, places, found)
        return numbers, tops[: number(found, numbers, tops)]

    def sizes(self, tops: np.ndarray) -> np.ndarray:
        """Return how many vertices the fragments of some tops have; int64."""
        sizes = np.empty(len(tops), np.int64)
        sizes_of(self.cuts, self.index.rooted.end, tops, sizes)
        return sizes

    def find(self, placed: PlacedEdges) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Look edges up in the forest; their weights are not looked at.

        Returns
        -------
        below : ndarray of uint32
            Of an edge of the index that has not left, the place of its lower end; 0,
            which no lower end has, for others.
        entered : ndarray of bool
            Which have entered.
        key : ndarray of uint32 or uint64
            The weights of those that are in the forest.
        """
        rooted, (pair, given) = self.index.rooted, placed.edges
        low, below = placed.places.min(axis=0), placed.places.max(axis=0)
        below[(rooted.parent[below] != low) | among(below, self.left)] = 0
        key, here = np.zeros_like(given), below > 0
        key[here] = weights_to_keys(self.index.weight[rooted.edge[below[here]]])
        entered = among(pair, self.entered.edges.pair)
        place = np.searchsorted(self.entered.edges.pair, pair[entered])
        key[entered] = self.entered.edges.key[place]
        return below, entered, key

    def changed(self, left: np.ndarray, entered: PlacedEdges) -> "CurrentForest":
        """Return the forest with other changes, in any order.

        Parameters
        ----------
        left : ndarray of uint32
            All that have left the index.
        entered : PlacedEdges
            All that have entered.
        """
        return CurrentForest(self.index, np.sort(left), entered.by_pair(), self.work)

    def settled(self) -> "CurrentForest":
        """Return the forest of a version, with a new index if changes are many."""
        work = self.work + self.differs
        if work > MOST_WORK * self.index.num_vertices:
            return CurrentForest.of(self.indexed())
        return CurrentForest(self.index, self.left, self.entered, work)

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
