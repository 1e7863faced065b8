"""Streams of a rank's share of a table, in batches of bounded size.

A stream takes the value that it reads when it begins, and reads nothing else. Its
schema names the version that the table belongs to.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..graph.model import EdgeList
from ..graph.order import keys_to_weights
from ..host.errors import optional
from .graph_version import GraphVersion

arrow = optional("pyarrow", "serve", "The service needs")

BATCH_ROWS = 1 << 18


def versioned(schema: Any, graph: str, version: int) -> Any:
    """Return a schema whose metadata names a graph and its version."""
    return schema.with_metadata({"graph": graph, "version": str(version)})


def edge_schema(dtype: np.dtype) -> Any:
    """Return the columns of edges."""
    weight = arrow.from_numpy_dtype(dtype)
    columns = [("src", arrow.int64()), ("dst", arrow.int64()), ("weight", weight)]
    return arrow.schema(columns)


def forest_batches(edges: EdgeList, dtype: np.dtype) -> Iterator[Any]:
    """Yield the edges of a forest that begin at this rank's rows, in order."""
    schema = edge_schema(dtype)
    for low in range(0, len(edges), BATCH_ROWS):
        part = slice(low, low + BATCH_ROWS)
        weights = keys_to_weights(edges.key[part], dtype)
        yield _batch(schema, edges.u[part], edges.v[part], weights)


def graph_batches(version: GraphVersion) -> Iterator[Any]:
    """Yield the edges of a version that begin at this rank's rows, in order.

    The version must have its order of edges.
    """
    assert version.order is not None and version.weighed is not None
    schema, keys = edge_schema(version.weight_dtype), version.weighed.rows.keys
    for src, dst, key in version.order.batches(keys, BATCH_ROWS):
        yield _batch(schema, src, dst, keys_to_weights(key, version.weight_dtype))


def _batch(schema: Any, src: np.ndarray, dst: np.ndarray, weight: np.ndarray) -> Any:
    columns = [arrow.array(ends.astype(np.int64)) for ends in (src, dst)]
    return arrow.record_batch([*columns, arrow.array(weight)], schema=schema)
