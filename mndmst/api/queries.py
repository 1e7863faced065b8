"""Queries on a forest in memory; the first one builds an index."""

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from .inputs import as_column, as_number

if TYPE_CHECKING:
    from ..tree.index import ForestIndex


class Queries:
    """The queries of a `Forest`.

    Vertices are given by number, or by name in a `NamedForest`; arrays of them ask many
    queries at once. A query of an array takes a few nanoseconds to a microsecond, a
    single one mostly the time of the interpreter. Edges are answered as positions in
    `src`, `dst` and `weight`.

    The first question makes an index, in about the time of a sort; it takes 20 bytes
    a vertex, and up to 28 more with labels and paths.
    """

    src: np.ndarray
    dst: np.ndarray
    weight: np.ndarray
    labels: np.ndarray

    def __len__(self) -> int:
        return len(self.src)

    @property
    def num_vertices(self) -> int:
        """How many vertices the graph has."""
        return len(self.labels)

    @property
    def num_trees(self) -> int:
        """How many trees there are; an isolated vertex is one."""
        return self.num_vertices - len(self)

    @cached_property
    def index(self) -> "ForestIndex":
        """The index, for batches of paths and for what else it has.

        Raises
        ------
        InputError
            If the edges close a cycle, as those of a damaged file may, or there are
            2^32 vertices or more.
        """
        from ..tree.index import ForestIndex

        return ForestIndex(self.num_vertices, self.src, self.dst, self.weight)

    def connected(self, u: Any, v: Any) -> Any:
        """Return whether two vertices are in the same tree.

        Parameters
        ----------
        u, v : int, or array-like of integers, shape (pairs,)

        Returns
        -------
        bool, or ndarray of bool, shape (pairs,)

        Raises
        ------
        InputError
            If there is no such vertex.
        """
        one, u, v = self._pair(u, v)
        found = self.index.connected(u, v)
        return found[0].item() if one else found

    def path_max(self, u: Any, v: Any) -> Any:
        """Return the heaviest edge on the path between two vertices.

        In a minimum spanning forest it is the bottleneck: on every path of the graph
        between them some edge weighs as much, or more.

        Parameters
        ----------
        u, v : int, or array-like of integers, shape (pairs,)

        Returns
        -------
        int, or ndarray of int64, shape (pairs,)
            The position of the edge; -1 where both are the same vertex, or in
            different trees.

        Raises
        ------
        InputError
            If there is no such vertex.
        """
        one, u, v = self._pair(u, v)
        found = self.index.path_max(u, v)
        return found[0].item() if one else found

    def path(self, u: Any, v: Any) -> np.ndarray:
        """Return the edges on the path from one vertex to another.

        Returns
        -------
        ndarray of int64
            Positions of the edges, in the order of the path; empty if both are the
            same vertex, or in different trees. `index.path` takes many pairs.

        Raises
        ------
        InputError
            If there is no such vertex.
        """
        _, *ends = self._pair(u, v)
        return self.index.path(*ends)[1].astype(np.int64)

    def cut(self, below: int | float) -> np.ndarray:
        """Return the components that edges lighter than a threshold make.

        Weights are compared exactly, integers beyond 2^53 as well.

        Returns
        -------
        ndarray of int64, shape (num_vertices,)
            For each vertex the smallest vertex of its component.

        Raises
        ------
        ConfigError
            If the threshold is NaN or not a number.
        """
        return self._names(self._cut(below).astype(np.int64))

    def component_sizes(self, below: int | float | None = None) -> np.ndarray:
        """Return how many vertices the trees have.

        Parameters
        ----------
        below : int or float, optional
            Count the components that `cut` makes in place of the trees.

        Returns
        -------
        ndarray of int64, shape (components,)
            In the order of their smallest vertices.

        Raises
        ------
        ConfigError
            If the threshold is NaN or not a number.
        """
        index = self.index
        labels = index.labels if below is None else self._cut(below)
        first = labels == np.arange(len(labels))
        return index.component_sizes(labels)[first]

    def components(self, below: int | float | None = None) -> list[np.ndarray]:
        """Return the vertices of each tree, or of each component that `cut` makes.

        Returns
        -------
        list of ndarray
            In the order of their smallest vertices; each in ascending order.

        Raises
        ------
        ConfigError
            If the threshold is NaN or not a number.
        """
        index = self.index
        labels = index.labels if below is None else self._cut(below)
        order = np.argsort(labels, kind="stable")
        bounds = np.cumsum(self.component_sizes(below))[:-1]
        return np.split(self._names(order), bounds) if len(order) else []

    def _cut(self, below: Any) -> np.ndarray:
        return self.index.cut(as_number(below, "below"))

    def _pair(self, u: Any, v: Any) -> tuple[bool, np.ndarray, np.ndarray]:
        """Return whether a query is about one pair, and the numbers of its vertices."""
        u, v = self._vertices(u), self._vertices(v)
        return u.ndim == 0, u, v

    def _vertices(self, asked: Any) -> np.ndarray:
        """Return the numbers of vertices; of one vertex an array without axes."""
        if isinstance(asked, int | np.integer):
            return np.array(asked)
        return as_column(asked, "vertices")

    def _names(self, vertices: np.ndarray) -> np.ndarray:
        """Return numbered vertices as the forest answers them."""
        return vertices

    def linkage(self) -> np.ndarray:
        """Return the single-linkage dendrogram, as SciPy has it.

        Returns
        -------
        ndarray of float64, shape (num_vertices - 1, 4)
            What `scipy.cluster.hierarchy.linkage` returns, for `dendrogram`,
            `fcluster` and others. Trees are joined last, at an infinite distance.

        Raises
        ------
        ConfigError
            If there are no vertices, or the edges close a cycle.
        """
        from ..cluster.linkage import single_linkage

        return single_linkage(self)
