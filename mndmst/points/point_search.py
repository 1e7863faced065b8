"""What the forest of points asks of a search, and the search by a k-d tree."""

from typing import Protocol

import numpy as np

from ..backends.point_products import ComponentArrays
from ..kernels.threads import Threads
from .kernels.lightest import approach
from .kernels.search import Components, sum_up
from .kernels.tree import PointTree
from .neighbours import Neighbours, find_neighbours
from .steps import Report
from .tree import build_tree, find_lightest, pieces

# A component that asks so many points first looks for a good bound from a few of them.
MANY, GUIDES = 256, 4


class PointSearch(Protocol):
    """An exact search of points; all searches return the same bits.

    Attributes
    ----------
    rows : ndarray of uint32, shape (points,)
        The number that the point at each place has for the user.
    """

    rows: np.ndarray

    def neighbours(self, k: int, min_samples: int) -> Neighbours:
        """Return the k nearest neighbours of every point, by place.

        Parameters
        ----------
        k : int
            At least `min_samples` and 1; fewer than points.
        min_samples : int
            See `points_forest`.
        """

    def lightest(
        self, components: ComponentArrays, asked: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the lightest edges of places that leave their components.

        Parameters
        ----------
        components : ComponentArrays
            Bounds are lowered by what is found.
        asked : ndarray of uint32
            Places, ascending.

        Returns
        -------
        others : ndarray of uint32
            The far ends; the place itself where there is none within the bound.
        weight : ndarray of float64
            Those of the edges; or the bound, which all edges exceed.
        """


class TreeSearch:
    """Points in the order of a k-d tree, which every query walks; see `PointSearch`.

    Parameters
    ----------
    tree : PointTree
    threads : Threads
    report : Report
    """

    def __init__(self, tree: PointTree, threads: Threads, report: Report) -> None:
        self.tree, self.threads, self.rows = tree, threads, tree.rows
        self.report = report
        nodes = len(tree.left)
        self._of_node, self._least_reach = np.empty(nodes, np.uint32), np.empty(nodes)

    def neighbours(self, k: int, min_samples: int) -> Neighbours:
        """See `PointSearch.neighbours`."""
        return find_neighbours(self.tree, k, min_samples, self.threads, self.report)

    def lightest(
        self, components: ComponentArrays, asked: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """See `PointSearch.lightest`."""
        named = Components(
            components.of_place,
            self._of_node,
            components.cores,
            components.reach,
            self._least_reach,
            components.bound,
        )
        sum_up(self.tree, named)
        lower_bounds(self.tree, named, asked, self.threads)
        return find_lightest(self.tree, named, asked, self.threads, self.report)


def tree_search(
    points: np.ndarray, manhattan: bool, threads: Threads, report: Report
) -> TreeSearch:
    """Return the search of points by a k-d tree; see `build_tree`."""
    return TreeSearch(build_tree(points, manhattan, threads), threads, report)


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
