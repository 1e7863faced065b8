"""Forests and HDBSCAN* of points in memory, beside other packages.

Every contender gets the same points and the same parameters, in its own convention,
and takes turns with the others. Two tasks are timed apart: the forest of mutual
reachability distances alone, and the fit from the points to the labels. A first turn
of few points, which does not count, loads and compiles. The weights of exact forests
are compared.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
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
TASKS = ("forest", "labels")
APPROXIMATE = "approximate"
# Forests whose sums of weights differ by more are not the same.
TOLERANCE = 1e-7


def _ours(points: Points, **options: Any) -> np.ndarray:
    from ..points.estimator import HDBSCAN

    return HDBSCAN(MIN_CLUSTER_SIZE, MIN_SAMPLES, **options).fit(points).labels_


def _our_forest(points: Points, **options: Any) -> np.ndarray:
    from ..points.point_forest import points_forest

    found = points_forest(points, "euclidean", MIN_SAMPLES, **options)
    return found.forest.weight


def _approximate(points: Points) -> np.ndarray:
    return _ours(points, approximate=True)


def _approximate_forest(points: Points) -> np.ndarray:
    return _our_forest(points, approximate=True)


def _quitefastmst_forest(points: Points) -> np.ndarray:
    from ..host.cores import core_count

    module: Any = import_module("quitefastmst")
    module.omp_set_num_threads(core_count())
    return module.mst_euclid(points, MIN_SAMPLES)[0]


def _fast_hdbscan(points: Points) -> np.ndarray:
    module: Any = import_module("fast_hdbscan")
    sizes = {"min_cluster_size": MIN_CLUSTER_SIZE, "min_samples": MIN_SAMPLES}
    return module.HDBSCAN(**sizes).fit(points).labels_


def _fast_hdbscan_forest(points: Points) -> np.ndarray:
    module: Any = import_module("fast_hdbscan.hdbscan")
    made = module.compute_minimum_spanning_tree(points, MIN_SAMPLES)
    return made[0][:, 2]


def _hdbscan(points: Points) -> np.ndarray:
    module: Any = import_module("hdbscan")
    sizes = {"min_cluster_size": MIN_CLUSTER_SIZE, "min_samples": MIN_SAMPLES}
    return module.HDBSCAN(**sizes, core_dist_n_jobs=-1).fit(points).labels_


def _hdbscan_forest(points: Points) -> np.ndarray:
    neighbours: Any = import_module("sklearn.neighbors")
    module: Any = import_module("hdbscan._hdbscan_boruvka")
    tree = neighbours.KDTree(points)
    made = module.KDTreeBoruvkaAlgorithm(tree, MIN_SAMPLES, n_jobs=-1)
    return made.spanning_tree()[:, 2]


def _sklearn(points: Points) -> np.ndarray:
    module: Any = import_module("sklearn.cluster")
    # It counts the point itself.
    sizes = {"min_cluster_size": MIN_CLUSTER_SIZE, "min_samples": MIN_SAMPLES + 1}
    return module.HDBSCAN(**sizes, n_jobs=-1, copy=True).fit(points).labels_


@dataclass(frozen=True)
class PointsContender:
    """A package that makes forests of points, or labels, or both."""

    package: str  # The module that must be installed
    # For "forest" a function of points that returns weights; for "labels" one that
    # returns labels.
    tasks: dict[str, Callable[[Points], np.ndarray]]

    @property
    def distribution(self) -> str:
        """The name by which pip knows the package."""
        return "scikit-learn" if self.package == "sklearn" else self.package


CONTENDERS = {
    "mndmst": PointsContender("numpy", {"forest": _our_forest, "labels": _ours}),
    APPROXIMATE: PointsContender(
        "numpy", {"forest": _approximate_forest, "labels": _approximate}
    ),
    "quitefastmst": PointsContender("quitefastmst", {"forest": _quitefastmst_forest}),
    "fast_hdbscan": PointsContender(
        "fast_hdbscan", {"forest": _fast_hdbscan_forest, "labels": _fast_hdbscan}
    ),
    "hdbscan": PointsContender(
        "hdbscan", {"forest": _hdbscan_forest, "labels": _hdbscan}
    ),
    "sklearn": PointsContender("sklearn", {"labels": _sklearn}),
}


def missing() -> dict[str, str]:
    """Return the packages that are not installed, by contender."""
    packages = {name: made.package for name, made in CONTENDERS.items()}
    return {name: found for name, found in packages.items() if not find_spec(found)}


@dataclass
class PointsRow:
    """The time of one contender for one task on some points."""

    kind: str
    points: int
    dimensions: int
    task: str
    contender: str
    seconds: list[float]  # Of every turn
    clusters: int = 0
    noise: int = 0
    weight: float = 0.0  # Sum of the forest's weights
    differs: bool = False  # Whether the sum is not that of this package's exact forest


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
    cases: list[PointsCase],
    names: tuple[str, ...],
    tasks: tuple[str, ...],
    repeat: int,
    most: float,
) -> Iterator[list[PointsRow]]:
    """Yield the rows of each case and task.

    A contender that has taken more than `most` seconds has no further turn.
    """
    plan = [
        (task, [name for name in names if task in CONTENDERS[name].tasks])
        for task in tasks
    ]
    warm = make_points("blobs", WARM_UP, 3)
    for task, able in plan:
        for name in able:
            CONTENDERS[name].tasks[task](warm)
    for case in cases:
        points = make_points(case.kind, case.count, case.dimensions)
        for task, able in plan:
            rows = [
                PointsRow(case.kind, case.count, case.dimensions, task, name, [])
                for name in able
            ]
            for _ in range(repeat):
                for row in rows:
                    if not row.seconds or row.seconds[-1] <= most:
                        _take_turn(row, points)
            _compare(rows)
            if rows:
                yield rows


def _take_turn(row: PointsRow, points: Points) -> None:
    begin = time.perf_counter()
    made = CONTENDERS[row.contender].tasks[row.task](points)
    row.seconds.append(time.perf_counter() - begin)
    if row.task == "forest":
        row.weight = float(np.sum(made))
    else:
        row.clusters = int(made.max()) + 1
        row.noise = int((made < 0).sum())


def _compare(rows: list[PointsRow]) -> None:
    """Mark the forests whose weight is not that of this package's exact forest."""
    right = [row.weight for row in rows if row.contender == "mndmst"]
    for row in rows:
        if right and row.contender != APPROXIMATE:
            row.differs = abs(row.weight - right[0]) > TOLERANCE * abs(right[0])


