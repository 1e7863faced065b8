"""The forest of a reduced graph, and border-excepting growth on it."""

import numpy as np

from ...graph.model import ReducedGraph
from ...kernels import growth
from ...kernels.borders import FINAL
from ...kernels.minima import PairEdgeList
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
    count = len(graph.labels)
    order = np.argsort(~graph.own, kind="stable")  # own components first
    number = np.empty(count, np.uint32)
    number[order] = np.arange(count)
    edges = PairEdgeList(
        graph.edges.key, packed(number[graph.a], number[graph.b], threads)
    )
    own = int(np.count_nonzero(graph.own))
    fate, parent = growth.grow(edges, own, count, threads)
    root = np.empty(count, np.uint32)
    root[order] = order[parent]
    return Growth(fate == FINAL, root)
