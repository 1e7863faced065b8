"""Compile the kernels before they are needed.

Numba keeps compiled kernels in a cache on disk. A tiny graph that takes every path
fills it, so that of many ranks on a machine only the first one compiles.
"""

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from ...graph import ReducedGraph, Rows
from ..base import Backend, Band
from .inspect import inspect_rows
from .lists import compact, lightest_edges, merge


def warm_up_kernels(backend: Backend, say: Callable[[str], None]) -> float:
    """Run every kernel on a tiny graph; return the seconds it took.

    Parameters
    ----------
    say : callable
        Told that kernels are compiled, if none are cached.
    """
    begin = time.perf_counter()
    if not any(Path(__file__).parent.glob("**/*.nbi")):
        say("compiling kernels for this machine, once; this takes about half a minute")
    for keys in (np.uint32, np.uint64):
        _run_all(backend, _clique(64, np.dtype(keys)))
    return time.perf_counter() - begin


def _clique(size: int, keys: np.dtype) -> Rows:
    """Return a complete graph, dense enough for the light band."""
    row = np.arange(size, dtype=np.uint32)
    indices = np.concatenate([np.delete(row, i) for i in range(size)])
    tails = np.repeat(row, size - 1)
    weights = (np.minimum(tails, indices) * 7 + np.maximum(tails, indices) * 3) % 31
    indptr = np.arange(size + 1, dtype=np.int64) * (size - 1)
    return Rows(0, size, indptr, indices, weights.astype(keys))


def _run_all(backend: Backend, rows: Rows) -> None:
    inspect_rows(rows.indptr, rows.indices, rows.keys, 0, 0, len(rows))
    backend.msf(backend.place(rows))
    part = rows.cut(8, 40)
    placed = backend.place(part)
    edges = backend.band_forest(placed, Band(None, 20), None)
    backend.band_forest(placed, Band(20, None), np.arange(8, 40))
    vertices = np.arange(8, 40)
    after = np.zeros(32, rows.keys.dtype)
    backend.next_lightest(placed, vertices, after, vertices)
    labels, a, b = compact(edges.u, edges.v, 8, 40)
    graph = ReducedGraph(edges, a, b, labels, (labels >= 8) & (labels < 40))
    backend.grow(graph, 0.0)
    backend.forest(graph)
    lightest_edges(a, b, edges.key, len(labels))
    merge(edges.u, edges.v, edges.key, edges.u, edges.v, edges.key)
