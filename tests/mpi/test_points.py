"""Forests of points that are dealt to ranks: those of one process, bit for bit."""

import json
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest
from strides import sampled

from mndmst.points.point_files import example_points

PROGRAM = Path(__file__).with_name("points_program.py")
BLOBS = Path(__file__).with_name("blobs_program.py")

NAMES = "labels", "probabilities", "linkage"

pytestmark = pytest.mark.mpi


@pytest.mark.parametrize(
    ("ranks", "stride"),
    sampled({1: 11, 3: 8, 4: 11}, more=dict.fromkeys((1, 2, 3, 4), 3)),
)
def test_ranks_change_nothing(mpirun: Callable, ranks: int, stride: int) -> None:
    run = mpirun(ranks, "-m", "mpi4py", PROGRAM, stride, timeout=280)
    assert run.returncode == 0, run.stderr[-3000:]
    found = json.loads(run.stdout)
    assert found["done"] >= 214 // stride and found["differing"] == []
    assert max(found["shares"]) < 1.2 * 3000 and sum(found["shares"]) == 3000 * ranks


@pytest.mark.parametrize("ranks", [pytest.param(2, marks=pytest.mark.slow), 3])
def test_equal_blobs_join_in_one_pass_over_pairs(mpirun: Callable, ranks: int) -> None:
    """Components that know their first edge join before any point searches."""
    run = mpirun(ranks, "-m", "mpi4py", BLOBS, timeout=280)
    assert run.returncode == 0, run.stderr[-3000:]
    cases = json.loads(run.stdout)
    assert len(cases) == 8
    for noise, same, passes, searches, _ in cases:
        assert same
        assert len(passes) == 1
        assert noise > 1 or passes[0] < 20
        assert not searches if noise < 1 else max(searches, default=0) < 30


def test_commands_write_the_same(
    mpirun: Callable, mndmst: Callable, tmp_path: Path
) -> None:
    points = tmp_path / "points.npy"
    np.save(points, example_points("blobs", 3000).astype(np.float32))
    options = "--min-cluster-size", 40, "--min-samples", 4
    written = []
    for ranks, source in ((1, points), (3, points), (2, "blobs")):
        clusters = tmp_path / f"clusters{ranks}.h5"
        forest = tmp_path / f"forest{ranks}.h5"
        words = "hdbscan", source, *options, "-o", clusters, "--forest", forest
        if source == "blobs":
            words = (*words, "--count", 500, "--plot", tmp_path / "blobs.png")
        run = mndmst(*words) if ranks == 1 else mpirun(ranks, "-m", "mndmst", *words)
        assert run.returncode == 0, run.stderr
        with h5py.File(clusters) as file:
            columns = {name: file[name][:].tolist() for name in NAMES}
            written.append((columns, file.attrs["graph-uuid"]))
    assert written[0] == written[1]
    assert len(written[2][0]["labels"]) == 500
    assert mndmst("verify", points, tmp_path / "forest3.h5").returncode == 0
    run = mpirun(2, "-m", "mndmst", "linkage", points, "-q")
    assert run.returncode == 0 and run.stdout.startswith("RESULT n=3000 edges=2999")


def test_core_distances_of_all_points_are_searched_on_one_rank(
    mpirun: Callable, mndmst: Callable, tmp_path: Path
) -> None:
    options = ("--count", 2100, "--min-cluster-size", 10**6, "-q", "-o")
    words = ("hdbscan", "blobs", *options)
    alone = mndmst(*words, tmp_path / "alone.h5")
    ranks = mpirun(2, "-m", "mndmst", *words, tmp_path / "ranks.h5")
    assert alone.returncode == ranks.returncode == 0, ranks
    with h5py.File(tmp_path / "alone.h5") as a, h5py.File(tmp_path / "ranks.h5") as b:
        np.testing.assert_array_equal(a["linkage"], b["linkage"])
