"""Numbers are said with the noun that suits them."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import mndmst
from mndmst.host.formatting import counted


@pytest.mark.parametrize(
    ("number", "noun", "said"),
    [
        (1, "tree", "1 tree"),
        (0, "tree", "0 trees"),
        (2000, "neighbour", "2,000 neighbours"),
        (1, "vertex", "1 vertex"),
        (2, "vertex", "2 vertices"),
        (np.int64(1), "entry", "1 entry"),
        (3, "entry", "3 entries"),
    ],
)
def test_one_is_no_plural(number: int, noun: str, said: str) -> None:
    assert counted(number, noun) == said


def test_commands_count_so(mndmst: Callable, tmp_path: Path) -> None:
    points = tmp_path / "points.npy"
    np.save(points, [[0.0, 0.0], [3.0, 4.0]])
    run = mndmst("linkage", points, "--forest", tmp_path / "f.h5")
    assert run.stdout.startswith("exact forest: 1 edge, 1 tree; 1 edge certain by")
    run = mndmst("cluster", tmp_path / "f.h5", "--count", 2)
    assert run.stdout.splitlines()[0].split() == ["cluster", "1", "1", "vertex"]


def test_a_forest_is_shown_so() -> None:
    forest = mndmst.minimum_spanning_forest([0], [1], [5])
    assert repr(forest) == "Forest(1 edge, 1 tree, total weight 5)"
