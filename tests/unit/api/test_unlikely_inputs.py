"""Every public function, given values that it cannot take: one line, never a crash.

A call either works or raises an error of the package that is also the one of Python,
whose message is one line.
"""

import datetime
import decimal
import fractions
import inspect
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse

import mndmst
from mndmst import ConfigError, InputError, MndmstError, ServiceError
from mndmst.api.inputs import as_array

NO_NUMBERS: dict[str, object] = {
    "None": None,
    "a text": "abc",
    "bytes": b"abc",
    "a number": 3,
    "a dict": {1: 2},
    "a set": {1, 2, 3},
    "a generator": (i for i in range(3)),
    "texts": ["10", "9", "8"],
    "an array of texts": np.array(["10", "9", "8"]),
    "objects": [object(), object(), object()],
    "mixed": [1, "a", None],
    "holes": [1, None, 2],
    "tuples": [(1, 2), (3, 4), (5, 6)],
    "lists": [[1], [2], [3]],
    "complex": np.array([1j, 2, 3]),
    "listed complex": [1j, 2, 3],
    "timedeltas": np.array([1, 2, 3], "m8[s]"),
    "listed timedeltas": [datetime.timedelta(i) for i in range(3)],
    "datetimes": np.array(["2024-01-01"] * 3, "M8[D]"),
    "decimals": [decimal.Decimal(i) for i in range(3)],
    "fractions": [fractions.Fraction(i, 3) for i in range(3)],
    "two axes": np.zeros((3, 3)),
    "no axes": np.array(3),
    "records": np.zeros(3, [("a", "i4")]),
    "masked": np.ma.masked_array([1, 2, 3], mask=[1, 0, 0]),
    "NaN": [1.0, float("nan"), 3.0],
    "longdouble": np.array([1, 2, 3], np.longdouble),
    "too large": [1 << 70, 1, 2],
    "beyond both": [-1, 1 << 63, 0],
    "rounded": [(1 << 53) + 1, 0.5, 2],
}


