"""Give edges of a graph the names, or the ids, their vertices had at first."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from ...graph.order import id_dtype
from ...host.errors import InputError
from ..edges import Edges
from ..memory_limit import check_room
from ..names import NameKind, Names, distinct_names
from .sharded_graph import ShardedGraph

# What a name takes while names are put in order, beside its letters
_NAME_BYTES = 200


def with_vertex_ids(edges: Edges, graph: ShardedGraph) -> Edges:
    """Return edges, each once, with the names or original ids of a graph's vertices.

    Parameters
    ----------
    edges : Edges
        With the numbers of the graph.
    graph : ShardedGraph
        If its vertices have no names, and were not reordered, edges stay as they are.
    """
    if graph.names is not None:
        return _with_names(edges, graph)
    return with_original_ids(edges, graph) if graph.reordered else edges


def with_original_ids(edges: Edges, graph: ShardedGraph) -> Edges:
    """Return edges, each once, under original ids: src < dst, sorted by (src, dst).

    Parameters
    ----------
    edges : Edges
        With the ids of the graph.
    graph : ShardedGraph
        If it was not reordered, its ids are the original ones.
    """
    original = graph.read_original_ids(0, graph.num_vertices)
    bound = graph.original_vertices or graph.num_vertices
    return _renumbered(edges, original, bound)


def _with_names(edges: Edges, graph: ShardedGraph) -> Edges:
    """Return edges with names, numbered in the order of these."""
    per_name = 24 if graph.names in (NameKind.INT64, NameKind.UINT64) else _NAME_BYTES
    nbytes = per_name * graph.num_vertices
    check_room(graph.path, nbytes, "the list of its vertices' names")
    return with_names(edges, graph.read_names(0, graph.num_vertices), graph.path)


def with_names(edges: Edges, names: Names, path: Path) -> Edges:
    """Return edges with names, numbered in the order of these.

    Raises
    ------
    InputError
        If two vertices have one name; it names the file.
    """
    if names.ascend():
        return replace(edges, names=names)
    ordered, numbers = distinct_names(names)
    if len(ordered) < len(names):
        raise InputError(
            f"{path}: two vertices have the same name. Make the graph again."
        )
    return replace(_renumbered(edges, numbers, len(names)), names=ordered)


def _renumbered(edges: Edges, numbers: np.ndarray, bound: int) -> Edges:
    """Return edges under other numbers, src < dst, sorted by (src, dst)."""
    ends = numbers[np.stack((edges.src, edges.dst))].astype(id_dtype(bound))
    src, dst = np.sort(ends, axis=0)
    order = np.lexsort((dst, src))
    return Edges(bound, src[order], dst[order], edges.weight[order], edges.directed)
