"""Pairs of components that the forest may join, from bounds of all pairs.

Where few components have many points each, every round of joins needs a search from
nearly all points. Instead, one pass of products bounds the lightest edge of each pair
of components. The bounds exclude the pairs whose lightest edge is certainly the
heaviest of a cycle; a second pass lists the edges of the other pairs.
"""

from typing import NamedTuple

import numpy as np

from .point_products import NO_POSITION, EdgesBetween

BLOCK = 64  # points of one component that products take together
MOST = 4096  # components
FILLED = 0.8  # least fraction of the entries of blocks that hold points


class BlockOrder(NamedTuple):
    """Positions by component; each component begins at a multiple of BLOCK."""

    positions: np.ndarray  # uint32; the last block of a component ends in NO_POSITION
    component: np.ndarray  # uint32, by block


def order_by_component(of_position: np.ndarray, count: int) -> BlockOrder:
    """Return the positions in the order of their components."""
    sizes = np.bincount(of_position, minlength=count)
    blocks = -(-sizes // BLOCK)
    order = np.argsort(of_position, kind="stable")
    skipped = BLOCK * (np.cumsum(blocks) - blocks) - (np.cumsum(sizes) - sizes)
    positions = np.full(BLOCK * int(blocks.sum()), NO_POSITION)
    positions[np.arange(len(order)) + skipped[of_position[order]]] = order
    component = np.repeat(np.arange(count, dtype=np.uint32), blocks)
    return BlockOrder(positions, component)


def listed_pairs(edges: EdgesBetween, count: int) -> np.ndarray:
    """Return 1 at (smaller, larger) for pairs of components with an edge; else 0."""
    listed = np.zeros((count, count), np.uint8)
    listed[np.minimum(edges.a, edges.b), np.maximum(edges.a, edges.b)] = 1
    return listed


def possible_pairs(most: np.ndarray, width: float) -> np.ndarray:
    """Return the upper bounds of the pairs that the forest may join, -1 for others.

    A pair is excluded if its lightest edge is heavier than all edges of a path between
    both components. `most` has upper bounds of the lightest edges, at (smaller,
    larger); each exceeds a lower bound by at most `width`.
    """
    most = np.minimum(most, most.T)
    count = len(most)
    # The largest bound on the path between two components, in Prim's tree of bounds
    path = np.zeros_like(most)
    nearest, parent = most[0].copy(), np.zeros(count, np.int64)
    outside = np.ones(count, np.bool_)
    outside[0] = False
    for _ in range(count - 1):
        added = int(np.argmin(np.where(outside, nearest, np.inf)))
        if not outside[added]:  # all bounds are infinite
            added = int(np.flatnonzero(outside)[0])
        path[added] = np.maximum(path[parent[added]], nearest[added])
        path[:, added] = path[added]
        outside[added] = False
        nearer = most[added] < nearest
        nearest[nearer], parent[nearer] = most[added][nearer], added
    possible = np.triu(most - width <= path, 1)
    return np.where(possible, most, most.dtype.type(-1))
