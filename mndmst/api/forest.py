"""A minimum spanning forest in memory, and the shapes other packages want it in."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..host.errors import InputError
from ..host.extras import optional
from ..io.totals import ExactSum, PairDigest

if TYPE_CHECKING:
    from ..io.forest import ForestFile


@dataclass(frozen=True, eq=False)
class Forest:
    """The minimum (or maximum) spanning forest of a graph.

    Attributes
    ----------
    src, dst : ndarray of int64, shape (edges,)
        Ends of the edges, src < dst, sorted by (src, dst).
    weight : ndarray, shape (edges,)
        Of the type the graph's weights have.
    labels : ndarray of int64, shape (num_vertices,)
        For each vertex the smallest vertex of its tree.
    """

    src: np.ndarray
    dst: np.ndarray
    weight: np.ndarray
    labels: np.ndarray

    def __len__(self) -> int:
        return len(self.src)

    def __repr__(self) -> str:
        return (
            f"Forest({len(self):,} edges, {self.num_trees:,} trees, "
            f"total weight {self.total_weight})"
        )

    @property
    def num_vertices(self) -> int:
        """How many vertices the graph has."""
        return len(self.labels)

    @property
    def num_trees(self) -> int:
        """How many trees there are; an isolated vertex is one."""
        return self.num_vertices - len(self)

    @property
    def edges(self) -> np.ndarray:
        """The ends as an array of int64, shape (edges, 2)."""
        return np.stack([self.src, self.dst], axis=1)

    @cached_property
    def total_weight(self) -> int | float:
        """The sum of the weights: exact for integers, else correctly rounded."""
        total = ExactSum(self.weight.dtype)
        total.add(self.weight)
        return total.total()

    @cached_property
    def digest(self) -> str:
        """SHA-256 over the sorted (src, dst) pairs, as `mndmst solve` prints it."""
        digest = PairDigest()
        digest.add(self.src, self.dst)
        return digest.hexdigest()

    @classmethod
    def read(cls, path: str | Path) -> "Forest":
        """Read a forest file that `mndmst solve` has written.

        Labels come from the file if it has them (``--labels``), else from the edges.

        Raises
        ------
        InputError
            If the file is missing, damaged or no forest.
        """
        from ..io.forest import read_forest

        return cls.of_file(read_forest(path))

    @classmethod
    def of_file(cls, file: "ForestFile") -> "Forest":
        """Read a forest file that is open already; see `read`."""
        n = file.header.num_vertices
        src, dst, weight = file.read(0, file.num_edges)
        wrong = np.flatnonzero((src < 0) | (src >= dst) | (dst >= n))
        if len(wrong):
            raise InputError(
                f"{file.path}: edge {wrong[0]} is ({src[wrong[0]]}, {dst[wrong[0]]}), "
                f"not two of {n} vertices in ascending order. Solve again."
            )
        labels = file.read_labels(0, n) if file.has_labels else labels_of(n, src, dst)
        return cls(src, dst, weight, labels)

    def to_scipy(self) -> Any:
        """Return a `scipy.sparse.csr_array`, each edge once, above the diagonal.

        An edge of weight zero is an explicit zero.
        """
        sparse = optional("scipy.sparse", "formats")
        n = self.num_vertices
        indptr = np.searchsorted(self.src, np.arange(n + 1))
        return sparse.csr_array((self.weight, self.dst, indptr), shape=(n, n))

    def to_networkx(self, nodes: Sequence[Any] | None = None) -> Any:
        """Return a `networkx.Graph` with an attribute ``weight`` on each edge.

        Parameters
        ----------
        nodes : sequence, optional
            What the vertices are called; their numbers by default.
        """
        graph = optional("networkx", "networkx").Graph()
        names: Sequence[Any] = range(self.num_vertices) if nodes is None else nodes
        graph.add_nodes_from(names)
        columns = (self.src.tolist(), self.dst.tolist(), self.weight.tolist())
        graph.add_weighted_edges_from(
            (names[u], names[v], w) for u, v, w in zip(*columns, strict=True)
        )
        return graph

    def to_pandas(self) -> Any:
        """Return a `pandas.DataFrame` with columns ``src``, ``dst`` and ``weight``."""
        columns = {"src": self.src, "dst": self.dst, "weight": self.weight}
        return optional("pandas", "tables").DataFrame(columns)


def labels_of(num_vertices: int, src: np.ndarray, dst: np.ndarray) -> np.ndarray:
    """Return for each vertex the smallest vertex of its tree (int64)."""
    from ..kernels.components import cut

    return cut(src, dst, np.ones(len(src), np.bool_), num_vertices)
