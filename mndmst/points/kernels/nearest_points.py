"""The nearest neighbours of points, of one rank or of another, and their edges."""

import numpy as np

from ...native.kernel import kernel
from .kd_tree import (
    CHUNK,
    any_below,
    distances_to_chunk,
    gap_to_point,
    load_point,
)
from .norms import LARGEST


@kernel
def nearest(tree, distances, positions, first, last):
    """Find the nearest other points of each point in the leaves [first, last).

    Parameters
    ----------
    tree : PointTree
    distances : ndarray of float64, shape (points, k)
        Filled with the reduced distances, ascending.
    positions : ndarray of uint32, shape (points, k)
        Filled with the neighbours' positions.
    """
    point, out = np.empty(tree.low.shape[1]), np.empty(CHUNK)
    nodes, gaps = np.empty(tree.depth + 1, np.int64), np.empty(tree.depth + 1)
    for number in range(first, last):
        own = tree.leaves[number]
        for position in range(tree.begin[own], tree.end[own]):
            load_point(tree, own, position, point)
            for i in range(distances.shape[1]):
                distances[position, i] = LARGEST
            list_nearest(
                tree, point, position, distances, positions, position, nodes, gaps, out
            )


@kernel
def nearest_to_queries(tree, points, distances, positions, first, last):
    """Find the points of a tree nearest to the points [first, last) of another rank.

    Parameters
    ----------
    points : ndarray of float64, shape (queries, dimensions)
    distances : ndarray of float64, shape (queries, k)
        Reduced distances: bounds, all of a row equal; become the distances found,
        ascending.
    positions : ndarray of uint32, shape (queries, k)
        NO_POSITION; become the positions of the points found.
    """
    point, out = np.empty(tree.low.shape[1]), np.empty(CHUNK)
    nodes, gaps = np.empty(tree.depth + 1, np.int64), np.empty(tree.depth + 1)
    for number in range(first, last):
        for d in range(len(point)):
            point[d] = points[number, d]
        list_nearest(tree, point, -1, distances, positions, number, nodes, gaps, out)


@kernel
def list_nearest(tree, point, own, distances, positions, row, nodes, gaps, out):
    """Find the nearest points to one that are nearer than the last in its list.

    One long function: split into steps, each of which counts references to the arrays
    of the tree, it takes twice the time.

    Parameters
    ----------
    own : int
        The point's position in the tree, to be skipped; -1 if it is not in the tree.
    distances, positions : ndarray, shape (lists, k)
        The neighbours of all points; see `insert`.
    row : int
        The point's list.
    nodes, gaps, out : ndarray
        Workspace: a stack one longer than the tree is deep, and a chunk.
    """
    k = distances.shape[1]
    worst = distances[row, k - 1]
    nodes[0], gaps[0], top = 0, 0.0, 1
    while top:
        top -= 1
        node, gap = nodes[top], gaps[top]
        while gap < worst and tree.left[node] >= 0:
            node = tree.left[node]
            far = node + 1
            gap, beyond = (
                gap_to_point(tree, node, point),
                gap_to_point(tree, far, point),
            )
            if beyond < gap:
                node, far, gap, beyond = far, node, beyond, gap
            if beyond < worst:
                nodes[top], gaps[top] = far, beyond
                top += 1
        if gap >= worst:
            continue
        for begin in range(tree.begin[node], tree.end[node], CHUNK):
            count = distances_to_chunk(tree, node, begin, point, out)
            if not any_below(out, count, worst):
                if worst == 0:
                    break  # many points equal this one
                continue
            for j in range(count):
                if out[j] < worst and begin + j != own:
                    insert(distances, positions, row, out[j], begin + j)
                    worst = distances[row, k - 1]


@kernel
def insert(distances, positions, row, distance, position):
    """Insert a neighbour into a sorted list in place of the furthest one."""
    i = distances.shape[1] - 1
    while i > 0 and distances[row, i - 1] > distance:
        distances[row, i] = distances[row, i - 1]
        positions[row, i] = positions[row, i - 1]
        i -= 1
    distances[row, i] = distance
    positions[row, i] = position


@kernel
def weigh(distances, positions, cores, begin, end):
    """Turn distances into mutual reachability distances, for the rows [begin, end).

    Neighbours at positions beyond the cores belong to other ranks and are skipped.

    Parameters
    ----------
    cores : ndarray of float64, shape (points,)
        Core distances.
    """
    for position in range(begin, end):
        for j in range(distances.shape[1]):
            other = positions[position, j]
            if other < len(cores):
                both = max(cores[position], cores[other])
                distances[position, j] = max(distances[position, j], both)


@kernel
def list_edges(distances, positions, rows, begin, end):
    """Return the edges listed at the positions [begin, end), each from one end.

    Of an edge that both ends list, the end of the smaller row returns it.

    Returns
    -------
    a, b : ndarray of uint32
    weight : ndarray of float64
    """
    k = distances.shape[1]
    most = (end - begin) * k
    a, b = np.empty(most, np.uint32), np.empty(most, np.uint32)
    weight = np.empty(most)
    count = 0
    for position in range(begin, end):
        for j in range(k):
            other = positions[position, j]
            known = False
            if rows[other] < rows[position]:
                for i in range(k):
                    known |= positions[other, i] == position
            if not known:
                a[count], b[count] = position, other
                weight[count] = distances[position, j]
                count += 1
    return a[:count], b[:count], weight[:count]
