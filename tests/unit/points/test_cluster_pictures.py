"""Pictures of clusters: of points, the condensed tree, dendrogram and reachability."""

import re
from pathlib import Path

import numpy as np
import pytest

import mndmst
from mndmst.host.errors import ConfigError
from mndmst.io.atomic_output import AtomicOutput
from mndmst.points.clusters.cluster_pictures import KINDS, ClusterPictures
from mndmst.points.clusters.plane_plots import cluster_colours, in_the_plane
from mndmst.points.kernels.dendrogram import order_leaves
from mndmst.report.cluster_page import write_cluster_pictures

figures = pytest.importorskip("matplotlib.figure")


def pictures_of(points: np.ndarray, size: int = 5) -> ClusterPictures:
    clusters = mndmst.HDBSCAN(size).fit(points)._fitted()
    return ClusterPictures(
        clusters.linkage,
        clusters.flat.labels,
        points,
        None,
        clusters.tree,
        clusters.chosen,
        clusters.persistence,
    )


def new_axes():
    return figures.Figure().add_subplot()


@pytest.mark.parametrize(
    ("dimensions", "suffix"), [(1, ".svg"), (5, ".png"), (2, ".pdf"), (1, ".html")]
)
def test_points_of_any_dimension_are_drawn(
    tmp_path: Path, dimensions: int, suffix: str
) -> None:
    points = np.random.default_rng(1).random((60, dimensions))
    path = tmp_path / f"points{suffix}"
    with AtomicOutput() as files:
        write_cluster_pictures(pictures_of(points), path, "all", files)
    assert path.stat().st_size > 500


