"""Positions of forest edges in the input, and ties, against brute force."""

import itertools
import pickle

import graphs
import numpy as np
import pytest

import mndmst
from mndmst import ConfigError, Forest, InputError


def spanning_forests(n: int, pairs: dict[tuple[int, int], int]) -> list[set]:
    """Return all spanning forests of least total weight, as sets of pairs."""
    trees = n - len(components_of(n, pairs))
    best: list[set] = []
    least = None
    for chosen in itertools.combinations(pairs, trees):
        if len(components_of(n, chosen)) != n - trees:
            continue
        total = sum(pairs[pair] for pair in chosen)
        if least is None or total < least:
            least, best = total, []
        if total == least:
            best.append(set(chosen))
    return best


def components_of(n: int, pairs) -> set[int]:
    """Return a representative of every component that pairs make."""
    parent = list(range(n))

    def root(x: int) -> int:
        while parent[x] != x:
            x = parent[x]
        return x

    for u, v in pairs:
        parent[root(u)] = root(v)
    return {root(x) for x in range(n)}


def lightest(graph: graphs.Graph, maximum: bool) -> dict[tuple[int, int], int]:
    """Return the best weight of each pair of vertices, negated for a maximum."""
    pairs: dict[tuple[int, int], int] = {}
    columns = graph.src.tolist(), graph.dst.tolist(), graph.weight.tolist()
    for u, v, w in zip(*columns, strict=True):
        weight = -w if maximum else w
        pair = min(u, v), max(u, v)
        if u != v:
            pairs[pair] = min(weight, pairs.get(pair, weight))
    return pairs


def small_graph(random: np.random.Generator) -> graphs.Graph:
    n, m = int(random.integers(1, 7)), int(random.integers(0, 10))
    ends = random.integers(0, n, (2, m))
    kind = random.choice(["int32", "uint64", "float32", "float64"])
    weight = random.integers(0, random.integers(1, 5), m).astype(kind)
    return graphs.Graph(n, *ends, weight)


@pytest.mark.parametrize("seed", range(5))
def test_ties_are_those_of_all_spanning_forests(seed: int) -> None:
    random = np.random.default_rng(seed)
    for _ in range(200):
        graph, maximum = small_graph(random), bool(random.integers(2))
        columns = graph.src, graph.dst, graph.weight
        forest = mndmst.minimum_spanning_forest(*columns, graph.n, maximum=maximum)
        best = spanning_forests(graph.n, lightest(graph, maximum))
        mine = list(map(tuple, forest.edges.tolist()))
        assert set(mine) in best
        expected = [any(pair not in other for other in best) for pair in mine]
        assert forest.replaceable.tolist() == expected
        assert forest.ties == sum(expected)
        assert forest.is_unique == (len(best) == 1)


def check_positions(forest: Forest, src, dst, weight, maximum: bool = False) -> None:
    """Each position has the edge, and no position before it has an edge as good."""
    ids = forest.edge_ids
    assert ids.dtype == np.int64 and len(ids) == len(forest)
    low, high = np.minimum(src, dst), np.maximum(src, dst)
    sign = -1 if maximum else 1
    for (u, v), w, position in zip(forest.edges, forest.weight, ids, strict=True):
        parallel = np.flatnonzero((low == u) & (high == v))
        order = sorted(parallel, key=lambda i: (sign * weight[i].item(), i))
        assert position == order[0]
        assert weight[position] == w


