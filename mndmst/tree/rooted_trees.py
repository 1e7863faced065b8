"""Trees that hang from chosen roots: parents, depths, distances and sizes, in O(n)."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..host.errors import ConfigError, InputError
from ..host.formatting import counted
from ..kernels.kruskal import component_labels
from .rooted import (
    NO_EDGE,
    add_down,
    choose_least,
    count_to_farthest,
    root_forest,
)

# How the root of a tree is chosen where none is given; of several, the smallest vertex
SMALLEST, LARGEST_DEGREE, CENTRE = RULES = ("smallest", "largest-degree", "centre")
MOST_VERTICES = (1 << 32) - 1
# Sums of integer weights up to here are exact
MOST_LENGTH = float(1 << 62)


class RootedTrees(NamedTuple):
    """A forest whose trees have roots; each array has an entry a vertex.

    All are int64, but distances of weights that are floats, or whose sum may exceed 64
    bits: these are float64.
    """

    root: np.ndarray  # the root of the vertex's tree
    parent: np.ndarray  # the next vertex on the path to the root; a root's own
    edge: np.ndarray  # the position of the edge to the parent; -1 for a root
    depth: np.ndarray  # the number of edges on the path from the root
    distance: np.ndarray  # the sum of their weights, added from the root on
    size: np.ndarray  # the number of vertices of the subtree
    # The position in an order in which a subtree is a range that begins with its top,
    # and the child with the largest subtree comes first
    order: np.ndarray

    @property
    def vertices(self) -> np.ndarray:
        """All vertices, parents before children: the inverse of `order`."""
        inverse = np.empty_like(self.order)
        inverse[self.order] = np.arange(len(inverse))
        return inverse

    @property
    def roots(self) -> np.ndarray:
        """The roots of all trees, in the order of these."""
        return np.flatnonzero(self.edge < 0)


def root_trees(
    num_vertices: int,
    src: np.ndarray,
    dst: np.ndarray,
    weight: np.ndarray,
    given: np.ndarray | None = None,
    rule: str = SMALLEST,
    name: Callable[[int], object] = int,
) -> RootedTrees:
    """Root the trees of a forest at given vertices; by a rule where none is given.

    The centre of a tree is the vertex whose farthest vertex is the fewest edges away.
    `name` gives the name of a vertex for messages. Raises ConfigError for a rule that
    does not exist, and for two roots of one tree; InputError if a root is not a vertex,
    the edges close a cycle, or there are 2^32 vertices or more.
    """
    if rule not in RULES:
        raise ConfigError(f"by is {rule!r}; give one of {', '.join(RULES)}")
    if num_vertices > MOST_VERTICES:
        raise InputError(
            f"{num_vertices:,} vertices; trees of up to {MOST_VERTICES:,} are rooted"
        )
    a, b = src.astype(np.uint32), dst.astype(np.uint32)
    label = component_labels(src, dst, num_vertices).astype(np.uint32)
    trees = int(np.count_nonzero(label == np.arange(num_vertices)))
    if trees + len(a) != num_vertices:
        raise InputError(
            f"{counted(len(a), 'edge')} that leave {counted(trees, 'tree')} of "
            f"{counted(num_vertices, 'vertex')} close a cycle, so this is not a "
            "forest; verify it, or solve again"
        )
    chosen = _chosen(a, b, label, rule)
    if given is not None:
        _choose_given(chosen, label, given, name)
    root = chosen[label]
    rooted = root_forest(a, b, root)
    exact = weight.dtype.kind in "iu" and _most_length(weight) < MOST_LENGTH
    length = weight.astype(np.int64 if exact else np.float64)
    depth = np.zeros(num_vertices, np.int64)
    distance = np.zeros(num_vertices, length.dtype)
    add_down(rooted.parent, rooted.edge, length, depth, distance)
    position = rooted.position
    edge = rooted.edge[position].astype(np.int64)
    edge[edge == NO_EDGE] = -1
    return RootedTrees(
        root.astype(np.int64),
        rooted.vertex[rooted.parent[position]].astype(np.int64),
        edge,
        depth[position],
        distance[position],
        (rooted.end[position] - position).astype(np.int64),
        position.astype(np.int64),
    )


def _most_length(weight: np.ndarray) -> float:
    return float(np.abs(weight.astype(np.float64)).sum())


def _chosen(a: np.ndarray, b: np.ndarray, label: np.ndarray, rule: str) -> np.ndarray:
    """Return by label, the smallest vertex of a tree, the root that a rule chooses."""
    chosen = np.arange(len(label), dtype=np.uint32)
    if rule == LARGEST_DEGREE:
        degree = np.bincount(a, minlength=len(label))
        degree += np.bincount(b, minlength=len(label))
        choose_least(label, -degree, chosen)
    if rule == CENTRE:
        rooted = root_forest(a, b, label)
        farthest = np.zeros(len(label), np.int64)
        count_to_farthest(rooted.parent, farthest)
        choose_least(label, farthest[rooted.position], chosen)
    return chosen


def _choose_given(
    chosen: np.ndarray,
    label: np.ndarray,
    given: np.ndarray,
    name: Callable[[int], object],
) -> None:
    """Make given vertices the roots of their trees."""
    wrong = np.flatnonzero((given < 0) | (given >= len(label)))
    if len(wrong):
        raise InputError(
            f"no vertex {given[wrong[0]]}: ids run from 0 to {len(label) - 1:,}"
        )
    first: dict[int, int] = {}
    for root, tree in zip(given.tolist(), label[given].tolist(), strict=True):
        if first.setdefault(tree, root) != root:
            raise ConfigError(
                f"vertices {name(first[tree])} and {name(root)} are in the same tree, "
                "which has one root; give one of them"
            )
        chosen[tree] = root
