"""All pairs of components at once: which of them the forest may join.

Where few components have many points each, a search of single points is repeated after
every round of joins. Bounds on the lightest edges of all pairs of components need one
pass of products. They exclude the pairs whose lightest edge is certainly the heaviest
of a cycle; a second pass lists the edges of the others.
"""

from typing import NamedTuple

import numpy as np

from .point_products import NO_POSITION, EdgesBetween

BLOCK = 64  # points of one component, which products take together
MOST = 4096  # components
FILLED = 0.8  # least share of blocks that points fill


class BlockOrder(NamedTuple):
    """Positions in the order of their components, each from a multiple of BLOCK on."""

    # uint32; NO_POSITION where a component does not fill its last block
    positions: np.ndarray
    component: np.ndarray  # uint32, by block


def order_by_component(of_position: np.ndarray, count: int) -> BlockOrder:
    """Return the order of positions."""
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
    """Return the bounds of the pairs that the forest may join, and -1 for others.

    A pair is left out if its lightest edge is heavier than all edges of a path between
    both components. `most` has upper bounds on the lightest edges, at (smaller,
    larger); each is at most `width` above a lower bound.
    """
    most = np.minimum(most, most.T)
    count = len(most)
    path = np.zeros_like(most)  # the largest bound between two, in the tree of bounds
    nearest, parent = most[0].copy(), np.zeros(count, np.int64)
    outside = np.ones(count, np.bool_)
    outside[0] = False
    for _ in range(count - 1):
        here = int(np.argmin(np.where(outside, nearest, np.inf)))
        if not outside[here]:  # all bounds are infinite
            here = int(np.flatnonzero(outside)[0])
        path[here] = np.maximum(path[parent[here]], nearest[here])
        path[:, here] = path[here]
        outside[here] = False
        nearer = most[here] < nearest
        nearest[nearer], parent[nearer] = most[here][nearer], here
    possible = np.triu(most - width <= path, 1)
    return np.where(possible, most, most.dtype.type(-1))
