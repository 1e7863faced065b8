"""The forest of a version, as the changes of an indexed forest, and its paths.

The index is over the forest of an earlier version. Edges that have left that forest cut
it into fragments; edges that have entered it connect fragments. A `CurrentForest` is
immutable, so a query reads one version.

A path between two vertices runs through fragments and along entered edges. Inside a
fragment it is compressed to the heaviest edges between the vertices of interest, so
queries work on a graph of a few vertices and never traverse the whole forest.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ..graph.model import EdgeList, insertion_positions
from ..graph.order import keys_to_weights
from ..kernels.kruskal import HALF
from ..tree.index import ForestIndex
from ..tree.kruskal_tree import heaviest_between, link_by_size
from .edges import LocatedEdges, PairEdges, among, labels_of, pairs_of
from .forest_difference import ForestDifference
from .kernels.compressed import (
    NONE,
    common_ancestors,
    find_parents,
    on_paths,
)
from .kernels.fragments import Cuts, lower_tops, nest, number, sizes_of

# Every batch processes all differences from the index. After this many processed
# differences per vertex, they have cost as much as a new index: 0.2 us per vertex.
MOST_WORK = 1.5


@dataclass(frozen=True)
class CurrentForest:
    """A forest as an index and the differences from it."""

    index: ForestIndex  # Its edges are in the order of pairs
    # The removed edges of the index: the top of each cut is the edge's lower end.
    cuts: Cuts
    entered: LocatedEdges  # The edges that have entered, by pairs
    # Sum of the numbers of differences of all versions since the index
    work: int = 0
    # The edges that have left and entered since the forest was settled, step by step
    steps: tuple[ForestDifference, ...] = ()

    @classmethod
    def of(cls, index: ForestIndex) -> "CurrentForest":
        """Return an indexed forest without changes."""
        entered = LocatedEdges(
            PairEdges(np.empty(0, np.uint64), index.keys(slice(0))),
            *np.empty((2, 2, 0), np.uint32),
        )
        nowhere = np.empty(0, np.uint32)
        return cls(index, _cuts_at(nowhere, nowhere, index.num_vertices), entered)

    def __len__(self) -> int:
        return len(self.index) - len(self.removed) + len(self.entered)

    @property
    def removed(self) -> np.ndarray:
        """The positions of the lower ends of the edges that have left the index."""
        return self.cuts.top

    def locate(self, edges: PairEdges) -> LocatedEdges:
        """Return edges with the positions and fragments of their ends."""
        return LocatedEdges(edges, *self.located(edges.ends))

    def located(self, vertices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the positions of vertices, and of the tops of their fragments."""
        positions = self.index.rooted.position[vertices]
        return positions, self.tops(positions)

    def tops(self, positions: np.ndarray) -> np.ndarray:
        """Return the positions of the tops of the fragments at some positions."""
        rooted = self.index.rooted
        tops = rooted.position[self.index.labels[rooted.vertex[positions.ravel()]]]
        lower_tops(self.cuts, positions.ravel(), tops)
        return tops.reshape(positions.shape)

    def sizes(self, tops: np.ndarray) -> np.ndarray:
        """Return the sizes in vertices (int64) of the fragments with some tops."""
        sizes = np.empty(len(tops), np.int64)
        sizes_of(self.cuts, self.index.rooted.end, tops, sizes)
        return sizes

    def find(self, edges: PairEdges) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Look edges up in the forest by their ends.

        Returns for each edge: the position of its lower end if it is in the index and
        has not left, else 0, which no lower end has (uint32); whether it has entered;
        and its key in the forest, if it is in one of the two.
        """
        rooted, (pair, given) = self.index.rooted, edges
        one, other = rooted.position[edges.ends]
        low, below = np.minimum(one, other), np.maximum(one, other)
        below[(rooted.parent[below] != low) | among(below, self.removed)] = 0
        key, in_index = np.zeros_like(given), below > 0
        key[in_index] = self.index.keys(rooted.edge[below[in_index]])
        entered = among(pair, self.entered.edges.pair)
        position = np.searchsorted(self.entered.edges.pair, pair[entered])
        key[entered] = self.entered.edges.key[position]
        return below, entered, key

    def changed(
        self, below: np.ndarray, stays: np.ndarray, added: LocatedEdges
    ) -> "CurrentForest":
        """Return the forest with more changes.

        The edges of the index whose lower ends have the positions `below` (uint32, in
        any order) leave, and so do the entered edges without True in `stays`. The edges
        `added`, in the order of pairs, enter.
        """
        cuts, entered = self.cuts, self.entered.merged(stays, added)
        index = self.index
        left = self.of_index(index.rooted.edge[below])
        left = left.followed_by(self.entered.edges.take(~stays))
        steps = (*self.steps, ForestDifference(left.by_pair(), added.edges))
        if len(below):
            more = np.sort(below)
            removed = np.insert(cuts.top, np.searchsorted(cuts.top, more), more)
            ends, tops = index.rooted.end, entered.tops.flatten()
            new = _cuts_at(more, ends, index.num_vertices)
            lower_tops(new, entered.positions.ravel(), tops)
            cuts = _cuts_at(removed, ends, index.num_vertices)
            entered = LocatedEdges(*entered[:2], tops.reshape(2, -1))
        return CurrentForest(index, cuts, entered, self.work, steps)

    def settled(self) -> "CurrentForest":
        """Return the forest of a version, with a new index after much work."""
        work = self.work + self.differs
        if work > MOST_WORK * self.index.num_vertices:
            return CurrentForest.of(self.indexed())
        return replace(self, work=work, steps=())

    def of_index(self, positions: np.ndarray) -> PairEdges:
        """Return some edges of the index."""
        index = self.index
        pair = pairs_of(index.src[positions], index.dst[positions])
        return PairEdges(pair, index.keys(positions))

    def edges(self) -> EdgeList:
        """Return the edges in the order of pairs."""
        index = self.index
        stays = np.ones(len(index), np.bool_)
        if len(self.removed):
            stays[index.rooted.edge[self.removed]] = False
        keys = index.keys(stays)
        indexed = EdgeList(index.src[stays], index.dst[stays], keys)
        u, v = self.entered.edges.ends
        added = EdgeList(u, v, self.entered.edges.key)
        positions = insertion_positions(indexed, added)
        columns = ((indexed.u, added.u), (indexed.v, added.v), (indexed.key, added.key))
        return EdgeList(*(np.insert(a, positions, b) for a, b in columns))

    @property
    def differs(self) -> int:
        """Number of edges that have left or entered since the index was made."""
        return len(self.removed) + len(self.entered)

    def indexed(self) -> ForestIndex:
        """Return an index over this forest, the present one if nothing differs."""
        if self.differs == 0:
            return self.index
        edges = self.edges()
        index = self.index
        weight = keys_to_weights(edges.key, index.weight.dtype, index.maximum)
        u, v = edges.u, edges.v
        return ForestIndex(index.num_vertices, u, v, weight, index.maximum)


def numbered(tops: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Number the fragments that have some tops.

    Returns the number of each top's fragment, and the top of each fragment (uint32).
    """
    numbers, distinct = np.empty((2, tops.size), np.uint32)
    count = number(tops.ravel(), numbers, distinct)
    return numbers.reshape(tops.shape), distinct[:count]


