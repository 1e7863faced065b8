"""Weights in the order of edges become the keys of arcs, for every type."""

import graphs
import numpy as np
import pytest

from mndmst.comm.world import world
from mndmst.graph.model import Rows
from mndmst.graph.order import WEIGHT_DTYPES, weights_to_keys
from mndmst.host.errors import InputError
from mndmst.kernels.threads import Threads
from mndmst.service.edge_order import EdgeOrder

N, M = 3000, 90_000


def rows_of(n: int, src: np.ndarray, dst: np.ndarray, edge: np.ndarray) -> Rows:
    """Return rows whose keys are the numbers of edges."""
    tail, head = np.concatenate([src, dst]), np.concatenate([dst, src])
    order = np.lexsort((head, tail))
    indptr = np.searchsorted(tail[order], np.arange(n + 1)).astype(np.int64)
    heads = head[order].astype(np.uint32)
    return Rows(0, n, indptr, heads, np.tile(edge, 2)[order].astype(np.uint32))


@pytest.fixture(scope="module", params=[1, 3])
def ordered(request: pytest.FixtureRequest) -> tuple[Rows, EdgeOrder]:
    pairs = np.random.default_rng(1).integers(0, N, (M, 2))
    pairs = np.unique(np.sort(pairs[pairs[:, 0] != pairs[:, 1]]), axis=0)
    rows = rows_of(N, *pairs.T, np.arange(len(pairs)))
    vtxdist = np.array([0, N])
    return rows, EdgeOrder(world(), rows, vtxdist, Threads(request.param))


@pytest.mark.parametrize("dtype", [dtype.name for dtype in WEIGHT_DTYPES])
def test_every_arc_gets_the_key_of_its_edge(ordered, dtype: str) -> None:
    rows, order = ordered
    weights = np.resize(np.array(graphs.extremes(dtype), dtype), order.count)
    given = weights.copy()
    weights.setflags(write=False)
    for maximum in (False, True):
        keys = weights_to_keys(given.copy(), maximum)
        found = order.spread(weights, maximum)
        assert found.tolist() == keys[rows.keys].tolist()
    assert order.of_edges(rows.keys).tolist() == list(range(order.count))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_first_nan_is_named(ordered, dtype: str) -> None:
    _, order = ordered
    weights = np.zeros(order.count, dtype)
    weights[[70_000, 1234]] = np.nan, -np.nan
    with pytest.raises(InputError, match="the weight of edge 1234 is NaN"):
        order.spread(weights)


def test_loops_and_no_edges() -> None:
    for indptr, heads in (([0, 0, 0], []), ([0, 2, 3], [0, 0, 1])):
        rows = Rows(0, 2, np.array(indptr), np.uint32(heads), np.uint32(heads))
        order = EdgeOrder(world(), rows, np.array([0, 2]), Threads(2))
        found = order.spread(np.empty(0, np.float32))
        assert found.tolist() == [0] * len(heads)