def text(rows: list[PointsRow]) -> str:
    """Return the table of one case and task: least and median of the turns."""
    first = rows[0]
    size = f"{counted(first.points, 'point')}, {counted(first.dimensions, 'dimension')}"
    lines = [f"{first.kind}, {size}, {first.task}"]
    for row in rows:
        least, middle = min(row.seconds), median(row.seconds)
        ratio = least / min(first.seconds)
        result = f"{row.clusters:>7} clusters{row.noise:>9} noise"
        if row.task == "forest":
            result = f"  weight {row.weight:.10g}" + "  DIFFERS" * row.differs
        lines.append(
            f"  {row.contender:<14}{least:>9.3f} s{middle:>9.3f} s{ratio:>8.2f} x"
            f"{result}"
        )
    return "\n".join(lines)


def draw(rows: list[PointsRow], path: Path, files: AtomicOutput) -> None:
    """Draw the least seconds of every contender over points, a panel a dimension.

    Raises OutputError if the picture cannot be written; MissingExtraError if Matplotlib
    is not installed.
    """
    figure_of: Any = optional("matplotlib.figure", "plot").Figure
    panels = sorted({(row.kind, row.dimensions, row.task) for row in rows})
    figure = figure_of(figsize=(3.2 * len(panels), 3.4), layout="constrained")
    all_axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for axes, panel in zip(all_axes, panels, strict=True):
        shown = [r for r in rows if (r.kind, r.dimensions, r.task) == panel]
        shown.sort(key=lambda row: row.points)
        for name in dict.fromkeys(row.contender for row in shown):
            mine = [row for row in shown if row.contender == name]
            seconds = [min(row.seconds) for row in mine]
            axes.loglog([row.points for row in mine], seconds, "o-", label=name)
        kind, dimensions, task = panel
        axes.set_title(
            f"{kind}, {counted(dimensions, 'dimension')}, {task}", fontsize=9
        )
        axes.set_xlabel("points")
        axes.legend(fontsize=7)
    all_axes[0].set_ylabel("seconds")
    write_picture_file(figure, files, path, BENCH_PICTURE, dpi=110)
