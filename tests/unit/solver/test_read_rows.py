"""Ranks divide the rows by their load, and rows without room pass in pieces."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import graphs
import numpy as np
import pytest
from forests import COMM

from mndmst.graph.order import weights_to_keys as keys
from mndmst.host.errors import ConfigError
from mndmst.host.memory import Budget
from mndmst.host.memory_costs import (
    ARC_BYTES,
    PEER_RANK_BYTES,
    PIECE_ROW_BYTES,
    RANK_RESERVE,
    STORED_ROW_BYTES,
)
from mndmst.io.shards.sharded_graph import ShardedGraph, open_graph
from mndmst.solver import read
from mndmst.solver.read import balanced_vtxdist, begin_read, cut_rows


class GatheredError(Exception):
    """Ends a rank at its collective call, with its part."""


class Rank:
    """One of some ranks, which are run one after the other up to `allgatherv`."""

    def __init__(self, rank: int, size: int, every: np.ndarray | None = None) -> None:
        self.rank, self.size, self.every = rank, size, every

    def raise_on_all(self):
        return COMM.raise_on_all()

    def allgatherv(self, part: np.ndarray) -> np.ndarray:
        if self.every is None:
            raise GatheredError(part)
        return self.every


def vtxdist_of(graph: ShardedGraph, ranks: int) -> list[int]:
    parts = []
    for rank in range(ranks):
        with pytest.raises(GatheredError) as part:
            balanced_vtxdist(Rank(rank, ranks), graph)
        parts.append(part.value.args[0])
    every = np.concatenate(parts)
    (found,) = {
        tuple(balanced_vtxdist(Rank(rank, ranks, every), graph).tolist())
        for rank in range(ranks)
    }
    return list(found)


def opened(folder: Path, graph: graphs.Graph) -> ShardedGraph:
    return open_graph(graphs.write_graph(folder / "graph", graph, parts=2))


def star(leaves: int) -> graphs.Graph:
    ends = np.zeros(leaves, np.int64), np.arange(1, leaves + 1)
    return graphs.Graph(leaves + 1, *ends, np.ones(leaves, np.int32))


def test_one_rank_has_all_rows(tmp_path: Path) -> None:
    graph = opened(tmp_path, star(5))
    assert balanced_vtxdist(COMM, graph).tolist() == [0, 6]


def test_a_long_row_counts_as_many_short_ones(tmp_path: Path) -> None:
    # A row costs 28, an arc 1: the star's centre costs 1,028, its leaves 29 each.
    graph = opened(tmp_path, star(1000))
    first, second, last = vtxdist_of(graph, 2)
    assert (first, last) == (0, 1001)
    half = (28 * 1001 + 2000) / 2
    assert 28 + 1000 + 29 * (second - 2) <= half < 28 + 1000 + 29 * second


@pytest.mark.parametrize("ranks", [2, 3, 7])
def test_ranks_of_equal_rows_have_equal_numbers(tmp_path: Path, ranks: int) -> None:
    graph = opened(tmp_path, graphs.path(70))
    bounds = vtxdist_of(graph, ranks)
    assert bounds[0] == 0 and bounds[-1] == 70 and len(bounds) == ranks + 1
    assert np.ptp(np.diff(bounds)) <= 1


@pytest.mark.parametrize("rows", [4, 1 << 16])
@pytest.mark.parametrize("ranks", [2, 5, 16])
def test_a_first_vertex_is_found_in_few_row_pointers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ranks: int, rows: int
) -> None:
    monkeypatch.setattr(read, "BISECTED_ROWS", rows)
    graph = opened(tmp_path, graphs.random(500, 3000, seed=6))
    load = graph.read_indptr(0, 500) + 28 * np.arange(501)
    goals = load[-1] * np.arange(1, ranks) // ranks
    expected = [0, *np.searchsorted(load, goals).tolist(), 500]
    assert vtxdist_of(graph, ranks) == expected


def test_more_ranks_than_rows_leave_some_without(tmp_path: Path) -> None:
    bounds = vtxdist_of(opened(tmp_path, graphs.path(2)), 5)
    assert sorted(np.diff(bounds).tolist()) == [0, 0, 0, 1, 1]


def test_of_many_ranks_the_last_but_one_goals_have_the_only_row(tmp_path: Path) -> None:
    """A row costs 28, so the goals of the first two of 40 ranks are 0."""
    bounds = vtxdist_of(opened(tmp_path, graphs.path(1)), 40)
    assert bounds == [0, 0] + [1] * 39


@pytest.fixture
def many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ShardedGraph:
    """A graph of 40,000 arcs, read by a process that holds nothing yet."""
    monkeypatch.setattr(read, "held_bytes", lambda: 0)
    monkeypatch.setattr(read, "keep_nothing", lambda: None)
    return opened(tmp_path, graphs.random(2000, 20_000, seed=4))


def bounds_of(graph: ShardedGraph, budget: Budget) -> list[int]:
    return cut_rows(COMM, graph, 0, graph.num_vertices, budget)[0]


def test_rows_that_fit_are_one_piece(many: ShardedGraph) -> None:
    rows = begin_read(COMM, many, np.array([0, 2000]), Budget(0)).rows
    budget = Budget(1 << 30, one_band=True)
    needed = budget.for_rows(2000, rows.num_arcs, rows.nbytes, 1)
    expected = [2000], replace(budget, enough=needed)
    assert cut_rows(COMM, many, 0, 2000, budget) == expected
    assert bounds_of(many, Budget(needed, one_band=True)) == [2000]
    assert len(bounds_of(many, Budget(needed - 1, one_band=True))) > 1


@pytest.mark.parametrize("limit", [9_600_000, 10_000_000, 11_000_000])
def test_rows_that_do_not_fit_are_cut_into_pieces_that_do(
    many: ShardedGraph, limit: int
) -> None:
    budget = Budget(limit, one_band=True)
    bounds = bounds_of(many, budget)
    assert bounds is not None and (bounds[0], bounds[-1]) == (0, 2000)
    assert len(bounds) > 2 and (np.diff(bounds) > 0).all()
    degrees = np.diff(many.read_indptr(0, 2000))
    # 4 bytes each for an id and a weight, besides the work on an arc and on a row
    cost = degrees * (ARC_BYTES + 8) + PIECE_ROW_BYTES
    sizes = [cost[begin:end].sum() for begin, end in pairwise(bounds)]
    allowed = budget.for_piece(limit, 2000, 1)
    assert max(sizes) <= allowed
    assert min(sizes[:-1]) > allowed - 3 * cost.max()


def test_a_bound_within_the_last_row_makes_no_empty_piece(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last row is as long as a piece, so some bound falls into it."""
    monkeypatch.setattr(read, "held_bytes", lambda: 0)
    monkeypatch.setattr(Budget, "LEAST_PIECE", 1)
    n, others = 200, graphs.random(199, 3000, seed=5)
    ends = np.arange(n - 1)
    src, dst = np.r_[others.src, ends], np.r_[others.dst, np.full(n - 1, n - 1)]
    graph = opened(tmp_path, graphs.Graph(n, src, dst, np.ones(len(src), np.int32)))
    longest = (n - 1) * (ARC_BYTES + 8) + PIECE_ROW_BYTES
    kept = STORED_ROW_BYTES * n + RANK_RESERVE + PEER_RANK_BYTES
    bounds = bounds_of(graph, Budget(4 * longest + kept, one_band=True))
    assert len(bounds) > 3 and bounds[-1] == n
    assert (np.diff(bounds) > 0).all()


