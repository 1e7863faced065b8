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
from .edges import PairEdges, among
from .kernels.fragments import Cuts, nest, sizes_of, tops_of

# What differs takes part in every batch; to index a forest anew takes a fifth of a
# microsecond for each vertex.
SHARE, LEAST = 16, 1 << 10


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
    entered : PairEdges
        The edges that have entered, by pairs.
    """

    index: ForestIndex
    left: np.ndarray
    entered: PairEdges

    @classmethod
    def of(cls, index: ForestIndex) -> "CurrentForest":
        """Return an indexed forest without changes."""
        none = np.empty(0, np.uint64), weights_to_keys(index.weight[:0].copy())
        return cls(index, np.empty(0, np.uint32), PairEdges(*none))

    def __len__(self) -> int:
        return len(self.index) - len(self.left) + len(self.entered.pair)

    @cached_property
    def cuts(self) -> Cuts:
        """Where the indexed forest is cut."""
        count = len(self.left)
        around, after = np.empty((2, count), np.int64)
        bound, inner = np.empty(2 * count, np.uint32), np.empty(2 * count, np.int64)
        cuts = Cuts(self.left, around, after, bound, inner)
        nest(self.left, self.index.rooted.end, cuts)
        return cuts

    def tops(self, vertices: np.ndarray) -> np.ndarray:
        """Return the places of the tops of the fragments of vertices; uint32."""
        tops = np.empty(len(vertices), np.uint32)
        rooted, label = self.index.rooted, self.index.labels
        tops_of(self.cuts, rooted, label, vertices, tops)
        return tops

    def sizes(self, tops: np.ndarray) -> np.ndarray:
        """Return how many vertices the fragments of some tops have; int64."""
        sizes = np.empty(len(tops), np.int64)
        sizes_of(self.cuts, self.index.rooted.end, tops, sizes)
        return sizes

    def lower_ends(self, edges: np.ndarray) -> np.ndarray:
        """Return the places of the lower ends of edges of the index; uint32."""
        place = self.index.rooted.place
        ends = place[self.index.src[edges]], place[self.index.dst[edges]]
        return np.maximum(*ends)

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
            The weights of those that are in the forest.
        """
        rooted = self.index.rooted
        a, b = (rooted.place[end] for end in edges.ends)
        low, below = np.minimum(a, b), np.maximum(a, b)
        below = np.where(rooted.parent[below] == low, below, np.uint32(0))
        below[among(below, self.left)] = 0
        key = np.zeros(len(below), edges.key.dtype)
        here = below > 0
        positions = rooted.edge[below[here]]
        key[here] = weights_to_keys(self.index.weight[positions])
        entered = among(edges.pair, self.entered.pair)
        place = np.searchsorted(self.entered.pair, edges.pair[entered])
        key[entered] = self.entered.key[place]
        return below, entered, key

    def changed(self, left: np.ndarray, entered: PairEdges) -> "CurrentForest":
        """Return the forest with other changes, in any order.

        Parameters
        ----------
        left : ndarray of uint32
            All that have left the index.
        entered : PairEdges
            All that have entered.
        """
        return CurrentForest(self.index, np.sort(left), entered.by_pair())

    def kept_small(self) -> "CurrentForest":
        """Return the forest with an index of its own, if its changes are many."""
        changes = len(self.left) + len(self.entered.pair)
        if changes <= max(LEAST, self.index.num_vertices // SHARE):
            return self
        return CurrentForest.of(self.indexed())

    def edges(self) -> EdgeList:
        """Return the edges in the order of pairs."""
        index = self.index
        stays = np.ones(len(index), np.bool_)
        stays[index.rooted.edge[self.left]] = False
        keys = weights_to_keys(index.weight[stays])
        held = EdgeList(index.src[stays], index.dst[stays], keys)
        come = EdgeList(*self.entered.ends, self.entered.key)
        places = places_among(held, come)
        columns = ((held.u, come.u), (held.v, come.v), (held.key, come.key))
        return EdgeList(*(np.insert(a, places, b) for a, b in columns))

    def indexed(self) -> ForestIndex:
        """Return an index over this forest: that there is, if nothing differs."""
        if len(self.left) == len(self.entered.pair) == 0:
            return self.index
        edges = self.edges()
        weight = keys_to_weights(edges.key, self.index.weight.dtype)
        return ForestIndex(self.index.num_vertices, edges.u, edges.v, weight)
