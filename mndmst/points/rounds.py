"""Borůvka rounds over points, once the certain edges of near neighbours are taken.

A component may join others along the lightest edge that leaves it. It knows some
edges; a point of it that may have a lighter one searches the tree, within the weight
of the lightest known. A component with many such points waits: another that joins it
needs no answer from them, and may make them needless.
"""

import numpy as np

from ..kernels.threads import Threads
from .kernels.edges import Edges
from .kernels.lightest import (
    Components,
    approach,
    find_least_cores,
    lightest,
    name_nodes,
)
from .kernels.rounds import ask, count_uncertain, find_best, join, name_components
from .kernels.tree import PointTree
from .tree import leaf_ranges

# A component that asks so many points first looks for a good bound from a few of them.
MANY, GUIDES = 256, 4
# Searches from one in so many points are cheap.
LITTLE = 64


class Search:
    """What the rounds over the points of a tree share.

    Parameters
    ----------
    tree : PointTree
    cores : ndarray of float64, shape (points,)
        Core distances by place; zeros for plain distances.
    reach : ndarray of float64, shape (points,)
        A bound of the weights of each point's edges that are not known: none weighs
        less. Infinity for a point that need not search. Raised.
    threads : Threads
    """

    def __init__(
        self, tree: PointTree, cores: np.ndarray, reach: np.ndarray, threads: Threads
    ) -> None:
        self.tree, self.cores, self.reach, self.threads = tree, cores, reach, threads
        self.least_core = np.empty(len(tree.left))
        find_least_cores(tree, cores, self.least_core)
        self.of_place = np.empty(len(cores), np.uint32)
        self.of_node = np.empty(len(tree.left), np.uint32)

    def finish(self, parent: np.ndarray, known: Edges) -> list[Edges]:
        """Join all components; return the forest edges that do.

        Parameters
        ----------
        parent : ndarray of uint32, shape (points,)
            Union-find links of the components.
        known : Edges
            The lightest of the listed edges that leave a component are among them.
        """
        forest = []
        while (count := name_components(parent, self.of_place)) > 1:
            known = self._crossing(known)
            best = np.empty(count, np.int64)
            find_best(known, self.tree.rows, self.of_place, best)
            bound = np.append(known.weight, np.inf)[best]
            taking_part = self._choose(bound)
            known = self._search(bound, taking_part, known)
            find_best(known, self.tree.rows, self.of_place, best)
            joined = join(known, best, taking_part, parent)
            forest.append(Edges(*(column[joined] for column in known)))
        return forest

    def _crossing(self, edges: Edges) -> Edges:
        apart = self.of_place[edges.a] != self.of_place[edges.b]
        return Edges(*(column[apart] for column in edges))

    def _components(self, bound: np.ndarray) -> Components:
        return Components(
            self.of_place, self.of_node, self.cores, self.least_core, bound
        )

    def _choose(self, bound: np.ndarray) -> np.ndarray:
        counts = np.empty(len(bound), np.int64)
        count_uncertain(self._components(bound), self.reach, counts)
        return choose(counts, len(self.reach))

    def _search(
        self, bound: np.ndarray, taking_part: np.ndarray, known: Edges
    ) -> Edges:
        """Return the known edges and those that the points asked have found."""
        components, tree = self._components(bound), self.tree
        asked = np.empty(len(self.reach), np.bool_)
        ask(components, self.reach, taking_part, asked)
        if not asked.any():
            return known
        name_nodes(tree, components)
        self.threads.map(
            lambda place: approach(tree, components, place),
            guides(asked, self.of_place, len(bound)),
        )
        parts = self.threads.map(
            lambda first, last: lightest(tree, components, asked, first, last),
            leaf_ranges(tree),
        )
        place, other, weight = map(np.concatenate, zip(*parts, strict=True))
        found = place != other
        self.reach[place] = np.where(found, weight, np.nextafter(weight, np.inf))
        new = Edges(place[found], other[found], weight[found])
        return Edges(*map(np.concatenate, zip(known, new, strict=True)))


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


def guides(asked: np.ndarray, of_place: np.ndarray, count: int) -> list[tuple[int]]:
    """Return a few of the points asked of each component that has many of them."""
    places = np.flatnonzero(asked)
    component = of_place[places]
    sizes = np.bincount(component, minlength=count)
    places = places[sizes[component] >= MANY]
    component = of_place[places]
    places = places[np.argsort(component, kind="stable")]
    ends = np.cumsum(sizes[sizes >= MANY])
    chosen = [ends - 1 - sizes[sizes >= MANY] * i // GUIDES for i in range(GUIDES)]
    return [(place,) for place in places[np.concatenate(chosen)].tolist()]
