"""Graphs that one can draw, as the steps take them."""

import numpy as np

from mndmst.graph.model import EdgeList, ReducedGraph, Rows

Edges = list[tuple[int, int, int]]


def edge_list(edges: Edges) -> EdgeList:
    """Return edges (u, v, key)."""
    u, v, key = (np.array(column, np.uint32) for column in zip(*edges, strict=True))
    return EdgeList(u, v, key)


def rows(edges: Edges, vertices: int, first: int = 0, last: int | None = None) -> Rows:
    """Return the rows [first, last) of a graph of some edges."""
    last = vertices if last is None else last
    arcs = sorted([(u, v, k) for u, v, k in edges] + [(v, u, k) for u, v, k in edges])
    here = [arc for arc in arcs if first <= arc[0] < last]
    tails = [tail for tail, _, _ in here]
    indptr = np.searchsorted(tails, np.arange(first, last + 1))
    heads, keys = (np.array([arc[i] for arc in here], np.uint32) for i in (1, 2))
    return Rows(first, vertices, indptr.astype(np.int64), heads, keys)


def reduced(edges: Edges, labels: list[int], ghosts: tuple[int, ...] = ()):
    """Return a graph whose components are single vertices."""
    ordered = edge_list(sorted(edges))
    names = np.array(labels, np.int64)
    a, b = (np.searchsorted(names, end) for end in (ordered.u, ordered.v))
    own = ~np.isin(names, ghosts)
    return ReducedGraph(ordered, a.astype(np.uint32), b.astype(np.uint32), names, own)


def triples(edges: EdgeList) -> Edges:
    """Return edges as (u, v, key), sorted."""
    columns = (column.tolist() for column in (edges.u, edges.v, edges.key))
    return sorted(zip(*columns, strict=True))


def between(graph: ReducedGraph) -> Edges:
    """Return the edges of a reduced graph as (name, name, key), sorted."""
    a, b = (graph.labels[end].tolist() for end in (graph.a, graph.b))
    ends = zip(a, b, graph.edges.key.tolist(), strict=True)
    return sorted((min(x, y), max(x, y), key) for x, y, key in ends)
