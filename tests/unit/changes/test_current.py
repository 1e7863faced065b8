"""Fragments of a forest that is cut, beside walks through it; and compressed paths."""

import graphs
import numpy as np
import oracle
import pytest

from mndmst.changes.changing import with_edges
from mndmst.changes.current_forest import CurrentForest, numbered
from mndmst.changes.edges import PairEdges
from mndmst.changes.kernels.compressed import on_paths
from mndmst.changes.kernels.fragments import number
from mndmst.changes.replacements import TreePieces, cut_off
from mndmst.graph.order import weights_to_keys
from mndmst.tree.index import ForestIndex


def current(graph: graphs.Graph) -> CurrentForest:
    answer = oracle.kruskal(*graph)
    return CurrentForest.of(ForestIndex(graph.n, answer.src, answer.dst, answer.weight))


def pairs(*columns: list) -> PairEdges:
    u, v, key = (np.array(column) for column in columns)
    return PairEdges(np.uint64(u) << np.uint64(32) | np.uint64(v), weights_to_keys(key))


@pytest.mark.parametrize("seed", range(12))
def test_fragments_of_a_cut_forest(seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph = graphs.random(200, (180, 500)[seed % 2], seed)
    if seed % 3 == 0:
        graph = graphs.path(200)._replace(n=220)
    forest = current(graph)
    count = len(forest.index)
    out = np.sort(rng.choice(count, rng.integers(0, count), replace=False))
    below = forest.locate(forest.of_index(out)).positions.max(axis=0)
    cut = forest.changed(below, np.empty(0, np.bool_), forest.entered)
    stays = np.delete(np.arange(count), out)
    src, dst = forest.index.src[stays], forest.index.dst[stays]
    smallest = oracle.smallest_of_trees(graph.n, src, dst)
    numbers, tops = numbered(cut.tops(forest.index.rooted.position))
    # The same fragments, numbered as they come.
    order = {label: i for i, label in enumerate(dict.fromkeys(smallest.tolist()))}
    assert numbers.tolist() == [order[label] for label in smallest.tolist()]
    assert cut.sizes(tops).tolist() == np.bincount(numbers).tolist()
    assert cut.edges().u.tolist() == src.tolist()
    assert len(cut) == len(stays)


@pytest.mark.parametrize("seed", range(8))
def test_only_the_largest_piece_of_a_tree_is_left_out(seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph = graphs.random(300, 260, seed)
    forest = current(graph)
    count = len(forest.index)
    out = rng.choice(count, 1 + seed * 5, replace=False)
    below = forest.locate(forest.of_index(out)).positions.max(axis=0)
    cut, pieces = cut_off(forest, below, np.empty(0, np.bool_))
    assert len(cut.removed) == len(out)
    stays = np.delete(np.arange(count), out)
    index = forest.index
    piece = oracle.smallest_of_trees(300, index.src[stays], index.dst[stays])
    tree = oracle.smallest_of_trees(300, index.src, index.dst)
    sizes = np.bincount(piece, minlength=300)
    listed = set(pieces.vertices.tolist())
    assert len(listed) == len(pieces.vertices)
    for label in set(tree[index.src[out]].tolist()):
        parts = set(piece[tree == label].tolist())
        missing = [p for p in parts if p not in listed]
        assert len(missing) == 1
        assert sizes[missing[0]] == max(sizes[p] for p in parts)
    assert not any(tree[v] not in tree[index.src[out]] for v in listed)
    given = dict(zip(pieces.vertices.tolist(), pieces.piece.tolist(), strict=True))
    assert len({(given[v], int(piece[v])) for v in listed}) == len(set(given.values()))
    assert all(given[v] == given[int(piece[v])] for v in listed)
    again = TreePieces.unpacked(pieces.packed())
    assert all(np.array_equal(a, b) for a, b in zip(again, pieces, strict=True))


def test_a_batch_looks_at_few_edges(monkeypatch: pytest.MonkeyPatch) -> None:
    """At most 4 edges of the index are compared for each new edge."""
    graph = graphs.random(5000, 20_000, 3).with_weights(list(range(1, 977)), "int32")
    forest = current(graph)
    compared = []

    def of_index(self: CurrentForest, positions: np.ndarray) -> PairEdges:
        compared.append(len(positions))
        return real(self, positions)

    real = CurrentForest.of_index
    monkeypatch.setattr(CurrentForest, "of_index", of_index)
    more = pairs([1, 2, 3], [4000, 4001, 4002], np.int32([-1, -2, -3]))
    after = with_edges(forest, more)
    assert 3 <= compared[0] <= 12
    assert len(after) == len(forest)
    assert len(after.removed) == len(after.entered) == 3


def test_numbers_and_paths() -> None:
    values = np.uint32([7, 7, 3, 0, 3, 0xFFFFFFFF])
    numbers, distinct = np.empty((2, 6), np.uint32)
    assert number(values, numbers, distinct) == 4
    assert numbers.tolist() == [0, 0, 1, 2, 1, 3]
    assert distinct[:4].tolist() == [7, 3, 0, 0xFFFFFFFF]
    # 0 - 1 - 2 - 3 with 4 at 1 and 5 at 3: between 0 and 3
    a, b = np.uint32([[0, 1, 2, 1, 3], [1, 2, 3, 4, 5]])
    needed = np.array([True, False, False, True, False, False])
    assert on_paths(a, b, needed).tolist() == [True, True, True, False, False]
