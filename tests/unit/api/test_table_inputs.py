"""Tables of pandas, Polars and PyArrow: columns are found as in files."""

from pathlib import Path

import numpy as np
import pytest

import mndmst
from mndmst import ConfigError, InputError

pandas = pytest.importorskip("pandas", reason="makes the tables")

SRC, DST, W = [0, 0, 1], [1, 2, 2], [8.0, 1.5, 2.5]


def tables(columns: dict):
    """Yield a table of every package that is installed."""
    yield pandas.DataFrame(columns)
    yield pandas.DataFrame(columns, index=[7, 7, 9])
    yield pandas.DataFrame(columns).convert_dtypes()
    arrow = pytest.importorskip("pyarrow", reason="makes tables")
    yield arrow.table(columns)
    polars = pytest.importorskip("polars", reason="makes tables")
    yield polars.DataFrame(columns)


@pytest.mark.parametrize(
    "columns",
    [
        {"source": SRC, "target": DST, "cost": W},
        {"weight": W, "source": SRC, "target": DST},
        {"id": [5, 6, 7], "source": SRC, "target": DST, "cost": W, "reverse_cost": W},
        {"u": SRC, "v": DST, "key": [0, 0, 0], "length": W},
        {"Source": SRC, "Target": DST, "Id": [1, 2, 3], "Weight": W},
        {"cost": W, "from": SRC, "to": DST},
        {"source": SRC, "target": DST, "distance": W, "name": ["a", "b", "c"]},
    ],
    ids=lambda columns: ",".join(columns),
)
def test_known_names_in_any_order(columns: dict) -> None:
    for table in tables(columns):
        forest = mndmst.minimum_spanning_forest(table)
        assert list(forest) == [(0, 2, 1.5), (1, 2, 2.5)]
        assert forest.edge_ids.tolist() == [1, 2]


def test_names_that_are_given() -> None:
    columns = {"way": [1, 2, 3], "a": SRC, "b": DST, "x": W, "y": [1.0, 2.0, 3.0]}
    for table in tables(columns):
        given = {"source": "a", "target": "b"}
        forest = mndmst.minimum_spanning_forest(table, weight="y", **given)
        assert forest.total_weight == 3
        forest = mndmst.minimum_spanning_forest(table, weight="x", **given)
        assert forest.total_weight == 4
        forest = mndmst.minimum_spanning_forest(table, weight="", **given)
        assert forest.total_weight == 2
        with pytest.raises(ConfigError, match="has no such column"):
            mndmst.minimum_spanning_forest(table, weight="z", **given)
        with pytest.raises(InputError, match="hold numbers"):
            mndmst.minimum_spanning_forest(table, **given)
        with pytest.raises(TypeError, match="name of a column"):
            mndmst.minimum_spanning_forest(table, weight=W, **given)


def test_names_of_vertices_in_tables() -> None:
    columns = {"from": ["a", "a", "b"], "to": ["b", "c", "c"], "km": W}
    for table in tables(columns):
        forest = mndmst.minimum_spanning_forest(table, weight="km")
        assert list(forest) == [("a", "c", 1.5), ("b", "c", 2.5)]
        assert forest.to_pandas()["weight"].tolist() == [1.5, 2.5]


def test_weights_are_one_where_no_column_has_numbers() -> None:
    columns = {"source": SRC, "target": DST, "street": ["x", "y", "z"]}
    for table in tables(columns):
        assert mndmst.minimum_spanning_forest(table).total_weight == 2


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"p": SRC, "q": DST, "weight": W}, "no two columns have known names"),
        ({"source": SRC, "target": DST, "lanes": W}, "no column has a known name"),
        ({"source": SRC, "target": DST, "cost": W, "length": W}, "may be the weight"),
        ({"source": SRC, "target": DST, "weight": ["a", "b", "c"]}, "not hold numbers"),
    ],
)
def test_columns_are_never_guessed(columns: dict, message: str) -> None:
    for table in tables(columns):
        with pytest.raises(InputError, match=message) as caught:
            mndmst.minimum_spanning_forest(table)
        assert "--" not in str(caught.value) and "\n" not in str(caught.value)


def test_tables_without_names() -> None:
    matrix = pandas.DataFrame(np.array([SRC, DST, W]).T)
    with pytest.raises(InputError, match="column named 0"):
        mndmst.minimum_spanning_forest(matrix)
    doubled = pandas.DataFrame([[0, 1, 2]], columns=["u", "v", "v"])
    with pytest.raises(InputError, match="more than once"):
        mndmst.minimum_spanning_forest(doubled)


