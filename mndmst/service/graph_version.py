"""One version of a graph, as an immutable value.

A request takes one version at its beginning and holds it to its end. A batch of changes
makes the next version beside it. The main thread fills the optional parts (rows, order,
forest, view) by making another value of the same number; nothing alters a value that a
thread may hold.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from ..host.errors import ConfigError
from ..io.shards.weight_columns import OWN, WeightColumn
from .edge_order import EdgeOrder
from .forest_view import ForestView
from .loaded_graph import Weighed
from .solved_forest import SolvedForest


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
