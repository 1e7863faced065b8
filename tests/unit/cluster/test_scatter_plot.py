"""Pictures of points of any dimension."""

from pathlib import Path

import numpy as np
import pytest

from mndmst.cluster.scatter_plot import draw
from mndmst.host.errors import ConfigError
from mndmst.io.atomic_output import AtomicOutput

pytest.importorskip("matplotlib")


@pytest.mark.parametrize("dimensions", [1, 2, 5])
@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_points_of_any_dimension_are_drawn(
    tmp_path: Path, dimensions: int, suffix: str
) -> None:
    points = np.random.default_rng(1).random((20, dimensions))
    path = tmp_path / f"points{suffix}"
    with AtomicOutput() as files:
        draw(points, np.arange(20) % 3 - 1, path, files)
    assert path.stat().st_size > 500


def test_other_points_are_refused(tmp_path: Path) -> None:
    with AtomicOutput() as files, pytest.raises(ConfigError, match="has 20 points"):
        draw(np.zeros((20, 2)), np.zeros(19, int), tmp_path / "a.png", files)