@pytest.mark.usefixtures("no_formulas")
def test_a_page_has_all_pictures_and_every_cluster(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    pictures = pictures_of(mndmst.example_points("blobs", 400), 20)
    with AtomicOutput() as files:
        write_cluster_pictures(pictures, path, None, files)
    text = path.read_text()
    assert text.count("<svg") == len(KINDS)
    assert text.count("<tr><td") == len(pictures.persistence)


@pytest.mark.usefixtures("no_formulas")
def test_pictures_and_pages_name_a_cluster_by_its_label(tmp_path: Path) -> None:
    random = np.random.default_rng(4)
    sizes = random.permutation(np.arange(15, 70, 5))  # clusters of 11 sizes
    middles = np.repeat(np.divmod(np.arange(len(sizes)), 4), sizes, axis=1).T
    points = random.permutation(10 * middles + random.normal(0, 0.5, (sizes.sum(), 2)))
    pictures = pictures_of(points, 10)
    labels, axes = pictures.labels, new_axes()
    pictures.draw("clusters", axes)
    assert len(axes.texts) == labels.max() + 1 == len(sizes)
    for text in axes.texts:
        own = points[labels == int(text.get_text())]
        assert np.abs(own - text.get_position()).max() < 5  # clusters are 10 apart
    with AtomicOutput() as files:
        write_cluster_pictures(pictures, tmp_path / "page.html", None, files)
    rows = re.findall(
        r"<tr><td[^>]*>(\d+)</td><td[^>]*>(\d+)</td>",
        (tmp_path / "page.html").read_text(),
    )
    counts = np.bincount(labels[labels >= 0]).tolist()
    assert sorted((int(label), int(size)) for label, size in rows) == list(
        enumerate(counts)
    )


def test_other_points_are_refused() -> None:
    points = np.zeros((20, 2))
    pictures = ClusterPictures(np.empty((18, 4)), np.zeros(19, int), points)
    with pytest.raises(ConfigError, match="has 20 points"):
        pictures.draw("clusters", new_axes())


def test_a_picture_that_lacks_its_input_is_refused() -> None:
    alone = ClusterPictures(np.array([[0, 1, 2.0, 2]]))
    assert alone.kinds == ("dendrogram", "reachability")
    for kind in ("clusters", "condensed"):
        with pytest.raises(ConfigError, match=f"the picture {kind} needs"):
            alone.draw(kind)
    with pytest.raises(ConfigError, match="no picture 'pie'"):
        alone.draw("pie")


@pytest.mark.parametrize("grid", [5, 12])
def test_neighbours_have_different_colours(grid: int) -> None:
    """Square fields like those of a chess board, which share sides."""
    rng = np.random.default_rng(3)
    places = rng.random((200 * grid * grid, 2)) * grid
    column, row = places.astype(int).T
    colours = cluster_colours(column * grid + row, places).reshape(grid, grid, 4)
    for x in range(grid):
        for y in range(grid):
            for other in ((x + 1, y), (x, y + 1)):
                if max(other) < grid:
                    assert not np.array_equal(colours[x, y], colours[other])


def test_few_clusters_all_have_colours_of_their_own() -> None:
    colours = cluster_colours(np.arange(12), np.random.default_rng(1).random((12, 2)))
    assert len(np.unique(colours, axis=0)) == 12


def test_axes_name_coordinates_or_say_which_projection_it_is() -> None:
    points = np.random.default_rng(1).random((30, 2))
    assert in_the_plane(points, ["lon", "lat"])[1] == ("lon", "lat")
    deep = np.zeros((30, 3))
    deep[:, 2] = np.arange(30)
    deep[:, 0] = np.arange(30) % 2
    places, names = in_the_plane(deep)
    assert names[0].startswith("first principal component (100 %")
    assert np.abs(np.corrcoef(places[:, 0], deep[:, 2])[0, 1]) > 0.999


def test_reachability_is_the_distance_to_the_points_before() -> None:
    points = np.array([[0.0], [1], [3], [50], [52], [55]])
    order, reach = order_leaves(mndmst.single_linkage(points))
    assert set(order[:3].tolist()) in ({0, 1, 2}, {3, 4, 5})
    assert reach[0] == np.inf and reach[3] == 47
    for place in range(1, 6):
        before = points[order[:place]]
        assert reach[place] == np.abs(before - points[order[place]]).min()


def test_a_large_dendrogram_shows_its_large_branches() -> None:
    rng = np.random.default_rng(1)
    points = np.concatenate([rng.normal(c, 0.1, (5000, 2)) for c in (0, 5, 9)])
    axes = new_axes()
    pictures_of(points, 50).draw("dendrogram", axes)
    shown = [text.get_text() for text in axes.get_xticklabels()]
    assert 3 <= len(shown) < 60
    assert all(int(text.replace(",", "")) >= 75 for text in shown)
    assert "smaller ones than 75 points left out" in axes.get_xlabel()


def test_a_small_dendrogram_shows_every_point() -> None:
    axes = new_axes()
    points = np.array([[0.0], [1], [3], [50]])
    ClusterPictures(mndmst.single_linkage(points)).draw("dendrogram", axes)
    shown = [text.get_text() for text in axes.get_xticklabels()]
    assert sorted(shown) == ["0", "1", "2", "3"]


def test_the_estimator_draws_every_kind_with_the_names_of_columns() -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("sklearn")
    points = mndmst.example_points("blobs", 300)
    model = mndmst.HDBSCAN(10).fit(pandas.DataFrame(points, columns=["lon", "lat"]))
    axes = new_axes()
    for kind in KINDS:
        assert model.plot(kind, axes) is axes
    axes = model.plot("clusters", new_axes())
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("lon", "lat")
    matrix = mndmst.HDBSCAN(2, metric="precomputed").fit(np.ones((5, 5)) - np.eye(5))
    with pytest.raises(ValueError, match="needs points"):
        matrix.plot()


def test_a_second_picture_has_a_figure_of_its_own() -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("Agg")
    model = mndmst.HDBSCAN(20).fit(mndmst.example_points("blobs", 400))
    kinds = ("clusters", "condensed", "dendrogram", "reachability")
    alone = []
    for kind in kinds:
        alone.append(model.plot(kind).viewLim.frozen())
        pyplot.close("all")
    drawn = [model.plot(kind) for kind in kinds]
    assert len({axes.figure for axes in drawn}) == len(kinds)
    for axes, limits in zip(drawn, alone, strict=True):
        np.testing.assert_allclose(axes.viewLim.get_points(), limits.get_points())
    pyplot.close("all")


def test_a_picture_takes_empty_current_axes_and_any_given_ones() -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("Agg")
    model = mndmst.HDBSCAN(20).fit(mndmst.example_points("blobs", 400))
    figure = pyplot.figure()
    for position in (1, 2):
        axes = pyplot.subplot(1, 2, position)
        assert model.condensed_tree_.plot() is axes
    # The root stays at the top, however often the tree is drawn.
    assert model.condensed_tree_.plot(axis=axes) is axes
    assert axes.yaxis_inverted()
    assert pyplot.get_fignums() == [figure.number]
    pyplot.close("all")