def test_the_least_piece_is_taken(
    many: ShardedGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    budget = Budget(10_000_000, one_band=True)
    degrees = np.diff(many.read_indptr(0, 2000))
    longest = degrees.max() * (ARC_BYTES + 8) + PIECE_ROW_BYTES
    size = int(budget.for_piece(budget.limit, 2000, 1) - longest)
    monkeypatch.setattr(Budget, "LEAST_PIECE", size)
    assert len(bounds_of(many, budget)) > 2
    monkeypatch.setattr(Budget, "LEAST_PIECE", size + 1)
    with pytest.raises(ConfigError):
        bounds_of(many, budget)


@pytest.mark.parametrize(
    ("arcs", "named"),
    [
        ([(0, 1, 5), (1, 0, 5), (1, 2, 3)], (1, 2, 3)),
        ([(0, 1, 5), (1, 0, 5), (2, 1, 3)], (2, 1, 3)),
        ([(0, 1, 5), (1, 0, 4)], (1, 0, 4)),  # the lighter one is named
        ([(0, 1, 5), (1, 0, 5), (0, 2, 4), (2, 0, 4), (2, 1, 3)], (2, 1, 3)),
        ([(0, 1, 5), (0, 1, 5), (1, 0, 5)], (0, 1, 5)),
        ([(1, 0, 5), (0, 1, 5), (1, 0, 5)], (1, 0, 5)),
        ([(0, 2, 1), (0, 1, 9), (2, 0, 1)], (0, 1, 9)),
        ([(3, 2, 7), (2, 3, 7), (3, 1, 7), (2, 1, 7), (1, 3, 7)], (2, 1, 7)),
    ],
)
def test_the_first_arc_without_a_reverse_is_named(
    tmp_path: Path, arcs: list[tuple[int, int, int]], named: tuple[int, int, int]
) -> None:
    graph = opened(tmp_path, graphs.path(4))
    assert graph.weight_dtype == np.int32
    tail, head, weight = np.array(arcs).T
    error = read._no_reverse(graph, tail, head, keys(weight.astype(np.int32)))
    u, v, weight = named
    part = graph.parts[0 if u < graph.vtxdist[1] else 1]
    words = f"{part}: the arc ({u}, {v}) of weight {weight} has no reverse ({v}, {u}) "
    assert str(error).startswith(words)


def test_a_limit_without_room_for_a_piece_is_refused(many: ShardedGraph) -> None:
    with pytest.raises(ConfigError, match=r"--memory 8\.583MiB is too little .* 13MiB"):
        bounds_of(many, Budget(9_000_000, one_band=True))
