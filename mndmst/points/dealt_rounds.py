"""Borůvka rounds over the points of all ranks; see `rounds` for those of one.

The components that each rank has made of its own points are the vertices here. All
ranks know for each of them which component of all points it is in, and the first edge
that leaves each; points and edges stay where they are.
"""

from typing import NamedTuple

import numpy as np

from .dealt_neighbours import DealtPoints
from .forest import key_of
from .kernels.edges import NONE, Edges
from .kernels.rounds import join, name_components
from .kernels.search import NOBODY, Components, sum_up
from .kernels.strangers import Strangers, lightest_to
from .point_search import lower_bounds
from .rounds import choose
from .tree import find_lightest

LAST_KEY = np.uint64(0xFFFFFFFFFFFFFFFF)


class Crossing(NamedTuple):
    """Edges between the first components.

    Attributes
    ----------
    a, b : ndarray of uint32
        The first components of their ends.
    weight : ndarray of float64
    key : ndarray of uint64
        The numbers of the points, the smaller in the upper half.
    """

    a: np.ndarray
    b: np.ndarray
    weight: np.ndarray
    key: np.ndarray

    def take(self, chosen: np.ndarray) -> "Crossing":
        """Return some of them."""
        return Crossing(*(column[chosen] for column in self))

    def plus(self, more: "Crossing") -> "Crossing":
        """Return these and more."""
        return Crossing(*map(np.concatenate, zip(self, more, strict=True)))


class Best(NamedTuple):
    """The first edge that leaves each component, by component.

    Attributes
    ----------
    weight : ndarray of float64
        Infinity where none is known.
    key : ndarray of uint64
    other : ndarray of int64
        The component it leads to; -1 where none is known.
    """

    weight: np.ndarray
    key: np.ndarray
    other: np.ndarray