def _cuts_at(top: np.ndarray, ends: np.ndarray, num_vertices: int) -> Cuts:
    """Return cuts with ascending tops, of a rooted forest."""
    count = len(top)
    shift = max(0, num_vertices.bit_length() - (2 * count).bit_length())
    end, bound = np.empty(count, np.uint32), np.empty(2 * count, np.uint32)
    after, inner = np.empty(count, np.int64), np.empty(2 * count, np.int64)
    block = np.empty((num_vertices >> shift) + 1, np.int64)
    cuts = Cuts(top, end, after, bound, inner, block, shift)
    nest(ends, cuts)
    return cuts


class Paths(NamedTuple):
    """A compressed forest, each edge of which is the heaviest edge of a path."""

    num_vertices: int  # of the compressed forest
    # uint32: ends of its edges
    a: np.ndarray
    b: np.ndarray
    edges: PairEdges  # edges of the index, then entered edges
    heaviest: np.ndarray  # int64: positions in the index of the former
    ends: np.ndarray  # uint32, shape (2, pairs): the vertices at the ends of each path


def paths_between(
    forest: CurrentForest, positions: np.ndarray, tops: np.ndarray
) -> tuple[Paths, np.ndarray]:
    """Return the paths between the positions of pairs, and a mask of entered edges.

    `positions` and `tops` are as `CurrentForest.located` returns them. The mask marks
    the entered edges that are edges of the paths.
    """
    number, fragments, count = _number_fragments(forest, tops)
    needed = np.zeros(fragments, np.bool_)
    needed[number[:, count:]] = True
    near = on_paths(*number[:, :count], needed)
    entered = forest.entered.take(near)
    given_positions = np.concatenate([entered.positions, positions], axis=1)
    chosen_numbers = np.concatenate(
        [number[:, :count][:, near], number[:, count:]], axis=1
    )
    at = (chosen_numbers.astype(np.uint64) << HALF | given_positions).ravel()
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
    number, fragments, count = _number_fragments(forest, tops)
    tree = labels_of(number[:, :count], fragments)
    one, other = tree[number[:, count:]]
    return np.asarray(one == other)


