"""Numbers are said with the noun that suits them."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import mndmst
from mndmst.host.formatting import counted, option_size, size_text, sufficient_size
from mndmst.solver.config import parse_bytes


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
    assert run.stdout.splitlines()[0].split() == ["cluster", "0", "1", "vertex"]


def test_a_forest_is_shown_so() -> None:
    forest = mndmst.minimum_spanning_forest([0], [1], [5])
    assert repr(forest) == "Forest(1 edge, 1 tree, total weight 5)"


@pytest.mark.parametrize(
    ("nbytes", "said", "option"),
    [
        (0, "0 bytes", "0"),
        (1, "1 byte", "1"),
        (1023, "1,023 bytes", "1023"),
        (1024, "1 KiB", "1KiB"),
        (9_000_000, "8.583 MiB", "8.583MiB"),
        (1000 << 20, "1,000 MiB", "1000MiB"),
        (3 << 29, "1.5 GiB", "1.5GiB"),
        (1 << 60, "1 EiB", "1EiB"),
        (1 << 75, "32,768 EiB", "32768EiB"),
    ],
)
def test_sizes_are_said_in_binary_units(nbytes: int, said: str, option: str) -> None:
    assert size_text(nbytes) == said
    assert option_size(nbytes) == option


@pytest.mark.parametrize("nbytes", [1, 1000, 1023, 5000, 9_000_000, 3 << 29, 7 << 40])
def test_a_size_that_is_said_is_one_that_an_option_takes(nbytes: int) -> None:
    assert parse_bytes(option_size(nbytes)) == pytest.approx(nbytes, rel=1e-3)


@pytest.mark.parametrize(
    "nbytes", [0, 1, (1 << 20) - 1, 1 << 20, 3 << 29, (7 << 40) - 1]
)
def test_a_size_that_suffices_is_not_rounded_down(nbytes: int) -> None:
    assert 1 << 20 < parse_bytes(sufficient_size(nbytes)) - nbytes <= 2 << 20
