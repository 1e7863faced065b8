"""Compile the kernels before they are needed.

Numba keeps compiled kernels in a cache on disk. A tiny graph that takes every path
fills it, so that of many ranks on a machine only the first one compiles.
"""

import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numba
import numpy as np
from llvmlite.binding import get_host_cpu_name

from ..graph.model import EdgeList, ReducedGraph, Rows
from ..kernels.columns import room_for
from ..kernels.edge_ops import compact as compact_by_hash
from ..kernels.edge_ops import lightest_edges, living, marked, used_ends
from ..kernels.edge_order import in_order, in_row_order
from ..kernels.follow import follow, in_both, leading_away, step_up
from ..kernels.heavier_arcs import Components, cut_arcs, heavier_arcs
from ..kernels.hooks import ROOT, outside_of
from ..kernels.inspect import inspect_rows
from ..kernels.kruskal import keep_remaining
from ..kernels.numbering import compact, distinct
from ..kernels.owners import by_owner, lightest_proposals
from ..kernels.proposals import (
    NOBODY,
    Proposable,
    Room,
    decide,
    find_places,
    left_apart,
    mark,
    propose,
)
from ..kernels.rows import copy_rows, count_occupied
from ..kernels.shared import (
    count_isolated,
    name_components,
    name_vertices,
    number_roots_apart,
    renumber,
    replace_numbers,
)
from ..kernels.sorting import sort_positions
from ..kernels.spanning import packed, pair_order
from ..kernels.threads import GRAIN, MANY, Threads
from ..kernels.wire import decode_ascending, decode_near, encode_ascending, encode_near
from .base import Backend, Band
from .cpu.band_edges import JoiningEdges, joining_edges
from .cpu.cuts import Segment
from .cpu.msf import msf
from .cpu.select import select

_warm: set[tuple[str, np.dtype, np.dtype]] = set()


def warm_up_kernels(
    backend: Backend, ids: np.dtype, keys: np.dtype, say: Callable[[str], None]
) -> None:
    """Run every kernel for some types on a tiny graph, once a process.

    Parameters
    ----------
    say : callable
        Writes a message if kernels have to be compiled.
    """
    if (backend.name, ids, keys) in _warm:
        return
    cached = kernels_cached(backend, ids, keys)
    if not cached:
        say("compiling kernels, once on this machine; this takes about a minute")
    _run_all(backend, _clique(64, ids, keys))
    _warm.add((backend.name, ids, keys))
    if not cached:
        with suppress(OSError):  # the next process looks for itself
            _stamp(backend, ids, keys).touch()


def kernels_cached(backend: Backend, ids: np.dtype, keys: np.dtype) -> bool:
    """Return whether all kernels for some types have been compiled on this machine."""
    return _stamp(backend, ids, keys).exists()


def _stamp(backend: Backend, ids: np.dtype, keys: np.dtype) -> Path:
    """Return the file in the cache that says so; other compilers have another."""
    facts = (
        backend.name, ids.name, keys.name,
        f"numba{numba.__version__}", sys.implementation.cache_tag, get_host_cpu_name(),
    )  # fmt: skip
    return Path(select.stats.cache_path) / f"{'-'.join(facts)}.complete"


def _clique(size: int, ids: np.dtype, keys: np.dtype) -> Rows:
    """Return a complete graph, dense enough for the light band."""
    row = np.arange(size, dtype=ids)
    indices = np.concatenate([np.delete(row, i) for i in range(size)])
    tails = np.repeat(row, size - 1)
    weights = (np.minimum(tails, indices) * 7 + np.maximum(tails, indices) * 3) % 31
    # Wide keys take all of their bits, so that the sort has runs to put right.
    spread = weights.astype(keys) << keys.type(8 * keys.itemsize - 6)
    indptr = np.arange(size + 1, dtype=np.int64) * (size - 1)
    return Rows(0, size, indptr, indices, spread)


