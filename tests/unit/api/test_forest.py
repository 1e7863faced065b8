"""What a forest in memory can be asked, and how it is written and shown."""

import itertools
import pickle
from functools import partial
from pathlib import Path

import forests
import graphs
import networkx
import numpy as np
import pytest
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import pdist, squareform

import mndmst
from mndmst.api.forest import PIECE
from mndmst.certificate import verify
from mndmst.host.errors import ConfigError, InputError
from mndmst.io.formats import read_edges
from mndmst.io.shards.sharded_graph import open_graph

DEMO = Path(__file__).parents[3] / "partitions/demo"


def random_forest(seed: int = 1, n: int = 60, m: int = 90) -> mndmst.Forest:
    """Return the forest of a random graph, of several trees, with equal weights."""
    random = np.random.default_rng(seed)
    ends = random.integers(0, n, (2, m))
    return mndmst.minimum_spanning_forest(*ends, random.integers(0, 9, m), n)


@pytest.fixture
def forest() -> mndmst.Forest:
    """The path 0-1-2-3 with the weights 4, 7 and 5, and the edge 4-5; 6 is alone."""
    return mndmst.minimum_spanning_forest([0, 1, 2, 4], [1, 2, 3, 5], [4, 7, 5, 1], 7)


def test_iteration_is_by_edge(forest):
    expected = [(0, 1, 4), (1, 2, 7), (2, 3, 5), (4, 5, 1)]
    assert list(forest) == expected
    assert all(type(x) is int for edge in forest for x in edge)
    length = PIECE + 3
    ends = np.arange(length + 1)
    path = mndmst.minimum_spanning_forest(ends[:-1], ends[1:], ends[:-1])
    assert list(path) == [(k, k + 1, k) for k in range(length)]
    assert dict.fromkeys((u, v) for u, v, _ in forest) == dict.fromkeys(
        map(tuple, forest.edges.tolist())
    )


def test_single_vertices_are_answered_with_plain_values(forest):
    assert forest.connected(0, 3) is True
    assert forest.connected(0, 4) is False
    assert forest.path_max(0, 3) == 1 and type(forest.path_max(0, 3)) is int
    assert forest.path_max(3, 2) == 2
    assert forest.path_max(0, 5) == forest.path_max(6, 6) == -1
    assert forest.path(3, 0).tolist() == [2, 1, 0]
    assert forest.path(0, 4).tolist() == []
    with pytest.raises(InputError, match="no vertex 7"):
        forest.connected(0, 7)


def test_components(forest):
    assert forest.cut(below=5).tolist() == [0, 0, 2, 3, 4, 4, 6]
    assert forest.cut(below=5).dtype == np.int64
    assert forest.cut(below=5.5).tolist() == [0, 0, 2, 2, 4, 4, 6]
    assert forest.cut(float("inf")).tolist() == forest.labels.tolist()
    assert forest.component_sizes().tolist() == [4, 2, 1]
    assert forest.component_sizes(below=5).tolist() == [2, 1, 1, 2, 1]
    with pytest.raises(ConfigError, match="NaN"):
        forest.cut(float("nan"))


@pytest.mark.parametrize("seed", range(3))
def test_paths_are_those_of_networkx(seed: int) -> None:
    forest = random_forest(seed)
    tree = forest.to_networkx()
    u, v = np.random.default_rng(seed).integers(0, 60, (2, 200))
    heaviest, joined = forest.path_max(u, v), forest.connected(u, v)
    for number, (a, b) in enumerate(zip(u.tolist(), v.tolist(), strict=True)):
        assert joined[number] == networkx.has_path(tree, a, b)
        if not joined[number] or a == b:
            assert heaviest[number] == -1 and len(forest.path(a, b)) == 0
            continue
        nodes = networkx.shortest_path(tree, a, b)
        expected = [tuple(sorted(pair)) for pair in itertools.pairwise(nodes)]
        path = forest.path(a, b)
        assert list(map(tuple, forest.edges[path].tolist())) == expected
        order = forest.weight[path] * 60 * 60 + forest.src[path] * 60 + forest.dst[path]
        assert heaviest[number] == path[order.argmax()]


