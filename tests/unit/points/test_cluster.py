"""Clusters of a forest: equal to SciPy's and hdbscan's on the same points."""

import warnings
from dataclasses import replace
from importlib.util import find_spec
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from density_oracle import condensed_rows
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster.hierarchy import fcluster, is_valid_linkage, linkage
from scipy.spatial.distance import pdist, squareform

import mndmst
from mndmst import read_points
from mndmst.host.errors import ConfigError, InputError
from mndmst.host.option_types import number
from mndmst.io.edge_file import Edges
from mndmst.io.partitioner.partition import build_shards
from mndmst.kernels.threads import Threads
from mndmst.points.clusters.condensed import condensed_forest, condensed_tree
from mndmst.points.clusters.density import flat_clusters, points_by_label
from mndmst.points.neighbour_graph import neighbour_graph
from mndmst.points.point_files import example_points
from mndmst.tree.kernels.merge_chains import (
    AscendingTree,
    chains_of_tree,
    id_type,
    link_chains,
)
from mndmst.tree.linkage import (
    FEW_VERTICES,
    clusters_by_count,
    clusters_within,
    numbered,
    single_linkage,
)


def tree_of(src: np.ndarray, dst: np.ndarray, distance: np.ndarray) -> AscendingTree:
    ids = id_type(len(src) + 1)
    return AscendingTree(src.astype(ids), dst.astype(ids), distance)


def forest_of(distances: np.ndarray) -> mndmst.Forest:
    pairs = np.triu_indices(len(distances), 1)
    return mndmst.minimum_spanning_forest(*pairs, distances[pairs], len(distances))


def same_clusters(one: np.ndarray, other: np.ndarray) -> bool:
    pairs = set(zip(one.tolist(), other.tolist(), strict=True))
    return len(pairs) == len(set(one.tolist())) == len(set(other.tolist()))


@pytest.mark.parametrize("name", ["rings", "blobs"])
def test_single_linkage_is_that_of_scipy(name: str) -> None:
    distances = pdist(example_points(name, 400))
    forest = forest_of(squareform(distances))
    ours, theirs = single_linkage(forest), linkage(distances, "single")
    assert is_valid_linkage(ours)
    assert np.array_equal(ours, theirs)
    for threshold in np.quantile(ours[:, 2], [0, 0.3, 0.9, 1]):
        expected = fcluster(theirs, threshold, "distance")
        assert same_clusters(clusters_within(forest, threshold), expected)
    for count in (1, 2, 17):
        found = numbered(clusters_by_count(forest, count))
        assert found.max() == count - 1
        assert same_clusters(found, fcluster(theirs, count, "maxclust"))
    # Each point alone, where earlier versions of SciPy find 398 clusters
    assert numbered(clusters_by_count(forest, 400)).tolist() == [*range(400)]


@pytest.mark.parametrize("dtype", ["int64", "uint64"])
def test_thresholds_of_integers_are_exact(dtype: str) -> None:
    weight = np.array([1 << 53, (1 << 53) + 1], dtype)
    forest = mndmst.minimum_spanning_forest([0, 1], [1, 2], weight)
    for threshold, clusters in (
        (number(str(1 << 53)), [0, 0, 2]), (float(1 << 53), [0, 0, 2]),
        (number(str((1 << 53) + 1)), [0, 0, 0]), ((1 << 53) - 1.0, [0, 1, 2]),
        (-1, [0, 1, 2]), (number("9" * 400), [0, 0, 0]), (1e300, [0, 0, 0]),
    ):  # fmt: skip
        assert clusters_within(forest, threshold).tolist() == clusters
    assert [number(word) for word in ("-3", " 2", "1e3", ".5")] == [-3, 2, 1000, 0.5]
    with pytest.raises(ConfigError, match="threshold must not be NaN"):
        clusters_within(forest, number("nan"))


