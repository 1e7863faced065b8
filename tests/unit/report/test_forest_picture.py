"""Pictures of forests: layouts by their properties, files of every kind, errors."""

import json
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import forests
import graphs
import numpy as np
import pytest
from processes import Run, without_first_uses

import mndmst as library
from mndmst.api.forest import Forest
from mndmst.host.errors import ConfigError
from mndmst.io.atomic_output import AtomicOutput
from mndmst.points.clusters.plane_plots import in_the_plane
from mndmst.report import forest_picture
from mndmst.report.forest_layout import layout
from mndmst.report.forest_picture import PlacedForest, write_forest_picture

pytest.importorskip("matplotlib")

# Vertex 0 with the children 1 and 4; the path 7-8-9; vertices 6 and 10 alone.
SRC = np.array([0, 0, 1, 1, 4, 7, 8])
DST = np.array([1, 4, 2, 3, 5, 8, 9])
DEPTH = [0, 1, 2, 2, 1, 2, 0, 0, 1, 2, 0]
TREES = [[0, 1, 2, 3, 4, 5], [6], [7, 8, 9], [10]]
WEIGHT = np.array([5, 1, 2, 8, 3, 9, 4], np.int32)
SUFFIXES = (".png", ".svg", ".pdf")


@pytest.fixture
def small() -> Forest:
    return library.minimum_spanning_forest(SRC, DST, WEIGHT, num_vertices=11)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return forests.write(tmp_path / "f.h5", 11, SRC, DST, WEIGHT)


@pytest.fixture
def places(tmp_path: Path) -> Path:
    path = tmp_path / "places.csv"
    points = np.random.default_rng(1).uniform(-80, 80, (11, 2))
    path.write_text("lon,lat\n" + "".join(f"{x:.6f},{y:.6f}\n" for x, y in points))
    return path


def random_forest(count: int, seed: int) -> Forest:
    """Return random trees, whose vertices have random numbers."""
    random = np.random.default_rng(seed)
    child = np.flatnonzero(random.random(count) < 0.95)
    child = child[child > 0]
    parent = (random.random(len(child)) * child).astype(np.int64)
    number = random.permutation(count)
    weight = random.random(len(child))
    ends = number[child], number[parent]
    return library.minimum_spanning_forest(*ends, weight, num_vertices=count)


def spans(positions: np.ndarray, trees: list[list[int]]) -> list[tuple]:
    return [(positions[t].min(axis=0), positions[t].max(axis=0)) for t in trees]


@pytest.mark.parametrize("name", ["tree", "radial", "spring"])
@pytest.mark.parametrize("seed", range(3))
def test_no_two_vertices_are_at_one_place(name: str, seed: int) -> None:
    if name == "spring":
        pytest.importorskip("networkx")
    forest = random_forest(300, seed)
    positions = layout(forest, name)
    assert np.isfinite(positions).all()
    gaps = np.linalg.norm(positions[:, None] - positions, axis=2)
    np.fill_diagonal(gaps, np.inf)
    assert gaps.min() > 1e-6


@pytest.mark.parametrize("name", ["tree", "radial", "spring"])
def test_boxes_of_trees_do_not_overlap(small: Forest, name: str) -> None:
    if name == "spring":
        pytest.importorskip("networkx")
    boxes = spans(layout(small, name), TREES)
    for k, (low, high) in enumerate(boxes):
        for other_low, other_high in boxes[:k]:
            assert (high < other_low).any() or (other_high < low).any()


def test_a_tree_hangs_by_depth_with_its_leaves_in_order(small: Forest) -> None:
    positions = layout(small, "tree")
    assert (-positions[:, 1]).tolist() == DEPTH
    # Below 1, the larger subtree, come 2 and 3; below 4 comes 5.
    across = positions[:, 0]
    assert {across[2], across[3]} == {0, 1} and across[5] == 2
    assert across[1] == 0.5 and across[4] == 2 and across[0] == 1
    assert all(across[a].max() < across[b].min() for a, b in pairwise(TREES))


