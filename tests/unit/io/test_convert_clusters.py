"""`convert` writes the table of labels that the command of a cluster file writes."""

from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest
from processes import Run

pytestmark = pytest.mark.slow

EDGES = 'source,target,weight\n"b, 1",a,1\nc,a,2.5\nd,e,1\n'
POINTS = "".join(f"st. {i},{i % 2},{i // 2 * (1 + i % 3)}\n" for i in range(12))


@pytest.fixture
def inputs(tmp_path: Path, mndmst: Callable[..., Run]) -> Path:
    (tmp_path / "edges.csv").write_text(EDGES)
    (tmp_path / "points.csv").write_text("station_name,lat,lon\n" + POINTS)
    for command in (
        ("partition", tmp_path / "edges.csv", tmp_path / "graph"),
        ("solve", tmp_path / "graph", "-o", tmp_path / "forest.h5"),
    ):
        assert mndmst(*command, "-q").returncode == 0
    return tmp_path


POINTS_OF = ("points.csv", "--columns", "lat,lon")


@pytest.mark.parametrize(
    ("command", "numbers"),
    [
        (("cluster", "forest.h5", "--count", "3"), ()),
        (("cluster", "forest.h5", "--count", "3"), ("--numbers",)),
        (("cluster", "forest.h5", "--min-size", "2"), ()),
        (("hdbscan", *POINTS_OF, "--min-cluster-size", "3"), ()),
        (("linkage", *POINTS_OF), ()),
    ],
)
def test_the_table_is_that_of_the_command(
    inputs: Path, mndmst: Callable[..., Run], command: tuple, numbers: tuple
) -> None:
    name, file, *rest = command
    kept, direct, converted = (inputs / f for f in ("c.h5", "direct.csv", "c.csv"))
    for output, further in ((kept, ()), (direct, numbers)):
        run = mndmst(name, inputs / file, *rest, *further, "-o", output, "-q")
        assert run.returncode == 0, run.stderr
    run = mndmst("convert", kept, converted, *numbers, "-q")
    assert run.returncode == 0, run.stderr
    assert converted.read_bytes() == direct.read_bytes()
    if name == "cluster":
        header, first = converted.read_text().splitlines()[:2]
        assert header.startswith("vertex,label")
        assert first.startswith("0," if numbers else "a,")


def test_unsuitable_conversions_are_refused_in_one_line(
    inputs: Path, mndmst: Callable[..., Run]
) -> None:
    kept, out = inputs / "c.h5", inputs / "c.csv"
    forest = inputs / "forest.h5"
    assert mndmst("cluster", forest, "--count", 3, "-o", kept, "-q").returncode == 0
    for options, message in (
        ((inputs / "c.parquet",), "has clusters, which convert writes as .csv"),
        ((inputs / "d.h5",), "has clusters, which convert writes as .csv"),
        ((out, "--graph", inputs / "graph"), "--graph goes with a forest"),
        ((out, "--columns", "weight="), "is not a table"),
    ):
        run = mndmst("convert", kept, *options)
        assert run.returncode != 0 and message in run.stderr
        assert run.stderr.count("\n") == 1 and not Path(options[0]).exists()
    with h5py.File(kept, "r+") as file:
        del file["ids"]
        file.create_dataset("ids", data=np.arange(3), fletcher32=True, chunks=(3,))
    run = mndmst("convert", kept, out)
    assert run.returncode != 0 and "labels and ids differ" in run.stderr
    assert not out.exists()
