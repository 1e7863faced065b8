"""The forest of a version, as the changes of an indexed forest, and its paths.

The index is over the forest of an earlier version. Edges that have left it cut that
forest into fragments; edges that have entered join fragments. A `CurrentForest` is
immutable, so a query sees one version.

A path between two vertices runs through fragments and along entered edges. Inside a
fragment it is compressed to the heaviest edges between the vertices of interest, so
queries work on a graph of a few vertices and never walk the whole forest.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ..graph.model import EdgeList, places_among
from ..graph.order import keys_to_weights
from ..kernels.kruskal import HALF
from ..tree.index import ForestIndex
from ..tree.kruskal_tree import heaviest_between, link_by_size
from .edges import PairEdges, PlacedEdges, among
from .kernels.compressed import NONE, hang, label_joined, meetings, on_paths
from .kernels.fragments import Cuts, lower_tops, nest, number, sizes_of

# Each difference takes part in every batch. After this many changes for each vertex, a
# new index costs as much as the differences have cost: 0.2 us for each vertex.
MOST_WORK = 1.5


@dataclass(frozen=True)
class CurrentForest:
    """A forest as the changes of an indexed one."""

    index: ForestIndex  # Its edges are in the order of pairs
    # Where edges of the index have left: each cut has the place of its lower end in the
    # rooted forest as its top.
    cuts: Cuts
    entered: PlacedEdges  # The edges that have entered, by pairs
    # The changes there have been in all versions since the index, added up.
    work: int = 0

    @classmethod
    def of(cls, index: ForestIndex) -> "CurrentForest":
        """Return an indexed forest without changes."""
        entered = PlacedEdges(
            PairEdges(np.empty(0, np.uint64), index.keys(slice(0))),
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
        """Return the sizes in vertices (int64) of the fragments with some tops."""
        sizes = np.empty(len(tops), np.int64)
        sizes_of(self.cuts, self.index.rooted.end, tops, sizes)
        return sizes

    def find(self, edges: PairEdges) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Look edges up in the forest; their weights are not looked at.

        Returns for each edge: if it is in the index and has not left, the place of its
        lower end, otherwise 0, which no lower end has (uint32); whether it has entered;
        its weight in the forest as a key, if it is there.
        """
        rooted, (pair, given) = self.index.rooted, edges
        one, other = rooted.place[edges.ends]
        low, below = np.minimum(one, other), np.maximum(one, other)
        below[(rooted.parent[below] != low) | among(below, self.left)] = 0
        key, here = np.zeros_like(given), below > 0
        key[here] = self.index.keys(rooted.edge[below[here]])
        entered = among(pair, self.entered.edges.pair)
        place = np.searchsorted(self.entered.edges.pair, pair[entered])
        key[entered] = self.entered.edges.key[place]
        return below, entered, key

    def changed(
        self, below: np.ndarray, stays: np.ndarray, come: PlacedEdges
    ) -> "CurrentForest":
        """Return the forest with more changes.

        Edges of the index leave: `below` has the places of their lower ends (uint32),
        in any order. Of the edges that have entered those with True in `stays` stay.
        `come` enters, in the order of pairs.
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
        return PairEdges(pair, index.keys(positions))

    def edges(self) -> EdgeList:
        """Return the edges in the order of pairs."""
        index = self.index
        stays = np.ones(len(index), np.bool_)
        if len(self.left):
            stays[index.rooted.edge[self.left]] = False
        keys = index.keys(stays)
        held = EdgeList(index.src[stays], index.dst[stays], keys)
        u, v = self.entered.edges.ends
        come = EdgeList(u, v, self.entered.edges.key)
        places = places_among(held, come)
        columns = ((held.u, come.u), (held.v, come.v), (held.key, come.key))
        return EdgeList(*(np.insert(a, places, b) for a, b in columns))

    @property
    def differs(self) -> int:
        """Number of edges that have left or entered since the index was made."""
        return len(self.left) + len(self.entered)

    def indexed(self) -> ForestIndex:
        """Return an index over this forest: that there is, if nothing differs."""
        if self.differs == 0:
            return self.index
        edges = self.edges()
        index = self.index
        weight = keys_to_weights(edges.key, index.weight.dtype, index.maximum)
        u, v = edges.u, edges.v
        return ForestIndex(index.num_vertices, u, v, weight, index.maximum)


def numbered(tops: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Number the fragments of some tops.

    Returns the number of each top's fragment, and the top of each fragment (uint32).
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


class Paths(NamedTuple):
    """A forest of a few vertices, each edge the heaviest one of a path."""

    num_vertices: int  # Of this forest
    # uint32: ends of its edges.
    a: np.ndarray
    b: np.ndarray
    edges: PairEdges  # The edges of the index, followed by the edges that have entered
    heaviest: np.ndarray  # int64: the positions in the index of the first ones
    # uint32, shape (2, pairs): the vertices that the places asked for are.
    ends: np.ndarray


def paths_between(
    forest: CurrentForest, places: np.ndarray, tops: np.ndarray
) -> tuple[Paths, np.ndarray]:
    """Return the paths between the places of pairs.

    `places` and `tops` are as `CurrentForest.located` returns them. The booleans say
    which of the edges that have entered are among the paths' edges.
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
    """Return a boolean per pair of vertices (uint32): whether one tree has both."""
    _, tops = forest.located(np.stack([u, v]))
    number, fragments, count = _joined(forest, tops)
    tree = np.empty(fragments, np.uint32)
    label_joined(fragments, *number[:, :count], tree)
    one, other = tree[number[:, count:]]
    return np.asarray(one == other)


def bottlenecks(
    forest: CurrentForest, u: np.ndarray, v: np.ndarray
) -> tuple[np.ndarray, PairEdges]:
    """Return the last edge in the order on the path between each pair (uint32).

    Its int64 position is that in the edges returned; -1 where both are the same vertex
    or no path exists.
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

    Returns the numbers, and the counts of fragments and of entered edges.
    """
    number, distinct = numbered(np.concatenate([forest.entered.tops, tops], axis=1))
    return number, len(distinct), len(forest.entered)


def _compressed(
    forest: CurrentForest, at: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the compressed paths between vertices inside their fragments.

    A vertex is its place, with the number of its fragment in the upper 32 bits. The
    result is the given vertices and those where paths meet, ascending; the position of
    the next vertex above each, or `NONE`; and for each vertex that has one the heaviest
    edge on the path there.
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
