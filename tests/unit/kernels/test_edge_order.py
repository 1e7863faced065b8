"""Edges in (u, v) order, only the lightest of parallel ones."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mndmst.graph.model import EdgeList
from mndmst.kernels.edge_order import in_order
from mndmst.kernels.sorting import SHORT_RUN
from mndmst.kernels.threads import Threads

Edges = list[tuple[int, int, int]]


def check(edges: Edges, ids: type, keys: type, threads: int) -> None:
    u, v, key = np.array(edges, np.int64).reshape(-1, 3).T
    given = EdgeList(u.astype(ids), v.astype(ids), key.astype(keys))
    found = in_order(given, Threads(threads))
    lightest: dict[tuple[int, int], int] = {}
    for a, b, weight in edges:
        lightest[a, b] = min(weight, lightest.get((a, b), weight))
    columns = [column.tolist() for column in (found.u, found.v, found.key)]
    expected = [(*pair, weight) for pair, weight in sorted(lightest.items())]
    assert list(zip(*columns, strict=True)) == expected
    assert (found.u.dtype, found.v.dtype, found.key.dtype) == (ids, ids, keys)


def edges_of(most: int) -> st.SearchStrategy[Edges]:
    """Return edges whose ends are in a small range, for runs and repeats."""
    edge = st.tuples(st.integers(0, most - 2), st.integers(1, most), st.integers(0, 3))
    return st.lists(edge.map(lambda e: (e[0], e[0] + e[1], e[2])), max_size=200)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("ids", [np.uint32, np.int64])
@settings(deadline=None)
@given(edges=st.one_of(edges_of(4), edges_of(40), edges_of(10_000)))
def test_any_edges(ids: type, threads: int, edges: Edges) -> None:
    check(edges, ids, np.uint32, threads)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_a_hub_with_repeats(threads: int) -> None:
    draw = np.random.default_rng(4).integers
    hub = [(7, 8 + int(v), int(k)) for v, k in draw(0, 200, (20 * SHORT_RUN, 2))]
    rest = [(int(u), int(u) + 1, 5) for u in draw(0, 30, 60)]
    check(hub + rest, np.uint32, np.uint64, threads)


def test_ids_and_weights_beyond_32_bits() -> None:
    high = 1 << 40
    edges = [(high + 2, high + 9, high), (3, high, 1), (high + 2, high + 4, 2 * high)]
    check(edges, np.int64, np.uint64, 1)


def test_edges_in_order_stay_as_they_are() -> None:
    u, v, key = np.array([[0, 0, 1], [1, 2, 2], [9, 8, 7]], np.uint32)
    edges = EdgeList(u, v, key)
    assert in_order(edges) is edges
