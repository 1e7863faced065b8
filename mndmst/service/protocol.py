"""The protocol of the service: its requests and their fields.

The protocol is Arrow Flight. Requests and answers are JSON; columns travel as Arrow
record batches.

- `do_action`: the actions below. The answers are a stream of JSON objects: any number
  of ``{"progress": TEXT, "seconds": S}``, if asked for, then one with the result.
- `do_put`: sends columns. The descriptor's command is an `UPLOAD`. Weights aligned with
  the order of edges go to the rank that has them, everything else to rank 0. The
  results of an action in `then` come back as metadata.
- `get_flight_info`: says where a table can be read: an endpoint for each rank. The
  descriptor's command is a `TABLE`.
- `do_get`: reads the share of a rank; the ticket is that of the endpoint.
- `do_exchange`: answers batches of vertices with batches of answers. The descriptor's
  command is a `QUERY`. A batch of vertices gets one or more batches of answers with
  the same total number of rows. Where vertices have names, `vertices` answers a column
  `name` with `vertex` (null for no vertex), and `names` the other way. Of points
  `labels` answers a column `id`, `predict` and `neighbours` a column `point`, of lists
  of float64 of a fixed size, with one batch.

Every table, every answer and every result of an action names the `version` of the graph
that it belongs to: tables and answers in the metadata of their schemas. An upload may
name one there, too. Tickets belong to one version each.

The order of edges is that of (src, dst) with src < dst, each edge once.

Rank 0 checks all numbers of a request before it sends the request to other ranks. JSON
has no number that is not finite: in answers "Infinity", "-Infinity" and "NaN" stand for
these, in requests the first two.
"""

import json
import math
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple, TypedDict, TypeGuard, cast

from ..host.errors import ConfigError, InputError, optional
from ..host.formatting import size_text, to_json

if TYPE_CHECKING:
    import pyarrow

# The number of the protocol, which the answer to `list` names. The second part rises
# with every addition: an action, a field, a table, an entry of an answer. The first
# part rises with everything else. Clients and services with the same first part work
# together: a client ignores entries of answers that it does not know, and a service
# refuses an action, a field, a table or a query that it does not know, and names its
# number.
PROTOCOL = "1.0"
MOST_REQUEST_BYTES = 1 << 20
# gRPC's clients receive messages of up to 4 MiB by default. The columns of a batch have
# at most 3 MiB, its headers less than 1 MiB.
MESSAGE_BYTES = 3 << 20
# Edges of a table that are sent at a time, 24 bytes each
BATCH_ROWS = MESSAGE_BYTES // 24
# The least and the largest integer of all types of weights
LEAST_INTEGER, MOST_INTEGER = -(1 << 63), (1 << 64) - 1
# Counts are kept in 64 bits
MOST_COUNT = (1 << 63) - 1
_INFINITE = {"Infinity": math.inf, "-Infinity": -math.inf}
IDENTIFIER = re.compile(r"[0-9a-f]{32}")
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")


# An object to send as JSON
JsonObject = Mapping[str, object]


class Request(TypedDict, total=False):
    """The fields that a request may have; see `ACTIONS`, `UPLOAD`, `TABLE`, `QUERY`."""

    action: str  # of `do_action`; ranks also have actions of their own
    graph: str
    progress: bool
    request: str
    weights: dict[str, str]
    maximum: bool
    below: float
    above: float
    without_edges: str
    vertices: str
    digest: bool
    forest: str
    column: str
    upload: str
    insert: str
    delete: str
    set_weights: str
    remove: str
    kind: str
    then: "Request"
    table: str
    version: int
    count: int
    threshold: float
    min_weight: float
    min_size: int
    query: str
    since: int
    after: int
    seconds: float
    coordinates: list[str]
    metric: str
    rule: dict[str, object]  # `DensityRule.changed` checks it


