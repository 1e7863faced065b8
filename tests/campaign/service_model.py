"""An oracle that knows the versions of a graph, and checks reads against them."""

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from graphs import Graph
from oracle import Answer, kruskal, maximum_kruskal, smallest_of_trees

from .case import expect

Pair = tuple[int, int]
Weights = dict[Pair, Any]


@dataclass
class Batch:
    """Changes of some pairs, each named once."""

    delete: list[Pair] = field(default_factory=list)
    set_weights: Weights = field(default_factory=dict)
    insert: Weights = field(default_factory=dict)

    def applied(self, before: Weights) -> Weights | None:
        """Return the edges after the batch; None if it cannot be made."""
        missing = [*self.delete, *self.set_weights]
        if any(pair not in before for pair in missing):
            return None
        if any(pair in before for pair in self.insert):
            return None
        kept = {pair: w for pair, w in before.items() if pair not in set(self.delete)}
        return kept | self.set_weights | self.insert


class Observation(NamedTuple):
    """A read: its kind, the version it names, and the check of its answer."""

    what: str
    version: int
    check: Callable[["Model", "Facts"], None]


class Facts:
    """One version of the graph.

    Attributes
    ----------
    src, dst, weight : ndarray
        The edges in their order.
    maximum : bool
        Whether its forest is the maximum one.
    """

    def __init__(
        self, n: int, edges: Weights, dtype: np.dtype, maximum: bool = False
    ) -> None:
        self.n, self.maximum, pairs = n, maximum, sorted(edges)
        ends = np.array(pairs, np.int64).reshape(-1, 2)
        self.src, self.dst = ends[:, 0], ends[:, 1]
        self.weight = np.array([edges[pair] for pair in pairs], dtype)

    @cached_property
    def forest(self) -> Answer:
        """The forest by the graph's own weights."""
        return self.forest_by(self.weight, maximum=self.maximum)

    @cached_property
    def labels(self) -> np.ndarray:
        """The smallest vertex of each vertex's tree."""
        return smallest_of_trees(self.n, self.forest.src, self.forest.dst)

    def forest_by(
        self, weight: np.ndarray, keep: np.ndarray | None = None, maximum: bool = False
    ) -> Answer:
        """Return the forest by other weights, of some edges."""
        some = slice(None) if keep is None else keep
        solve = maximum_kruskal if maximum else kruskal
        return solve(self.n, self.src[some], self.dst[some], weight[some])

    def merge_order(self) -> list[int]:
        """Return the positions of the forest's edges in the order of their merges."""
        weight = self.forest.weight.tolist()
        return sorted(range(len(weight)), key=weight.__getitem__, reverse=self.maximum)

    def same_edges(self, other: "Facts") -> bool:
        """Return whether both versions have the same pairs of vertices."""
        mine, its = (self.src, self.dst), (other.src, other.dst)
        return all(map(np.array_equal, mine, its))

    def path(self, u: int, v: int) -> list[tuple[int, int, Any]] | None:
        """Return the edges between two vertices of a tree, from the first one on."""
        before: dict[int, tuple[int, tuple[int, int, Any]]] = {u: (u, (0, 0, 0))}
        ahead = [u]
        for vertex in ahead:
            for other, edge in self._neighbours.get(vertex, ()):
                if other not in before:
                    before[other] = vertex, edge
                    ahead.append(other)
        if v not in before:
            return None
        edges = []
        while v != u:
            v, edge = before[v]
            edges.append(edge)
        return edges[::-1]

    @cached_property
    def _neighbours(self) -> dict[int, list[tuple[int, tuple[int, int, Any]]]]:
        found: dict[int, list[tuple[int, tuple[int, int, Any]]]] = {}
        columns = (self.forest.src, self.forest.dst, self.forest.weight)
        for edge in zip(*(column.tolist() for column in columns), strict=True):
            for one, other in (edge[:2], edge[1::-1]):
                found.setdefault(one, []).append((other, edge))
        return found


class Model:
    """All versions that writers have made; thread-safe."""

    def __init__(self, graph: Graph, maximum: bool) -> None:
        self.n, self.dtype, self.maximum = graph.n, graph.weight.dtype, maximum
        pairs = zip(graph.src.tolist(), graph.dst.tolist(), strict=True)
        first = dict(zip(pairs, graph.weight.tolist(), strict=True))
        self._states: dict[int, Weights] = {0: first}
        self._facts: dict[int, Facts] = {}
        self._batches: dict[int, Batch] = {}
        self._lock = Lock()
        self.acknowledged = 0

    def acknowledge(self, version: int, batch: Batch) -> None:
        """Note that the service has acknowledged a batch as a version."""
        with self._lock:
            expect(version not in self._batches, f"version {version} was made twice")
            self._batches[version] = batch
            self.acknowledged = max(self.acknowledged, version)

    def edges(self, version: int) -> Weights:
        """Return the edges of a version, all batches up to which are known."""
        last = max(number for number in self._states if number <= version)
        for number in range(last + 1, version + 1):
            edges = self._batches[number].applied(self._states[number - 1])
            expect(edges is not None, f"version {number} was made of a wrong batch")
            assert edges is not None
            self._states[number] = edges
        return self._states[version]

    def facts(self, version: int) -> Facts:
        """Return the edges of a version, with their forest and labels."""
        if version not in self._facts:
            edges = self.edges(version)
            self._facts[version] = Facts(self.n, edges, self.dtype, self.maximum)
        return self._facts[version]

    def settle(self, version: int, found: Weights, pending: Sequence[Batch]) -> None:
        """Find out which unacknowledged batches a restarted service has.

        Parameters
        ----------
        version : int
            Of the service.
        found : dict
            Its edges.
        pending : sequence of Batch
            Those that were sent, and not acknowledged.

        Raises
        ------
        CaseError
            If no order of them explains the edges, or an acknowledged one is missing.
        """
        lost = self.acknowledged - version
        expect(lost <= 0, f"{lost} acknowledged batches are lost")
        unknown = [v for v in range(1, version + 1) if v not in self._batches]
        for made in itertools.permutations(pending, len(unknown)):
            batches = self._batches | dict(zip(unknown, made, strict=True))
            if self._explains(batches, version, found):
                self._batches, self.acknowledged = batches, version
                return
        expect(False, f"the edges of version {version} are not those of its batches")

    def _explains(
        self, batches: dict[int, Batch], version: int, found: Weights
    ) -> bool:
        edges: Weights | None = self._states[0]
        for number in range(1, version + 1):
            assert edges is not None
            edges = batches[number].applied(edges)
            if edges is None:
                return False
        return edges == found

    def check(self, observations: Iterable[Observation]) -> None:
        """Check reads against the versions that they name.

        Raises
        ------
        CaseError
            For the first that is wrong.
        """
        for seen in observations:
            expect(
                seen.version <= self.acknowledged,
                f"{seen.what}: saw version {seen.version}, which was never on disk",
            )
            try:
                seen.check(self, self.facts(seen.version))
            except AssertionError as error:
                where = f"{seen.what} of version {seen.version}"
                expect(False, f"{where} is not the oracle's: {error}")
