"""One version of a graph as an immutable value, and the queries on its forest.

A request takes one version at its beginning and holds it to its end. A batch of changes
makes the next version beside it. The main thread fills the optional parts (rows, order,
forest, view) by making another value of the same number; nothing alters a value that a
thread may hold.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from threading import Lock
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from ..changes.current_forest import CurrentForest, connected, path_max
from ..graph.order import keys_to_weights
from ..host.errors import ConfigError
from ..io.shards.weight_columns import OWN, WeightColumn
from ..tree.index import ForestIndex
from .edge_order import EdgeOrder
from .loaded_graph import Weighed
from .solved_forest import SolvedForest

# Cost of one lookup (a pair, or a changed edge), in vertices indexed in the same time.
LOOKUP_COST = 4


class PathMaxima(NamedTuple):
    """The heaviest edge on each of several paths."""

    # int64, shape (paths,): index of each path's heaviest edge in `src`, `dst` and
    # `weight`; -1 if the path has no edge or does not exist.
    position: np.ndarray
    src: np.ndarray
    dst: np.ndarray
    weight: np.ndarray


class ForestView:
    """One version of the forest; thread-safe and immutable but for its lazy index.

    After a batch of changes, a version consists of the last index and the edges that
    differ from it. A few pairs are answered from these two. A version builds an index
    of its own when the lookups so far have cost as much as the index would, or when a
    query needs the whole forest. The index needs no other rank, and is built under a
    lock of this object. So a request that holds a view sees one version.
    """

    def __init__(self, version: int, forest: CurrentForest) -> None:
        self.version, self.forest = version, forest
        self._lock, self._work = Lock(), 0
        self._index: ForestIndex | None = None

    def index(self) -> ForestIndex:
        """Return this version's index, building it on first use."""
        with self._lock:
            if self._index is None:
                self._index = self.forest.indexed()
            return self._index

    def connected(self, u: Any, v: Any) -> np.ndarray:
        """Return a boolean per pair: whether both vertices are in the same tree."""
        u, v = self.forest.index.pairs(u, v)
        if self._lookup_is_cheaper(len(u)):
            return connected(self.forest, u, v)
        return self.index().connected(u, v)

    def path_max(self, u: Any, v: Any) -> PathMaxima:
        """Return the heaviest edge on the path between each pair of vertices."""
        u, v = self.forest.index.pairs(u, v)
        if self._lookup_is_cheaper(len(u)):
            position, edges = path_max(self.forest, u, v)
            dtype = self.forest.index.weight.dtype
            src, dst = edges.ends
            return PathMaxima(position, src, dst, keys_to_weights(edges.key, dtype))
        index = self.index()
        return PathMaxima(index.path_max(u, v), index.src, index.dst, index.weight)

    def _lookup_is_cheaper(self, pairs: int) -> bool:
        """Return whether lookups still cost less than building the index."""
        with self._lock:
            if self._index is not None or self.forest.differs == 0:
                return False
            self._work += pairs + self.forest.differs
            return LOOKUP_COST * self._work < self.forest.index.num_vertices


class StaleVersionError(ConfigError):
    """A ticket or upload that belongs to another version than the service has."""


@dataclass(frozen=True, eq=False)
class GraphVersion:
    """A version of a graph on one rank."""

    number: int  # How many batches of changes made it
    # The version in which edges last came or went. The order of edges is the same in
    # all versions from there on.
    edges_since: int
    # Edges of the graph, and arcs of all rows.
    num_edges: int
    num_arcs: int
    weight_dtype: np.dtype  # Type of the graph's own weights
    # Columns beside the shards, by name.
    files: Mapping[str, WeightColumn] = field(
        default_factory=lambda: MappingProxyType({})
    )
    # The rows with the weights of columns, by name.
    columns: Mapping[str, Weighed] = field(default_factory=lambda: MappingProxyType({}))
    # The rows with the graph's own weights; None until the main thread has written them
    # after a batch.
    weighed: Weighed | None = None
    # The order of edges; None until the main thread has made it.
    order: EdgeOrder | None = None
    # The minimum spanning forest, in order; None until a client has asked for it.
    forest: SolvedForest | None = None
    indexed: bool = False  # Whether rank 0 has a view; the same on all ranks
    view: ForestView | None = None  # The forest as queries see it; on rank 0
    # Whether clients have tickets for tables of this version; the same on all ranks.
    ticketed: bool = False

    def for_reads(self) -> "GraphVersion":
        """Return the parts that tables are read from.

        They are neither on devices nor columns, which a read must not keep in memory.
        """
        own = self.weighed
        if own is not None:
            workers = tuple(replace(worker, placed=None) for worker in own.workers)
            own = Weighed(workers, own.dtype)
        none: Mapping[str, Any] = MappingProxyType({})
        return replace(self, weighed=own, columns=none, files=none)

    @property
    def column_types(self) -> dict[str, str]:
        """The types of all columns, by name."""
        known = {OWN: self.weight_dtype.name}
        known |= {name: column.dtype.name for name, column in self.files.items()}
        return known | {name: w.dtype.name for name, w in self.columns.items()}

    @property
    def order_facts(self) -> dict[str, Any]:
        """The facts about the order of edges that clients get with tickets."""
        counts = [] if self.order is None else list(self.order.counts)
        return {
            "version": self.number,
            "edges_since": self.edges_since,
            "counts": counts,
        }

    @property
    def nbytes(self) -> int:
        """Bytes of the rows, the columns and the order of edges on this rank."""
        arrays: dict[int, int] = {}
        for weighed in filter(None, (self.weighed, *self.columns.values())):
            for worker in weighed.workers:
                for array in (
                    worker.rows.indptr,
                    worker.rows.indices,
                    worker.rows.keys,
                ):
                    arrays[id(array)] = array.nbytes
        return sum(arrays.values()) + (0 if self.order is None else self.order.nbytes)

    def check_upload(self, graph: str, kind: str, version: int) -> None:
        """Refuse an upload that belongs to a version with other edges.

        Weights belong to every version with the same order of edges. Edges, vertices
        and changes belong to their own version alone. Raises StaleVersionError, which
        names both versions.
        """
        first = self.edges_since if kind == "weights" else self.number
        if not first <= version <= self.number:
            other = ", whose order of edges is another" if kind == "weights" else ""
            raise StaleVersionError(
                f"the {kind} sent belong to version {version} of {graph}, and the "
                f"graph has version {self.number}{other}. Read the graph again."
            )
