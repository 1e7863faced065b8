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
    both components. `most`, which is symmetric, has upper bounds of the lightest edges;
    each exceeds a lower bound by at most `width`.
    """
    count = len(most)
    # Prim's tree of bounds: components in its order, and the bound by which each joins
    order, edge = np.zeros(count, np.int64), np.zeros(count, most.dtype)
    nearest, outside = most[0].copy(), np.ones(count, np.bool_)
    outside[0], nearest[0] = False, np.inf
    for i in range(1, count):
        added = int(np.argmin(nearest))
        if not outside[added]:  # all bounds are infinite
            added = int(np.flatnonzero(outside)[0])
        order[i], edge[i] = added, nearest[added]
        np.minimum(nearest, most[added], out=nearest, where=outside)
        outside[added], nearest[added] = False, np.inf
    limits = np.full_like(most, -1)
    for i, one in enumerate(order[:-1]):
        # Prim's tree joins all components within a bound before it takes an edge above:
        # the largest bound on the path to a later component is that between both.
        path = np.maximum.accumulate(edge[i + 1 :])
        others = order[i + 1 :]
        others = others[most[one, others] - width <= path]
        limits[np.minimum(one, others), np.maximum(one, others)] = most[one, others]
    return limits
