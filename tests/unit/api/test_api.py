"""The Python interface: arrays and matrices in, the same forest as ever out."""

import graphs
import numpy as np
import oracle
import pytest
import scipy.sparse as sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.csgraph import minimum_spanning_tree

import mndmst
from mndmst import ConfigError, InputError


def check(forest: mndmst.Forest, graph: graphs.Graph) -> None:
    answer = oracle.kruskal(*graph)
    assert forest.edges.tolist() == np.stack([answer.src, answer.dst], 1).tolist()
    assert forest.weight.dtype == graph.weight.dtype
    assert forest.weight.tolist() == answer.weight.tolist()
    labels = oracle.smallest_of_trees(graph.n, answer.src, answer.dst)
    assert forest.labels.tolist() == labels.tolist()
    assert forest.digest == answer.digest
    assert forest.num_trees == answer.trees


@pytest.mark.parametrize("graph", graphs.NASTY.values(), ids=graphs.NASTY.keys())
def test_nasty_graphs(graph: graphs.Graph) -> None:
    found = mndmst.minimum_spanning_forest(graph.src, graph.dst, graph.weight, graph.n)
    check(found, graph)


@settings(deadline=None)
@given(graphs.graphs(), st.integers(1, 3))
def test_any_graph(graph: graphs.Graph, threads: int) -> None:
    found = mndmst.minimum_spanning_forest(
        graph.src, graph.dst, graph.weight, graph.n, threads=threads
    )
    check(found, graph)


@pytest.mark.parametrize("high", [2, 60, 1 << 30], ids=["ties", "some", "distinct"])
@pytest.mark.parametrize("degree", [1, 8, 40])
def test_bands(degree: int, high: int) -> None:
    """Dense graphs are solved in bands; with few weights these are cut anywhere."""
    graph = graphs.random(2000, 2000 * degree, degree)
    weight = np.random.default_rng(high).integers(0, high, len(graph.src), np.int32)
    graph = graph._replace(weight=weight)
    found = mndmst.minimum_spanning_forest(graph.src, graph.dst, weight, graph.n)
    check(found, graph)


def test_largest_weight_is_kept() -> None:
    """No weight is taken for a sign, not even the largest, which fills the sample."""
    n, top = 400, np.iinfo(np.uint32).max
    src, dst = np.triu_indices(n, 1)
    weight = np.where(src == 0, np.uint32(5), top).astype(np.uint32)
    weight[dst == n - 1] = top
    check(
        mndmst.minimum_spanning_forest(src, dst, weight),
        graphs.Graph(n, src, dst, weight),
    )


@settings(deadline=None)
@given(graphs.graphs())
def test_maximum_is_the_minimum_of_the_reversed_order(graph: graphs.Graph) -> None:
    _, ranks = np.unique(graph.weight + graph.weight.dtype.type(0), return_inverse=True)
    reverse = graph._replace(weight=-ranks.astype(np.int64))
    best = mndmst.minimum_spanning_forest(
        graph.src, graph.dst, graph.weight, graph.n, maximum=True
    )
    answer = oracle.kruskal(*reverse)
    assert best.src.tolist() == answer.src.tolist()
    assert best.dst.tolist() == answer.dst.tolist()


def test_total_is_exact() -> None:
    forest = mndmst.minimum_spanning_forest([0, 1], [1, 2], [2**53, 1])
    assert forest.total_weight == 2**53 + 1
    assert repr(forest) == f"Forest(2 edges, 1 tree, total weight {2**53 + 1})"


def matrix_of(graph: graphs.Graph, both: bool) -> sparse.csr_array:
    """Return the lightest edges above the diagonal, or on both sides of it."""
    lightest: dict[tuple[int, int], object] = {}
    for u, v, w in zip(
        graph.src.tolist(), graph.dst.tolist(), graph.weight, strict=True
    ):
        pair = (min(u, v), max(u, v))
        if u != v:
            lightest[pair] = min(w, lightest.get(pair, w))
    low, high = np.array([*lightest], np.int64).reshape(-1, 2).T
    weight = np.array([*lightest.values()], graph.weight.dtype)
    shape = (graph.n, graph.n)
    upper = sparse.coo_array((weight, (low, high)), shape=shape)
    if not both:
        return upper.tocsr()
    ends = (np.r_[low, high], np.r_[high, low])
    return sparse.coo_array((np.r_[weight, weight], ends), shape=shape).tocsr()


@settings(deadline=None)
@given(graphs.graphs(), st.booleans())
def test_matrix(graph: graphs.Graph, both: bool) -> None:
    tree = mndmst.minimum_spanning_tree(matrix_of(graph, both)).tocoo()
    answer = oracle.kruskal(*graph)
    assert tree.dtype == graph.weight.dtype
    assert tree.row.tolist() == answer.src.tolist()
    assert tree.col.tolist() == answer.dst.tolist()
    assert tree.data.tolist() == answer.weight.tolist()


def scipy_tree(graph: sparse.csr_array) -> sparse.csr_matrix:
    """Return SciPy's tree; before 1.15 it takes indices of 32 bits alone."""
    narrow = graph.indices.astype(np.int32), graph.indptr.astype(np.int32)
    return minimum_spanning_tree(sparse.csr_array((graph.data, *narrow), graph.shape))


