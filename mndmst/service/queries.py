"""Questions about a forest, answered on rank 0 from one version.

Requests side by side ask the newest one. Who has begun with a version ends with it.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any

import numpy as np

from ..api.forest import Forest
from ..cluster.density import condensed_tree, flat_clusters
from ..cluster.linkage import (
    clusters_by_count,
    clusters_within,
    numbered,
    single_linkage,
)
from ..host.errors import ConfigError
from ..host.extras import optional
from ..tree.index import ForestIndex
from .asked import Asked
from .held import HeldGraph

arrow = optional("pyarrow", "serve", "The service needs")


class Versions:
    """The newest versions of graphs that have been asked about.

    Parameters
    ----------
    make : callable
        Takes the name of a graph, and has all ranks make its `present`.
    """

    def __init__(self, make: Callable[[str], object]) -> None:
        self._make = make
        self._locks: dict[str, Lock] = defaultdict(Lock)
        self._known: dict[str, Asked] = {}

    def newest(self, graph: HeldGraph) -> Asked:
        """Return the newest version of a graph; index it if nobody has."""
        with self._locks[graph.name]:
            if graph.present is None:
                self._make(graph.name)
            assert graph.present is not None
            known = self._known.get(graph.name)
            if known is None or known.version != graph.present.version:
                known = self._known[graph.name] = Asked(graph.present)
            return known


def answer(asked: Asked, query: str, u: np.ndarray, v: np.ndarray) -> Any:
    """Return a table with a row for each pair of vertices.

    Raises
    ------
    ConfigError
        If there is no such query.
    InputError
        If there is no such vertex.
    """
    if query == "connected":
        return arrow.table({"connected": asked.connected(u, v)})
    if query == "path_max":
        position, *found = asked.path_max(u, v)
        missing = position < 0
        columns = _edges(found, np.where(missing, 0, position), len(u))
        return arrow.table(
            {n: arrow.array(c, mask=missing) for n, c in columns.items()}
        )
    if query == "path":
        index = asked.index()
        offsets, edges = index.path(u, v)
        columns = _edges((index.src, index.dst, index.weight), edges, 0)
        values = arrow.StructArray.from_arrays(*_swapped(columns))
        paths = arrow.LargeListArray.from_arrays(offsets, values)
        return arrow.table({"path": paths})
    raise ConfigError(f"no query is called {query!r}; give connected, path_max or path")


def labels(index: ForestIndex, request: dict[str, Any]) -> Any:
    """Return a table with a label for each vertex: components, or clusters.

    Raises
    ------
    ConfigError
        If the rule of clusters is missing, or does not fit the forest.
    """
    if request["table"] == "labels":
        below = request.get("below")
        found = index.labels if below is None else index.cut(below)
        return arrow.table({"label": found.astype(np.int64)})
    rules = [name for name in ("count", "height", "min_size") if name in request]
    if len(rules) != 1:
        raise ConfigError("clusters: give one of count, height and min_size")
    forest = _forest(index)
    value = request[rules[0]]
    if rules[0] == "min_size":
        tree = condensed_tree(single_linkage(forest), value)
        label, probability = flat_clusters(tree, False)
        return arrow.table({"label": label, "probability": probability})
    cut = clusters_by_count if rules[0] == "count" else clusters_within
    return arrow.table({"label": numbered(cut(forest, value))})


def _edges(
    columns: Sequence[np.ndarray], places: np.ndarray, least: int
) -> dict[str, np.ndarray]:
    """Return edges at some places of the columns src, dst and weight."""
    src, dst, weight = columns
    if len(src) == 0:  # nothing to take from; whoever asks hides it
        nothing = np.zeros(least, np.int64)
        return {"src": nothing, "dst": nothing, "weight": nothing.astype(weight.dtype)}
    src, dst = src[places].astype(np.int64), dst[places].astype(np.int64)
    ends = {"src": np.minimum(src, dst), "dst": np.maximum(src, dst)}
    return ends | {"weight": weight[places]}


def _swapped(columns: dict[str, np.ndarray]) -> tuple[list[Any], list[str]]:
    return [arrow.array(column) for column in columns.values()], list(columns)


def _forest(index: ForestIndex) -> Forest:
    order = np.lexsort((index.dst, index.src))
    src, dst = (end[order].astype(np.int64) for end in (index.src, index.dst))
    return Forest(src, dst, index.weight[order], index.labels.astype(np.int64))
