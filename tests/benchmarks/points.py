"""Forests and HDBSCAN* of points in memory, beside other packages.

Every contender gets the same points and the same parameters, in its own convention,
and takes turns with the others. Two tasks are timed apart: the forest of mutual
reachability distances alone, and the fit from the points to the labels. A first turn
per number of dimensions, which does not count, loads and compiles. The weights of exact
forests are compared.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import patch

import numpy as np

from mndmst import read_points
from mndmst.backends import ACCELERATORS, find_accelerator
from mndmst.host.formatting import counted
from mndmst.io.atomic_output import AtomicOutput, write_picture_file
from mndmst.report.page import figure_of
from mndmst.report.point_peers import (
    CLOUDS,
    HDBSCAN_BORUVKA,
    MIN_SAMPLES,
    SELF_COUNTED,
    SIZES,
    Points,
    Task,
    blobs,
    fast_hdbscan_tree,
    fit,
    hdbscan_labels,
    hdbscan_tree,
    sklearn_labels,
)

from .output_kinds import BENCH_PICTURE

WARM_UP = 500
KINDS = ("uniform", "blobs")
TASKS = ("forest", "labels")
APPROXIMATE = "approximate"
# Forests whose sums of weights differ by more are not the same.
TOLERANCE = 1e-7


def _ours(points: Points, devices: bool = False, **options: Any) -> np.ndarray:
    from mndmst.points.estimator import HDBSCAN

    with nullcontext() if devices else patch.dict(ACCELERATORS, clear=True):
        return HDBSCAN(**SIZES, **options).fit(points).labels_


def _our_forest(points: Points, devices: bool = False, **options: Any) -> np.ndarray:
    from mndmst.points.point_forest import points_forest

    with nullcontext() if devices else patch.dict(ACCELERATORS, clear=True):
        found = points_forest(points, "euclidean", MIN_SAMPLES, **options)
    return found.forest.weight


def _start_device() -> None:
    """Let this process use a device, which few points do not start."""
    from mndmst.points.point_forest import points_forest
    from mndmst.points.search.search_choice import START_POINTS

    points_forest(make_points("blobs", START_POINTS, CLOUDS), search="product")


def _quitefastmst_forest(points: Points) -> np.ndarray:
    from mndmst.host.cores import core_count

    module: Any = import_module("quitefastmst")
    module.omp_set_num_threads(core_count())
    return module.mst_euclid(points, MIN_SAMPLES)[0]


def _cuhc_forest(points: Points) -> np.ndarray:
    module: Any = import_module("cuhc._hdbscan")
    linkage, _ = module.hdbscan_tree(points, SELF_COUNTED["min_samples"])
    return linkage[:, 2]


# The most dimensions in which fast_hdbscan searches a tree. Beyond, it is not exact,
# and beyond `HDBSCAN_BORUVKA` hdbscan is.
FAST_HDBSCAN_TREE = 30


@dataclass(frozen=True)
class PointsContender:
    """A package that makes forests of points, or labels, or both."""

    package: str  # The module that must be installed
    tasks: dict[str, Task]  # "forest", "labels" or both
    # The dimensions in which the forest is that of all distances.
    exact: range = range(1, 1 << 32)
    device: bool = False  # Whether it computes on a device
    start: Callable[[], None] | None = None  # Starts the device before all turns

    @property
    def distribution(self) -> str:
        """The name by which pip knows the package."""
        return "scikit-learn" if self.package == "sklearn" else self.package

    def lacking(self) -> str | None:
        """Return why the contender cannot take part; None if it can."""
        if not find_spec(self.package):
            return f"the package {self.package} is not installed"
        return find_accelerator("auto")[1] if self.device else None


NONE = range(0)
CONTENDERS = {
    "mndmst": PointsContender("numpy", {"forest": _our_forest, "labels": _ours}),
    "mndmst-device": PointsContender(
        "cupy",
        {
            "forest": partial(_our_forest, devices=True),
            "labels": partial(_ours, devices=True),
        },
        device=True,
        start=_start_device,
    ),
    APPROXIMATE: PointsContender(
        "numpy",
        {
            "forest": partial(_our_forest, approximate=True),
            "labels": partial(_ours, approximate=True),
        },
        NONE,
    ),
    "quitefastmst": PointsContender("quitefastmst", {"forest": _quitefastmst_forest}),
    "hdbscan-rs": PointsContender(
        "hdbscan_rs", {"labels": fit("hdbscan_rs", **SELF_COUNTED)}
    ),
    "fast_hdbscan": PointsContender(
        "fast_hdbscan",
        {"forest": fast_hdbscan_tree, "labels": fit("fast_hdbscan", **SIZES)},
        range(1, FAST_HDBSCAN_TREE + 1),
    ),
    "hdbscan": PointsContender(
        "hdbscan",
        {"forest": hdbscan_tree, "labels": hdbscan_labels},
        range(HDBSCAN_BORUVKA + 1, 1 << 32),
    ),
    "hdbscan-exact": PointsContender(
        "hdbscan",
        {
            "forest": partial(hdbscan_tree, approx_min_span_tree=False),
            "labels": partial(hdbscan_labels, approx_min_span_tree=False),
        },
    ),
    "sklearn-kd_tree": PointsContender(
        "sklearn", {"labels": sklearn_labels("kd_tree")}
    ),
    "sklearn-brute": PointsContender("sklearn", {"labels": sklearn_labels("brute")}),
    "cuhc": PointsContender(
        "cuhc",
        {"forest": _cuhc_forest, "labels": fit("cuhc", **SELF_COUNTED)},
        device=True,
    ),
    "cuml": PointsContender(
        "cuml", {"labels": fit("cuml.cluster", **SIZES)}, NONE, device=True
    ),
}


def missing() -> dict[str, str]:
    """Return why contenders cannot take part, by their names."""
    reasons = {name: made.lacking() for name, made in CONTENDERS.items()}
    return {name: reason for name, reason in reasons.items() if reason}


@dataclass
class PointsRow:
    """The time of one contender for one task on some points."""

    kind: str
    points: int
    dimensions: int
    task: str
    contender: str
    exact: bool  # Whether the forest should be that of all distances
    seconds: list[float]  # Of every turn
    cpu_seconds: list[float]  # Of all threads in every turn
    clusters: int = 0
    noise: int = 0
    weight: float = 0.0  # Sum of the forest's weights
    differs: bool = False  # Whether the sum is not that of this package's exact forest

    @classmethod
    def empty(cls, case: "PointsCase", task: str, name: str) -> "PointsRow":
        """Return the row of a contender that has had no turn."""
        exact = case.dimensions in CONTENDERS[name].exact
        return cls(case.kind, case.count, case.dimensions, task, name, exact, [], [])


def make_points(kind: str, count: int, dimensions: int) -> Points:
    """Return points without structure, or in round clouds of different width."""
    if kind == "uniform":
        return np.random.default_rng(1).random((count, dimensions))
    return blobs(count, dimensions)


@dataclass(frozen=True)
class PointsCase:
    """A set of random points of one kind, or the points of a file."""

    kind: str
    count: int
    dimensions: int
    path: Path | None = None

    @classmethod
    def of_file(cls, path: Path) -> "PointsCase":
        """Return the case of a file, named after it."""
        count, dimensions = read_points(path).shape
        return cls(path.stem, count, dimensions, path)

    def make(self) -> Points:
        """Return the points, in float64."""
        if self.path is not None:
            return read_points(self.path)
        return make_points(self.kind, self.count, self.dimensions)


class PointsRun:
    """The turns of contenders on cases.

    A contender that has taken more than `most` seconds has no further turn in the case,
    and no turn in a case of the same or a larger number of coordinates.
    """

    def __init__(
        self,
        names: tuple[str, ...],
        tasks: tuple[str, ...],
        repeat: int,
        most: float,
        say: Callable[[str], object],
    ) -> None:
        self.names, self.tasks, self.repeat, self.most = names, tasks, repeat, most
        self._say = say  # takes a line about a contender that is left out
        # The fewest coordinates for which a task took a contender too long
        self._too_many: dict[tuple[str, str], int] = {}

    def tables(self, cases: list[PointsCase]) -> Iterator[list[PointsRow]]:
        """Yield the rows of each case and task."""
        for case in cases:
            points = case.make()
            for task in self.tasks:
                rows = [
                    PointsRow.empty(case, task, name)
                    for name in self.names
                    if task in CONTENDERS[name].tasks
                    and points.size < self._too_many.get((task, name), points.size + 1)
                    and self._warm_up(case, task, name)
                ]
                for _ in range(self.repeat):
                    for row in rows:
                        if not row.seconds or row.seconds[-1] <= self.most:
                            _take_turn(row, points)
                for row in rows:
                    if row.seconds[-1] > self.most:
                        self._too_many[task, row.contender] = points.size
                _compare(rows)
                if rows:
                    yield rows

    def _warm_up(self, case: PointsCase, task: str, name: str) -> bool:
        """Let a contender load and compile; return whether it could import all.

        Few points start no device.
        """
        made = CONTENDERS[name]
        few = make_points("blobs", WARM_UP, case.dimensions)
        try:
            if made.start is not None:
                made.start()
            made.tasks[task](case.make() if made.device else few)
        except ImportError as error:
            self._say(f"{name} is left out in {case.dimensions} dimensions: {error}")
            return False
        return True


def _take_turn(row: PointsRow, points: Points) -> None:
    begin, cpu_begin = time.perf_counter(), time.process_time()
    made = CONTENDERS[row.contender].tasks[row.task](points)
    row.seconds.append(time.perf_counter() - begin)
    row.cpu_seconds.append(time.process_time() - cpu_begin)
    if row.task == "forest":
        row.weight = float(np.sum(made))
    else:
        row.clusters = int(made.max()) + 1
        row.noise = int((made < 0).sum())


def _compare(rows: list[PointsRow]) -> None:
    """Mark the forests whose weight is not that of this package's exact forest."""
    right = [row.weight for row in rows if row.contender == "mndmst"]
    for row in rows:
        if right and row.exact:
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
        if not row.exact and row.contender != APPROXIMATE:
            result += f"  {APPROXIMATE}"
        lines.append(
            f"  {row.contender:<15}{least:>9.3f} s{middle:>9.3f} s"
            f"{min(row.cpu_seconds):>9.3f} s{ratio:>8.2f} x{result}"
        )
    return "\n".join(lines)


def draw(rows: list[PointsRow], path: Path, files: AtomicOutput) -> None:
    """Draw the least seconds of every contender over points, a panel a dimension.

    Raises OutputError if the picture cannot be written; MissingExtraError if Matplotlib
    is not installed.
    """
    panels = sorted({(row.kind, row.dimensions, row.task) for row in rows})
    figure = figure_of(3.2 * len(panels), 3.4)
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