class ServiceAnswer(TypedDict, total=False):
    """The fields that an answer, or the description of a table, may have."""

    progress: str
    seconds: float
    text: str
    cancelled: bool
    graphs: list["ServiceAnswer"]
    points_served: list["ServiceAnswer"]
    ranks: int
    protocol: str
    graph: str
    version: int
    uuid: str
    num_vertices: int
    num_edges: int
    maximum: bool
    names: str | None  # the kind of the names of vertices
    first_id: int | None  # of a graph's vertices, or of inserted points
    columns: Mapping[str, str]  # the type of each
    edges_since: int
    changes_since: int
    since: int
    versions_in_memory: list[dict[str, int]]
    counts: list[int]  # edges of each rank
    column: str
    type: str  # of a column
    released: bool
    ended: bool
    forest: str
    forest_edges: int
    trees: int
    weight: int | float | str  # see `to_number`
    weight_type: str
    graph_uuid: str
    digest: str
    snapshot: str | None  # its folder
    inserted: int
    deleted: int
    changed: int
    points: int
    dimensions: int
    coordinates: list[str]  # names of the dimensions, if they have names
    metric: str
    min_samples: int
    rule: Mapping[str, object]  # all parameters of clusters
    clusters: int
    noise: int
    next_id: int
    events_since: int
    labels_since: int


class Field(NamedTuple):
    """A field of a request: its kind, whether it must be there, and its meaning."""

    kind: str
    required: bool
    meaning: str


_GRAPH = Field("name", True, "the graph")
_SERVED = Field("name", True, "the graph, or the points")
_NEW = Field("new-name", True, "the name, which no graph and no points have")
_REPORTED = {
    "progress": Field("flag", False, "report each stage as it begins"),
    "request": Field("upload", False, "an id to cancel it by"),
}
_CHOSEN = {
    "weights": Field(
        "weights",
        False,
        'other weights: {"column": NAME}, {"upload": ID} or {"expression": TEXT}',
    ),
    "maximum": Field(
        "flag",
        False,
        "true for the maximum spanning forest, false for the minimum one; without it "
        "that which the graph was made for, and by its own weights no other",
    ),
    "below": Field("number", False, "minimum forest: use edges of a smaller weight"),
    "above": Field("number", False, "maximum forest: use edges of a larger weight"),
    "without_edges": Field("upload", False, "upload (src, dst) of edges to leave out"),
    "vertices": Field("upload", False, "upload (vertex): use edges between these only"),
}
_RULE = Field("rule", False, "parameters of clusters, such as {min_cluster_size: 20}")
ACTIONS: dict[str, tuple[str, dict[str, Field]]] = {
    "list": ("the graphs, points and their versions, and the protocol's number", {}),
    "info": ("sizes and version of a graph or of points", {"graph": _SERVED}),
    "solve": (
        "compute a forest; the result names it",
        {
            "graph": _GRAPH,
            **_CHOSEN,
            "digest": Field("flag", False, "also return the digest that a job prints"),
            **_REPORTED,
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
            "graph": _SERVED,
            "insert": Field(
                "upload",
                False,
                "upload (src, dst, weight); of points (point), or (id, point)",
            ),
            "delete": Field("upload", False, "upload (src, dst)"),
            "set_weights": Field("upload", False, "upload (src, dst, weight)"),
            "remove": Field("upload", False, "upload (id) of points to remove"),
            "rule": _RULE,
            **_REPORTED,
        },
    ),
    "load": (
        "keep sent points, whose clusters follow their changes",
        {
            "graph": _NEW,
            "upload": Field("upload", True, "upload (point), or (id, point)"),
            "coordinates": Field("texts", False, "names of the dimensions"),
            "metric": Field("text", False, "euclidean unless given"),
            "rule": _RULE,
            **_REPORTED,
        },
    ),
    "snapshot": (
        "write the graph as shards, or the points; the journal ends",
        {"graph": _SERVED},
    ),
    "wait": (
        "answer once there is a later version, or with the present one once the "
        "time is over; progress each second meanwhile",
        {
            "graph": _SERVED,
            "after": Field("version", True, "the version that is known"),
            "seconds": Field("number", False, "the bound; without it there is none"),
        },
    ),
    "cancel": (
        "end a request; true if it will have no effect",
        {"request": Field("upload", True, "its id")},
    ),
    "metrics": ("counters and times, as text in Prometheus's format", {}),
    "shutdown": ("answer what has been asked, and end the service", {}),
}
UPLOAD = {
    "upload": Field("upload", True, "an id: 32 random hexadecimal digits"),
    "graph": Field("name", False, "the graph, or the points; none yet for load"),
    "kind": Field(
        "text",
        True,
        "weights, edges, changes or vertices; points, points-with-ids or ids",
    ),
    "then": Field("then", False, 'an action that follows: {"action": NAME, ...}'),
}
TABLE = {
    "graph": _SERVED,
    "table": Field(
        "text",
        True,
        "edges, forest, labels, clusters, forest_changes or tree_changes; of points "
        "labels, events, points or forest",
    ),
    "version": Field("version", False, "the version that the table belongs to"),
    "since": Field("version", False, "changes, events: the version to compare with"),
    "forest": Field("text", False, "the forest that a solve named"),
    "below": Field("number", False, "labels of components of lighter edges only"),
    "above": Field(
        "number", False, "maximum forest: labels of components of heavier edges"
    ),
    "count": Field("count", False, "number of clusters"),
    "threshold": Field("number", False, "clusters joined by edges no heavier"),
    "min_weight": Field(
        "number", False, "maximum forest: clusters joined by edges no lighter"
    ),
    "min_size": Field("count", False, "HDBSCAN*: least vertices of a cluster"),
}
QUERY = {
    "graph": _SERVED,
    "query": Field(
        "text",
        True,
        "connected, path_max (of a maximum forest path_min), path, vertices or names; "
        "of points labels, predict or neighbours",
    ),
    "version": Field("version", False, "of points: the version that answers"),
    "count": Field("count", False, "neighbours: how many of each point"),
}


