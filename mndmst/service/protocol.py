"""The requests of the service, and what they may hold.

The protocol is Arrow Flight. Requests and answers are JSON; columns travel as Arrow
record batches.

- `do_action`: the actions below. The answers are a stream of JSON objects: any number
  of ``{"progress": TEXT, "seconds": S}``, if asked for, then one with the result.
- `do_put`: sends columns. The descriptor's command is an `UPLOAD`. Weights aligned with
  the order of edges go to the rank that has them, everything else to rank 0. What an
  action answers that is to follow comes back as metadata.
- `get_flight_info`: says where a table can be read: an endpoint for each rank. The
  descriptor's command is a `TABLE`.
- `do_get`: reads the share of a rank; the ticket is that of the endpoint.
- `do_exchange`: answers batches of vertices with batches of answers. The descriptor's
  command is a `QUERY`. A batch of vertices gets one batch of answers or more, which
  together have as many rows.

Every table, every answer and every result of an action names the `version` of the graph
that it belongs to: tables and answers in the metadata of their schemas. An upload may
name one there, too. Tickets belong to one version each.

The order of edges is that of (src, dst) with src < dst, each edge once.
"""

import json
import math
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from ..host.errors import ConfigError

MOST_REQUEST_BYTES = 1 << 20
IDENTIFIER = re.compile(r"[0-9a-f]{32}")
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")


class Field(NamedTuple):
    """A field of a request: its kind, whether it must be there, and its meaning."""

    kind: str
    required: bool
    meaning: str


_GRAPH = Field("name", True, "the graph")
_TOLD = {
    "progress": Field("flag", False, "tell of each stage as it begins"),
    "request": Field("upload", False, "an id to cancel it by"),
}
_CHOSEN = {
    "weights": Field(
        "weights",
        False,
        'other weights: {"column": NAME}, {"upload": ID} or {"expression": TEXT}',
    ),
    "maximum": Field("flag", False, "the maximum spanning forest"),
    "below": Field("number", False, "use edges of a smaller weight only"),
    "without_edges": Field("upload", False, "upload (src, dst) of edges to leave out"),
    "vertices": Field("upload", False, "upload (vertex): use edges between these only"),
}
ACTIONS: dict[str, tuple[str, dict[str, Field]]] = {
    "list": ("the graphs and their versions", {}),
    "info": ("what is known of a graph", {"graph": _GRAPH}),
    "solve": (
        "compute a forest; the result names it",
        {
            "graph": _GRAPH,
            **_CHOSEN,
            "digest": Field("flag", False, "also return the digest that a job prints"),
            **_TOLD,
        },
    ),
    "release": ("forget a forest", {"forest": Field("text", True, "its name")}),
    "store": (
        "keep sent weights as a column of the graph",
        {
            "graph": _GRAPH,
            "column": Field("name", True, "its name"),
            "upload": Field("upload", True, "upload (weight) in the order of edges"),
        },
    ),
    "update": (
        "apply a batch of changes as a whole",
        {
            "graph": _GRAPH,
            "insert": Field("upload", False, "upload (src, dst, weight)"),
            "delete": Field("upload", False, "upload (src, dst)"),
            "set_weights": Field("upload", False, "upload (src, dst, weight)"),
            **_TOLD,
        },
    ),
    "snapshot": ("write the graph as shards; the journal ends", {"graph": _GRAPH}),
    "cancel": (
        "end a request that is waiting or computing",
        {"request": Field("upload", True, "its id")},
    ),
    "metrics": ("counters and times, as text in Prometheus's format", {}),
    "shutdown": ("answer what has been asked, and end the service", {}),
}
UPLOAD = {
    "upload": Field("upload", True, "an id: 32 random hexadecimal digits"),
    "graph": _GRAPH,
    "kind": Field("text", True, "weights, edges, changes or vertices"),
    "then": Field("then", False, 'an action that follows: {"action": NAME, ...}'),
}
TABLE = {
    "graph": _GRAPH,
    "table": Field("text", True, "edges, forest, labels or clusters"),
    "version": Field("version", False, "the version that the table belongs to"),
    "forest": Field("text", False, "the forest that a solve named"),
    "below": Field("number", False, "labels of components of lighter edges only"),
    "count": Field("count", False, "so many clusters"),
    "height": Field("number", False, "clusters joined by edges no heavier"),
    "min_size": Field("count", False, "HDBSCAN*: least vertices of a cluster"),
}
QUERY = {
    "graph": _GRAPH,
    "query": Field("text", True, "connected, path_max or path"),
}


def _is_number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return not (isinstance(value, float) and math.isnan(value))


def _is_weights(value: Any) -> bool:
    if not isinstance(value, dict) or len(value) != 1:
        return False
    ((kind, what),) = value.items()
    checks = {"column": _KINDS["name"], "upload": _KINDS["upload"]}
    checks["expression"] = _KINDS["text"]
    return kind in checks and checks[kind](what)


_KINDS = {
    "name": lambda v: isinstance(v, str) and NAME.fullmatch(v) is not None,
    "upload": lambda v: isinstance(v, str) and IDENTIFIER.fullmatch(v) is not None,
    "text": lambda v: isinstance(v, str) and len(v) <= 1000,
    "flag": lambda v: isinstance(v, bool),
    "number": _is_number,
    "version": lambda v: type(v) is int and 0 <= v < 1 << 63,
    "count": lambda v: isinstance(v, int) and not isinstance(v, bool) and v >= 1,
    "weights": _is_weights,
    "then": lambda v: isinstance(v, dict) and isinstance(v.get("action"), str),
}


def read_request(
    what: str, body: bytes | memoryview, fields: Mapping[str, Field]
) -> dict[str, Any]:
    """Return a request that has the fields it should have.

    Parameters
    ----------
    what : str
        Names it in errors.
    body : bytes
        A JSON object; nothing stands for an empty one.

    Raises
    ------
    ConfigError
        If it is too long, no JSON, or has other fields.
    """
    if len(body) > MOST_REQUEST_BYTES:
        raise ConfigError(
            f"{what}: the request has {len(body):,} bytes; at most "
            f"{MOST_REQUEST_BYTES:,} will do. Send columns by do_put."
        )
    try:
        values = json.loads(bytes(body) or b"{}")
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{what}: the request is no JSON ({error})") from error
    if not isinstance(values, dict):
        raise ConfigError(f"{what}: the request is no JSON object")
    unknown = sorted(set(values) - set(fields))
    if unknown:
        known = ", ".join(fields) or "none"
        raise ConfigError(f"{what}: no field {unknown[0]!r}; there are: {known}")
    for name, field in fields.items():
        if values.get(name) is None:
            values.pop(name, None)
            if field.required:
                raise ConfigError(f"{what}: {name} is missing ({field.meaning})")
        elif not _KINDS[field.kind](values[name]):
            raise ConfigError(
                f"{what}: {name} is {str(values[name])[:80]!r}; give {field.meaning}"
            )
    return values


def to_bytes(value: Mapping[str, Any]) -> bytes:
    """Return a JSON object as bytes."""
    return json.dumps(value).encode()
