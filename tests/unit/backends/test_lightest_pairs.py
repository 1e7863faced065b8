"""Edges behind the first band, where no giant component is soon found."""

import graphs
import numpy as np
import pytest
from test_cpu_backend import expected, rows_of, triples

from mndmst.backends.cpu import msf
from mndmst.backends.cpu.backend import CpuBackend
from mndmst.backends.cpu.msf import lightest_pairs
from mndmst.graph.tuning import Tuning


def communities(n: int, size: int, cut: int) -> graphs.Graph:
    """Return dense parts, and many edges between any two of them."""
    draw = np.random.default_rng(n)
    part = size * draw.integers(0, n // size, 12 * n)
    inside = part + draw.integers(0, size, (2, 12 * n))
    between = draw.integers(0, n, (2, cut))
    src, dst = np.concatenate([inside, between], axis=1)
    return graphs.Graph(n, src, dst, np.zeros(len(src), np.int64))


def by(kind: str, graph: graphs.Graph) -> graphs.Graph:
    """Give a graph weights for which the light edges are in few places."""
    low, high = np.minimum(graph.src, graph.dst), np.maximum(graph.src, graph.dst)
    weight = {
        "descending": graph.n - low,
        "ascending": high,
        "near": high - low,
        "far": graph.n - (high - low),
        "few": (high - low) // (graph.n // 4),
        "cut last": np.where(low // 25 == high // 25, low % 7, 100 + low % 3),
    }[kind]
    return graph._replace(weight=weight.astype(np.int32))


KINDS = ("descending", "ascending", "near", "far", "few", "cut last")


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("room", [1.0, 0.3])
@pytest.mark.parametrize("kind", KINDS)
def test_hard_orders(
    kind: str, room: float, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []

    def look(*given):
        calls.append(given)
        return lightest_pairs(*given)

    monkeypatch.setattr(msf, "lightest_pairs", look)
    # No rows are walked in order.
    tuning = Tuning(grain=16, pairs_per_vertex=room, outside_share=-1.0)
    graph = by(kind, communities(1000, 25, 10_000))
    rows = rows_of(graph, np.uint32)
    assert sorted(triples(CpuBackend(threads, tuning).msf(rows).edges)) == expected(
        graph
    )
    if room < 1 and kind in ("near", "cut last"):
        assert len(calls) > 1  # what was found has been thinned out in between