@pytest.mark.parametrize("maximum", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "uint32"])
@pytest.mark.parametrize("weight", [0.1, 942952192.0, 3.0**20, 1e-45])
def test_thresholds_are_not_rounded_to_the_type_of_the_weights(
    dtype: str, weight: float, maximum: bool
) -> None:
    column = np.array([weight], dtype)
    forest = mndmst.minimum_spanning_forest([0], [1], column, maximum=maximum)
    held = column[0].item()
    beside = [held * (1 + sign * 1e-9) for sign in (-1, 1)]
    beside += [round(held) - 1, round(held) + 1, 10**400, -(10**400), 1e300, weight]
    for threshold in (held, *beside):
        joined = held >= threshold if maximum else held <= threshold
        assert clusters_within(forest, threshold).tolist() == [0, 0 if joined else 1]
        before = held > threshold if maximum else held < threshold
        assert forest.index.cut(threshold).tolist() == [0, 0 if before else 1]


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=30)
)
def test_ties_and_equal_points(places: list[tuple[int, int]]) -> None:
    """Heights are SciPy's whatever the ties; so are the clusters at every height."""
    if len(places) == 1:
        assert single_linkage(forest_of(np.zeros((1, 1)))).shape == (0, 4)
        return
    distances = pdist(np.array(places, float), "cityblock")
    forest = forest_of(squareform(distances))
    ours, theirs = single_linkage(forest), linkage(distances, "single")
    assert ours[:, 2].tolist() == theirs[:, 2].tolist()
    for height in set(ours[:, 2].tolist()):
        expected = fcluster(theirs, height, "distance")
        assert same_clusters(clusters_within(forest, height), expected)


def links_one_by_one(src: np.ndarray, dst: np.ndarray) -> list[tuple[int, int, int]]:
    """Return both clusters and the size of each row, by a union-find."""
    n = len(src) + 1
    parent, members = list(range(2 * n - 1)), [1] * n
    rows = []
    for row, ends in enumerate(zip(src.tolist(), dst.tolist(), strict=True)):
        sides = []
        for end in ends:
            while parent[end] != end:
                parent[end] = parent[parent[end]]
                end = parent[end]
            sides.append(end)
            parent[end] = n + row
        members.append(sum(members[side] for side in sides))
        rows.append((min(sides), max(sides), members[-1]))
    return rows


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("ascending", [False, True], ids=["any order", "in order"])
@pytest.mark.parametrize("reach", [1, 3, 30_000], ids=["path", "branches", "bushes"])
def test_links_of_trees(reach: int, ascending: bool, threads: int) -> None:
    n, generator = 30_000, np.random.default_rng(reach)
    child = np.arange(1, n)
    above = np.maximum(0, child - 1 - (generator.random(n - 1) * reach).astype(int))
    order = child - 1 if ascending else generator.permutation(n - 1)
    names = np.arange(n) if ascending else generator.permutation(n)
    src, dst = names[child[order]], names[above[order]]
    team = Threads(threads)
    found = link_chains(
        chains_of_tree(tree_of(src, dst, np.arange(n - 1.0)), team), team
    )
    assert found[:, 2].tolist() == list(range(n - 1))
    expected = links_one_by_one(src, dst)
    assert list(map(tuple, found[:, [0, 1, 3]].astype(int).tolist())) == expected


@pytest.mark.parametrize("maximum", [False, True])
@pytest.mark.parametrize("dtype", ["uint64", "int32", "float32", "float64"])
@pytest.mark.parametrize("edges", [0, 1, 60, 400])
@pytest.mark.parametrize("vertices", [1, 2, 97, FEW_VERTICES])
def test_few_vertices_are_linked_without_kernels_as_by_them(
    vertices: int, edges: int, dtype: str, maximum: bool
) -> None:
    """Trees of all shapes, in which many weights are equal."""
    generator = np.random.default_rng(edges)
    src, dst = generator.integers(0, vertices, (2, edges))
    weight = generator.integers(0, 9, edges).astype(dtype)
    forest = mndmst.minimum_spanning_forest(src, dst, weight, vertices)
    forest = replace(forest, maximum=maximum)
    expected = single_linkage(forest, few=0)
    np.testing.assert_array_equal(single_linkage(forest), expected)


@pytest.mark.parametrize("few", [0, FEW_VERTICES])
def test_trees_are_joined_at_infinity(few: int) -> None:
    forest = mndmst.minimum_spanning_forest([0, 2], [1, 3], [5, 2], 5)
    assert single_linkage(forest, few)[:, 2].tolist() == [2, 5, np.inf, np.inf]
    assert numbered(clusters_within(forest, 2)).tolist() == [0, 1, 2, 2, 3]
    assert numbered(clusters_by_count(forest, 3)).tolist() == [0, 0, 1, 1, 2]
    with pytest.raises(ConfigError, match="has 3 trees and 5 vertices"):
        clusters_by_count(forest, 2)


