"""The answer to compare with: Kruskal's algorithm, sharing no code with the program."""

import hashlib
import math
from collections.abc import Iterable
from fractions import Fraction
from typing import NamedTuple

import numpy as np


class Answer(NamedTuple):
    """The minimum spanning forest in the order (weight, smaller, larger end).

    `src` < `dst`, sorted by (src, dst); `m` counts distinct edges without loops.
    """

    m: int
    trees: int
    src: np.ndarray
    dst: np.ndarray
    weight: np.ndarray

    @property
    def total(self) -> int | float:
        """The forest's weight: exact for integers, else the nearest float."""
        values = self.weight.tolist()
        if self.weight.dtype.kind in "iu":
            return sum(values)
        if not all(map(math.isfinite, values)):
            return sum(value for value in values if not math.isfinite(value))
        exact = sum(map(Fraction, values))
        try:
            return float(exact)
        except OverflowError:
            return math.inf if exact > 0 else -math.inf

    @property
    def digest(self) -> str:
        """SHA-256 of the pairs, one after the other, as little-endian int64."""
        pairs = np.column_stack((self.src, self.dst)).astype("<i8")
        return hashlib.sha256(pairs.tobytes()).hexdigest()


def kruskal(n: int, src: np.ndarray, dst: np.ndarray, weight: np.ndarray) -> Answer:
    """Solve a graph given by its edges in any direction, loops and parallels too."""
    low, high = np.minimum(src, dst), np.maximum(src, dst)
    edge = low != high
    low, high, weight = low[edge], high[edge], weight[edge]
    order = np.lexsort((high, low, weight))
    parent = list(range(n))
    chosen = []
    for i, u, v in zip(
        order.tolist(), low[order].tolist(), high[order].tolist(), strict=True
    ):
        a, b = find(parent, u), find(parent, v)
        if a != b:
            parent[a] = b
            chosen.append(i)
            if len(chosen) == n - 1:
                break  # one tree: every edge to come closes a cycle
    chosen.sort(key=lambda i: (low[i], high[i]))
    pairs = np.lexsort((high, low))
    other = (np.diff(low[pairs]) != 0) | (np.diff(high[pairs]) != 0)
    m = np.count_nonzero(other) + min(1, len(pairs))
    forest = (column[chosen] for column in (low, high, weight))
    return Answer(m, n - len(chosen), *forest)


def maximum_kruskal(
    n: int, src: np.ndarray, dst: np.ndarray, weight: np.ndarray
) -> Answer:
    """Return the maximum spanning forest: the minimum one of mirrored ranks."""
    values, rank = np.unique(weight, return_inverse=True)
    answer = kruskal(n, src, dst, -rank.reshape(-1))
    return answer._replace(weight=values[-answer.weight])


def single_linkage(
    n: int, merges: Iterable[tuple[int, int, float]]
) -> list[tuple[int, int, float, int]]:
    """Return SciPy's rows of a dendrogram: two clusters, their distance, and the size.

    `merges` has two vertices and a distance for each merge, in their order.
    """
    parent, name, size = list(range(n)), list(range(n)), [1] * n
    rows: list[tuple[int, int, float, int]] = []
    for u, v, distance in merges:
        a, b = find(parent, u), find(parent, v)
        low, high = sorted((name[a], name[b]))
        parent[b], size[a], name[a] = a, size[a] + size[b], n + len(rows)
        rows.append((low, high, distance, size[a]))
    return rows


def path(edges: Iterable[tuple[int, int]], first: int, last: int) -> list[int] | None:
    """Return the positions of a forest's edges from one vertex to another."""
    neighbours: dict[int, list[tuple[int, int]]] = {}
    for position, (u, v) in enumerate(edges):
        neighbours.setdefault(u, []).append((v, position))
        neighbours.setdefault(v, []).append((u, position))
    before = {first: (first, -1)}
    ahead = [first]
    for vertex in ahead:
        for other, position in neighbours.get(vertex, ()):
            if other not in before:
                before[other] = vertex, position
                ahead.append(other)
    if last not in before:
        return None
    found = []
    while last != first:
        last, position = before[last]
        found.append(position)
    return found[::-1]


def find(parent: list[int], vertex: int) -> int:
    """Return the root of a vertex, halving the path to it."""
    while parent[vertex] != vertex:
        parent[vertex] = vertex = parent[parent[vertex]]
    return vertex


def smallest_of_trees(n: int, src: np.ndarray, dst: np.ndarray) -> np.ndarray:
    """Return the smallest vertex of each vertex's tree."""
    parent = list(range(n))
    for ends in zip(src.tolist(), dst.tolist(), strict=True):
        low, high = sorted(find(parent, end) for end in ends)
        parent[high] = low
    return np.array([find(parent, vertex) for vertex in range(n)])