@pytest.mark.parametrize("named", [False, True])
def test_a_table_that_may_be_a_matrix_is_refused_with_the_remedy(
    named: bool,
) -> None:
    names = ["oslo", "bern", "rome"]
    columns: dict = {name: [0.0, 1.0, 2.0] for name in names}
    for table in tables({"city": names} | columns if named else columns):
        with pytest.raises(InputError, match=r"matrix of distances.*single_linkage"):
            mndmst.minimum_spanning_forest(table)
    square = np.array([[0, 0, 2], [0, 0, 3], [2, 3, 0.0]])  # a distance of 0
    table = pandas.DataFrame(square, index=names, columns=names)
    heights = mndmst.single_linkage(table, metric="precomputed")[:, 2]
    assert heights.tolist() == [0, 2]


def test_the_remedy_for_condensed_distances_keeps_zeros() -> None:
    """A square matrix of them would lose the distance 0, which is no edge there."""
    distances = np.array([0.0, 5, 9, 6, 8, 7])
    with pytest.raises(InputError, match=r"single_linkage.*, metric='precomputed'\)"):
        mndmst.minimum_spanning_tree(distances)
    heights = mndmst.single_linkage(distances, metric="precomputed")[:, 2]
    assert heights.tolist() == [0, 5, 7]


def test_missing_values_are_named_by_their_column() -> None:
    table = pandas.DataFrame({"u": [0, None], "v": [1, 2], "w": [1.0, 2.0]})
    with pytest.raises(InputError, match="u has 1 missing value"):
        mndmst.minimum_spanning_forest(table)


def test_a_lazy_table_is_named_with_its_remedy() -> None:
    polars = pytest.importorskip("polars", reason="makes tables")
    lazy = polars.LazyFrame({"u": [0], "v": [1], "w": [2.5]})
    with pytest.raises(InputError, match=r"LazyFrame is not a graph; give its collect"):
        mndmst.minimum_spanning_forest(lazy)
    for points in (mndmst.HDBSCAN(2).fit, mndmst.single_linkage):
        with pytest.raises(InputError, match=r"give its collect"):
            points(lazy)


@pytest.mark.parametrize("package", ["pandas", "polars", "pyarrow"])
def test_times_beside_numbers_are_not_coordinates(package: str) -> None:
    days = np.array(["2020-01-01", "2020-01-03", "2020-02-03"], "M8[ms]")
    columns = {"x": np.arange(3.0), "day": days}
    module = pytest.importorskip(package, reason="makes tables")
    table = getattr(module, "DataFrame", getattr(module, "table", None))(columns)
    for points in (mndmst.HDBSCAN(2).fit, mndmst.single_linkage):
        with pytest.raises(InputError, match="column day has datetime64"):
            points(table)


@pytest.mark.parametrize("package", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize(
    ("values", "problem"),
    [
        (["a", "b", "c"], r"column y has 'a' in row 0 \(from 0\)"),
        (["1", "2", "x"], r"column y has 'x' in row 2 \(from 0\)"),
        ([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]], r"column y has lists.*numpy\.stack"),
    ],
)
def test_columns_of_words_and_lists_are_named(
    package: str, values: list, problem: str
) -> None:
    module = pytest.importorskip(package, reason="makes tables")
    make = getattr(module, "DataFrame", getattr(module, "table", None))
    for columns in ({"y": values}, {"x": [0.0, 1.0, 2.0], "y": values}):
        for points in (mndmst.HDBSCAN(2).fit, mndmst.single_linkage):
            with pytest.raises(InputError, match=problem):
                points(make(columns))


@pytest.mark.parametrize("kind", [str, Path])
def test_a_name_of_a_file_is_refused_with_the_function_that_reads_it(
    kind: type,
) -> None:
    with pytest.raises(InputError, match=r"points\.csv'.* mndmst\.read_points reads"):
        mndmst.HDBSCAN(2).fit(kind("points.csv"))


def test_a_column_of_lists_alone_is_refused() -> None:
    lists = pandas.Series([np.zeros(2), np.ones(2), np.ones(2)])
    with pytest.raises(InputError, match=r"X: has lists.*numpy\.stack"):
        mndmst.HDBSCAN(2).fit(lists)
    assert len(mndmst.HDBSCAN(2).fit(np.stack(lists)).labels_) == 3


def test_vertices_without_an_edge() -> None:
    for table in tables({"u": [0], "v": [1], "w": [2.5]}):
        assert mndmst.minimum_spanning_forest(table, num_vertices=4).num_trees == 3
        nodes = [0, 1, 9]
        assert mndmst.minimum_spanning_forest(table, nodes=nodes).num_trees == 2


def test_names_of_columns_go_with_tables() -> None:
    for graph in ([("a", "b", 1)], np.eye(3)):
        with pytest.raises(ConfigError, match="source and target name columns"):
            mndmst.minimum_spanning_forest(graph, source="a")
    with pytest.raises(ConfigError, match="source and target name columns"):
        mndmst.minimum_spanning_forest([0], [1], [1], target="a")
