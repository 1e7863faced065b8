"""The difference of two forests of the same vertices: edges, and trees."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..graph.order import key_dtype, keys_to_weights
from ..host.memory_costs import DIFFERENCE_BYTES
from .edges import PairEdges, ends_of, labels_of, pairs_of

ENTERED, LEFT = "entered", "left"
JOINED, SPLIT, MOVED = "joined", "split", "moved"


class ForestDifference(NamedTuple):
    """Edges that left a forest and edges that entered it, both in the order of pairs.

    An edge whose weight has changed leaves with the old key, and then enters with the
    new one.
    """

    left: PairEdges
    entered: PairEdges

    @property
    def num_edges(self) -> int:
        """Number of edges that left or entered."""
        return len(self.left.pair) + len(self.entered.pair)

    @property
    def nbytes(self) -> int:
        """Bytes that it takes while it is kept."""
        return DIFFERENCE_BYTES + sum(a.nbytes for edges in self for a in edges)


class _Net(NamedTuple):
    """Edges of successive differences, each once with one weight, by pair and key."""

    edges: PairEdges
    change: np.ndarray  # -1 if the edge left, 1 if it entered, 0 if it did neither
    step: np.ndarray  # the index of the last difference that has the edge


def _net(differences: Sequence[ForestDifference], weight_dtype: np.dtype) -> _Net:
    """Return the composition of successive differences.

    An edge of one weight enters and leaves alternately, so at most one of its entries
    does not cancel.
    """
    none = PairEdges(np.empty(0, np.uint64), np.empty(0, key_dtype(weight_dtype)))
    parts = [none]
    for difference in differences:
        parts += difference
    edges = PairEdges(*map(np.concatenate, zip(*parts, strict=True)))
    if len(edges.pair) == 0:
        return _Net(none, np.empty(0, np.int8), np.empty(0, np.int64))
    counts = [len(part.pair) for part in parts]
    change = np.repeat(np.array([0] + [-1, 1] * len(differences), np.int8), counts)
    step = np.repeat((np.arange(len(parts)) - 1) // 2, counts)
    order = np.lexsort((edges.key, edges.pair))  # stable: equal edges by their steps
    edges = edges.take(order)
    first = np.ones(len(order), np.bool_)
    first[1:] = edges.pair[1:] != edges.pair[:-1]
    first[1:] |= edges.key[1:] != edges.key[:-1]
    last = np.append(first[1:], True)
    net = np.add.reduceat(change[order], np.flatnonzero(first))
    return _Net(edges.take(first), net, step[order][last])


def combined(
    differences: Sequence[ForestDifference], weight_dtype: np.dtype
) -> ForestDifference:
    """Return the composition of successive differences."""
    edges, change, _ = _net(differences, weight_dtype)
    return ForestDifference(edges.take(change < 0), edges.take(change > 0))


class EdgeDifference(NamedTuple):
    """The columns of a table of edges that left or entered, by (src, dst)."""

    src: np.ndarray
    dst: np.ndarray
    weight: np.ndarray
    change: np.ndarray  # `LEFT` or `ENTERED`; an edge with both leaves first
    version: np.ndarray  # the version that the change has made

    @classmethod
    def of(
        cls,
        differences: Sequence[ForestDifference],
        versions: np.ndarray,
        weight_dtype: np.dtype,
        maximum: bool,
    ) -> "EdgeDifference":
        """Return the columns, given the version that each difference has made.

        In a maximum forest keys descend with weights.
        """
        edges, net, step = _net(differences, weight_dtype)
        order = np.lexsort((net, edges.pair))
        order = order[net[order] != 0]
        src, dst = edges.ends[:, order].astype(np.int64)
        weight = keys_to_weights(edges.key[order], weight_dtype, maximum)
        change = np.where(net[order] < 0, LEFT, ENTERED)
        return cls(src, dst, weight, change, versions[step[order]])


class TreeDifference(NamedTuple):
    """Vertices that a changed tree had before and a tree has now, by both trees.

    `before` and `after` are the smallest vertices of the trees. `change` is `JOINED` if
    they are all vertices of the tree before, `SPLIT` if they are all of the tree after,
    and `MOVED` if they are neither.
    """

    before: np.ndarray
    after: np.ndarray
    vertices: np.ndarray
    vertices_before: np.ndarray
    vertices_after: np.ndarray
    change: np.ndarray
    version: np.ndarray  # that of the forest after


def pairs_before(pairs: np.ndarray, difference: ForestDifference) -> np.ndarray:
    """Return the edges of a forest before a difference, given those after it.

    Edges are pairs of vertices in a word (uint64), in order.
    """
    kept = _without(pairs, difference.entered)
    left = difference.left.pair
    return np.insert(kept, np.searchsorted(kept, left), left)


def _without(pairs: np.ndarray, edges: PairEdges) -> np.ndarray:
    """Return ascending pairs without the pairs of `edges`, which are among them."""
    return np.delete(pairs, np.searchsorted(pairs, edges.pair))


def tree_difference(
    num_vertices: int,
    pairs: np.ndarray,
    difference: ForestDifference,
    version: int | str,
) -> TreeDifference:
    """Return the trees that a difference has changed.

    `pairs` are the edges of the forest after it, which has a `version`. Fragments are
    the components of the edges that both forests have. A tree that has changed consists
    of fragments with an end of an edge that left or entered.
    """
    none = np.empty(0, np.int64)
    if difference.num_edges == 0:
        return TreeDifference(
            none, none, none, none, none, np.empty(0, "U6"), np.full(0, version)
        )
    common = _without(pairs, difference.entered)
    fragment = labels_of(ends_of(common), num_vertices)
    sizes = np.bincount(fragment)
    ends = [fragment[part.ends] for part in difference]
    fragments, number = np.unique(np.concatenate(ends, axis=1), return_inverse=True)
    number = number.reshape(2, -1).astype(np.uint32)
    size, count = sizes[fragments], len(difference.left.pair)
    # Numbers of fragments ascend with their smallest vertices, so the smallest number
    # of a tree is that of its smallest vertex
    old, new = (
        labels_of(part, len(fragments))
        for part in (number[:, :count], number[:, count:])
    )
    both, inverse = np.unique(pairs_of(old, new), return_inverse=True)
    tree, now = ends_of(both)
    vertices = _sums(size, inverse)
    before, after = _sums(size, old)[tree], _sums(size, new)[now]
    change = np.where(
        vertices == before, JOINED, np.where(vertices == after, SPLIT, MOVED)
    )
    changed = (vertices != before) | (vertices != after)
    smallest = fragments.astype(np.int64)
    versions = np.full(len(tree), version)
    columns = smallest[tree], smallest[now], vertices, before, after, change, versions
    return TreeDifference(*(column[changed] for column in columns))


def _sums(values: np.ndarray, index: np.ndarray) -> np.ndarray:
    """Return the sums (int64) of the values of each index."""
    sums = np.zeros(int(index.max()) + 1, np.int64)
    np.add.at(sums, index, values)
    return sums
