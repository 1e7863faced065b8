"""A forest whose vertices have names: strings, UUIDs, tuples, integers far apart."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..host.errors import ConfigError
from .forest import Forest
from .vertex_names import VertexNames

if TYPE_CHECKING:
    from ..tree.index import ForestIndex
    from .input_edges import ForestColumns


@dataclass(frozen=True, eq=False, repr=False)
class NamedForest(Forest):
    """A spanning forest that takes and gives the names of vertices.

    Edges are sorted by the numbers of their ends, which ascend with the names where
    names have an order. Queries take names; a list or an array has several of them, a
    tuple is one.

    Attributes
    ----------
    src, dst : ndarray, shape (edges,)
        Names of the ends of the edges.
    weight : ndarray, shape (edges,)
    labels : ndarray, shape (num_vertices,)
        For each vertex of `nodes` the first vertex of its tree.
    """

    _numbered: Forest = field(kw_only=True, repr=False)
    _vertex_names: VertexNames = field(kw_only=True, repr=False)

    @classmethod
    def of(cls, forest: Forest, vertex_names: VertexNames) -> "NamedForest":
        """Return a forest with names for the numbers of its vertices."""
        names = vertex_names.names
        return cls(
            names[forest.src],
            names[forest.dst],
            forest.weight,
            names[forest.labels],
            forest.graph_uuid,
            forest.given,
            forest.maximum,
            _numbered=forest,
            _vertex_names=vertex_names,
        )

    @property
    def numbers(self) -> Forest:
        """The forest with vertices as numbers, which are positions in `nodes`."""
        return self._numbered

    @property
    def nodes(self) -> np.ndarray:
        """The names of all vertices, by number."""
        return self._vertex_names.names

    def number_of(self, names: Any) -> Any:
        """Return the number of a vertex, or of several: positions in `nodes`.

        Raises
        ------
        InputError
            If no vertex has such a name.
        """
        numbers = self._vertex_names.numbers(names)
        return numbers.item() if numbers.ndim == 0 else numbers

    @cached_property
    def index(self) -> "ForestIndex":
        """The index over the numbers of vertices."""
        return self._numbered.index

    @cached_property
    def digest(self) -> str:
        """SHA-256 over the sorted pairs of numbers."""
        return self._numbered.digest

    def write(
        self, path: str | Path, labels: bool = False, overwrite: bool = False
    ) -> None:
        """Refuse to write: forest files and formats of graphs have numbers alone.

        Raises
        ------
        ConfigError
            Always; it tells how to write names, and how to write numbers.
        """
        raise ConfigError(
            f"{path}: the vertices of this forest have names. Write them with "
            "forest.to_pandas().to_csv(...), or numbers with forest.numbers.write(...)."
        )

    def to_scipy(self) -> Any:
        """Return a `scipy.sparse.csr_array` over the numbers of vertices."""
        return self._numbered.to_scipy()

    def to_networkx(self, nodes: Sequence[Any] | None = None) -> Any:
        """Return a `networkx.Graph` of the names, with ``weight`` on each edge."""
        names = self.nodes.tolist() if nodes is None else nodes
        return self._numbered.to_networkx(names)

    def linkage(self) -> np.ndarray:
        """Return the single-linkage dendrogram; leaves are positions in `nodes`."""
        return self._numbered.linkage()

    def _columns(self) -> "ForestColumns":
        return self._numbered._columns()

    def _vertices(self, asked: Any) -> np.ndarray:
        return self._vertex_names.numbers(asked)

    def _names(self, vertices: np.ndarray) -> np.ndarray:
        return self.nodes[vertices]