def test_a_circle_has_the_root_inside_and_the_depth_as_radius(small: Forest) -> None:
    positions = layout(small, "radial")
    for tree in TREES:
        away = np.linalg.norm(positions[tree] - positions[tree[0]], axis=1)
        assert away == pytest.approx([DEPTH[vertex] for vertex in tree])


def test_a_large_forest_has_no_springs() -> None:
    with pytest.raises(ConfigError, match=r"at most 2,000 vertices.*radial"):
        layout(random_forest(2_001, 1), "spring")


def test_letters_that_xml_excludes_are_drawn_as_escapes(
    mndmst: Callable, tmp_path: Path
) -> None:
    names = ["a\x01$b", "\x7f\x9f\ufffe", "two\nlines", "\u4e2d"]
    links = [{"source": names[0], "target": name, "weight": 1} for name in names[1:]]
    (tmp_path / "g.json").write_text(json.dumps(links))
    for words in ("partition {0}/g.json {0}/g -q", "solve {0}/g -o {0}/f.h5 -q"):
        assert mndmst(*words.format(tmp_path).split()).returncode == 0
    draw = ("draw", tmp_path / "f.h5", "--labels", "-o")
    run = mndmst(*draw, tmp_path / "f.svg", "-q")
    assert (run.returncode, without_first_uses(run.stderr)) == (0, "")
    tree = ElementTree.parse(tmp_path / "f.svg")  # it is XML
    assert tree.getroot().tag.endswith("svg")
    text = (tmp_path / "f.svg").read_text(encoding="utf-8")
    assert "\\u0001" in text and "\\u007f\\u009f\\ufffe" in text
    run = mndmst(*draw, tmp_path / "f.png")
    assert run.returncode == 0 and "Warning" not in run.stderr
    assert "the font has no picture of some letters" in run.stderr


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("most", [1_000_000, 3])
def test_pictures_are_of_their_kind(
    small: Forest,
    suffix: str,
    most: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As lines, and as an accumulated image."""
    monkeypatch.setattr(forest_picture, "MOST_LINES", most)
    path = tmp_path / f"forest{suffix}"
    placed = PlacedForest(small, layout(small, "radial"))
    assert placed.is_large == (most == 3)
    with AtomicOutput() as files:
        write_forest_picture(placed, path, files, [f"${k}" for k in range(11)])
    heads = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF-"}
    assert path.read_bytes().startswith(heads[suffix])
    with AtomicOutput(overwrite=True) as files:
        write_forest_picture(placed, path, files)


def test_an_image_adds_up_the_weights_along_edges(small: Forest) -> None:
    shape = np.array([40, 30])
    positions, _ = in_the_plane(np.random.default_rng(2).random((11, 2)))
    pixels = positions * (shape - 1)
    total, crossings = forest_picture.accumulated(small, pixels, shape)
    along = np.abs(pixels[small.dst] - pixels[small.src]).max(axis=1)
    samples = along.astype(int) + 1
    assert crossings.sum() == samples.sum()
    assert total.sum() == (samples * small.weight).sum()
    # No sample leaves the box of its edge.
    drawn = np.flatnonzero(crossings)
    low, high = np.rint(pixels.min(axis=0)), np.rint(pixels.max(axis=0))
    assert (drawn % 40 >= low[0]).all() and (drawn % 40 <= high[0]).all()
    assert (drawn // 40 >= low[1]).all() and (drawn // 40 <= high[1]).all()


@pytest.mark.parametrize("n", [1, 4])
def test_a_forest_without_edges_is_drawn(
    mndmst: Callable, tmp_path: Path, n: int
) -> None:
    none = np.zeros(0, np.int64)
    path = forests.write(tmp_path / "f.h5", n, none, none, none.astype(np.int32))
    for name in ("tree", "radial"):
        out = tmp_path / f"{name}.png"
        run = mndmst("draw", path, "-o", out, "--layout", name)
        assert run.returncode == 0, run
        assert out.exists()


def test_the_output_names_principal_components(
    mndmst: Callable, file: Path, tmp_path: Path
) -> None:
    np.save(tmp_path / "p.npy", np.random.default_rng(1).random((11, 5)))
    out = tmp_path / "p.svg"
    run = mndmst("draw", file, "-o", out, "--points", tmp_path / "p.npy")
    assert run.returncode == 0, run
    assert re.search(r"first principal component.*, second principal", run.stdout)


def test_geojson_has_a_line_for_each_edge(
    mndmst: Callable, file: Path, places: Path, tmp_path: Path
) -> None:
    out = tmp_path / "map.geojson"
    for _ in range(2):  # the second run replaces the first result
        run = mndmst("draw", file, "-o", out, "--points", places)
        assert run.returncode == 0, run
    document = json.loads(out.read_text())
    assert document["type"] == "FeatureCollection"
    points = np.loadtxt(places, delimiter=",", skiprows=1)
    columns = zip(SRC.tolist(), DST.tolist(), WEIGHT.tolist(), strict=True)
    for (u, v, weight), feature in zip(columns, document["features"], strict=True):
        line = {"type": "LineString", "coordinates": points[[u, v]].tolist()}
        assert feature["geometry"] == line
        assert feature["properties"] == {"src": u, "dst": v, "weight": weight}


def test_geojson_cuts_an_edge_at_180_degrees(mndmst: Callable, tmp_path: Path) -> None:
    one = np.array([0]), np.array([1]), np.array([7], np.int32)
    file = forests.write(tmp_path / "f.h5", 2, *one)
    (tmp_path / "p.csv").write_text("lon,lat\n179,10\n-178,13\n")
    out = tmp_path / "map.geojson"
    run = mndmst("draw", file, "-o", out, "--points", tmp_path / "p.csv")
    assert run.returncode == 0, run
    (feature,) = json.loads(out.read_text())["features"]
    parts = [[[179, 10], [180, 11]], [[-180, 11], [-178, 13]]]
    assert feature["geometry"]["type"] == "MultiLineString"
    assert np.allclose(feature["geometry"]["coordinates"], parts)


@pytest.mark.parametrize(
    ("ids", "order"), [([2, 0, 1], [1, 2, 0]), ([7, 0, 1], [0, 1, 2])]
)
def test_points_are_found_by_the_numbers_of_vertices_if_they_are_all(
    mndmst: Callable, tmp_path: Path, ids: list[int], order: list[int]
) -> None:
    forest = library.minimum_spanning_forest([0, 1], [1, 2], [1, 2])
    forest.write(tmp_path / "f.h5")
    rows = [f"{i},{row},0" for row, i in enumerate(ids)]
    (tmp_path / "p.csv").write_text("\n".join(["vertex,lon,lat", *rows]))
    words = tmp_path / "f.h5", "--points", tmp_path / "p.csv", "-o"
    assert mndmst("draw", *words, tmp_path / "m.geojson").returncode == 0
    features = json.loads((tmp_path / "m.geojson").read_text())["features"]
    found = [feature["geometry"]["coordinates"] for feature in features]
    assert found == [[[order[u], 0], [order[u + 1], 0]] for u in (0, 1)]


def test_points_are_found_by_the_names_of_vertices(
    mndmst: Callable, tmp_path: Path
) -> None:
    (tmp_path / "g.csv").write_text("source,target,weight\nc,a,1\na,b,2\n")
    (tmp_path / "p.csv").write_text("name,lon,lat\nc,3,0\nb,2,0\nx,9,0\na,1,0\n")

    def run_in(command: str) -> Run:
        return mndmst(*command.format(tmp_path).split())

    for command in ("partition {0}/g.csv {0}/g", "solve {0}/g -o {0}/f.h5 -q"):
        assert run_in(command).returncode == 0
    run = run_in("draw {0}/f.h5 --points {0}/p.csv -o {0}/m.geojson")
    assert run.returncode == 0, run
    features = json.loads((tmp_path / "m.geojson").read_text())["features"]
    place = {"a": [1, 0], "b": [2, 0], "c": [3, 0]}
    for feature in features:
        ends = [feature["properties"][end] for end in ("src", "dst")]
        assert feature["geometry"]["coordinates"] == [place[end] for end in ends]
    run = run_in("draw {0}/f.h5 --labels -o {0}/m.svg")
    assert run.returncode == 0, run
    assert all(f"<!-- {name} -->" in (tmp_path / "m.svg").read_text() for name in "abc")
    (tmp_path / "p.csv").write_text("name,lon,lat\nc,3,0\nb,2,0\nx,9,0\n")
    run = run_in("draw {0}/f.h5 --points {0}/p.csv -o {0}/n.png -q")
    assert (run.returncode, run.stderr.count("\n")) == (1, 1) and "'a'" in run.stderr
    (tmp_path / "p.csv").write_text("name,lon,lat\nc,3,0\nb,2,0\na,9,0\nb,1,0\n")
    run = run_in("draw {0}/f.h5 --points {0}/p.csv -o {0}/n.png -q")
    assert (run.returncode, run.stderr.count("\n")) == (1, 1)
    assert "rows 1 and 3 (from 0) are both of vertex 'b'" in run.stderr
    (tmp_path / "p.csv").write_text("lon,lat\n3,0\n2,0\n9,0\n")
    run = run_in("draw {0}/f.h5 --points {0}/p.csv -o {0}/n.png -q")
    assert (run.returncode, run.stderr.count("\n")) == (1, 1)
    assert "no column of ids" in run.stderr and "--numbers" in run.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("-o {0}/a.jpg", "give a name in .png, .svg, .pdf, .geojson"),
        ("-o {0}/a.geojson", "--points"),
        ("-o {0}/a.geojson --points {0}/p.csv --labels", "--labels"),
        ("-o {0}/a.png --points {0}/few.csv", "has 3 points"),
        ("-o {0}/a.geojson --points {0}/wide.csv", "point 2 (from 0) is (7.0, 91.0)"),
        ("-o {0}/a.geojson --points {0}/deep.csv", "3 coordinates"),
        ("-o {0}/a.png --columns lon,lat", "--points"),
        ("-o {0}/a.png --layout spring --points {0}/p.csv", "not allowed"),
        ("-o {0}/a.png --layout star", "star"),
    ],
)
def test_errors_are_one_line(
    mndmst: Callable,
    file: Path,
    places: Path,
    tmp_path: Path,
    options: str,
    words: str,
) -> None:
    places.rename(tmp_path / "p.csv")
    points = np.arange(22.0).reshape(11, 2)
    points[2] = 7, 91
    np.savetxt(tmp_path / "wide.csv", points, delimiter=",")
    np.savetxt(tmp_path / "few.csv", points[:3], delimiter=",")
    np.savetxt(tmp_path / "deep.csv", points[:, [0, 1, 1]] / 9, delimiter=",")
    run = mndmst("draw", file, *options.format(tmp_path).split())
    assert run.returncode in (1, 2)
    assert run.stderr.splitlines()[-1].startswith("mndmst: error: ")
    assert words in run.stderr
    assert "Traceback" not in run.stderr
    assert not list(tmp_path.glob("a.*"))


def test_names_of_a_large_forest_are_refused(mndmst: Callable, tmp_path: Path) -> None:
    graph = graphs.path(201)
    graphs.write_graph(tmp_path / "g", graph)
    solve = ("solve", tmp_path / "g", "-o", tmp_path / "f.h5", "-q")
    assert mndmst(*solve).returncode == 0
    run = mndmst("draw", tmp_path / "f.h5", "-o", tmp_path / "a.png", "--labels")
    assert run.returncode == 1
    assert "at most 200 names" in run.stderr and run.stderr.count("\n") == 1


def test_another_program_s_picture_stays(
    mndmst: Callable, file: Path, tmp_path: Path
) -> None:
    out = tmp_path / "a.png"
    out.write_text("mine")
    run = mndmst("draw", file, "-o", out)
    assert run.returncode == 1 and "--overwrite" in run.stderr
    assert out.read_text() == "mine"
    assert mndmst("draw", file, "-o", out, "--overwrite").returncode == 0
