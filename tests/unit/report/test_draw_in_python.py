"""`mndmst.draw`: the pictures and maps of the command, from forests in memory."""

import json
from pathlib import Path

import numpy as np
import pytest
from processes import command

pytest.importorskip("matplotlib", reason="needs matplotlib")

import mndmst

FOREST = mndmst.minimum_spanning_forest([0, 1, 2], [1, 2, 3], [5, 6, 7])
CITIES = mndmst.minimum_spanning_forest(["Bonn", "Rom"], ["Rom", "Ulm"], [2, 3])
PLACES = {"Bonn": (7.1, 50.7), "Rom": (12.5, 41.9), "Ulm": (10.0, 48.4)}


@pytest.mark.parametrize(
    ("name", "begin"), [("f.png", b"\x89PNG"), ("f.pdf", b"%PDF"), ("f.svg", b"<?xml")]
)
@pytest.mark.parametrize("layout", ["radial", "tree"])
def test_a_picture(tmp_path: Path, name: str, begin: bytes, layout: str) -> None:
    mndmst.draw(FOREST, tmp_path / name, layout=layout, labels=True)
    assert (tmp_path / name).read_bytes().startswith(begin)


def test_a_map_has_the_names_at_their_places(tmp_path: Path) -> None:
    points = [PLACES[name] for name in CITIES.nodes.tolist()]
    mndmst.draw(CITIES, tmp_path / "f.geojson", points=points)
    features = json.loads((tmp_path / "f.geojson").read_text())["features"]
    found = {
        (f["properties"]["src"], f["properties"]["dst"]): f["geometry"]["coordinates"]
        for f in features
    }
    assert found == {
        ends: [list(PLACES[end]) for end in ends]
        for ends in (("Bonn", "Rom"), ("Rom", "Ulm"))
    }


def test_names_are_written_as_they_are(tmp_path: Path) -> None:
    mndmst.draw(CITIES, tmp_path / "f.svg", labels=True)
    assert "Bonn" in (tmp_path / "f.svg").read_text()


def test_the_command_draws_the_same_map(tmp_path: Path) -> None:
    FOREST.write(tmp_path / "f.h5")
    points = np.array([[0.0, 0], [1, 0], [1, 1], [2, 1]])
    np.save(tmp_path / "p.npy", points)
    mndmst.draw(tmp_path / "f.h5", tmp_path / "a.geojson", points=points)
    files = ("--points", tmp_path / "p.npy", "-o", tmp_path / "b.geojson")
    words = ("draw", tmp_path / "f.h5", "--numbers", *files)
    done = command(*words)
    assert done.returncode == 0, done
    assert (tmp_path / "a.geojson").read_text() == (tmp_path / "b.geojson").read_text()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"layout": "circle"}, "layout is 'circle'; give one of radial, tree, spring"),
        ({"points": [[0, 0]]}, "points has 1 row, and the forest has 4 vertices"),
        ({"output": "f.geojson"}, "f.geojson: GeoJSON needs points"),
        ({"output": "f.jpg"}, "f.jpg"),
    ],
)
def test_a_wrong_argument_is_one_line(
    tmp_path: Path, wrong: dict[str, object], message: str
) -> None:
    output = tmp_path / str(wrong.pop("output", "f.png"))
    with pytest.raises(mndmst.MndmstError) as caught:
        mndmst.draw(FOREST, output, **wrong)
    assert message in str(caught.value) and "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []
