"""The answer to compare with: Kruskal's algorithm, sharing no code with the program."""

import hashlib
import math
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
