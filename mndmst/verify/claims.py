"""The claims of a tree of points to be the minimum one, and what refutes them.

The tree's own edges are followed in Borůvka rounds. In each, all components but the
largest claim that their lightest tree edge is the lightest of all edges that leave them
(the cut property); then they merge along these edges. A claim is tested from every
point of the component: against its nearest neighbours, and if these do not reach as far
as the claimed edge, against all points of other components within that distance. Of
equal points in one component the first stands for all.
Two components differ in a bit of their numbers, so a tree of the points with that bit
and one of those without find all of them. Trees and searches are SciPy's, and they only
propose: distances are computed here.
"""

from typing import Any

import numpy as np

from ..host.errors import optional
from ..points.metric import shown
from ..points.scale import extremes, scale_for
from .candidate import LIMIT
from .distinct import SLACK, Distinct

FIRST_FOUND = 8  # points of other components that a search asks for at first
PAIRS = 1 << 21  # that are held at a time


class Claims:
    """Points, and an index of the distinct points.

    Parameters
    ----------
    points : ndarray of float64, shape (points, dimensions)
        As `metric.prepared` returns them.
    """

    def __init__(self, points: np.ndarray, metric: str, min_samples: int) -> None:
        self.metric, self.scale = metric, scale_for(metric, *extremes(points))
        self.points = points = self.scale.scaled(points)
        self.norm = 1 if metric == "manhattan" else 2
        self.make_tree: Any = optional("scipy.spatial", "formats").cKDTree
        self.distinct = Distinct(points, self.norm, min_samples)

    def weight(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return the mutual reachability distances of pairs."""
        distinct, cores = self.distinct, self.distinct.cores
        a, b = distinct.of[a], distinct.of[b]
        return np.maximum(distinct.distance(a, b), np.maximum(cores[a], cores[b]))

    def _shown(self, weight: np.ndarray) -> np.ndarray:
        """Return distances as the forest has them."""
        return shown(self.scale.original(weight), self.metric)

    def problems(self, u: np.ndarray, v: np.ndarray, given: np.ndarray) -> list[str]:
        """Return why edges are not the minimum spanning tree; [] if they are."""
        weight = self.weight(u, v)
        wrong = np.flatnonzero(self._shown(weight) != given)
        if len(wrong):
            right = self._shown(weight[wrong[:LIMIT]]).tolist()
            return [
                f"edge ({u[i]}, {v[i]}) has weight {given[i]}, its points {x}"
                for i, x in zip(wrong[:LIMIT].tolist(), right, strict=True)
            ]
        order = np.lexsort((v, u, weight))
        u, v, weight = u[order], v[order], weight[order]
        component, count = np.arange(len(self.points)), len(self.points)
        while count > 1:
            claimed = _lightest(component, count, u, v)
            largest = int(np.bincount(component).argmax())
            claimed[largest] = -1
            if (np.delete(claimed, largest) < 0).any():
                return ["the edges close a cycle, and do not join all points"]
            claim = claimed[component]
            testing = np.flatnonzero(claim >= 0)
            found = self._lighter(testing, claim, component, (u, v, weight))
            if found:
                return found
            component, count = _merged(component, count, claimed[claimed >= 0], u, v)
        return []

    def _lighter(
        self,
        testing: np.ndarray,
        claim: np.ndarray,
        component: np.ndarray,
        edges: tuple[np.ndarray, ...],
    ) -> list[str]:
        """Return edges that come before those claimed to be the first ones."""
        distinct = self.distinct
        of = distinct.of[testing]
        first, second = distinct.first, distinct.second(component)
        near = distinct.near[of]
        a = np.broadcast_to(testing[:, None], near.shape)
        near = np.where(
            component[a] != component[first[near]], first[near], second[near]
        )
        apart = component[a] != component[near]
        texts = self._compare(a[apart], near[apart], claim, edges)
        bound = edges[2][claim[testing]]
        far = (distinct.reach[of] <= bound) & (distinct.cores[of] <= bound)
        pairs = of[far] * len(component) + component[testing[far]]
        asking = testing[far][np.unique(pairs, return_index=True)[1]]
        for bit in range(int(component.max()).bit_length()):
            for side in (0, 1):
                if texts or len(asking) == 0:
                    return texts
                of_side = component >> bit & 1 == side
                others = distinct.smallest(np.flatnonzero(of_side))
                here = asking[~of_side[asking]]
                texts = self._search(here, others, claim, edges)
        return texts

    def _search(
        self,
        asking: np.ndarray,
        others: np.ndarray,
        claim: np.ndarray,
        edges: tuple[np.ndarray, ...],
    ) -> list[str]:
        """Compare points with all others as near as the claimed edges are long."""
        if len(asking) == 0:
            return []
        tree, count = self.make_tree(self.points[others]), FIRST_FOUND
        while len(asking):
            count = min(count, len(others))
            further = []
            for piece in np.array_split(asking, -(-len(asking) * count // PAIRS)):
                radius = edges[2][claim[piece]] * (1 + SLACK) + 1e-300
                distance, place = tree.query(
                    self.points[piece],
                    [*range(1, count + 1)],
                    p=self.norm,
                    distance_upper_bound=np.nextafter(radius.max(), np.inf),
                    workers=-1,
                )
                within = distance <= radius[:, None]
                a = np.broadcast_to(piece[:, None], within.shape)[within]
                texts = self._compare(a, others[place[within]], claim, edges)
                if texts:
                    return texts
                further.append(piece[within[:, -1]])
            asking = np.concatenate(further)
            asking = asking if count < len(others) else asking[:0]
            count *= 4
        return []

    def _compare(
        self,
        a: np.ndarray,
        b: np.ndarray,
        claim: np.ndarray,
        edges: tuple[np.ndarray, ...],
    ) -> list[str]:
        """Return the first pairs that precede the edges claimed by their first ends."""
        weight, low, high = self.weight(a, b), np.minimum(a, b), np.maximum(a, b)
        u, v, bound = (column[claim[a]] for column in edges)
        same = weight == bound
        before = (
            (weight < bound) | (same & (low < u)) | (same & (low == u) & (high < v))
        )
        return [
            f"edge ({low[i]}, {high[i]}) weight {self._shown(weight)[i]} comes "
            f"before ({u[i]}, {v[i]}), and is not there"
            for i in np.flatnonzero(before)[:LIMIT].tolist()
        ]


def _lightest(
    component: np.ndarray, count: int, u: np.ndarray, v: np.ndarray
) -> np.ndarray:
    """Return the first edge that leaves each component, -1 where none does."""
    a, b = component[u], component[v]
    leaving = np.flatnonzero(a != b)[::-1]
    first = np.full(count, -1)
    for ends in (a, b):  # the first of all is written last
        mine = np.full(count, len(u))
        mine[ends[leaving]] = leaving
        first = np.where((first < 0) | (mine < first), mine, first)
    return np.where(first < len(u), first, -1)


def _merged(
    component: np.ndarray, count: int, edges: np.ndarray, u: np.ndarray, v: np.ndarray
) -> tuple[np.ndarray, int]:
    """Return the components that some edges join, and how many there are."""
    sparse = optional("scipy.sparse", "formats")
    graph = optional("scipy.sparse.csgraph", "formats")
    ends = component[u[edges]], component[v[edges]]
    joins = sparse.coo_array((np.ones(len(edges)), ends), shape=(count, count))
    number, names = graph.connected_components(joins, directed=False)
    return names[component].astype(np.int64), int(number)