class DealtSearch:
    """What the rounds share.

    Parameters
    ----------
    dealt : DealtPoints
    cores, reach : ndarray of float64, shape (points,)
        See `rounds.Search`.
    first_of : ndarray of uint32, shape (points,)
        The first component of each point of this rank.
    count : int
        First components of all ranks.
    """

    def __init__(
        self,
        dealt: DealtPoints,
        cores: np.ndarray,
        reach: np.ndarray,
        first_of: np.ndarray,
        count: int,
    ) -> None:
        self.dealt, self.cores, self.reach = dealt, cores, reach
        self.comm, self.first_of = dealt.others.comm, first_of
        self.parent = np.arange(count, dtype=np.uint32)
        self.present = np.empty(count, np.uint32)
        nodes = len(dealt.tree.left)
        self.of_node, self.least_reach = np.empty(nodes, np.uint32), np.empty(nodes)

    def finish(self, known: Crossing) -> list[tuple[np.ndarray, np.ndarray]]:
        """Join all components. Collective.

        Returns
        -------
        list of (ndarray of float64, ndarray of uint64)
            On rank 0 weights and keys of the edges that do; on others it is empty.
        """
        forest = []
        while (count := name_components(self.parent, self.present)) > 1:
            known = known.take(self.present[known.a] != self.present[known.b])
            bound = self._best(known, count).weight.copy()
            uncertain = self._uncertain(bound)
            of_place = self.present[self.first_of]
            counts = np.bincount(of_place[uncertain], minlength=count)
            total = self.dealt.others.count
            taking_part = choose(self.comm.sum(counts), total)
            asked = uncertain & taking_part[of_place]
            if self.comm.max(int(asked.any())):
                known = known.plus(self._search(asked, of_place, bound))
            best = self._best(known, count)
            joined = self._join(best, taking_part)
            if self.comm.rank == 0:
                forest.append((best.weight[joined], best.key[joined]))
        return forest

    def _uncertain(self, bound: np.ndarray) -> np.ndarray:
        """Return which points may have an edge within their component's bound."""
        near = self.reach <= bound[self.present[self.first_of]]
        return near & (self.reach < np.inf)

    def _best(self, known: Crossing, count: int) -> Best:
        """Return the first known edge that leaves each component. Collective."""
        ends = self.present[known.a], self.present[known.b]
        weight, key = np.full(count, np.inf), np.full(count, LAST_KEY)
        other = np.full(count, -1)
        for end in ends:
            np.minimum.at(weight, end, known.weight)
        weight = self.comm.min(weight)
        for end in ends:
            equal = known.weight == weight[end]
            np.minimum.at(key, end[equal], known.key[equal])
        key = self.comm.min(key)
        for end, far in (ends, ends[::-1]):
            first = (known.weight == weight[end]) & (known.key == key[end])
            other[end[first]] = far[first]
        return Best(weight, key, self.comm.max(other))

    def _join(self, best: Best, taking_part: np.ndarray) -> np.ndarray:
        """Join components along their first edges; return those whose edge is new."""
        first = np.empty(len(best.other), np.uint32)  # a first component of each
        first[self.present] = np.arange(len(self.present), dtype=np.uint32)
        edges = Edges(first, first[best.other], best.weight)
        every = np.where(best.other >= 0, np.arange(len(first)), NONE)
        return join(edges, every, taking_part, self.parent)

    def _search(
        self, asked: np.ndarray, of_place: np.ndarray, bound: np.ndarray
    ) -> Crossing:
        """Return the first edge, within the bound, of each point asked. Collective.

        The bounds are lowered.
        """
        tree, threads, first_of = self.dealt.tree, self.dealt.threads, self.first_of
        named = of_place, self.of_node
        of = Components(*named, self.cores, self.reach, self.least_reach, bound)
        sum_up(tree, of)
        places = np.flatnonzero(asked).astype(np.uint32)
        lower_bounds(tree, of, places, threads)
        bound[:] = self.comm.min(bound)
        ends, weight = find_lightest(tree, of, places, threads)
        has = ends != places
        key = np.where(has, key_of(tree.rows[places], tree.rows[ends]), LAST_KEY)
        found = Crossing(first_of[places], first_of[ends], weight.copy(), key)
        found.weight[~has] = np.inf
        low = weight  # no edge that is not found weighs less
        for step, rank in self.dealt.others.steps():
            bound[:] = self.comm.min(bound)
            np.minimum(low, bound[of_place[places]], out=low)
            self._ask(step, rank, of, places, low, found)
        exact = found.weight <= low
        self.reach[places] = np.where(exact, low, np.nextafter(low, np.inf))
        return found.take(found.weight < np.inf)

    def _ask(
        self,
        step: int,
        rank: int,
        of: Components,
        places: np.ndarray,
        low: np.ndarray,
        found: Crossing,
    ) -> None:
        """Have a rank search from some points; replace edges by earlier ones."""
        tree, points, others, _ = self.dealt
        gap = others.gaps(rank, points[places])
        with np.errstate(over="ignore"):
            limit = low if tree.manhattan else low * low
            limit = np.minimum(limit * (1 + 1e-15) + 1e-322, np.finfo(np.float64).max)
        asking = np.flatnonzero(gap < limit)
        chosen = places[asking]
        asked = points[chosen], of.of_place[chosen], self.cores[chosen]
        columns = (*asked, tree.rows[chosen], low[asking])
        for part, answer in others.ask(step, columns, lambda *c: self._answer(of, *c)):
            weight, end, row = answer
            here = asking[part]
            low[here] = np.minimum(low[here], weight)
            key = key_of(tree.rows[places[here]], row)
            earlier = (weight < found.weight[here]) | (
                (weight == found.weight[here]) & (key < found.key[here])
            )
            earlier &= end != NOBODY
            here = here[earlier]
            found.b[here], found.key[here] = end[earlier], key[earlier]
            found.weight[here] = weight[earlier]
            np.minimum.at(of.bound, of.of_place[places[here]], weight[earlier])

    def _answer(
        self,
        of: Components,
        points: np.ndarray,
        component: np.ndarray,
        core: np.ndarray,
        row: np.ndarray,
        bound: np.ndarray,
    ) -> list[np.ndarray]:
        """Return weights, first components and numbers of what strangers look for."""
        tree, threads = self.dealt.tree, self.dealt.threads
        points = points.reshape(-1, tree.low.shape[1])
        strangers = Strangers(points, component, core, row, bound)
        ends = np.empty(len(row), np.uint32)
        ranges = threads.ranges(len(row), 64)
        threads.map(lightest_to, [(tree, of, strangers, ends, *r) for r in ranges])
        has = ends != NOBODY
        first, rows = np.full(len(row), NOBODY), np.full(len(row), NOBODY)
        first[has], rows[has] = self.first_of[ends[has]], tree.rows[ends[has]]
        return [bound, first, rows]
