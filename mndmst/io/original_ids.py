"""Give edges of a reordered graph the ids their vertices had at first."""

from pathlib import Path

import numpy as np

from ..graph.order import id_dtype
from ..host.errors import InputError
from .edges import Edges
from .forest import read_forest
from .shards import ShardedGraph, open_graph


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
    ends = original[np.stack((edges.src, edges.dst))].astype(id_dtype(bound))
    src, dst = np.sort(ends, axis=0)
    order = np.lexsort((dst, src))
    return Edges(bound, src[order], dst[order], edges.weight[order], edges.directed)


def graph_of_forest(forest: Path, graph: Path) -> ShardedGraph:
    """Open the graph that a forest is of.

    Raises
    ------
    InputError
        If it is of another one, or a file is damaged.
    """
    opened, uuid = open_graph(graph), read_forest(forest).header.graph_uuid
    if opened.uuid != uuid:
        raise InputError(
            f"{forest}: is the forest of graph {uuid}, and {graph} is {opened.uuid}. "
            "Give the graph it was solved from."
        )
    return opened
