"""A forest that a service has computed, fetched when it is looked at."""

from functools import cached_property
from typing import Any

import numpy as np

from ..api.forest import Forest, labels_of
from .connection import Connection
from .protocol import to_number


class RemoteForest(Forest):
    """A `Forest` whose columns stay at the service until they are needed.

    Attributes
    ----------
    details : dict
        The facts that the service sends: edges, trees, weight, version.
    """

    def __init__(
        self, connection: Connection, graph: str, details: dict[str, Any]
    ) -> None:
        object.__setattr__(self, "details", details)
        object.__setattr__(self, "_connection", connection)
        object.__setattr__(self, "_graph", graph)

    def __len__(self) -> int:
        return int(self.details["forest_edges"])  # type: ignore[attr-defined]

    @property
    def num_vertices(self) -> int:
        """How many vertices the graph has."""
        return int(self.details["num_vertices"])  # type: ignore[attr-defined]

    @cached_property
    def total_weight(self) -> int | float:
        """The sum of the weights: exact for integers, else correctly rounded."""
        return to_number(self.details["weight"])  # type: ignore[attr-defined]

    @cached_property
    def table(self) -> Any:
        """The edges as an Arrow table: src, dst, weight."""
        details, graph = self.details, self._graph  # type: ignore[attr-defined]
        request = {"graph": graph, "table": "forest", "forest": details["forest"]}
        return self._connection.read(request)  # type: ignore[attr-defined]

    @cached_property
    def src(self) -> np.ndarray:  # type: ignore[override]
        """The smaller ends."""
        return np.asarray(self.table["src"].to_numpy())

    @cached_property
    def dst(self) -> np.ndarray:  # type: ignore[override]
        """The larger ends."""
        return np.asarray(self.table["dst"].to_numpy())

    @cached_property
    def weight(self) -> np.ndarray:  # type: ignore[override]
        """The weights."""
        return np.asarray(self.table["weight"].to_numpy())

    @cached_property
    def labels(self) -> np.ndarray:  # type: ignore[override]
        """For each vertex the smallest vertex of its tree."""
        return labels_of(self.num_vertices, self.src, self.dst)
