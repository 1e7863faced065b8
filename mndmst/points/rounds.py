"""Borůvka rounds over points, once the certain edges of near neighbours are taken.

A component may join others along the lightest edge that leaves it. It knows some
edges; a point of it that may have a lighter one searches the tree, within the weight
of the lightest known. A component with many such points waits: another that joins it
needs no answer from them, and may make them needless.
"""

import numpy as np

from ..kernels.threads import Threads
from .kernels.edges import Edges, all_of, no_edges
from .kernels.lightest import approach
from .kernels.rounds import (
    ask,
    count_uncertain,
    find_best,
    join,
    keep_leaving,
    name_components,
)
from .kernels.search import Components, sum_up
from .kernels.tree import PointTree
from .tree import find_lightest, pieces

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
        self.least_reach = np.empty(len(tree.left))
        self.of_place = np.empty(len(cores), np.uint32)
        self.of_node = np.empty(len(tree.left), np.uint32)

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
            known = known.take(slice(keep_leaving(known, self.of_place)))
            best = np.empty(count, np.int64)
            find_best(known, self.tree.rows, self.of_place, best)
            components = self._components(np.append(known.weight, np.inf)[best])
            taking_part, asked = self._ask(components)
            if len(asked):
                found = self._search(components, asked)
                known = all_of([known, found])
                find_best(known, self.tree.rows, self.of_place, best)
            joined = join(known, best, taking_part, parent)
            forest.append(known.take(joined))
        return all_of(forest)

    def _components(self, bound: np.ndarray) -> Components:
        of = self.of_place, self.of_node
        return Components(*of, self.cores, self.reach, self.least_reach, bound)

    def _ask(self, components: Components) -> tuple[np.ndarray, np.ndarray]:
        """Return which components take part, and the points that search for them."""
        counts = np.empty(len(components.bound), np.int64)
        count_uncertain(components, self.reach, counts)
        taking_part = choose(counts, len(self.reach))
        asked = np.empty(counts[taking_part].sum(), np.uint32)
        ask(components, self.reach, taking_part, asked)
        return taking_part, asked

    def _search(self, components: Components, asked: np.ndarray) -> Edges:
        """Return the edges that the points asked have found; bounds are lowered."""
        tree, threads = self.tree, self.threads
        sum_up(tree, components)
        lower_bounds(tree, components, asked, threads)
        other, weight = find_lightest(tree, components, asked, threads)
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


def lower_bounds(
    tree: PointTree, components: Components, asked: np.ndarray, threads: Threads
) -> None:
    """Lower the bounds of components that ask many points, by walks from a few."""
    places = guides(asked, components.of_place[asked], len(components.bound))
    shares = pieces(len(places), threads, GUIDES)
    threads.map(approach, [(tree, components, places, *piece) for piece in shares])


def guides(asked: np.ndarray, component: np.ndarray, count: int) -> np.ndarray:
    """Return a few of the points asked of each component that has many of them."""
    sizes = np.bincount(component, minlength=count)
    many = sizes >= MANY
    chosen = many[component]
    places = asked[chosen][np.argsort(component[chosen], kind="stable")]
    ends = np.cumsum(sizes[many])
    few = [ends - 1 - sizes[many] * i // GUIDES for i in range(GUIDES)]
    return places[np.concatenate(few)]
