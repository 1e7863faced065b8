"""An index over a forest that answers queries about it in batches."""

from bisect import bisect_left
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from ..graph.order import WEIGHT_DTYPES, check_threshold, weights_to_keys
from ..host.errors import InputError
from ..kernels.sorting import sort_positions
from .kruskal_tree import heaviest_between, link_by_size, smallest_within
from .rooted import Rooted, path_lengths, root_forest, write_paths

MOST_VERTICES = (1 << 32) - 1


class ForestIndex:
    """Kruskal's tree by size of a forest, and structures derived from it on first use.

    It takes 12 bytes a vertex beside the edges given, 8 more for copies of their ends,
    4 more once labels have been asked for, and 24 more from the first path on.

    Parameters
    ----------
    num_vertices : int
        Fewer than 2^32.
    src, dst : ndarray of integers, shape (edges,)
        Ends of the edges of a forest, in any order and direction.
    weight : ndarray of any of `WEIGHT_DTYPES`, shape (edges,)
        Edges are compared by (weight, smaller end, larger end). Kept, not copied.
    maximum : bool
        Whether the forest is a maximum spanning forest: a larger weight comes first,
        and stands below for a lighter one.

    Attributes
    ----------
    num_vertices : int
    maximum : bool
    src, dst : ndarray of uint32, shape (edges,)
    weight : ndarray, shape (edges,)
    order : ndarray of uint32, shape (edges,)
        The positions of the edges, lightest first (heaviest first in a maximum forest).
        An edge's index in it is its rank.
    links : ndarray of uint64, shape (vertices,)
        See `kruskal_tree`.

    Raises
    ------
    InputError
        If the edges are not a forest of these vertices, or a weight is NaN.

    Examples
    --------
    >>> index = ForestIndex(5, [0, 2, 1], [1, 1, 3], np.array([4, 7, 5]))
    >>> index.bottleneck([0, 2, 0], [3, 3, 4])
    array([ 2,  1, -1])
    >>> index.connected([0, 0], [2, 4])
    array([ True, False])
    """

    def __init__(
        self,
        num_vertices: int,
        src: ArrayLike,
        dst: ArrayLike,
        weight: np.ndarray,
        maximum: bool = False,
    ):
        if num_vertices > MOST_VERTICES:
            raise InputError(
                f"{num_vertices:,} vertices; an index has up to {MOST_VERTICES:,}. Ask "
                "for the forest of a part of the graph."
            )
        self.num_vertices, self.maximum = num_vertices, maximum
        self.src, self.dst = self.vertices(src), self.vertices(dst)
        self.weight = np.asarray(weight)
        self._check_columns()
        self.order = self._ascending()
        self.links = np.empty(num_vertices, np.uint64)
        joined = link_by_size(self.order, self.src, self.dst, self.links)
        if joined < len(self):
            edge = self.order[joined]
            raise InputError(
                f"the edge ({self.src[edge]}, {self.dst[edge]}) closes a cycle with "
                f"{'heavier' if maximum else 'lighter'} ones, so this is not a forest; "
                "verify it, or solve again"
            )

    def __len__(self) -> int:
        return len(self.src)

    @property
    def num_trees(self) -> int:
        """Number of trees; an isolated vertex is one."""
        return self.num_vertices - len(self)

    @cached_property
    def labels(self) -> np.ndarray:
        """The smallest vertex of each vertex's tree; uint32, shape (vertices,)."""
        return self._labels(len(self))

    @cached_property
    def rooted(self) -> Rooted:
        """The forest with roots; see `rooted`."""
        return root_forest(self.src, self.dst, self.labels)

    @property
    def is_rooted(self) -> bool:
        """Whether `rooted` has been made."""
        return "rooted" in vars(self)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays that there are, also of those made on first use."""
        made = [self.src, self.dst, self.weight, self.order, self.links]
        made += [self.labels] if "labels" in vars(self) else []
        made += self.rooted if self.is_rooted else []
        return sum(array.nbytes for array in made)

    def keys(self, chosen: slice | np.ndarray) -> np.ndarray:
        """Return the sort keys of some edges: a slice, mask or positions."""
        return weights_to_keys(np.array(self.weight[chosen]), self.maximum)

    def connected(self, u: ArrayLike, v: ArrayLike) -> np.ndarray:
        """Return whether the vertices of pairs are in the same tree; bool."""
        u, v = self.pairs(u, v)
        return self.labels[u] == self.labels[v]

    def bottleneck(self, u: ArrayLike, v: ArrayLike) -> np.ndarray:
        """Return the last edge in the order on the path between each pair of vertices.

        The result is its position; -1 where both are the same vertex or no path exists.
        """
        u, v = self.pairs(u, v)
        heaviest = np.empty(len(u), np.int64)
        heaviest_between(self.links, self.order, u, v, heaviest)
        return heaviest

    def path_lengths(self, u: ArrayLike, v: ArrayLike) -> np.ndarray:
        """Return the number of edges on the path between each pair of vertices.

        The number is 0 where both are the same vertex or no path exists.
        """
        u, v = self.pairs(u, v)
        lengths = np.zeros(len(u), np.int64)
        path_lengths(self.rooted, u, v, lengths)
        return lengths

    def path(self, u: ArrayLike, v: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """Return the edges on the path between the vertices of each pair.

        Path i is `edges[offsets[i]:offsets[i + 1]]`, positions from u to v; empty where
        both are the same vertex or no path exists.
        """
        u, v = self.pairs(u, v)
        offsets = np.zeros(len(u) + 1, np.int64)
        np.cumsum(self.path_lengths(u, v), out=offsets[1:])
        edges = np.empty(offsets[-1], np.uint32)
        write_paths(self.rooted, u, v, offsets, edges)
        return offsets, edges

    def count_before(self, threshold: int | float) -> int:
        """Return the number of edges before a threshold in the order.

        They weigh less, or more in a maximum forest; compared exactly.
        """
        check_threshold(threshold)
        # Python compares integers with floats exactly.
        sign = -1 if self.maximum else 1
        return bisect_left(
            self.order, sign * threshold, key=lambda i: sign * self.weight[i].item()
        )

    def cut(self, threshold: int | float) -> np.ndarray:
        """Label vertices by the edges that come before a threshold in the order.

        A label is the smallest vertex of the component. Raises ConfigError if the
        threshold is NaN.
        """
        return self._labels(self.count_before(threshold))

    def component_sizes(self, labels: np.ndarray) -> np.ndarray:
        """Return for each vertex the number of vertices with its label; see `cut`."""
        return np.bincount(labels, minlength=self.num_vertices)[labels]

    def vertices(self, ids: ArrayLike) -> np.ndarray:
        """Return ids as uint32; raise InputError if there is no such vertex."""
        ids = np.atleast_1d(np.asarray(ids))
        if len(ids) == 0:
            return np.empty(0, np.uint32)
        if ids.dtype.kind not in "iu" or ids.ndim != 1:
            raise InputError("vertices are arrays of integers, of one dimension")
        wrong = np.flatnonzero((ids < 0) | (ids >= self.num_vertices))
        if len(wrong):
            raise InputError(
                f"no vertex {ids[wrong[0]]}: ids run from 0 to "
                f"{self.num_vertices - 1:,}"
            )
        return np.ascontiguousarray(ids, np.uint32)

    def pairs(self, u: ArrayLike, v: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """Return the vertices of pairs as uint32.

        Raises InputError if a vertex does not exist, or the two arrays differ in
        length.
        """
        u, v = self.vertices(u), self.vertices(v)
        if len(u) != len(v):
            raise InputError(f"{len(u):,} first vertices of pairs, {len(v):,} second")
        return u, v

    def _check_columns(self) -> None:
        if not len(self.src) == len(self.dst) == len(self.weight):
            raise InputError(
                f"{len(self.src):,} sources, {len(self.dst):,} targets and "
                f"{len(self.weight):,} weights of edges"
            )
        if self.weight.dtype not in WEIGHT_DTYPES:
            raise InputError(
                f"weights of type {self.weight.dtype}; supported are "
                f"{', '.join(dtype.name for dtype in WEIGHT_DTYPES)}"
            )
        if self.weight.dtype.kind == "f" and np.isnan(self.weight).any():
            edge = np.flatnonzero(np.isnan(self.weight))[0]
            raise InputError(
                f"the weight of edge ({self.src[edge]}, {self.dst[edge]}) is NaN"
            )

    def _ascending(self) -> np.ndarray:
        """Return the positions of the edges in ascending order."""
        keys = self.keys(slice(None))
        low, high = np.minimum(self.src, self.dst), np.maximum(self.src, self.dst)
        pairs = low.astype(np.uint64) << np.uint64(32) | high
        if (pairs[1:] > pairs[:-1]).all():
            return sort_positions(keys).astype(np.uint32)
        by_pair = np.argsort(pairs)
        return by_pair[sort_positions(keys[by_pair])].astype(np.uint32)

    def _labels(self, count: int) -> np.ndarray:
        labels = np.empty(self.num_vertices, np.uint32)
        smallest_within(self.links, count, labels)
        return labels
