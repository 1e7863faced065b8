"""Matrices as SciPy reads them: masks, entries stored twice, and damaged arrays."""

import re

import numpy as np
import oracle
import pytest
import scipy.sparse as sparse
from numpy import ma
from scipy.sparse.csgraph import minimum_spanning_tree as scipy_tree
from scipy.spatial.distance import pdist

import mndmst
from mndmst import InputError

FORMS = ["csr", "csc", "coo", "bsr", "lil", "dok", "dia"]


def edges_of(tree: sparse.csr_array) -> list[tuple]:
    coo = tree.tocoo()
    columns = coo.row.tolist(), coo.col.tolist(), coo.data.tolist()
    return list(zip(*columns, strict=True))


def test_a_mask_means_no_edge_and_zero_is_a_weight() -> None:
    matrix = ma.masked_array([[9, 0, 2], [0, 9, 3], [2, 3, 9]], mask=np.eye(3))
    assert edges_of(mndmst.minimum_spanning_tree(matrix)) == [(0, 1, 0), (0, 2, 2)]
    assert scipy_tree(matrix).sum() == 2
    marked = ma.masked_equal([[-1, 0, -1], [-1, -1, 5], [-1, -1, -1]], -1)
    assert edges_of(mndmst.minimum_spanning_tree(marked)) == [(0, 1, 0), (1, 2, 5)]
    nothing = ma.masked_all((3, 3))
    assert edges_of(mndmst.minimum_spanning_tree(nothing)) == []
    everything = ma.masked_array([[0.0, 2.5], [1.5, 0.0]])
    assert edges_of(mndmst.minimum_spanning_tree(everything)) == [(0, 1, 1.5)]
    infinite = ma.masked_array([[0, np.inf], [np.inf, 0]], mask=np.eye(2))
    assert edges_of(mndmst.minimum_spanning_tree(infinite)) == [(0, 1, np.inf)]
    with pytest.raises(InputError, match=r"NaN at \(0, 1\)"):
        mndmst.minimum_spanning_tree(
            ma.masked_array([[0, np.nan], [1, 0]], mask=np.eye(2))
        )


def test_masked_columns_are_refused() -> None:
    masked = ma.masked_array([1, 2], mask=[False, True])
    for columns in (([0, 1], [1, 2], masked), (masked, [1, 3], [1, 2])):
        with pytest.raises(InputError, match="is masked at position 1"):
            mndmst.minimum_spanning_forest(*columns)
    whole = ma.masked_array([1, 2])
    assert mndmst.minimum_spanning_forest([0, 1], [1, 2], whole).total_weight == 3


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "float32", "uint64"])
def test_of_entries_stored_twice_the_lightest_counts(dtype: str) -> None:
    values = np.array([5, 3, 2], dtype)
    graph = sparse.coo_array((values, ([0, 0, 1], [1, 1, 2])), shape=(3, 3))
    assert edges_of(mndmst.minimum_spanning_tree(graph)) == [(0, 1, 3), (1, 2, 2)]
    large = np.array([100, 100], "int8")
    graph = sparse.coo_array((large, ([0, 0], [1, 1])), shape=(2, 2))
    assert edges_of(mndmst.minimum_spanning_tree(graph)) == [(0, 1, 100)]
    both = sparse.coo_array((values[:2], ([0, 1], [1, 0])), shape=(2, 2))
    assert edges_of(mndmst.minimum_spanning_tree(both)) == [(0, 1, 3)]
    doubled = sparse.csc_array(
        (values, np.array([0, 0, 1]), np.array([0, 0, 2, 3])), shape=(3, 3)
    )
    assert edges_of(mndmst.minimum_spanning_tree(doubled)) == [
        (0, 1, 3),
        (1, 2, 2),
    ] or (doubled.has_canonical_format)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", range(4))
def test_every_format_gives_the_forest_of_its_entries(form: str, seed: int) -> None:
    random = np.random.default_rng(seed)
    dense = np.triu(random.integers(0, 4, (24, 24)), 1)
    matrix = sparse.coo_array(dense + dense.T * (seed % 2)).asformat(form)
    src, dst = np.nonzero(dense)
    answer = oracle.kruskal(24, src, dst, dense[src, dst])
    expected = [answer.src.tolist(), answer.dst.tolist(), answer.weight.tolist()]
    assert edges_of(mndmst.minimum_spanning_tree(matrix)) == list(
        zip(*expected, strict=True)
    )
    assert mndmst.minimum_spanning_forest(matrix).digest == answer.digest


@pytest.mark.parametrize("dtype", ["float16", "bool", "int8", "uint8", ">f8", ">i4"])
def test_dense_matrices_of_any_numbers(dtype: str) -> None:
    matrix = np.array([[0, 1, 1], [0, 0, 1], [0, 0, 0]]).astype(dtype)
    for given in (
        matrix,
        np.asfortranarray(matrix),
        matrix[::-1][::-1],
        matrix.tolist(),
    ):
        assert len(edges_of(mndmst.minimum_spanning_tree(given))) == 2
    matrix.flags.writeable = False
    assert len(edges_of(mndmst.minimum_spanning_tree(matrix))) == 2


