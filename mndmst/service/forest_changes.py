"""Tables of the edges and trees that batches have changed in a forest (rank 0)."""

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

import numpy as np

from ..changes.edges import pairs_of
from ..changes.forest_difference import (
    EdgeDifference,
    TreeDifference,
    combined,
    pairs_before,
    tree_difference,
)
from ..host.errors import ConfigError, optional
from ..host.memory_costs import CHANGED_EDGE_BYTES, CHANGED_TREES_BYTES
from ..io.results.text_tables import COLUMNS
from .limits import ServiceMemory
from .protocol import Request
from .served_graph import ServedGraph

if TYPE_CHECKING:
    import pyarrow

arrow = optional("pyarrow", "serve", "The service needs")

CHANGE_TABLES = "forest_changes", "tree_changes"


def change_schema(graph: ServedGraph, request: Request) -> "pyarrow.Schema":
    """Return the schema of a table of changes, and set the request's version.

    Raises ConfigError if the request does not say which changes, or there is no such
    version; StaleVersionError if the changes are no longer kept.
    """
    request.setdefault("version", graph.version)
    if "since" not in request:
        raise ConfigError(
            f"{request['table']}: since is missing (the version to compare with)"
        )
    graph.check_reached(max(request["since"], request["version"]))
    graph.history.between(request["since"], request["version"])
    number, text = arrow.int64(), arrow.string()
    if request["table"] == "tree_changes":
        types = dict.fromkeys(TreeDifference._fields, number) | {"change": text}
        return arrow.schema(list(types.items()))
    weight = arrow.from_numpy_dtype(graph.loaded.weight_dtype)
    titles = *COLUMNS, "change", "version"
    kinds = number, number, weight, text, number
    return arrow.schema(list(zip(titles, kinds, strict=True)))


def held_changes(
    graph: ServedGraph, request: Request, memory: ServiceMemory
) -> "AbstractContextManager[pyarrow.Table]":
    """Return a context with a table of changes, whose bytes `memory` counts.

    Raises errors as `change_schema`; ConfigError if the memory is too little.
    """
    schema = change_schema(graph, request)
    dtype, until = graph.loaded.weight_dtype, request["version"]
    differences = graph.history.between(request["since"], until)
    edges = sum(each.num_edges for each in differences)
    nbytes, what = CHANGED_EDGE_BYTES * edges, f"{edges:,} changes of the forest"
    trees, later, view = request["table"] == "tree_changes", [], graph.current.view
    if trees and view is not None:
        # The forest of the view's version leads back to that of the table
        later = graph.history.between(until, view.version)
        nbytes += CHANGED_EDGE_BYTES * sum(each.num_edges for each in later)
        nbytes += CHANGED_TREES_BYTES * graph.num_vertices

    def columns() -> EdgeDifference | TreeDifference:
        if not trees:
            versions = np.arange(request["since"] + 1, until + 1)
            return EdgeDifference.of(differences, versions, dtype, graph.maximum)
        difference = combined(differences, dtype)
        pairs = np.empty(0, np.uint64)
        if view is not None and edges:  # every version that a batch has made has a view
            forest = view.forest.edges()
            pairs = pairs_of(forest.u, forest.v)
            pairs = pairs_before(pairs, combined(later, dtype))
        return tree_difference(graph.num_vertices, pairs, difference, until)

    def table() -> "pyarrow.Table":
        return arrow.table([arrow.array(column) for column in columns()], schema=schema)

    return memory.hold_table(nbytes, what, table)
