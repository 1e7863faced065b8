"""HDBSCAN* of points in memory, beside other packages: time over points and dimensions.

Every contender gets the same points and the same parameters, in its own convention,
and takes turns with the others. The fit is timed, from the points to the labels; a
first one of few points, which does not count, loads and compiles.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from ..host.errors import optional
from ..host.formatting import counted
from ..io.atomic_output import AtomicOutput, write_picture_file
from ..io.output_kinds import BENCH_PICTURE

Points = np.ndarray
MIN_CLUSTER_SIZE, MIN_SAMPLES = 100, 10
CLOUDS = 20
WARM_UP = 2000
KINDS = ("uniform", "blobs")


def _ours(points: Points, **options: Any) -> np.ndarray:
    from ..points.estimator import HDBSCAN

    return HDBSCAN(MIN_CLUSTER_SIZE, MIN_SAMPLES, **options).fit(points).labels_


def _approximate(points: Points) -> np.ndarray:
    return _ours(points, approximate=True)


def _fast_hdbscan(points: Points) -> np.ndarray:
    module: Any = optional("fast_hdbscan", "bench")
    sizes = {"min_cluster_size": MIN_CLUSTER_SIZE, "min_samples": MIN_SAMPLES}
    return module.HDBSCAN(**sizes).fit(points).labels_


def _hdbscan(points: Points) -> np.ndarray:
    module: Any = optional("hdbscan", "bench")
    sizes = {"min_cluster_size": MIN_CLUSTER_SIZE, "min_samples": MIN_SAMPLES}
    return module.HDBSCAN(**sizes, core_dist_n_jobs=-1).fit(points).labels_


def _sklearn(points: Points) -> np.ndarray:
    module: Any = optional("sklearn.cluster", "bench")
    # It counts the point itself.
    sizes = {"min_cluster_size": MIN_CLUSTER_SIZE, "min_samples": MIN_SAMPLES + 1}
    return module.HDBSCAN(**sizes, n_jobs=-1, copy=True).fit(points).labels_


CONTENDERS: dict[str, tuple[str, Callable[[Points], np.ndarray]]] = {
    "mndmst": ("numpy", _ours),
    "approximate": ("numpy", _approximate),
    "fast_hdbscan": ("fast_hdbscan", _fast_hdbscan),
    "hdbscan": ("hdbscan", _hdbscan),
    "sklearn": ("sklearn", _sklearn),
}


def installed() -> tuple[str, ...]:
    """Return the contenders that can take part."""
    found = CONTENDERS.items()
    return tuple(name for name, (package, _) in found if find_spec(package))


@dataclass
class PointsRow:
    """What one contender takes for some points.

    Attributes
    ----------
    kind : {"uniform", "blobs"}
    seconds : list of float
        Of every turn.
    """

    kind: str
    points: int
    dimensions: int
    contender: str
    seconds: list[float]
    clusters: int = 0
    noise: int = 0


def make_points(kind: str, count: int, dimensions: int) -> Points:
    """Return points without structure, or in round clouds of different width."""
    generator = np.random.default_rng(1)
    if kind == "uniform":
        return generator.random((count, dimensions))
    centres = generator.uniform(-10, 10, (CLOUDS, dimensions))
    cloud = generator.integers(0, CLOUDS, count)
    spread = generator.uniform(0.3, 1.5, CLOUDS)[cloud]
    noise = generator.standard_normal((count, dimensions))
    return centres[cloud] + spread[:, None] * noise


@dataclass(frozen=True)
class PointsCase:
    """A set of random points: its kind, size and dimensions."""

    kind: str
    count: int
    dimensions: int


def run(
    cases: list[PointsCase], names: tuple[str, ...], repeat: int, most: float
) -> Iterator[list[PointsRow]]:
    """Yield the rows of each case.

    Parameters
    ----------
    most : float
        A contender that has taken more seconds has no further turn.
    """
    warm = make_points("blobs", WARM_UP, 3)
    for name in names:
        CONTENDERS[name][1](warm)
    for case in cases:
        points = make_points(case.kind, case.count, case.dimensions)
        rows = [
            PointsRow(case.kind, case.count, case.dimensions, name, [])
            for name in names
        ]
        for _ in range(repeat):
            for row in rows:
                if row.seconds and row.seconds[-1] > most:
                    continue
                begin = time.perf_counter()
                labels = CONTENDERS[row.contender][1](points)
                row.seconds.append(time.perf_counter() - begin)
                row.clusters = int(labels.max()) + 1
                row.noise = int((labels < 0).sum())
        yield rows


def text(rows: list[PointsRow]) -> str:
    """Return the table of one case: least and median of the turns."""
    first = rows[0]
    size = f"{counted(first.points, 'point')}, {counted(first.dimensions, 'dimension')}"
    lines = [f"{first.kind}, {size}"]
    for row in rows:
        least, middle = min(row.seconds), median(row.seconds)
        ratio = least / min(first.seconds)
        lines.append(
            f"  {row.contender:<14}{least:>9.3f} s{middle:>9.3f} s{ratio:>8.2f} x"
            f"{row.clusters:>7} clusters{row.noise:>9} noise"
        )
    return "\n".join(lines)


def draw(rows: list[PointsRow], path: Path, files: AtomicOutput) -> None:
    """Draw the least seconds of every contender over points, a panel a dimension.

    Raises
    ------
    OutputError
        If the picture cannot be written.
    MissingExtraError
        If Matplotlib is not installed.
    """
    figure_of: Any = optional("matplotlib.figure", "plot").Figure
    panels = sorted({(row.kind, row.dimensions) for row in rows})
    figure = figure_of(figsize=(3.2 * len(panels), 3.4), layout="constrained")
    all_axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for axes, panel in zip(all_axes, panels, strict=True):
        for name in dict.fromkeys(row.contender for row in rows):
            mine = [
                r
                for r in rows
                if ((r.kind, r.dimensions), r.contender) == (panel, name)
            ]
            mine.sort(key=lambda row: row.points)
            seconds = [min(row.seconds) for row in mine]
            axes.loglog([row.points for row in mine], seconds, "o-", label=name)
        axes.set_title(f"{panel[0]}, {counted(panel[1], 'dimension')}", fontsize=9)
        axes.set_xlabel("points")
    all_axes[0].set_ylabel("seconds")
    all_axes[0].legend(fontsize=7)
    write_picture_file(figure, files, path, BENCH_PICTURE, dpi=110)