def test_linkage_is_that_of_scipy() -> None:
    distances = pdist(np.random.default_rng(2).random((80, 3)))
    ends = np.triu_indices(80, 1)
    forest = mndmst.minimum_spanning_forest(*ends, squareform(distances)[ends])
    assert np.array_equal(forest.linkage(), linkage(distances, "single"))


@pytest.mark.parametrize("graph", graphs.NASTY.values(), ids=graphs.NASTY.keys())
def test_what_is_written_is_read(tmp_path: Path, graph: graphs.Graph) -> None:
    path = tmp_path / "forest.h5"
    found = mndmst.minimum_spanning_forest(graph.src, graph.dst, graph.weight, graph.n)
    found.write(path, labels=True)
    again = mndmst.Forest.read(path)
    assert list(again) == list(found) and again.digest == found.digest
    assert again.labels.tolist() == found.labels.tolist()
    assert again.weight.dtype == found.weight.dtype
    assert again.graph_uuid == ""


def test_a_forest_that_is_read_and_written_is_verified(tmp_path: Path) -> None:
    answer = {(0, 1): 1, (1, 2): 2}
    graph = graphs.Graph(4, *np.array([[0, 1, 0], [1, 2, 2], [1, 2, 3]]))
    assert forests.judge(tmp_path, graph, answer).ok
    copy = tmp_path / "copy.h5"
    mndmst.Forest.read(tmp_path / "forest.h5").write(copy)
    assert verify(forests.COMM, open_graph(tmp_path / "graph"), copy).ok


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".mtx", ".npz", ".gr", ".txt"])
def test_other_formats(tmp_path: Path, suffix: str) -> None:
    forest = random_forest()
    path = tmp_path / f"forest{suffix}"
    forest.write(path)
    edges = read_edges(path)
    columns = edges.src.tolist(), edges.dst.tolist(), edges.weight.tolist()
    pairs = {(min(u, v), max(u, v), w) for u, v, w in zip(*columns, strict=True)}
    assert pairs == set(forest)
    with pytest.raises(ConfigError, match="files have labels"):
        forest.write(path, labels=True)


def test_a_forest_without_edges_is_written(tmp_path: Path) -> None:
    forest = mndmst.minimum_spanning_forest([], [], [], 3)
    forest.write(tmp_path / "f.h5", labels=True)
    again = mndmst.Forest.read(tmp_path / "f.h5")
    assert (list(again), again.labels.tolist()) == ([], [0, 1, 2])
    assert again.component_sizes().tolist() == [1, 1, 1]


def test_notebooks_show_a_table(forest) -> None:
    text = forest._repr_html_()
    for part in ("<table>", "<td style", ">3<", "total weight", "0 &ndash; 1 (4)"):
        assert part in text
    assert "..." not in text
    assert "..." in random_forest()._repr_html_()
    assert ">none<" in mndmst.minimum_spanning_forest([], [], [], 3)._repr_html_()


def test_a_summary_prints_its_result_line() -> None:
    pytest.importorskip("mpi4py")
    from mpi4py import MPI

    summary = mndmst.solve(DEMO, comm=MPI.COMM_SELF)
    assert summary.report is not None
    assert str(summary) == repr(summary) == summary.line()
    assert str(summary).startswith("RESULT n=5184 ")


def test_a_forest_on_disk_is_named_as_what_it_is(tmp_path: Path) -> None:
    pytest.importorskip("mpi4py")
    from mpi4py import MPI

    demo = partial(mndmst.solve, DEMO, MPI.COMM_SELF)
    with pytest.raises(
        ConfigError, match=r"f\.npz: give a name in \.h5, \.hdf5, .*; mndmst conv"
    ):
        demo(output=tmp_path / "f.npz")
    with pytest.raises(ConfigError, match=r"run\.csv: give a name in \.json"):
        demo(report=tmp_path / "run.csv")
    for name in ("f.h5", "f"):
        demo(output=tmp_path / name)
        assert len(mndmst.Forest.read(tmp_path / name)) == 5094
    assert sorted(path.name for path in tmp_path.iterdir()) == ["f", "f.h5"]


DTYPES = ("int32", "int64", "uint32", "uint64", "float32", "float64")


