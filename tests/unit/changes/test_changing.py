"""A forest follows batches of changes, on one rank; the oracle solves each version.

    1     4
0 --- 1 --- 2
|2    |3    |5
3 --- 4 --- 5      6 alone
   6     7
"""

from dataclasses import replace

import numpy as np
import pytest
from forests import COMM
from oracle import kruskal
from test_replacements import columns, rows_of

from mndmst.changes import changing as module
from mndmst.changes.batch import DELETE, INSERT, SET, Batch
from mndmst.changes.changing import ChangingForest
from mndmst.changes.current_forest import CurrentForest
from mndmst.changes.edges import PairEdges
from mndmst.graph.order import keys_to_weights, weights_to_keys
from mndmst.host.errors import InputError
from mndmst.io.names import IntegerNames, Names, names_of_texts
from mndmst.kernels.kruskal import HALF
from mndmst.tree.index import ForestIndex

EDGES = {
    (0, 1): 1, (1, 2): 4, (0, 3): 2, (1, 4): 3, (2, 5): 5, (3, 4): 6, (4, 5): 7,
}  # fmt: skip


def follow(n: int, edges: dict) -> ChangingForest:
    answer = kruskal(n, *columns(edges))
    index = ForestIndex(n, answer.src, answer.dst, answer.weight)
    return ChangingForest(COMM, rows_of(n, edges), np.dtype(np.int32), index)


def batch(*changes: tuple[int, int, int, int]) -> Batch:
    op, src, dst, weight = zip(*changes, strict=True)
    return Batch(op, src, dst, weight)


def forest_of(changing: ChangingForest) -> list[tuple[int, int, int]]:
    edges = changing.forest.edges()
    weight = keys_to_weights(edges.key, np.dtype(np.int32))
    return list(zip(edges.u.tolist(), edges.v.tolist(), weight.tolist(), strict=True))


def edges_in(changing: ChangingForest) -> dict[tuple[int, int], int]:
    rows = changing.rows.current()
    weight = keys_to_weights(rows.keys, np.dtype(np.int32)).tolist()
    tails = np.repeat(np.arange(rows.first, rows.last), np.diff(rows.indptr)).tolist()
    arcs = zip(tails, rows.indices.tolist(), weight, strict=True)
    return {(u, v): w for u, v, w in arcs if u < v}


def test_a_lighter_edge_replaces_the_last_on_its_path() -> None:
    changing = follow(7, EDGES)
    applied = changing.apply(batch((INSERT, 0, 5, 4)))
    assert applied == (1, 1, 0, 0)
    assert forest_of(changing) == [
        (0, 1, 1),
        (0, 3, 2),
        (0, 5, 4),
        (1, 2, 4),
        (1, 4, 3),
    ]


def test_a_heavier_edge_changes_the_rows_only() -> None:
    changing = follow(7, EDGES)
    before = forest_of(changing)
    assert changing.apply(batch((INSERT, 0, 5, 6))) == (1, 1, 0, 0)
    assert forest_of(changing) == before
    assert edges_in(changing) == {**EDGES, (0, 5): 6}


def test_of_two_edges_as_heavy_the_one_between_smaller_vertices_stays() -> None:
    changing = follow(7, EDGES)
    changing.apply(batch((INSERT, 5, 3, 5)))  # beside (2, 5), after it
    assert (2, 5, 5) in forest_of(changing)
    changing.apply(batch((INSERT, 5, 0, 5)))
    assert (0, 5, 5) in forest_of(changing) and (2, 5, 5) not in forest_of(changing)


def test_the_lightest_edge_between_the_pieces_replaces_a_deleted_one() -> None:
    changing = follow(7, EDGES)
    assert changing.apply(batch((DELETE, 2, 1, 0))) == (1, 0, 1, 0)
    assert (4, 5, 7) in forest_of(changing) and (1, 2, 4) not in forest_of(changing)


def test_a_tree_stays_cut_where_no_edge_joins_its_pieces() -> None:
    changing = follow(7, EDGES)
    changing.apply(batch((DELETE, 1, 2, 0), (DELETE, 4, 5, 0)))
    assert forest_of(changing) == [(0, 1, 1), (0, 3, 2), (1, 4, 3), (2, 5, 5)]
    changing.apply(batch((INSERT, 6, 5, -1)))
    assert (5, 6, -1) in forest_of(changing)


def test_an_edge_whose_weight_grows_may_stay_or_leave() -> None:
    changing = follow(7, EDGES)
    assert changing.apply(batch((SET, 1, 2, 6))) == (1, 0, 0, 1)
    assert (1, 2, 6) in forest_of(changing)
    changing.apply(batch((SET, 1, 2, 8)))
    assert (1, 2, 8) not in forest_of(changing) and (4, 5, 7) in forest_of(changing)


