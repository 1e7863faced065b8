"""Borůvka rounds over points, once the certain edges of near neighbours are taken.

A component may join others along the lightest edge that leaves it. It knows some
edges; a point of it that may have a lighter one searches, within the weight
of the lightest known. A component with many such points waits: another that joins it
needs no answer from them, and may make them needless.
"""

from collections.abc import Callable

import numpy as np

from ..backends.point_products import ComponentArrays
from .kernels.edges import Edges, all_of, no_edges
from .kernels.rounds import (
    ask,
    count_uncertain,
    find_best,
    join,
    keep_leaving,
    name_components,
)
from .point_search import PointSearch

# Searches from one in so many points are cheap.
LITTLE = 64


class Search:
    """What the rounds over the points of one rank share.

    Parameters
    ----------
    points : PointSearch
    cores : ndarray of float64, shape (points,)
        Core distances by place; zeros for plain distances.
    reach : ndarray of float64, shape (points,)
        A bound of the weights of each point's edges that are not known: none weighs
        less. Infinity for a point that need not search. Raised.
    report : callable
        Takes how many components are left.
    """

    def __init__(
        self,
        points: PointSearch,
        cores: np.ndarray,
        reach: np.ndarray,
        report: Callable[[int], object],
    ) -> None:
        self.points, self.cores, self.reach = points, cores, reach
        self.of_place = np.empty(len(cores), np.uint32)
        self.report = report

    def finish(self, parent: np.ndarray, known: Edges) -> Edges:
        """Join all components; return the forest edges that do.

        Parameters
        ----------
        parent : ndarray of uint32, shape (points,)
            Union-find links of the components.
        known : Edges
            The lightest of the listed edges that leave a component are among them.
            Overwritten.
        """
        forest = [no_edges()]
        while (count := name_components(parent, self.of_place)) > 1:
            self.report(count)
            known = known.take(slice(keep_leaving(known, self.of_place)))
            best = np.empty(count, np.int64)
            find_best(known, self.points.rows, self.of_place, best)
            components = self._components(np.append(known.weight, np.inf)[best])
            taking_part, asked = self._ask(components)
            if len(asked):
                found = self._search(components, asked)
                known = all_of([known, found])
                find_best(known, self.points.rows, self.of_place, best)
            joined = join(known, best, taking_part, parent)
            forest.append(known.take(joined))
        return all_of(forest)

    def _components(self, bound: np.ndarray) -> ComponentArrays:
        return ComponentArrays(self.of_place, self.cores, self.reach, bound)

    def _ask(self, components: ComponentArrays) -> tuple[np.ndarray, np.ndarray]:
        """Return which components take part, and the points that search for them."""
        counts = np.empty(len(components.bound), np.int64)
        count_uncertain(components, self.reach, counts)
        taking_part = choose(counts, len(self.reach))
        asked = np.empty(counts[taking_part].sum(), np.uint32)
        ask(components, self.reach, taking_part, asked)
        return taking_part, asked

    def _search(self, components: ComponentArrays, asked: np.ndarray) -> Edges:
        """Return the edges that the points asked have found; bounds are lowered."""
        other, weight = self.points.lightest(components, asked)
        found = other != asked
        self.reach[asked] = np.where(found, weight, np.nextafter(weight, np.inf))
        return Edges(asked[found], other[found], weight[found])


def choose(counts: np.ndarray, points: int) -> np.ndarray:
    """Return which components take part in a round: the half with the least to search.

    More of them if that takes little.

    Parameters
    ----------
    counts : ndarray of int64
        Points of each component that have to search.
    points : int
        How many there are in all.
    """
    order = np.argsort(counts, kind="stable")
    cheap = int(np.searchsorted(np.cumsum(counts[order]), points // LITTLE, "right"))
    taking_part = np.zeros(len(counts), np.bool_)
    taking_part[order[: max((len(order) + 1) // 2, cheap)]] = True
    return taking_part