def mirrored(seed: int, dtype: str) -> tuple[mndmst.Forest, mndmst.Forest, int]:
    """Return a maximum forest, the minimum forest of 8 - (weight - L), and L."""
    random = np.random.default_rng(seed)
    ends, steps = random.integers(0, 60, (2, 150)), random.integers(0, 9, 150)
    # Some weights are -0.0, beside 0.0
    lowest = -4 * (seed % 2) if dtype[0] == "f" else int(np.iinfo(dtype).min)
    weight = np.array([lowest + step for step in steps.tolist()], dtype)
    if dtype[0] == "f":
        weight[np.flatnonzero(weight == 0)[::2]] = -0.0
    largest = mndmst.minimum_spanning_forest(*ends, weight, 60, maximum=True)
    return largest, mndmst.minimum_spanning_forest(*ends, 8 - steps, 60), lowest


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("seed", (1, 2))
def test_a_maximum_forest_answers_as_the_minimum_forest_of_mirrored_weights(
    seed: int, dtype: str, tmp_path: Path
) -> None:
    forest, mirror, lowest = mirrored(seed, dtype)
    assert forest.edges.tolist() == mirror.edges.tolist()
    forest.write(tmp_path / "f.h5", labels=True)
    read = mndmst.Forest.read(tmp_path / "f.h5")
    assert read.maximum
    assert not mirror.maximum
    u, v = np.random.default_rng(seed).integers(0, 60, (2, 200))
    linkage_of_mirror = mirror.linkage()
    linkage_of_mirror[:, 2] -= mirror.weight.min()
    for one in (forest, read):
        assert one.path_min(u, v).tolist() == mirror.path_max(u, v).tolist()
        assert np.array_equal(one.linkage(), linkage_of_mirror)
        for step in range(10):
            above = lowest + step
            assert one.cut(above=above).tolist() == mirror.cut(8 - step).tolist()
            sizes = one.component_sizes(above=above).tolist()
            assert sizes == mirror.component_sizes(8 - step).tolist()
            parts = [part.tolist() for part in one.components(above=above)]
            assert parts == [part.tolist() for part in mirror.components(8 - step)]
            within = mndmst.clusters_within(one, above).tolist()
            assert within == mndmst.clusters_within(mirror, 8 - step).tolist()
        for count in (forest.num_trees, 40, 60):
            found = mndmst.clusters_by_count(one, count).tolist()
            assert found == mndmst.clusters_by_count(mirror, count).tolist()


def test_the_words_of_the_other_direction_are_refused_with_the_remedy(forest) -> None:
    largest = mndmst.minimum_spanning_forest([0, 1], [1, 2], [4, 7], maximum=True)
    for call, remedy in (
        (lambda: largest.path_max(0, 1), "path_min"),
        (lambda: largest.cut(5), "above="),
        (lambda: largest.cut(), "above="),
        (lambda: largest.components(below=5), "above="),
        (lambda: largest.component_sizes(5), "above="),
        (lambda: forest.path_min(0, 1), "path_max"),
        (lambda: forest.cut(above=5), "below="),
        (lambda: forest.components(above=5), "below="),
        (lambda: forest.cut(), "below="),
    ):
        with pytest.raises(ConfigError, match=remedy):
            call()


def test_a_maximum_forest_says_so_and_stays_so(tmp_path: Path) -> None:
    named = mndmst.minimum_spanning_forest(
        ["a", "b"], ["b", "c"], [0.5, 0.9], maximum=True
    )
    assert repr(named) == "NamedForest(maximum, 2 edges, 1 tree, total weight 1.4)"
    assert named.maximum
    assert pickle.loads(pickle.dumps(named)).maximum
    assert named.cut(above=0.5).tolist() == ["a", "b", "b"]
    assert named.weight[named.path_min("a", "c")] == 0.5


def test_distances_of_a_maximum_forest_are_finite() -> None:
    weight = np.array([np.inf, 1.0])
    forest = mndmst.minimum_spanning_forest([0, 1], [1, 2], weight, maximum=True)
    assert forest.weight[forest.path_min(0, 2)] == 1
    with pytest.raises(ConfigError, match="largest weight - weight"):
        forest.linkage()
