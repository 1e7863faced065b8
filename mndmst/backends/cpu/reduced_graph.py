"""The forest of a reduced graph, and border-excepting growth on it."""

import numpy as np

from ...graph.model import ReducedGraph
from ...kernels import growth
from ...kernels.minima import Edges
from ...kernels.spanning import packed, spanning_edges
from ...kernels.threads import Threads
from ..base import Growth


def forest(graph: ReducedGraph, threads: Threads) -> Growth:
    """See `Backend.forest`."""
    root = np.arange(len(graph.labels), dtype=np.uint32)
    key = graph.edges.key
    return Growth(spanning_edges(key, graph.a, graph.b, root, threads), root)


def grow(graph: ReducedGraph, threads: Threads) -> Growth:
    """See `Backend.grow`."""
    own = np.flatnonzero(graph.own)
    number = np.full(len(graph.labels), len(own), np.uint32)
    number[own] = np.arange(len(own))
    pairs = packed(number[graph.a], number[graph.b], threads)
    final, parent = growth.grow(Edges(graph.edges.key, pairs), len(own), threads)
    root = np.arange(len(graph.labels), dtype=np.uint32)
    root[own] = own[parent[:-1]]
    return Growth(final, root)