def _run_all(backend: Backend, rows: Rows) -> None:
    inspect_rows(rows.indptr, rows.indices, rows.keys, 0, 0, len(rows))
    for count in (1, MANY):
        msf(rows, Threads(count))
    backend.msf(backend.place(rows))
    part = rows.cut(8, 40)
    placed = backend.place(part)
    middle = int(np.median(part.keys))
    edges = backend.band_forest(placed, Band(None, middle), None)
    backend.band_forest(placed, Band(middle, None), np.arange(8, 40))
    for band in (Band(None, middle), Band()):
        backend.grow_rows(placed, band)
    backend.row_hooks(placed, Band(None, middle))
    vertices = np.arange(8, 40)
    labels, a, b = compact(edges.u, edges.v, 8, 40)
    compact_by_hash(edges.u, edges.v, 8, 40)
    compact_by_hash(edges.u.astype(np.int64), edges.v.astype(np.int64), 8, 40)
    compact(edges.u.astype(np.int64), edges.v.astype(np.int64), 8, 40)
    graph = ReducedGraph(edges, a, b, labels, (labels >= 8) & (labels < 40))
    backend.grow(graph)
    backend.forest(graph)
    order = np.arange(len(a), dtype=np.uint64)
    roots = np.arange(len(labels), dtype=np.uint32)
    packed(a.astype(np.int64), b.astype(np.int64), Threads(1))
    keep_remaining(order, packed(a, b, Threads(1)), roots, 0, len(a))
    lightest_edges(a, b, edges.key, len(labels))
    alive, _, _ = living(a, b, labels)
    used_ends(a, b, len(labels))
    marked(graph.own, a, b, alive, a, b, len(labels))
    by_owner(edges.u, np.array([0, 64]))
    lightest_proposals(edges.u.astype(np.int64), edges.u, edges.v, edges.key, 0, 64)
    pair_order(edges.u, edges.v, edges.key)
    in_order(edges.take(order[::-1]))
    in_row_order(edges.u, edges.v)
    sort_positions(np.arange(2 * GRAIN, dtype=rows.keys.dtype), Threads(2))
    count_occupied(part.indptr)
    names = vertices.astype(rows.indices.dtype)
    outside = outside_of(8, names, part.indptr, 0, 32)
    zero = rows.keys.dtype.type(0)
    for label in (names, np.zeros(32, np.uint32)):
        heavier_arcs(part.csr, Components.of_rows(label, 8), zero, 40, outside)
    cut_arcs(part.csr, zero, 0, 32)
    component, pairs = (np.zeros(64, dtype) for dtype in (np.uint32, np.uint64))
    out = JoiningEdges(*room_for(rows, 64), pairs)
    joining_edges(rows.csr, component, Segment.of(rows, 0, 1, 0, 1), out)
    for column in (rows.indices, rows.keys):  # where rows stream through a GPU
        two = np.arange(2, dtype=np.uint32)
        copy_rows(column, rows.indptr, two, rows.indptr[:3], 0, column[:2].copy())
    _run_wire(edges.u)
    _run_shared(edges)


def _run_shared(edges: EdgeList) -> None:
    """Run what the ranks of a host do on arrays they share."""
    pairs = packed(edges.u, edges.v, Threads(1))
    owner, places = np.zeros(1, np.uint32), np.zeros((1, 3), np.int64)
    find_places(pairs, 6, owner, NOBODY, 0, places[0])
    hook, keys = np.arange(64, dtype=np.uint32), edges.key.dtype
    for position in (np.uint32, np.int64):  # 64 bits beyond 2^32 edges
        types = (np.uint32, np.uint32, keys, position)
        room = Room(*(np.empty(2 * len(pairs), dtype) for dtype in types))
        best, least = np.zeros(64, keys), np.zeros(64, position)
        own = np.arange(len(pairs), dtype=position)
        own_edges = Proposable(edges.key, pairs, own)
        propose(own_edges, 6, owner, NOBODY, places[0], room)
        decide(room, places, 0, 0, best, least, hook)
        mark(least, np.empty(64, np.bool_))
        ends_and_key = (column.copy() for column in (edges.u, edges.v, edges.key))
        left_apart(*ends_and_key, pairs, own, hook)
    isolated = count_isolated(hook, 0, 64, NOBODY)
    number_roots_apart(hook | ROOT, hook, 0, 64, NOBODY, 0, isolated)
    renumber(hook.copy(), hook, 64, 0)
    replace_numbers(np.zeros(64, np.uint32), hook, 0, 0, 64)
    name_components(hook, 0, 64, np.zeros(1, np.uint32))
    name_vertices(hook, hook, 0, np.empty(64, edges.u.dtype))


def _run_wire(ids: np.ndarray) -> None:
    """Run the kernels that send names to other ranks."""
    names, counts = np.arange(len(ids))[::-1].copy(), np.array([len(ids)])
    labels, _ = distinct(names)
    distinct(names << 20)
    zero = np.zeros(1, np.int64)
    decode_ascending(encode_ascending(labels, counts, zero)[0], counts, zero)
    decode_near(encode_near(names, labels, counts)[0], labels)
    encode_near(names.astype(ids.dtype), labels, counts)
    decode_near(encode_near(ids, ids, counts)[0], ids)
    encode_ascending(np.arange(len(ids), dtype=ids.dtype), counts, zero)
    in_both(labels, labels, counts, labels, labels, counts)
    follow(labels.astype(ids.dtype), 0, labels)
    step_up(
        labels.astype(ids.dtype), 0, labels.astype(ids.dtype), names.astype(ids.dtype)
    )
    leading_away(labels.astype(ids.dtype), 0, -1)