def bottlenecks(
    forest: CurrentForest, u: np.ndarray, v: np.ndarray
) -> tuple[np.ndarray, PairEdges]:
    """Return the last edge in the order on the path between each pair (uint32).

    The result has its position (int64) in the returned edges; -1 if both are the same
    vertex or no path exists.
    """
    paths, _ = paths_between(forest, *forest.located(np.stack([u, v])))
    order = np.lexsort((paths.edges.pair, paths.edges.key)).astype(np.uint32)
    links = np.empty(paths.num_vertices, np.uint64)
    link_by_size(order, paths.a, paths.b, links)
    position = np.empty(len(u), np.int64)
    heaviest_between(links, order, *paths.ends, position)
    return position, paths.edges


def _number_fragments(
    forest: CurrentForest, tops: np.ndarray
) -> tuple[np.ndarray, int, int]:
    """Number the fragments at the ends of entered edges, and of some tops.

    Returns the numbers, and the counts of fragments and of entered edges.
    """
    number, distinct = numbered(np.concatenate([forest.entered.tops, tops], axis=1))
    return number, len(distinct), len(forest.entered)


def _compressed(
    forest: CurrentForest, at: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the compressed path trees of vertices inside their fragments.

    A word of `at` has the number of a fragment in its upper 32 bits, and the position
    of a vertex in the lower 32. The result is the given vertices and the common
    ancestors, ascending; the index of each one's parent, or `NONE`; and for each vertex
    with a parent the heaviest edge on the path to it.
    """
    index, rooted = forest.index, forest.index.rooted
    vertices = _distinct(at)
    vertices = _distinct(np.concatenate([vertices, common_ancestors(rooted, vertices)]))
    above = np.empty(len(vertices), np.uint32)
    find_parents(rooted, vertices, above)
    lower = above != NONE
    ids = rooted.vertex[vertices.astype(np.uint32)]
    heaviest = np.empty(np.count_nonzero(lower), np.int64)
    heaviest_between(index.links, index.order, ids[lower], ids[above[lower]], heaviest)
    return vertices, above, heaviest


def _distinct(values: np.ndarray) -> np.ndarray:
    """Return distinct values in ascending order; a sort is fastest for few values."""
    values = np.sort(values)
    return values[np.r_[True, values[1:] != values[:-1]][: len(values)]]
