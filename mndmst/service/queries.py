"""Queries on a forest, answered on rank 0 from one version."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from ..api.forest import Forest
from ..host.errors import ConfigError, optional, points_required
from ..host.memory_costs import (
    COMPONENTS_BYTES,
    DENSITY_BYTES,
    LINKAGE_BYTES,
    LOOKUP_BYTES,
    PAIR_BYTES,
    PATH_EDGE_BYTES,
    PATH_PAIR_BYTES,
    ROOTING_BYTES,
)
from ..tree.index import ForestIndex
from ..tree.linkage import (
    clusters_by_count,
    clusters_within,
    numbered,
)
from .direction import BOUND, PATH, THRESHOLD, check_words, given_of
from .graph_version import ForestView
from .limits import ServiceMemory
from .protocol import PROTOCOL, Request

if TYPE_CHECKING:
    import pyarrow

arrow = optional("pyarrow", "serve", "The service needs")

RULES = ("count", *BOUND, "min_size")


def label_schema(
    request: Request, num_vertices: int, maximum: bool
) -> "pyarrow.Schema":
    """Return the columns of a table of labels or clusters.

    `maximum` says whether the table is of a maximum forest. Raises ConfigError if the
    request gives no rule of clusters, more than one, or one that no forest of this
    direction and number of vertices fits.
    """
    check_words(request, maximum)
    columns = [("label", arrow.int64())]
    if request["table"] == "clusters":
        rule = cluster_rule(request)
        if rule == "count" and request["count"] > num_vertices:
            raise ConfigError(
                f"clusters: count is {request['count']}, but there are "
                f"{num_vertices:,} vertices"
            )
        if rule == "min_size":
            if maximum:
                raise ConfigError(
                    "clusters: HDBSCAN* (min_size) needs distances, and the weights of "
                    "a maximum spanning forest are similarities; give count or "
                    "min_weight, or serve a graph of distances"
                )
            if request["min_size"] < 2:
                raise ConfigError("clusters: min_size must be at least 2")
            columns.append(("probability", arrow.float64()))
    return arrow.schema(columns)


def cluster_rule(request: Request) -> str:
    """Return the one rule of a request for clusters; raise ConfigError otherwise."""
    rules = [name for name in RULES if name in request]
    if len(rules) != 1:
        raise ConfigError(
            "clusters: give one of count, threshold (of a maximum forest min_weight) "
            "and min_size"
        )
    return rules[0]


# Edges in a batch of paths, unless one path has more
PATH_EDGES = 1 << 18


def answers(
    view: ForestView,
    query: str,
    u: np.ndarray,
    v: np.ndarray,
    memory: ServiceMemory,
    path_edges: int = PATH_EDGES,
) -> Iterator["pyarrow.Table"]:
    """Yield tables that together have a row for each pair of vertices.

    A table of paths has at most `path_edges` edges, or one path.
    `memory` counts the work on each table, and then the table as long as the caller
    works on it. Raises ConfigError if there is no such query, or a table does not fit
    the memory; InputError if there is no such vertex.
    """
    check_words([query], view.maximum)
    if query == "path":
        yield from _paths(view.index(), u, v, memory, path_edges)
        return
    if query not in PAIR_BYTES:
        raise ConfigError(
            f"no query is named {query!r} in protocol {PROTOCOL}; give connected, "
            f"{PATH[view.maximum]}, path, vertices or names"
        )
    index = view.index_for(len(u))
    nbytes = PAIR_BYTES[query] * len(u)
    if index is None:
        nbytes = LOOKUP_BYTES[query] * (len(u) + view.forest.differs)

    def table() -> "pyarrow.Table":
        ends = view.forest.index.pairs(u, v)
        if query == "connected":
            return arrow.table({"connected": view.connected(index, *ends)})
        position, *columns = view.bottlenecks(index, *ends)
        missing = position < 0
        edges = _edges(columns, np.where(missing, 0, position), len(u))
        return arrow.table({n: arrow.array(c, mask=missing) for n, c in edges.items()})

    with memory.hold_table(nbytes, _pairs_of(query, u), table) as answer:
        yield answer


def _pairs_of(query: str, u: np.ndarray) -> str:
    return f"the query {query} of {len(u):,} pairs"


def _paths(
    index: ForestIndex,
    u: np.ndarray,
    v: np.ndarray,
    memory: ServiceMemory,
    path_edges: int,
) -> Iterator["pyarrow.Table"]:
    """Yield the paths of pairs in tables; see `answers`."""
    vertices = index.num_vertices
    if not index.is_rooted:
        with memory.hold(ROOTING_BYTES * vertices, f"roots of {vertices:,} vertices"):
            _ = index.rooted
    with memory.hold(PATH_PAIR_BYTES * len(u), _pairs_of("path", u)):
        u, v = index.pairs(u, v)
        ends = np.cumsum(index.path_lengths(u, v))
        begin = done = 0
        while begin < len(u) or begin == 0:
            end = int(np.searchsorted(ends, done + path_edges, side="right"))
            end = min(max(end, begin + 1), len(u))
            edges = int(ends[end - 1]) - done if end else 0
            with memory.hold(PATH_EDGE_BYTES * edges, f"{edges:,} edges of paths"):
                yield _path_table(index, u[begin:end], v[begin:end])
            begin, done = max(end, 1), done + edges


def _path_table(index: ForestIndex, u: np.ndarray, v: np.ndarray) -> "pyarrow.Table":
    """Return a table with the path of each pair."""
    offsets, edges = index.path(u, v)
    columns = _edges((index.src, index.dst, index.weight), edges, 0)
    arrays = [arrow.array(column) for column in columns.values()]
    values = arrow.StructArray.from_arrays(arrays, list(columns))
    return arrow.table({"path": arrow.LargeListArray.from_arrays(offsets, values)})


@contextmanager
def held_labels(
    index: ForestIndex, request: Request, memory: ServiceMemory
) -> Iterator["pyarrow.Table"]:
    """Give the table of labels or clusters to a block, and count it and the work on it.

    Raises ConfigError if the rule of clusters is missing, or does not fit the forest;
    or if the memory is too little.
    """
    # A client may make a ticket of its own
    label_schema(request, index.num_vertices, index.maximum)
    rule = "" if request["table"] == "labels" else cluster_rule(request)
    each = {"": COMPONENTS_BYTES, "min_size": DENSITY_BYTES}.get(rule, LINKAGE_BYTES)
    what = f"{request['table']} of {index.num_vertices:,} vertices"

    def table() -> "pyarrow.Table":
        if not rule:
            threshold = given_of(THRESHOLD, request)
            labels = index.labels if threshold is None else index.cut(threshold)
            return arrow.table({"label": labels.astype(np.int64)})
        forest, value = _forest(index), request[rule]  # type: ignore[literal-required]
        if rule == "min_size":
            # Imported here: the other queries do without `points`
            with points_required("clusters: min_size needs"):
                from ..points.clusters.condensed import condensed_forest
                from ..points.clusters.density import flat_clusters

            tree = condensed_forest(forest, value)
            label, probability = flat_clusters(tree)
            return arrow.table({"label": label, "probability": probability})
        cut = clusters_by_count if rule == "count" else clusters_within
        return arrow.table({"label": numbered(cut(forest, value))})

    with memory.hold_table(each * index.num_vertices, what, table) as held:
        yield held


def _edges(
    columns: Sequence[np.ndarray], positions: np.ndarray, least: int
) -> dict[str, np.ndarray]:
    """Return the edges at some positions of the columns src, dst and weight."""
    src, dst, weight = columns
    if len(src) == 0:  # there is no edge to take, and the caller hides the rows
        nothing = np.zeros(least, np.int64)
        return {"src": nothing, "dst": nothing, "weight": nothing.astype(weight.dtype)}
    src, dst = src[positions].astype(np.int64), dst[positions].astype(np.int64)
    ends = {"src": np.minimum(src, dst), "dst": np.maximum(src, dst)}
    return ends | {"weight": weight[positions]}


def _forest(index: ForestIndex) -> Forest:
    order = np.lexsort((index.dst, index.src))
    src, dst = (end[order].astype(np.int64) for end in (index.src, index.dst))
    labels = index.labels.astype(np.int64)
    return Forest(src, dst, index.weight[order], labels, maximum=index.maximum)