@pytest.mark.parametrize("maximum", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_positions_are_of_the_first_of_the_lightest(seed: int, maximum: bool) -> None:
    random = np.random.default_rng(seed)
    for _ in range(60):
        graph = small_graph(random)
        columns = graph.src, graph.dst, graph.weight
        forest = mndmst.minimum_spanning_forest(*columns, graph.n, maximum=maximum)
        check_positions(forest, *columns, maximum)


@pytest.mark.parametrize("graph", graphs.NASTY.values(), ids=graphs.NASTY.keys())
def test_nasty_graphs(graph: graphs.Graph) -> None:
    columns = graph.src, graph.dst, graph.weight
    forest = mndmst.minimum_spanning_forest(*columns, graph.n)
    check_positions(forest, *columns)
    assert forest.ties == np.count_nonzero(forest.replaceable) <= len(forest)


def test_many_edges_are_looked_at_in_pieces(monkeypatch) -> None:
    monkeypatch.setattr("mndmst.api.input_edges.PIECE", 7)
    graph = graphs.random(40, 300, 3)
    weight = np.random.default_rng(3).integers(0, 4, 300)
    forest = mndmst.minimum_spanning_forest(graph.src, graph.dst, weight, graph.n)
    check_positions(forest, graph.src, graph.dst, weight)
    pieces = forest.replaceable.tolist()
    monkeypatch.undo()
    again = mndmst.minimum_spanning_forest(graph.src, graph.dst, weight, graph.n)
    assert again.replaceable.tolist() == pieces


def test_zeros_of_both_signs_are_equal() -> None:
    forest = mndmst.minimum_spanning_forest([0, 1, 0], [1, 2, 2], [0.0, -0.0, 0.0])
    assert forest.ties == 2 and not forest.is_unique


def test_an_edge_listed_in_both_directions_is_no_tie() -> None:
    forest = mndmst.minimum_spanning_forest([0, 1, 1, 2], [1, 0, 2, 1], [1, 1, 1, 1])
    assert forest.is_unique
    assert forest.edge_ids.tolist() == [0, 2]


def test_large_paths_with_ties() -> None:
    """A cycle of equal weights: each edge of the path can go; of two weights, half."""
    n = 50_000
    src = np.arange(n)
    forest = mndmst.minimum_spanning_forest(src, (src + 1) % n, np.ones(n, np.int32))
    assert forest.ties == n - 1
    weight = np.where(src % 2, 2, 1)
    forest = mndmst.minimum_spanning_forest(src, (src + 1) % n, weight)
    assert forest.ties == n // 2 - 1


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dok", "bsr"])
def test_sparse_matrices_count_their_stored_entries(form: str) -> None:
    sparse = pytest.importorskip("scipy.sparse")
    random = np.random.default_rng(4)
    dense = np.triu(random.integers(0, 5, (30, 30)), 1)
    for full in (dense, dense + dense.T):
        matrix = sparse.coo_array(full).asformat(form)
        entries = matrix.tocoo()
        forest = mndmst.minimum_spanning_forest(matrix)
        padded = np.where(entries.data == 0, 99, entries.data)  # of blocks
        check_positions(forest, entries.row, entries.col, padded)
        if form in ("csr", "csc", "coo"):
            assert matrix.data[forest.edge_ids].tolist() == forest.weight.tolist()


def test_dense_matrices_count_all_entries() -> None:
    dense = np.array([[0, 7, 3], [0, 0, 5], [0, 0, 0]])
    forest = mndmst.minimum_spanning_forest(dense)
    assert forest.edge_ids.tolist() == [2, 5]
    assert dense.ravel()[forest.edge_ids].tolist() == [3, 5]


def test_arrays_that_have_changed_are_noticed() -> None:
    src, dst, weight = np.array([[0, 1, 0], [1, 2, 2], [1, 2, 3]])
    forest = mndmst.minimum_spanning_forest(src, dst, weight)
    weight[:] = [9, 9, 1]
    with pytest.raises(InputError, match="have changed since"):
        forest.edge_ids  # noqa: B018
    with pytest.raises(InputError, match="have changed since"):
        forest.ties  # noqa: B018


def test_a_forest_without_its_input_says_so(tmp_path) -> None:
    forest = mndmst.minimum_spanning_forest([0, 1], [1, 2], [1, 2])
    assert forest.edge_ids.tolist() == [0, 1]
    copy = pickle.loads(pickle.dumps(forest))
    assert copy.edge_ids.tolist() == [0, 1]  # kept, as it had been asked for
    forest.write(tmp_path / "f.h5")
    for other in (copy, mndmst.Forest.read(tmp_path / "f.h5")):
        with pytest.raises(ConfigError, match="its input is not known"):
            other.ties  # noqa: B018
