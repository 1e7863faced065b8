"""Graphs that break minimum spanning forest codes, fixed and generated."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st
from shard_files import claimed

from mndmst.graph.order import WEIGHT_DTYPES
from mndmst.io.shards.shard_writer import ShardWriter

UUID = "00000000-0000-4000-8000-000000000000"


class Graph(NamedTuple):
    """Edges in any direction, each once; loops and parallel edges are allowed."""

    n: int
    src: np.ndarray
    dst: np.ndarray
    weight: np.ndarray

    def with_weights(self, values: list, dtype: str) -> "Graph":
        """Return the graph with the values, repeated in turn, as its weights."""
        return self._replace(weight=np.resize(np.array(values, dtype), len(self.src)))


def write_graph(
    directory: Path, graph: Graph, parts: int = 1, maximum: bool = False
) -> Path:
    """Write a graph as shards of about equally many vertices; return the directory.

    Each edge is stored in the rows of both ends, a loop once.
    """
    other = graph.src != graph.dst
    src = np.concatenate((graph.src, graph.dst[other]))
    dst = np.concatenate((graph.dst, graph.src[other]))
    weight = np.concatenate((graph.weight, graph.weight[other]))
    return write_arcs(directory, Graph(graph.n, src, dst, weight), parts, maximum)


def write_arcs(
    directory: Path, arcs: Graph, parts: int = 1, maximum: bool = False
) -> Path:
    """Write arcs as they are, symmetric or not; `src` says whose row it is."""
    order = np.lexsort((arcs.dst, arcs.src))
    src, dst, weight = arcs.src[order], arcs.dst[order], arcs.weight[order]
    indptr = np.searchsorted(src, np.arange(arcs.n + 1))
    vtxdist = np.arange(parts + 1) * arcs.n // parts
    target = claimed(directory, parts)
    dtype = weight.dtype
    with ShardWriter(target, arcs.n, dtype, vtxdist, UUID, maximum=maximum) as writer:
        for part in range(parts):
            rows = indptr[vtxdist[part] : vtxdist[part + 1] + 1]
            held = slice(rows[0], rows[-1])
            writer.write_part(part, rows - rows[0], dst[held], weight[held])
        writer.finish()
    return directory


def extremes(dtype: str) -> list:
    """Return weights at and beside the ends and the weak spots of a type."""
    if dtype.startswith("float"):
        info = np.finfo(dtype)
        least, top = info.smallest_subnormal, info.max
        return [np.inf, -np.inf, 0.0, -0.0, least, -least, top, -top, info.eps, 1.0]
    limits = np.iinfo(dtype)
    low, high = int(limits.min), int(limits.max)
    inexact = [w for w in (2**53, 2**53 + 1, 2**53 + 2) if w < high]
    return [high, low, high - 1, low + 1, high // 2, high // 2 + 1, 0, 1, *inexact]


def path(n: int) -> Graph:
    """Return a path, numbered from end to end."""
    return _graph(n, np.arange(n - 1), np.arange(1, n))


def star(n: int, centre: int = 0) -> Graph:
    """Return a star around a vertex."""
    leaves = np.delete(np.arange(n), centre)
    return _graph(n, np.full(n - 1, centre), leaves)


def clique(n: int) -> Graph:
    """Return a complete graph."""
    return _graph(n, *np.triu_indices(n, 1))


def random(n: int, m: int, seed: int) -> Graph:
    """Return random edges, with the loops and parallel edges that chance brings."""
    return _graph(n, *np.random.default_rng(seed).integers(0, n, (2, m)))


def simple_path(n: int) -> Graph:
    """Return a path with weights 0, 1, 2 and so on."""
    return path(n)._replace(weight=np.arange(n - 1, dtype=np.int32))


def _graph(n: int, src: np.ndarray, dst: np.ndarray) -> Graph:
    src, dst = np.asarray(src, np.int64), np.asarray(dst, np.int64)
    return Graph(n, src, dst, np.ones(len(src), np.int32))


def _alternating_path(n: int) -> Graph:
    """Return a path whose neighbours are far apart, so that every edge is cut."""
    order = np.arange(n).reshape(2, -1).T.ravel()
    return _graph(n, order[:-1], order[1:])


def _many_trees() -> Graph:
    """Return triangles, with an isolated vertex after each."""
    first = np.repeat(np.arange(0, 400, 4), 3)
    step = np.tile([[0, 1], [1, 2], [2, 0]], (100, 1))
    return _graph(400, first + step[:, 0], first + step[:, 1])


_DENSE = random(60, 600, 1)

NASTY: dict[str, Graph] = {
    "no vertex": _graph(0, [], []),
    "one vertex": _graph(1, [], []),
    "one loop": _graph(1, [0], [0]),
    "one edge": path(2),
    "no edge": _graph(50, [], []),
    "fewer vertices than ranks": clique(3),
    "loops only": _graph(20, range(20), range(20)),
    "isolated at both ends": _graph(100, [50, 51], [51, 52]),
    "parallel edges": _graph(2, [0, 1, 0, 1], [1, 0, 1, 0]).with_weights(
        [3, 2, 2, 5], "int64"
    ),
    "path of ties": path(257),
    "path falling": path(300).with_weights(list(range(300, 0, -1)), "int32"),
    "path alternating": _alternating_path(256),
    "star": star(200),
    "star around the last": star(200, 199).with_weights([2, 1], "uint32"),
    "clique of ties": clique(40),
    "clique of zeros": clique(24).with_weights([0], "float32"),
    "negative": _DENSE.with_weights([-3, -1, 0, 2, -3], "int64"),
    "many trees": _many_trees().with_weights([1, 2, 2, 1, 1], "uint64"),
    "sparse": random(500, 300, 2),
} | {
    f"extremes of {dtype}": _DENSE.with_weights(extremes(dtype.name), dtype.name)
    for dtype in WEIGHT_DTYPES
}


@st.composite
def graphs(draw: st.DrawFn, max_vertices: int = 40, max_edges: int = 120) -> Graph:
    """Draw a small graph of any weight type; ties, loops and parallels are common."""
    n = draw(st.integers(1, max_vertices))
    vertex = st.integers(0, n - 1)
    dtype = draw(st.sampled_from([t.name for t in WEIGHT_DTYPES]))
    few = st.sampled_from(extremes(dtype)[: draw(st.integers(1, 10))])
    weight = draw(st.sampled_from([few, weights(dtype)]))
    edges = draw(st.lists(st.tuples(vertex, vertex, weight), max_size=max_edges))
    src, dst, values = zip(*edges, strict=True) if edges else ((), (), ())
    return _graph(n, src, dst)._replace(weight=np.array(values, dtype))


def weights(dtype: str) -> st.SearchStrategy:
    """Draw weights of a type, anything but NaN."""
    if dtype.startswith("float"):
        return st.floats(width=int(dtype[5:]), allow_nan=False)
    limits = np.iinfo(dtype)
    return st.integers(int(limits.min), int(limits.max))
