"""One version of a graph as an immutable value, and the queries on its forest.

A request takes one version at its beginning and holds it to its end. A batch of changes
makes the next version beside it. The main thread fills the optional parts (rows, order,
forest, view) by making another value of the same number; nothing alters a value that a
thread may hold.
"""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from threading import Lock
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from ..changes.current_forest import CurrentForest, bottlenecks, connected
from ..graph.order import keys_to_weights
from ..host.memory_costs import INDEX_VERTEX_BYTES
from ..io.shards.weight_columns import OWN, WeightColumn
from ..tree.index import ForestIndex
from .edge_order import EdgeOrder
from .limits import ServiceMemory
from .loaded_graph import WeightedRows
from .protocol import ServiceAnswer
from .solved_forest import SolvedForest
from .version_history import StaleVersionError

# Cost of one lookup (a pair, or a changed edge), in vertices indexed in the same time.
LOOKUP_COST = 4


class Bottlenecks(NamedTuple):
    """The heaviest edge on each of several paths, the lightest in a maximum forest."""

    # int64, shape (paths,): index of each path's bottleneck in `src`, `dst` and
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
    The `memory` counts all indexes.
    """

    def __init__(
        self, version: int, forest: CurrentForest, memory: ServiceMemory
    ) -> None:
        self.version, self.forest, self._memory = version, forest, memory
        self._lock, self._work = Lock(), 0
        self._index: ForestIndex | None = None
        memory.add_index(forest.index)

    def index(self) -> ForestIndex:
        """Return this version's index, building it on first use.

        Raises ConfigError if it does not fit the memory.
        """
        with self._lock:
            if self._index is None and self.forest.differs == 0:
                self._index = self.forest.index
            if self._index is None:
                with hold_index(self._memory, self.forest.index.num_vertices):
                    self._index = self.forest.indexed()
                self._memory.add_index(self._index)
            return self._index

    def index_for(self, pairs: int) -> ForestIndex | None:
        """Return the index as `index` does; None while lookups of pairs cost less."""
        with self._lock:
            if self._index is None and self.forest.differs:
                self._work += pairs + self.forest.differs
                if LOOKUP_COST * self._work < self.forest.index.num_vertices:
                    return None
        return self.index()

    def connected(
        self, index: ForestIndex | None, u: np.ndarray, v: np.ndarray
    ) -> np.ndarray:
        """Return a boolean per pair: whether both vertices are in the same tree.

        `index` is this version's; None has the pairs looked up without it.
        """
        if index is None:
            return connected(self.forest, u, v)
        return index.connected(u, v)

    @property
    def maximum(self) -> bool:
        """Whether it is a maximum forest."""
        return self.forest.index.maximum

    def bottlenecks(
        self, index: ForestIndex | None, u: np.ndarray, v: np.ndarray
    ) -> Bottlenecks:
        """Return the bottleneck of the path of each pair; see `connected`."""
        if index is None:
            position, edges = bottlenecks(self.forest, u, v)
            dtype, maximum = self.forest.index.weight.dtype, self.forest.index.maximum
            weight = keys_to_weights(edges.key, dtype, maximum)
            src, dst = edges.ends
            return Bottlenecks(position, src, dst, weight)
        return Bottlenecks(index.bottleneck(u, v), index.src, index.dst, index.weight)


def hold_index(
    memory: ServiceMemory, num_vertices: int
) -> AbstractContextManager[None]:
    """Count the work on an index while a block builds it; see `ServiceMemory.hold`."""
    what = f"an index of the forest of {num_vertices:,} vertices"
    return memory.hold(INDEX_VERTEX_BYTES * num_vertices, what)


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
    columns: Mapping[str, WeightedRows] = field(
        default_factory=lambda: MappingProxyType({})
    )
    # The rows with the graph's own weights; None until the main thread has written them
    # after a batch.
    weighed: WeightedRows | None = None
    # The order of edges; None until the main thread has made it.
    order: EdgeOrder | None = None
    # The spanning forest, in order; None until a client has asked for it.
    forest: SolvedForest | None = None
    indexed: bool = False  # Whether rank 0 has a view; the same on all ranks
    view: ForestView | None = None  # The forest as queries see it; on rank 0
    # Whether clients have tickets for tables of this version; the same on all ranks.
    ticketed: bool = False

    def for_reads(self) -> "GraphVersion":
        """Return the parts that tables are read from.

        They are neither on devices nor columns, which a read must not keep in memory.
        """
        weighed = self.weighed
        if weighed is not None:
            workers = tuple(replace(w, on_device=None) for w in weighed.workers)
            weighed = WeightedRows(workers, weighed.dtype)
        return replace(
            self,
            weighed=weighed,
            columns=MappingProxyType({}),
            files=MappingProxyType({}),
        )

    @property
    def column_types(self) -> dict[str, str]:
        """The types of all columns, by name."""
        known = {OWN: self.weight_dtype.name}
        known |= {name: column.dtype.name for name, column in self.files.items()}
        return known | {name: w.dtype.name for name, w in self.columns.items()}

    @property
    def order_facts(self) -> ServiceAnswer:
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