def test_a_table_that_is_a_matrix() -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame([[0, 2, 7], [0, 0, 3], [0, 0, 0]])
    assert edges_of(mndmst.minimum_spanning_tree(table)) == [(0, 1, 2), (1, 2, 3)]
    with pytest.raises(InputError, match=r"shape \(3, 2\).*tables"):
        mndmst.minimum_spanning_tree(table[[0, 1]])
    with pytest.raises(TypeError, match="type object; give numbers"):
        mndmst.minimum_spanning_tree(pandas.DataFrame([[0, "x"], [0, 0]]))


def damaged(**arrays: object) -> sparse.csr_array:
    """Return a matrix whose arrays are replaced after SciPy has checked them."""
    matrix = sparse.csr_array(
        (np.array([1, 2, 3]), np.array([1, 2, 0]), np.array([0, 1, 2, 3])), (3, 3)
    )
    for name, array in arrays.items():
        setattr(matrix, name, np.array(array))
    return matrix


@pytest.mark.parametrize("form", ["csr", "csc"])
@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        (
            {"indptr": [0, 2, 1, 3]},
            "indptr of the CS. matrix falls from 2 to 1 at row 1",
        ),
        ({"indptr": [0, 1, 3]}, "has 3 entries, the first 0; 3 rows need 4"),
        ({"indptr": np.empty(0, "i4")}, "has 0 entries, the first missing"),
        ({"indptr": [1, 1, 2, 3]}, "has 4 entries, the first 1"),
        ({"indptr": [0, 1, 2, 9]}, "3 indices and 3 data, and indptr ends at 9"),
        ({"indptr": [0.0, 1.0, 2.0, 3.0]}, "indptr .* has type float64"),
        ({"data": [1, 2]}, "3 indices and 2 data"),
        ({"data": [1, 2, 3, 4]}, "3 indices and 4 data"),
        ({"indices": [1, 2]}, "2 indices and 3 data"),
        ({"indices": [1, 2, 3]}, "entry 2 of the matrix is in row or column 3"),
        ({"indices": [1, -1, 2]}, "entry 1 of the matrix is in row or column -1"),
        ({"data": [1.0, float("nan"), 2.0]}, r"NaN at \((1, 2|2, 1)\)"),
        ({"data": ["a", "b", "c"]}, "values of type <U1; give numbers"),
        ({"data": [1 + 2j, 1, 1]}, "values of type complex128; give numbers"),
        ({"data": [None, 1, 2]}, "values of type object; give numbers"),
    ],
)
def test_damaged_arrays_are_named(arrays: dict, message: str, form: str) -> None:
    matrix = damaged(**arrays)
    if form == "csc":
        other = sparse.csc_array((3, 3), dtype=np.int64)
        other.data, other.indices = matrix.data, matrix.indices
        other.indptr = matrix.indptr
        matrix = other
    with pytest.raises(InputError, match=message) as caught:
        mndmst.minimum_spanning_tree(matrix)
    assert "\n" not in str(caught.value)
    with pytest.raises(InputError, match=message):
        mndmst.minimum_spanning_forest(matrix)


@pytest.mark.parametrize(
    ("matrix", "kind", "message"),
    [
        (None, TypeError, "not a value of type NoneType"),
        (2.5, TypeError, "not a value of type float"),
        ("abc", TypeError, "not a value of type str"),
        ([["a", "b"], ["c", "d"]], TypeError, "type <U1; give numbers"),
        (np.eye(2) * 1j, TypeError, "type complex128"),
        (np.array([[None, 1], [1, None]]), TypeError, "type object"),
        (np.zeros((2, 2), "m8[s]"), TypeError, "timedelta64"),
        (pdist(np.eye(4)), ValueError, "condensed distances go to"),
        ([[0, 1], [1]], ValueError, "rows differ"),
        (np.zeros((2, 3)), ValueError, re.escape("shape (2, 3)")),
        (np.zeros((2, 2, 2)), ValueError, re.escape("shape (2, 2, 2)")),
        (sparse.csr_array((4, 2)), ValueError, re.escape("shape (4, 2)")),
    ],
)
def test_values_that_are_no_matrices(matrix, kind: type, message: str) -> None:
    with pytest.raises(kind, match=message) as caught:
        mndmst.minimum_spanning_tree(matrix)
    assert isinstance(caught.value, InputError)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("matrix", [np.zeros((0, 0)), [[]], np.zeros((1, 1)), [[0]]])
def test_matrices_without_edges(matrix) -> None:
    if np.shape(matrix) == (1, 0):
        with pytest.raises(InputError, match="square"):
            mndmst.minimum_spanning_tree(matrix)
    else:
        assert mndmst.minimum_spanning_tree(matrix).nnz == 0