@pytest.mark.parametrize("leaves", [False, True], ids=["eom", "leaf"])
@pytest.mark.parametrize("size", [2, 5, 40])
@pytest.mark.parametrize("name", ["rings", "blobs"])
def test_density_clusters_are_those_of_hdbscan(
    name: str, size: int, leaves: bool
) -> None:
    """Distances between the points differ; equal ones: test_equal_distances.py."""
    hdbscan = pytest.importorskip("hdbscan.hdbscan_", reason="needs hdbscan")
    points = example_points(name, 600)
    distances = squareform(pdist(points))
    dendrogram = single_linkage(forest_of(distances))
    found = flat_clusters(condensed_tree(dendrogram, size), leaves)
    method = "leaf" if leaves else "eom"
    labels, probabilities, *_ = hdbscan._tree_to_labels(
        points, dendrogram.copy(), size, method, False, False, 0.0
    )
    assert same_clusters(found.labels, labels)
    assert ((found.labels < 0) == (labels < 0)).all()
    np.testing.assert_allclose(found.probabilities, probabilities)


SHAPES = {
    "path": lambda generator, child: child - 1,
    "star": lambda generator, child: np.zeros_like(child),
    "bushes": lambda generator, child: (generator.random(len(child)) * child).astype(
        int
    ),
    "branches": lambda generator, child: np.maximum(
        0, child - 1 - generator.integers(0, 4, len(child))
    ),
    "binary": lambda generator, child: child // 2,
}
WEIGHTS = {
    "any": lambda generator, count: generator.random(count),
    "ascending": lambda generator, count: np.arange(count) / 7,
    "few": lambda generator, count: generator.integers(0, 4, count).astype(np.float64),
    "ties": lambda generator, count: generator.integers(0, count // 3, count) / 7,
    "equal": lambda generator, count: np.zeros(count),
}


@pytest.mark.parametrize("trees", [1, 9])
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("shape", SHAPES)
def test_condensed_forests_are_those_of_one_edge_after_the_other(
    shape: str, weights: str, trees: int
) -> None:
    n, generator = FEW_VERTICES + 88, np.random.default_rng(len(shape + weights))
    child = np.arange(1, n)
    names = generator.permutation(n)
    ends = names[child], names[SHAPES[shape](generator, child)]
    weight = WEIGHTS[weights](generator, n - 1)
    kept = generator.permutation(n - 1) >= trees - 1
    ends = np.sort(ends, axis=0)[:, kept]
    forest = mndmst.minimum_spanning_forest(*ends, weight[kept], n)
    dendrogram = single_linkage(forest)
    smallest = [*range(n), *[0] * (n - 1)]  # point in each cluster of the dendrogram
    edges = []
    for row, (left, right) in enumerate(dendrogram[:, :2].astype(int).tolist()):
        edges.append((dendrogram[row, 2], smallest[left], smallest[right]))
        smallest[n + row] = min(smallest[left], smallest[right])
    for least in (2, 3, 17, n // 2, n + 1):
        tree, same = condensed_forest(forest, least), condensed_tree(dendrogram, least)
        rows = tree.parent.tolist(), tree.distance.tolist(), tree.cluster_size.tolist()
        assert rows == condensed_rows(n, edges, least), least
        for column in ("parent", "distance", "cluster_size", "mass"):
            found, other = getattr(tree, column), getattr(same, column)
            np.testing.assert_array_equal(found, other)


def test_a_cycle_beside_a_tree_has_no_condensed_tree() -> None:
    """The count of edges is that of a tree."""
    n = FEW_VERTICES + 1
    ends = np.arange(n - 1), np.arange(1, n)
    forest = mndmst.minimum_spanning_forest(*ends, np.arange(n - 1.0), n)
    for low, high in ((0, 1), (5, 7), (0, n - 2)):
        cycle = replace(forest, src=forest.src.copy(), dst=forest.dst.copy())
        cycle.src[-1], cycle.dst[-1] = low, high
        with pytest.raises(ConfigError, match="cycle"):
            condensed_forest(cycle, 5)


def test_condensed_tree_of_a_chain() -> None:
    """Two pairs far apart split at the top; a lone point falls out."""
    forest = mndmst.minimum_spanning_forest([0, 2, 1, 3], [1, 3, 2, 4], [1, 1, 10, 4.0])
    tree = condensed_tree(single_linkage(forest), 2)
    rows = sorted(
        zip(
            tree.parent.tolist(), tree.child.tolist(), tree.scale.tolist(),
            tree.size.tolist(), strict=True,
        )
    )  # fmt: skip
    two, three = sorted(row[1] for row in rows if row[1] > 5)
    sizes = {row[1]: row[3] for row in rows}
    assert sorted([sizes[two], sizes[three]]) == [2, 3]
    assert {row[2] for row in rows if row[1] > 5} == {0.1}
    assert next(row[2] for row in rows if row[1] == 4) == 0.25
    with pytest.raises(ConfigError, match="give 2 or more"):
        condensed_tree(single_linkage(forest), 1)


def test_neighbour_graph_weighs_by_mutual_reachability() -> None:
    points = np.array([[0.0], [1.0], [3.0], [7.0]])
    edges = neighbour_graph(points, 2, 1)
    weights = {
        (min(u, v), max(u, v)): w
        for u, v, w in zip(edges.src, edges.dst, edges.weight, strict=True)
        if u != v
    }
    assert weights == {(0, 1): 1, (0, 2): 3, (1, 2): 2, (2, 3): 4, (1, 3): 6}
    with pytest.raises(
        ConfigError, match=r"^p\.csv: 4 points .* 4 neigh.*--k .*--core"
    ):
        neighbour_graph(points, 4, name="p.csv")


def test_few_points_are_all_neighbours_by_default() -> None:
    points = np.arange(10.0)[:, np.newaxis]
    every = set(combinations(range(10), 2))
    for core in (0, 9):
        edges = neighbour_graph(points, min_samples=core)
        pairs = zip(edges.src.tolist(), edges.dst.tolist(), strict=True)
        assert {(min(pair), max(pair)) for pair in pairs} == every
    many = np.random.default_rng(5).random((40, 2))
    degree = np.bincount(np.r_[*_ends(neighbour_graph(many))])
    assert degree.min() == 16
    assert np.bincount(np.r_[*_ends(neighbour_graph(many, min_samples=20))]).min() == 20
    with pytest.raises(ConfigError, match=r"1 point .*--k"):
        neighbour_graph(points[:1])


def _ends(edges: Edges) -> tuple[np.ndarray, np.ndarray]:
    return edges.src, edges.dst


def test_points_whose_distances_overflow_are_refused(tmp_path: Path) -> None:
    points = np.zeros((4, 2))
    points[2, 1] = -1e300
    np.save(tmp_path / "points.npy", points)
    with pytest.raises(InputError, match=r"points\.npy: point 2 .*beyond 1e\+150"):
        read_points(tmp_path / "points.npy")


def test_points_that_are_none_are_refused(tmp_path: Path) -> None:
    table = tmp_path / "points.csv"
    table.write_text("# x, y\n1,2\n3,4\n")
    assert read_points(table).tolist() == [[1, 2], [3, 4]]
    for names in ("\ufeffx,y\n", "# of 2020\n\nx,'y'\n", "\ufeff"):
        table.write_text(names + "1,2\n3,4\n")
        assert read_points(table).tolist() == [[1, 2], [3, 4]]
    for nothing in ("", "# x\n", "x,y\n"):
        table.write_text(nothing)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(InputError, match=r"points\.csv: holds no points"):
                read_points(table)
    table.write_text("x,2\n3,4\n")
    with pytest.raises(InputError, match=r"points\.csv"):
        read_points(table)
    table.write_text("1,2\n3,nan\n")
    with pytest.raises(InputError, match="point 1"):
        read_points(table)
    table.write_text("1,2\n3\n")
    with pytest.raises(InputError, match=r"points\.csv"):
        read_points(table)
    array = tmp_path / "points.npy"
    np.save(array, np.ones((3, 2)))
    contents = array.read_bytes()
    first = contents.index(b"descr")
    for at in range(first, contents.index(b"}")):  # NumPy fails in several ways
        array.write_bytes(contents[:at] + b"\0\0" + contents[at + 2 :])
        with pytest.raises(InputError, match=r"points\.npy"):
            read_points(array)


def test_points_are_saved_before_the_graph_is_made(mndmst, tmp_path: Path) -> None:
    graph, save = tmp_path / "graph", tmp_path / "new/points.npy"
    command = ("neighbours", "rings", graph, "--count", 100, "--save", save)
    run = mndmst(*command)
    assert run.returncode == 1 and f"{save}: cannot be written" in run.stderr
    save.parent.mkdir()
    assert mndmst(*command).returncode == 0
    assert read_points(save).shape == (100, 2)


def test_cluster_refuses_what_does_not_fit(mndmst, tmp_path: Path) -> None:
    forest, graph = tmp_path / "forest.h5", tmp_path / "graph"
    build_shards(neighbour_graph(example_points("blobs", 300), 5), graph, 1)
    assert mndmst("solve", graph, "-o", forest, "-q").returncode == 0
    run = mndmst("cluster", forest, "--count", 301)
    assert run.returncode == 1
    assert "301 clusters" in run.stderr
    run = mndmst("cluster", graph / "index.h5", "--count", 2)
    assert run.returncode == 1
    assert "index.h5" in run.stderr
    output = tmp_path / "clusters.h5"
    points = ("--points", tmp_path / "points.npy")
    np.save(points[1], example_points("blobs", 300))
    run = mndmst(
        "cluster", forest, "--count", 2, "-o", output, "--plot", "x.y", *points
    )
    assert run.returncode == 1 and "x.y: give a name in .png" in run.stderr
    assert not output.exists()
    if find_spec("matplotlib"):
        np.save(points[1], example_points("blobs", 299))
        picture = ("--plot", tmp_path / "x.png", *points)
        run = mndmst("cluster", forest, "--count", 2, *picture)
        said = "points.npy: has 299 points, and the forest has 300 vertices"
        assert run.returncode == 1 and said in run.stderr


@pytest.mark.parametrize("few", [0, FEW_VERTICES])
def test_labels_that_are_wrong_do_no_harm(few: int) -> None:
    forest = mndmst.minimum_spanning_forest([0, 1, 2], [1, 2, 3], [2.0, 5.0, 1.0])
    expected = single_linkage(forest, few)
    wrong = replace(forest, labels=np.array([0, 1, 1, 0]))
    np.testing.assert_array_equal(single_linkage(wrong, few), expected)


@pytest.mark.parametrize("few", [0, FEW_VERTICES])
def test_edges_that_close_a_cycle_are_refused(few: int) -> None:
    forest = mndmst.minimum_spanning_forest([0, 1, 2], [1, 2, 3], [2.0, 5.0, 1.0])
    cycle = replace(forest, dst=np.array([1, 2, 0]), src=np.array([0, 1, 2]))
    with pytest.raises(ConfigError, match="cycle"):
        single_linkage(cycle, few)


def test_a_forest_file_with_an_edge_out_of_range_is_refused(tmp_path: Path) -> None:
    forest = mndmst.minimum_spanning_forest([0, 1, 2], [1, 2, 3], [2.0, 5.0, 1.0])
    file = SimpleNamespace(
        header=SimpleNamespace(num_vertices=4, first_id=0), num_edges=3, num_trees=1,
        has_labels=False, path=tmp_path / "forest.h5",
        read=lambda *_: (forest.src, np.array([1, 2, 1 << 40]), forest.weight),
    )  # fmt: skip
    with pytest.raises(InputError, match="edge 2"):
        mndmst.Forest.of_file(file)


def test_points_by_label_are_ascending_without_noise() -> None:
    labels = np.array([1, -1, 0, 1, -3, 0, 2])
    assert [points.tolist() for points in points_by_label(labels)] == [
        [2, 5],
        [0, 3],
        [6],
    ]
    among = np.array([True, True, False, True, True, True, False])
    found = points_by_label(labels, among)
    assert [points.tolist() for points in found] == [[5], [0, 3], []]
    assert points_by_label(np.full(4, -1)) == []