def _is_number(value: object) -> bool:
    if isinstance(value, str):
        return value in _INFINITE
    if _is_whole(value):
        return bool(LEAST_INTEGER <= value <= MOST_INTEGER)
    return isinstance(value, float) and not math.isnan(value)


def _is_whole(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_count(value: object) -> bool:
    return _is_whole(value) and 1 <= value <= MOST_COUNT


def _is_weights(value: object) -> bool:
    if not isinstance(value, dict) or len(value) != 1:
        return False
    ((kind, what),) = value.items()
    checks = {"column": _KINDS["name"], "upload": _KINDS["upload"]}
    checks["expression"] = _KINDS["text"]
    return kind in checks and checks[kind](what)


def _is_name(value: object) -> bool:
    return isinstance(value, str) and NAME.fullmatch(value) is not None


_KINDS: dict[str, Callable[[object], bool]] = {
    "name": _is_name,
    "new-name": _is_name,
    "upload": lambda v: isinstance(v, str) and IDENTIFIER.fullmatch(v) is not None,
    "text": lambda v: isinstance(v, str) and len(v) <= 1000,
    "texts": lambda v: isinstance(v, list) and all(map(_KINDS["text"], v)),
    "flag": lambda v: isinstance(v, bool),
    "number": _is_number,
    "count": _is_count,
    "version": lambda v: _is_whole(v) and 0 <= v <= MOST_COUNT,
    "rule": lambda v: isinstance(v, dict),
    "weights": _is_weights,
    "then": lambda v: isinstance(v, dict) and isinstance(v.get("action"), str),
}


# Texts for errors, in place of the meaning of a field
_EXPECTED = {
    "number": "a number, not NaN; integers from -2^63 to 2^64 - 1",
    "count": "an integer from 1 to 2^63 - 1",
    "version": "a version: an integer from 0 on",
    "new-name": "a name of letters, digits, dots, dashes and underscores",
}


def read_request(
    what: str, body: bytes | memoryview, fields: Mapping[str, Field]
) -> Request:
    """Return the fields of a request, a JSON object; an empty body has no fields.

    Errors name the request by `what`. Raises ConfigError if it is too long, is not a
    JSON object, lacks a required field, or has an unknown field or a wrong value.
    """
    if len(body) > MOST_REQUEST_BYTES:
        raise ConfigError(
            f"{what}: the request has {size_text(len(body))}; at most "
            f"{size_text(MOST_REQUEST_BYTES)} will do. Send columns by do_put."
        )
    try:
        values = json.loads(bytes(body) or b"{}")
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{what}: the request is not JSON ({error})") from error
    if not isinstance(values, dict):
        raise ConfigError(f"{what}: the request is not a JSON object")
    unknown = sorted(set(values) - set(fields))
    if unknown:
        known = ", ".join(fields) or "none"
        raise ConfigError(
            f"{what}: no field {unknown[0]!r} in protocol {PROTOCOL}; there are: "
            f"{known}"
        )
    for name, field in fields.items():
        if values.get(name) is None:
            values.pop(name, None)
            if field.required:
                raise ConfigError(f"{what}: {name} is missing ({field.meaning})")
        elif not _KINDS[field.kind](values[name]):
            expected = _EXPECTED.get(field.kind, field.meaning)
            raise ConfigError(
                f"{what}: {name} is {str(values[name])[:80]!r}; give {expected}"
            )
        elif field.kind == "number" and isinstance(values[name], str):
            values[name] = _INFINITE[values[name]]
        elif field.kind == "rule":
            values[name] = {n: _number_of(v) for n, v in values[name].items()}
    return cast(Request, values)  # as `fields` say


def _number_of(value: object) -> object:
    return _INFINITE.get(value, value) if isinstance(value, str) else value


def to_bytes(value: JsonObject) -> bytes:
    """Return a JSON object as bytes; strings stand for numbers that are not finite."""
    return to_json(value).encode()


def to_number(value: float | str) -> int | float:
    """Return a number of an answer; see `to_bytes`."""
    return float(value) if isinstance(value, str) else value


def versioned(
    schema: "pyarrow.Schema", version: int, graph: str | None = None
) -> "pyarrow.Schema":
    """Return an Arrow schema whose metadata names a version, and perhaps its graph."""
    names = {} if graph is None else {"graph": graph}
    return schema.with_metadata({**names, "version": str(version)})


def version_of(table: "pyarrow.Table") -> int:
    """Return the version of the graph that a table of the service belongs to."""
    return int(table.schema.metadata[b"version"])


def read_version(schema: "pyarrow.Schema") -> int | None:
    """Return the version that the schema of an upload names; None if it names none.

    Raises InputError if it is not a number.
    """
    text = (schema.metadata or {}).get(b"version")
    if text is None:
        return None
    if not text.isdigit() or len(text) > 18:
        raise InputError(
            f"the upload's schema has version {text[:40]!r}; give the number that the "
            "service has named"
        )
    return int(text)


def batches_of(
    table: "pyarrow.Table", most_bytes: int = MESSAGE_BYTES
) -> list["pyarrow.RecordBatch"]:
    """Return an Arrow table as record batches of at most `most_bytes`, at least one.

    A table without rows becomes one empty batch, because a stream needs a batch. A row
    that is larger is a batch by itself.
    """
    batches = table.combine_chunks().to_batches()
    if batches:
        return [part for batch in batches for part in _parts(batch, most_bytes)]
    arrow = optional("pyarrow", "serve", "The service needs")
    empty = [arrow.array([], field.type) for field in table.schema]
    return [arrow.record_batch(empty, schema=table.schema)]


def _parts(
    batch: "pyarrow.RecordBatch", most_bytes: int
) -> list["pyarrow.RecordBatch"]:
    """Halve a batch until each part has at most `most_bytes`, or one row."""
    if batch.nbytes <= most_bytes or batch.num_rows == 1:
        return [batch]
    half = batch.num_rows // 2
    parts = batch.slice(0, half), batch.slice(half)
    return [piece for part in parts for piece in _parts(part, most_bytes)]