def test_zero_weights_stay() -> None:
    """SciPy drops an edge of weight zero from its result."""
    graph = sparse.csr_array(([0, 1, 1], ([0, 1, 0], [1, 2, 2])), shape=(3, 3))
    assert scipy_tree(graph).nnz == 1
    tree = mndmst.minimum_spanning_tree(graph)
    assert tree.nnz == 2
    assert tree.tocoo().data.tolist() == [0, 1]


def test_large_integers_are_not_rounded() -> None:
    """SciPy computes in float64, where these two weights are equal."""
    graph = sparse.csr_array(
        (np.array([2**53 + 1, 2**53, 1]), ([0, 0, 1], [1, 2, 2])), shape=(3, 3)
    )
    tree = mndmst.minimum_spanning_tree(graph)
    assert tree.dtype == np.int64
    assert sorted(tree.data.tolist()) == [1, 2**53]


@pytest.mark.parametrize("dtype", ["int8", "float32", "float64", "uint64"])
def test_types_are_kept(dtype: str) -> None:
    graph = sparse.coo_array(
        (np.array([1, 2, 3], dtype), ([0, 1, 0], [1, 2, 2])), shape=(3, 3)
    ).tocsr()
    wide = "int32" if dtype == "int8" else dtype
    assert mndmst.minimum_spanning_tree(graph).dtype == wide


def test_dense_and_old_matrices() -> None:
    dense = np.array([[0, 8, np.inf, 3], [0, 0, 2, 5], [0, np.nan, 0, 6], [0] * 4])
    tree = mndmst.minimum_spanning_tree(dense)
    assert tree.tocoo().data.tolist() == [3, 2, 5]
    old = mndmst.minimum_spanning_tree(sparse.csr_matrix(np.triu(np.ones((4, 4)))))
    assert sparse.isspmatrix_csr(old)


def test_unsorted_and_doubled_entries() -> None:
    """A matrix may hold an entry twice, and its rows need not be sorted."""
    graph = sparse.csr_array(
        (np.array([4, 7, 1]), np.array([2, 1, 2]), np.array([0, 3, 3, 3]))
    )
    assert graph.shape == (3, 3)
    assert mndmst.minimum_spanning_tree(graph).data.tolist() == [7, 1]


def test_bad_input_is_named() -> None:
    with pytest.raises(InputError, match=r"2, 1, 2 entries"):
        mndmst.minimum_spanning_forest([0, 1], [1], [1, 2])
    with pytest.raises(InputError, match="names vertex 9, but ids run from 0 to 3"):
        mndmst.minimum_spanning_forest([0, 9], [1, 1], [1, 2], 4)
    with pytest.raises(InputError, match=r"weight of entry 0 .*NaN"):
        mndmst.minimum_spanning_forest([0], [1], [np.nan])
    with pytest.raises(ConfigError, match="num_vertices is -3"):
        mndmst.minimum_spanning_forest([], [], [], num_vertices=-3)
    with pytest.raises(InputError, match="give integers"):
        mndmst.minimum_spanning_forest([0.5], [1], [1])
    with pytest.raises(InputError, match="give numbers"):
        mndmst.minimum_spanning_forest(["a"], ["b"], ["1"])
    with pytest.raises(InputError, match="square"):
        mndmst.minimum_spanning_tree(sparse.csr_array((2, 3)))
    with pytest.raises(InputError, match=r"NaN at \(0, 1\)"):
        mndmst.minimum_spanning_tree(
            sparse.csr_array(([np.nan], ([0], [1])), shape=(2, 2))
        )


def test_tables() -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"a": [0, 1, 2], "b": [1, 2, 0], "w": [5, 3, 4]})
    forest = mndmst.minimum_spanning_forest(table.a, table.b, table.w)
    assert forest.to_pandas().values.tolist() == [[0, 2, 4], [1, 2, 3]]
    with pytest.raises(InputError, match="weight has 1 missing value"):
        holes = pandas.array([1, None, 2], "Int64")
        mndmst.minimum_spanning_forest(table.a, table.b, holes)


def test_real_graphs(real_graph) -> None:
    """As SciPy, with the weight known and the trees known."""
    from mndmst.io.formats import read_edges

    edges = read_edges(real_graph.path)
    n = edges.num_vertices
    graph = sparse.coo_array((edges.weight, (edges.src, edges.dst)), shape=(n, n))
    # Listed in both directions in some files: SciPy adds what stands twice.
    forest = mndmst.minimum_spanning_forest(edges.src, edges.dst, edges.weight, n)
    assert forest.total_weight == real_graph.weight
    assert forest.num_trees == real_graph.trees
    graph = graph.tocsr()
    if graph.nnz == len(edges):
        tree = mndmst.minimum_spanning_tree(graph)
        assert int(tree.data.sum(dtype=np.int64)) == real_graph.weight
        if (graph.data > 0).all():
            assert int(scipy_tree(graph).sum()) == real_graph.weight
