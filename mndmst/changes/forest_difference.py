"""The difference of two forests of the same vertices: edges, and trees."""

from typing import NamedTuple

import numpy as np

from ..kernels.kruskal import component_labels

ENTERED, LEFT = "entered", "left"
JOINED, SPLIT, MOVED = "joined", "split", "moved"


class SortedEdges(NamedTuple):
    """The edges of a forest: ends src < dst, ascending, below 2^32, and weights."""

    src: np.ndarray
    dst: np.ndarray
    weight: np.ndarray

    @property
    def pairs(self) -> np.ndarray:
        """Both ends of each edge in one uint64; these ascend."""
        return self.src.astype(np.uint64) << np.uint64(32) | self.dst.astype(np.uint64)


class EdgeDifference(NamedTuple):
    """Edges that left a forest or entered it, by (src, dst).

    An edge whose weight has changed leaves with the old weight, and then enters with
    the new one.
    """

    src: np.ndarray
    dst: np.ndarray
    weight: np.ndarray
    change: np.ndarray  # `LEFT` or `ENTERED`


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


def edge_difference(before: SortedEdges, after: SortedEdges) -> EdgeDifference:
    """Return the edges that leave and enter between two forests."""
    old, new = before.pairs, after.pairs
    there = np.zeros(len(new), bool)
    at = np.searchsorted(old, new)
    inside = np.flatnonzero(at < len(old))
    there[inside] = (old[at[inside]] == new[inside]) & (
        before.weight[at[inside]] == after.weight[inside]
    )
    gone = np.ones(len(old), bool)
    gone[at[there]] = False
    left = np.flatnonzero(gone)
    entered = np.flatnonzero(~there)
    order = np.argsort(np.concatenate((old[left], new[entered])), kind="stable")

    def merged(one: np.ndarray, other: np.ndarray) -> np.ndarray:
        return np.concatenate((one[left], other[entered]))[order]

    return EdgeDifference(
        merged(before.src, after.src),
        merged(before.dst, after.dst),
        merged(before.weight, after.weight),
        np.array([LEFT] * len(left) + [ENTERED] * len(entered), "U7")[order],
    )


def tree_difference(
    num_vertices: int, before: SortedEdges, after: SortedEdges
) -> TreeDifference:
    """Return the trees that are not the same in two forests."""
    old, new = (
        component_labels(
            edges.src.astype(np.int64), edges.dst.astype(np.int64), num_vertices
        )
        for edges in (before, after)
    )
    old_sizes, new_sizes = (
        np.bincount(labels, minlength=num_vertices) for labels in (old, new)
    )
    both = old.astype(np.uint64) << np.uint64(32) | new.astype(np.uint64)
    pairs, counts = np.unique(both, return_counts=True)
    tree, now = (pairs >> np.uint64(32)).astype(np.int64), pairs & np.uint64(0xFFFFFFFF)
    now = now.astype(np.int64)
    whole, all_now = counts == old_sizes[tree], counts == new_sizes[now]
    changed = np.flatnonzero(~(whole & all_now))
    change = np.where(whole, JOINED, np.where(all_now, SPLIT, MOVED))
    columns = tree, now, counts, old_sizes[tree], new_sizes[now], change
    return TreeDifference(*(column[changed] for column in columns))
