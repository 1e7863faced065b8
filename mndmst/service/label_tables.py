"""Tables with a row for each vertex: labels of components, and clusters."""

from collections.abc import Mapping
from typing import Any

from ..host.errors import ConfigError, optional

arrow = optional("pyarrow", "serve", "The service needs")

RULES = ("count", "height", "min_size")


def label_schema(request: Mapping[str, Any], num_vertices: int) -> Any:
    """Return the columns of a table of labels or clusters.

    Raises
    ------
    ConfigError
        If the request gives no rule of clusters, more than one, or one that no forest
        of this number of vertices fits.
    """
    columns = [("label", arrow.int64())]
    if request["table"] == "clusters":
        rule = cluster_rule(request)
        if rule == "count" and request["count"] > num_vertices:
            raise ConfigError(
                f"clusters: count is {request['count']}, but there are "
                f"{num_vertices:,} vertices"
            )
        if rule == "min_size":
            if request["min_size"] < 2:
                raise ConfigError("clusters: min_size must be at least 2")
            columns.append(("probability", arrow.float64()))
    return arrow.schema(columns)


def cluster_rule(request: Mapping[str, Any]) -> str:
    """Return the one rule that a request for clusters gives.

    Raises
    ------
    ConfigError
        If there is none, or several.
    """
    rules = [name for name in RULES if name in request]
    if len(rules) != 1:
        raise ConfigError("clusters: give one of count, height and min_size")
    return rules[0]
