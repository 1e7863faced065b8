"""The forest of a reduced graph, and border-excepting growth on it."""

import numpy as np

from ...graph.model import ReducedGraph
from ...kernels.kruskal import border_excepting_kruskal, flatten
from ...kernels.spanning import ascending_pairs, packed, spanning_edges
from ...kernels.threads import Threads
from ..base import Growth


def forest(graph: ReducedGraph, threads: Threads) -> Growth:
    """See `Backend.forest`."""
    root = np.arange(len(graph.labels), dtype=np.uint32)
    key = graph.edges.key
    return Growth(spanning_edges(key, graph.a, graph.b, root, threads), root)


def grow(graph: ReducedGraph, threads: Threads) -> Growth:
    """See `Backend.grow`; one pass in ascending order takes the place of rounds."""
    root = np.arange(len(graph.labels), dtype=np.uint32)
    in_forest = np.zeros(len(graph), np.bool_)
    pairs = packed(graph.a, graph.b, threads)
    lightest_first = ascending_pairs(graph.edges.key, pairs, threads)
    border_excepting_kruskal(*lightest_first, graph.own, root, in_forest)
    threads.map(flatten, [(root, *bounds) for bounds in threads.ranges(len(root))])
    return Growth(in_forest, root)