def test_an_edge_that_keeps_its_weight_is_not_replaced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def cut_off(*_: object) -> None:
        raise AssertionError("the tree was cut")

    monkeypatch.setattr(module, "cut_off", cut_off)
    changing = follow(7, EDGES)
    before = forest_of(changing)
    changing.apply(batch((SET, 1, 2, EDGES[1, 2]), (SET, 0, 1, EDGES[0, 1])))
    assert forest_of(changing) == before


def test_an_edge_outside_whose_weight_falls_enters() -> None:
    changing = follow(7, EDGES)
    changing.apply(batch((SET, 3, 4, 2)))
    assert forest_of(changing)[1:] == [(0, 3, 2), (1, 2, 4), (2, 5, 5), (3, 4, 2)]


@pytest.mark.parametrize(
    ("change", "reason"),
    [((DELETE, 0, 2, 0), "there is no edge"), ((INSERT, 1, 4, 9), "is there already")],
)
def test_one_impossible_change_refuses_all(change: tuple, reason: str) -> None:
    changing = follow(7, EDGES)
    with pytest.raises(InputError, match=f"the batch: change 2: .*{reason}"):
        changing.apply(batch((SET, 0, 1, 9), (DELETE, 2, 5, 0), change))
    assert changing.version == 0
    assert edges_in(changing) == EDGES
    assert forest_of(changing) == forest_of(follow(7, EDGES))


@pytest.mark.parametrize(
    ("names", "edge"),
    [
        (names_of_texts("it", [f"Ort {i}" for i in range(7)]), '("Ort 1", "Ort 4")'),
        (IntegerNames(np.arange(7) * 11), "(11, 44)"),
    ],
)
def test_an_impossible_change_is_told_by_names(names: Names, edge: str) -> None:
    changing = follow(7, EDGES)
    changes = replace(batch((INSERT, 1, 4, 9)), names=names)
    with pytest.raises(InputError) as refused:
        changing.apply(changes)
    assert f"the edge {edge} is there already" in str(refused.value)


@pytest.mark.parametrize("seed", range(6))
def test_every_version_is_the_forest_of_its_graph(seed: int) -> None:
    draw = np.random.default_rng(seed)
    n, edges = 30, {}
    while len(edges) < 60:
        u, v = sorted(draw.integers(0, n, 2).tolist())
        if u < v:
            edges[u, v] = int(draw.integers(0, 9))
    changing = follow(n, edges)
    for version in range(1, 13):
        changes = []
        for _ in range(draw.integers(1, 25)):
            u, v = sorted(draw.choice(n, 2, replace=False).tolist())
            weight = int(draw.integers(0, 9))
            op = INSERT if (u, v) not in edges else draw.choice([DELETE, SET])
            changes.append((int(op), u, v, weight))
            if op == DELETE:
                del edges[u, v]
            else:
                edges[u, v] = weight
        assert changing.apply(batch(*changes)).version == version
        right = kruskal(n, *columns(edges))
        answer = zip(right.src, right.dst, right.weight, strict=True)
        assert forest_of(changing) == [tuple(map(int, edge)) for edge in answer]
        assert edges_in(changing) == edges


def test_an_index_is_made_anew_when_changes_have_cost_as_much() -> None:
    forest = CurrentForest.of(ForestIndex(3, np.array([0]), np.array([1]), np.ones(1)))
    assert forest.work == 0 and forest.settled().index is forest.index
    pair = np.array([1], np.uint64) << HALF | np.uint64(2)
    come = forest.locate(PairEdges(pair, weights_to_keys(np.ones(1))))
    nothing = np.empty(0, np.uint32)
    changed = forest.changed(nothing, np.empty(0, np.bool_), come)
    versions = [changed]
    for _ in range(6):
        versions.append(versions[-1].settled())
        assert len(versions[-1]) == 2
    kept = [version.index is forest.index for version in versions]
    assert kept[:3] == [True] * 3 and not kept[-1]
    assert versions[-1].differs == 0


def test_only_edges_in_the_forest_are_found() -> None:
    forest = follow(7, EDGES).forest
    ends = np.array([(0, 1), (2, 4), (4, 5), (2, 5)], np.uint64).T
    asked = PairEdges(ends[0] << HALF | ends[1], np.zeros(4, np.uint32))
    below, entered, key = forest.find(asked)
    assert (below > 0).tolist() == [True, False, False, True]
    assert not entered.any()
    assert keys_to_weights(key, np.dtype(np.int32))[[0, 3]].tolist() == [1, 5]