@pytest.mark.parametrize("name", NO_NUMBERS)
def test_weights_that_are_no_numbers(name: str) -> None:
    with pytest.raises(InputError) as caught:
        mndmst.minimum_spanning_forest([0, 1, 2], [1, 2, 3], NO_NUMBERS[name])
    assert "weight" in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (["10", "9", "8"], r"weight has '10' \(str\) at position 0; give numbers"),
        ([1, None, 2], r"weight has a missing value \(None\) at position 1"),
        ([(1, 2), 2, 3], "weight has a tuple at position 0; give one dimension"),
        ([1, 1j, 3], r"weight has '1j' \(complex\) at position 1"),
        ([1, datetime.timedelta(2), 3], r"weight has .* \(timedelta\) at position 1"),
        ([(1 << 53) + 1, 0.5, 2], "float64 does not hold both exactly"),
        ([-1, 1 << 63, 0], "64 bits, signed or unsigned, do not hold both"),
        (None, "weight is None; give an array or a list"),
    ],
)
def test_what_is_wrong_with_weights_is_said(weight: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        mndmst.minimum_spanning_forest([0, 1, 2], [1, 2, 3], weight)


NUMBERS: dict[str, Callable[[list[int]], object]] = {
    "a list": list,
    "a tuple": tuple,
    "read-only": lambda values: read_only(np.array(values)),
    "strided": lambda values: np.repeat(values, 2)[::2],
    "reversed": lambda values: np.array(values[::-1])[::-1],
    "big-endian": lambda values: np.array(values, ">i8"),
    "big-endian, 32 bits": lambda values: np.array(values, ">i4"),
    "a column": lambda values: np.array([values, values]).T[:, 0],
    "unaligned": lambda values: unaligned(np.array(values)),
    "objects": lambda values: np.array(values, object),
    "NumPy's numbers": lambda values: [np.int64(value) for value in values],
    "numbers of several types": lambda values: [np.int8(values[0]), *values[1:]],
    "uint8": lambda values: np.array(values, np.uint8),
    "range": lambda values: range(values[0], values[-1] + 1),
    "a masked array": np.ma.masked_array,
    "pandas": lambda values: imported("pandas").Series(values),
    "pandas, with other labels": lambda values: imported("pandas").Series(
        values, index=[9] * len(values)
    ),
    "pandas Int64": lambda values: imported("pandas").array(values, dtype="Int64"),
    "pandas objects": lambda values: imported("pandas").Series(values, dtype=object),
    "pandas Index": lambda values: imported("pandas").Index(values),
    "PyArrow": lambda values: imported("pyarrow").array(values),
    "PyArrow chunks": lambda values: imported("pyarrow").chunked_array([values]),
    "Polars": lambda values: imported("polars").Series(values),
}


def imported(name: str):
    return pytest.importorskip(name, reason=f"reads columns of {name}")


def read_only(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


def unaligned(array: np.ndarray) -> np.ndarray:
    raw = np.zeros(array.nbytes + 1, np.uint8)
    view = raw[1:].view(array.dtype)
    view[:] = array
    return view


@pytest.mark.parametrize("name", NUMBERS)
def test_columns_of_every_kind(name: str) -> None:
    make = NUMBERS[name]
    forest = mndmst.minimum_spanning_forest(
        make([0, 1, 2]), make([1, 2, 3]), make([5, 6, 7])
    )
    assert list(forest) == [(0, 1, 5), (1, 2, 6), (2, 3, 7)]
    assert forest.edge_ids.tolist() == [0, 1, 2]
    assert forest.connected(make([0, 1, 2]), make([1, 2, 3])).all()


def test_floats_of_every_kind_are_weights() -> None:
    arrow, pandas = imported("pyarrow"), imported("pandas")
    for weight in (
        np.array([0.5, 1.5], np.float16),
        np.array([0.5, 1.5], ">f4"),
        [0.5, np.float32(1.5)],
        [True, 1.5],
        arrow.array(np.array([0.5, 1.5], np.float16)),
        pandas.array([0.5, 1.5], dtype="Float64"),
    ):
        forest = mndmst.minimum_spanning_forest([0, 1], [1, 2], weight)
        assert len(forest) == 2 and forest.total_weight in (2.0, 2.5)


def test_columns_of_arrow_that_are_no_numbers() -> None:
    arrow = imported("pyarrow")
    flags = arrow.array([True, False])
    forest = mndmst.minimum_spanning_forest([0, 1], [1, 2], flags)
    assert forest.total_weight == 1
    for wrong in (
        arrow.array([decimal.Decimal("1.5"), decimal.Decimal(2)]),
        arrow.array(["1", "2"]),
        arrow.array([[1], [2]]),
        arrow.array([1, None]),
        arrow.array([{"a": 1}, {"a": 2}]),
    ):
        with pytest.raises(InputError, match="weight"):
            mndmst.minimum_spanning_forest([0, 1], [1, 2], wrong)


def test_missing_values_of_tables() -> None:
    pandas, polars = imported("pandas"), imported("polars")
    for holes in (
        pandas.array([1, None], dtype="Int64"),
        pandas.Series([1.5, None]),
        pandas.Series([1, pandas.NA], dtype=object),
        polars.Series([1, None]),
    ):
        with pytest.raises(
            InputError, match="weight has 1 missing value at position 1"
        ):
            mndmst.minimum_spanning_forest([0, 1], [1, 2], holes)
        with pytest.raises(InputError, match="src has"):
            mndmst.minimum_spanning_forest(holes, [1, 2], [1, 2])


@pytest.mark.parametrize("values", [[None, 5, None], [7, 5, None], ["a", None, None]])
def test_the_first_missing_value_is_named_by_its_position(values: list) -> None:
    pandas, polars = imported("pandas"), imported("polars")
    arrow = imported("pyarrow")
    count, first = values.count(None), values.index(None)
    said = f"2 missing values, the first at position {first};"
    said = said if count == 2 else f"1 missing value at position {first};"
    parts = [arrow.array(values[:1], arrow.array(values).type), arrow.array(values[1:])]
    for column in (
        pandas.Series(values),
        pandas.Series(values, index=[30, 20, 10]),  # positions, not labels
        pandas.array(values, dtype="Int64" if 5 in values else "string"),
        polars.Series(values),
        arrow.array(values),
        arrow.array([0, *values] if 5 in values else ["", *values]).slice(1),
        arrow.chunked_array([p.cast(arrow.array(values).type) for p in parts]),
        arrow.array(values).dictionary_encode(),
    ):
        with pytest.raises(InputError, match=f"sender has {said}"):
            as_array(column, "sender")


COUNTS: dict[str, object] = {
    "a fraction": 2.5, "a text": "3", "a float": 3.0, "a bool": True, "a list": [3],
    "NaN": float("nan"), "complex": 1j, "negative": -3, "far too large": 10**9,
}  # fmt: skip


@pytest.mark.parametrize("value", COUNTS.values(), ids=COUNTS.keys())
def test_counts_that_are_none(value: object) -> None:
    calls = [lambda: mndmst.minimum_spanning_forest([0], [1], [1], threads=value)]
    calls.append(lambda: mndmst.minimum_spanning_tree(np.zeros((2, 2)), threads=value))
    if value != 10**9:
        calls.append(lambda: mndmst.minimum_spanning_forest([0], [1], [1], value))
    for call in calls:
        with pytest.raises(ConfigError, match=r"threads|num_vertices") as caught:
            call()
        expected = ValueError if isinstance(value, int) else TypeError
        assert isinstance(caught.value, expected) and "\n" not in str(caught.value)


def test_far_too_many_vertices() -> None:
    with pytest.raises(InputError, match=r"at most 2\^32 - 1 are supported"):
        mndmst.minimum_spanning_forest([0], [1], [1], 1 << 40)
    with pytest.raises(InputError, match=r"at most 2\^48"):
        mndmst.minimum_spanning_forest([0], [1], [1], 1 << 80)


UNLIKELY: dict[str, object] = NO_NUMBERS | {
    "zero": 0,
    "a fraction": 2.5,
    "a bool": True,
    "not a number": float("nan"),
    "infinite": float("inf"),
    "huge": 10**30,
    "a sparse matrix": scipy.sparse.eye_array(5, format="csr"),
    "empty": [],
    "an empty array": np.empty((0, 2)),
    "infinity": np.full((3, 2), np.inf),
    "NaN points": np.full((3, 2), np.nan),
    "an object": object(),
    "a type": int,
    "a function": len,
    "negative": -1,
}
PUBLIC: dict[str, Callable[[object], object]] = {
    "minimum_spanning_forest, src": lambda x: mndmst.minimum_spanning_forest(
        x, [1, 2, 3], [1, 2, 3]
    ),
    "minimum_spanning_forest, dst": lambda x: mndmst.minimum_spanning_forest(
        [1, 2, 3], x, [1, 2, 3]
    ),
    "minimum_spanning_forest, graph": lambda x: mndmst.minimum_spanning_forest(x),
    "minimum_spanning_forest, nodes": lambda x: mndmst.minimum_spanning_forest(
        [0], [1], [1], nodes=x
    ),
    "minimum_spanning_tree": mndmst.minimum_spanning_tree,
}
FOREST = mndmst.minimum_spanning_forest([0, 1, 2], [1, 2, 3], [5, 6, 7])
NAMED = mndmst.minimum_spanning_forest(["a", "b"], ["b", "c"], [5, 6])
PUBLIC |= {
    "connected": lambda x: FOREST.connected(x, 0),
    "path_max": lambda x: FOREST.path_max(x, 0),
    "path": lambda x: FOREST.path(x, 0),
    "cut": FOREST.cut,
    "component_sizes": FOREST.component_sizes,
    "components": FOREST.components,
    "by name, connected": lambda x: NAMED.connected(x, "a"),
    "by name, path": lambda x: NAMED.path(x, "a"),
    "by name, number_of": NAMED.number_of,
}


POINTS = np.random.default_rng(1).random((20, 2))
LINKAGE = mndmst.single_linkage(POINTS)
TREE = mndmst.condensed_tree(LINKAGE, 3)
PUBLIC |= {
    "single_linkage": mndmst.single_linkage,
    "single_linkage, metric": lambda x: mndmst.single_linkage(POINTS, x),
    "single_linkage, threads": lambda x: mndmst.single_linkage(POINTS, threads=x),
    "neighbour_graph": mndmst.neighbour_graph,
    "neighbour_graph, neighbours": lambda x: mndmst.neighbour_graph(POINTS, x),
    "neighbour_graph, min_samples": lambda x: mndmst.neighbour_graph(POINTS, 3, x),
    "condensed_tree": lambda x: mndmst.condensed_tree(x, 3),
    "condensed_tree, size": lambda x: mndmst.condensed_tree(LINKAGE, x),
    "approximate_predict, model": lambda x: mndmst.approximate_predict(x, [[1.0]]),
    "flat_clusters": mndmst.flat_clusters,
    "flat_clusters, epsilon": lambda x: mndmst.flat_clusters(TREE, epsilon=x),
    "clusters_within": lambda x: mndmst.clusters_within(x, 3),
    "clusters_within, threshold": lambda x: mndmst.clusters_within(FOREST, x),
    "clusters_by_count": lambda x: mndmst.clusters_by_count(FOREST, x),
    "read_points": mndmst.read_points,
    "example_points": lambda x: mndmst.example_points(x, 10),
    "example_points, count": lambda x: mndmst.example_points("blobs", x),
    "solve": mndmst.solve,
    "solve, output": lambda x: mndmst.solve("nothing", output=x),
    "solve, config": lambda x: mndmst.solve("nothing", config=x),
    "solve, memory": lambda x: mndmst.solve("nothing", memory=x),
    "components": mndmst.components,
    "verify": lambda x: mndmst.verify("nothing", x),
    "update": lambda x: mndmst.update("nothing", "nothing", x, "new"),
    "partition": lambda x: mndmst.partition(x, "nothing"),
    "partition, parts": lambda x: mndmst.partition("nothing", "nothing", x),
    "Forest.read": mndmst.Forest.read,
    "Forest.write": lambda x: None if isinstance(x, str) else FOREST.write(x),
    "Config": lambda x: mndmst.Config(threads=x),
    "connect": mndmst.connect,
    "draw": lambda x: mndmst.draw(x, "picture.png"),
    "draw, output": lambda x: mndmst.draw(FOREST, x),
    "draw, points": lambda x: mndmst.draw(FOREST, "picture.geojson", points=x),
    "draw, layout": lambda x: mndmst.draw(FOREST, "picture.geojson", layout=x),
}


def test_every_public_function_is_given_unlikely_values() -> None:
    public = {name: getattr(mndmst, name) for name in mndmst.__all__}
    functions = {name for name, value in public.items() if inspect.isfunction(value)}
    assert functions <= {called.partition(",")[0] for called in PUBLIC}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("value", UNLIKELY.values(), ids=UNLIKELY.keys())
@pytest.mark.parametrize("function", PUBLIC.values(), ids=PUBLIC.keys())
def test_unlikely_values_work_or_give_one_line(
    function: Callable[[object], object], value: object
) -> None:
    try:
        function(value)
    except MndmstError as error:
        assert isinstance(error, ValueError | ServiceError)
        assert str(error) and "\n" not in str(error)


@pytest.mark.parametrize(
    ("linkage", "message"),
    [
        ([[0, 1, 1.0, 2], [3, 4, 2.0, 3]], "row 1 of linkage joins 3 and 4"),
        ([[0, -1, 1.0, 2]], "row 0 of linkage joins 0 and -1"),
        ([[0, 0.5, 1.0, 2]], "row 0 of linkage joins 0 and 0.5"),
        ([[0, 1, 1.0, 2], [0, 2, 2.0, 3]], "joins a cluster twice"),
        ([[0, 1, 2.0, 2], [2, 3, 1.0, 3]], "do not ascend"),
        ([[0, 1, np.nan, 2]], "do not ascend"),
        ([[0, 1, 2.0]], "give 4 columns"),
        ([0, 1, 2.0, 2], "give two dimensions"),
    ],
)
def test_damaged_dendrograms(linkage: list, message: str) -> None:
    with pytest.raises(InputError, match=message):
        mndmst.condensed_tree(linkage, 2)


FLAGS: dict[str, Callable[[object], object]] = {
    "maximum": lambda x: mndmst.minimum_spanning_forest([0], [1], [1], maximum=x),
    "tree, maximum": lambda x: mndmst.minimum_spanning_tree(np.eye(3), maximum=x),
    "leaves": lambda x: mndmst.flat_clusters(TREE, leaves=x),
    "Forest.write, labels": lambda x: FOREST.write("nothing.h5", labels=x),
    "Forest.write, overwrite": lambda x: FOREST.write("nothing.h5", overwrite=x),
    "draw, labels": lambda x: mndmst.draw(FOREST, "nothing.png", labels=x),
    "draw, overwrite": lambda x: mndmst.draw(FOREST, "nothing.png", overwrite=x),
    **{
        f"partition, {name}": lambda x, name=name: mndmst.partition(
            "nothing", "no graph", **{name: x}
        )
        for name in ("compact_ids", "symmetrize", "compress", "overwrite")
    },
    **{
        f"solve, {name}": lambda x, name=name: mndmst.solve("nothing", **{name: x})
        for name in ("labels", "resume", "overwrite")
    },
    "components, overwrite": lambda x: mndmst.components("nothing", overwrite=x),
    "update, overwrite": lambda x: mndmst.update("a", "b", "c", "d", overwrite=x),
}


@pytest.mark.parametrize("function", FLAGS.values(), ids=FLAGS.keys())
def test_a_text_is_neither_true_nor_false(
    function: Callable[[object], object], request: pytest.FixtureRequest
) -> None:
    # None leaves the direction open, as the default does
    none = () if "[maximum]" in request.node.name else (None,)
    for value in ("no", "False", 2, *none):
        with pytest.raises(ConfigError, match=f"is {value!r}; give True or False"):
            function(value)


def test_a_file_is_not_a_graph_in_memory() -> None:
    for file in ("roads.csv", Path("roads.csv")):
        with pytest.raises(TypeError, match=r"mndmst\.solve read files"):
            mndmst.minimum_spanning_forest(file)


def test_a_weight_of_nan_is_named_by_the_names_of_its_edge() -> None:
    edges = [("a", "b", 1.0), ("b", "c", float("nan"))]
    with pytest.raises(InputError, match=r"entry 1 .* the edge \('b', 'c'\), is NaN"):
        mndmst.minimum_spanning_forest(edges)
    with pytest.raises(InputError, match=r"entry 0 .* the edge \(-7, 99\), is NaN"):
        mndmst.minimum_spanning_forest([-7], [99], [float("nan")], nodes=[99, -7])


def test_a_graph_of_networkx_is_not_a_matrix() -> None:
    graph = imported("networkx").path_graph(3)
    with pytest.raises(TypeError, match="give it to minimum_spanning_forest"):
        mndmst.minimum_spanning_tree(graph)


def test_queries_name_the_vertex() -> None:
    with pytest.raises(InputError, match="no vertex 9: ids run from 0 to 3"):
        FOREST.connected(0, 9)
    for wrong in ("a", 0.5, None):
        with pytest.raises(TypeError, match="vertices are integers"):
            FOREST.connected(0, wrong)


def test_a_sparse_matrix_of_points_says_how_to_give_it() -> None:
    for function in (mndmst.single_linkage, mndmst.neighbour_graph):
        with pytest.raises(TypeError, match=r"points\.toarray\(\)"):
            function(scipy.sparse.eye_array(5))


def test_masked_distances_are_not_taken_for_numbers() -> None:
    masked = np.ma.masked_array(np.ones((4, 4)), mask=np.eye(4, dtype=bool))
    with pytest.raises(InputError, match="points has masked values"):
        mndmst.single_linkage(masked, "precomputed")


def test_clusters_of_a_named_forest_have_names() -> None:
    assert mndmst.clusters_within(NAMED, 5).tolist() == ["a", "a", "c"]
    assert mndmst.clusters_by_count(NAMED, 3).tolist() == ["a", "b", "c"]


def of_payloads() -> object:
    graph = pytest.importorskip("rustworkx").PyGraph()
    graph.add_nodes_from(range(3))
    graph.add_edges_from([(0, 1, {"weight": 1}), (1, 2, "x")])
    return mndmst.minimum_spanning_forest(graph)


def of_sparse(value: float, **options: str) -> object:
    matrix = scipy.sparse.csr_array([[0, value], [value, 0]])
    return mndmst.HDBSCAN(2, metric="precomputed", **options).fit(matrix)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: mndmst.minimum_spanning_forest(
                [0], [1], [1], num_vertices=2, nodes=[0, 1]
            ),
            "give nodes or num_vertices, not both",
        ),
        (
            lambda: mndmst.minimum_spanning_forest(
                [0, 1], [1, 2], [np.longdouble(1), 2.5]
            ),
            "weight has values of type longdouble",
        ),
        (of_payloads, r"edge 1 \(1, 2\) has a payload of type str"),
        (lambda: of_sparse(np.nan), "matrix has NaN"),
        (lambda: of_sparse(1.0, algorithm="kd_tree"), "leave algorithm out"),
        (lambda: mndmst.HDBSCAN().fit([[1, 2], [3]]), "rows of several lengths"),
        (
            lambda: mndmst.HDBSCAN(metric="correlation").fit(np.ones((9, 3))),
            "point 0 has equal coordinates",
        ),
        (lambda: mndmst.read_points("a.csv", metric=3), "metric is 3; give its name"),
        (
            lambda: mndmst.draw(mndmst.minimum_spanning_forest([], [], []), "a.svg"),
            "has no vertices to draw",
        ),
    ],
)
def test_inputs_that_contradict_themselves(
    call: Callable[[], object], message: str
) -> None:
    with pytest.raises(MndmstError, match=f"(?i){message}"):
        call()
