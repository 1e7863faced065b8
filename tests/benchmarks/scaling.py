"""`tests.benchmarks scaling`: time against the number of ranks, on generated graphs.

Strong scaling solves one graph on more and more ranks, weak scaling graphs that grow
with them. A graph is made once, and read once for each number of ranks; then what a
user gets (auto), the same by messages, and the plain method of MND-MST (rings, all
edges at once) take turns. Finally, one rank uses each total
number of threads, and the numbers of ranks between use the largest total.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from math import log2
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from mndmst.host.errors import MndmstError
from mndmst.host.launcher import find_mpirun
from mndmst.io.atomic_output import AtomicOutput, write_picture_file
from mndmst.report.page import figure_of

from .output_kinds import BENCH_PICTURE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PARTS = 16

# Open MPI needs to know that root and more ranks than cores are allowed, and would
# bind few ranks to a core each; see launch/env.sh.
_ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "PRTE_MCA_hwloc_default_binding_policy": "none",
}

KINDS = ("rmat", "gnm", "rgg2d", "rgg3d", "rhg", "grid2d")


@dataclass
class Point:
    """The times of one method on one number of ranks."""

    graph: str
    series: str
    method: str
    group_size: int
    ranks: int
    threads: int
    num_vertices: int
    num_edges: int
    seconds: list[float]  # Of every turn, the slowest rank's
    rank_seconds: list[float]  # Of every rank, the median
    # Of all ranks together, those in which they wait for others included; the median.
    cpu_seconds: float
    # Bytes and edges sent by all ranks, the memory of the largest; medians.
    bytes_sent: int
    edges_sent: int
    peak_bytes: int
    digests: list[str]  # Those of the forests; one, if all is well
    stages: dict[str, float]  # Median seconds of every stage, the slowest rank's
    # Against the least ranks of the series, with the method a user gets.
    speedup: float = field(default=1.0)
    efficiency: float = field(default=1.0)

    @property
    def time(self) -> float:
        """The median of the seconds."""
        return median(self.seconds)

    @property
    def name(self) -> str:
        """The method; where ranks merge in groups, with their size."""
        return f"ring {self.group_size}" if self.method == "ring" else self.method

    def compare(self, base: "Point") -> None:
        """Note speed-up and efficiency against another point of the series."""
        cores = self.ranks * self.threads / (base.ranks * base.threads)
        work = self.num_edges / max(1, base.num_edges)
        self.speedup = work * base.time / self.time
        self.efficiency = self.speedup / cores

    def as_dict(self) -> dict[str, Any]:
        """Return everything for JSON."""
        return {"median_seconds": self.time, **asdict(self)}


def size_of(kind: str, scale: float) -> dict[str, float]:
    """Return the parameters of a graph with about 2^scale vertices, 16 times the edges.

    Grids have fewer edges for each vertex, as roads do, and so 8 times the vertices.
    """
    n = round(2**scale)
    side = round(2 ** ((scale + 3) / 2))
    sizes: dict[str, dict[str, float]] = {
        "rmat": {"scale": round(scale)},
        "gnm": {"n": n, "m": 16 * n},
        "rgg2d": {"n": n},
        "rgg3d": {"n": n},
        "rhg": {"n": n},
        "grid2d": {"side": side, "keep": 0.6},
    }
    return sizes[kind]


def make(kind: str, scale: float, work: Path) -> Path:
    """Return a graph of a size, which is made if it is not there."""
    size = size_of(kind, scale)
    name = "-".join([kind, *(f"{key}{value}" for key, value in size.items())])
    path = work / name
    if not (path / "index.h5").exists():
        options = [f"--{key}={value}" for key, value in size.items()]
        asked = ["generate", kind, str(path), f"--parts={PARTS}", *options]
        run_command([sys.executable, "-m", "mndmst", *asked])
    return path


def job(
    graph: Path,
    series: str,
    ranks: int,
    threads: int,
    backend: str,
    repeat: int,
    group_sizes: tuple[int, ...],
) -> list[Point]:
    """Solve a graph on some ranks, `repeat` times; return a point for each method."""
    on_ranks = [find_mpirun(), "-n", str(ranks), sys.executable, "-m", "mpi4py"]
    sizes = ",".join(map(str, group_sizes))
    asked = [str(graph), backend, str(threads), str(repeat), sizes]
    output = run_command([*on_ranks, "-m", "tests.benchmarks.scaling_probe", *asked])
    turns = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    by_method: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for turn in turns:
        by_method.setdefault((turn["method"], turn["group_size"]), []).append(turn)
    return [
        _point(graph.name, series, ranks, threads, mine) for mine in by_method.values()
    ]


def _point(
    graph: str, series: str, ranks: int, threads: int, turns: list[dict[str, Any]]
) -> Point:
    def middle(name: str) -> int:
        return round(median(turn[name] for turn in turns))

    first = turns[0]
    return Point(
        graph,
        series,
        first["method"],
        first["group_size"],
        ranks,
        threads,
        first["num_vertices"],
        first["num_edges"],
        [max(turn["seconds"]) for turn in turns],
        [median(times) for times in zip(*(t["seconds"] for t in turns), strict=True)],
        median(turn["cpu_seconds"] for turn in turns),
        middle("bytes_sent"),
        middle("edges_sent"),
        middle("peak_bytes"),
        sorted({turn["digest"] for turn in turns}),
        {
            name: median(turn["stages"].get(name, 0.0) for turn in turns)
            for name in first["stages"]
        },
    )


def run_command(command: Sequence[str]) -> str:
    """Return the output of a command, for which every MPI accepts any number of ranks.

    Raises MndmstError, with the error message of the command, if it fails.
    """
    environment = _ENVIRONMENT | dict(os.environ)
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        said = done.stderr.strip() or f"ended with status {done.returncode}"
        raise MndmstError(f"{' '.join(command)}: {said}")
    return done.stdout.replace("\0", "")


@dataclass(frozen=True)
class ScalingPlan:
    """The measurements of `bench scaling`."""

    graphs: tuple[str, ...]  # Kinds of `mndmst generate`, some of `KINDS`
    # See `size_of`; of strong scaling, and of weak scaling on the most ranks.
    scale: int
    ranks: tuple[int, ...]  # Ascending
    threads: int  # Of each rank
    repeat: int  # Turns of each method
    group_sizes: tuple[int, ...]  # The rings are measured with each of them
    weak: bool  # Whether to measure weak scaling too
    backend: str
    work: Path  # Where the graphs lie, or will


def run(plan: ScalingPlan) -> Iterator[list[Point]]:
    """Measure graph by graph; yield each series when it is done.

    Raises MndmstError if a graph cannot be made, or a job fails; its message is that of
    the job.
    """
    most = plan.ranks[-1]

    def points(graph: Path, series: str, ranks: int, threads: int) -> list[Point]:
        return job(
            graph, series, ranks, threads, plan.backend, plan.repeat, plan.group_sizes
        )

    for kind in plan.graphs:
        graph = make(kind, plan.scale, plan.work)
        strong: list[Point] = []
        for ranks in plan.ranks:
            strong += points(graph, "strong", ranks, plan.threads)
        for ranks, threads in _mixtures(plan):
            mixed = points(graph, "strong", ranks, threads)
            strong += [point for point in mixed if point.method == "auto"]
        yield _compared(strong)
        weak: list[Point] = []
        for ranks in plan.ranks if plan.weak else ():
            graph = make(kind, plan.scale - log2(most / ranks), plan.work)
            weak += points(graph, "weak", ranks, plan.threads)
        if weak:
            yield _compared(weak)


def _mixtures(plan: ScalingPlan) -> list[tuple[int, int]]:
    """Return other pairs of ranks and threads with the same number of workers."""
    total = plan.ranks[-1] * plan.threads
    alone = {(1, ranks * plan.threads) for ranks in plan.ranks}
    between = {(ranks, total // ranks) for ranks in plan.ranks if total % ranks == 0}
    return sorted((alone | between) - {(ranks, plan.threads) for ranks in plan.ranks})


def _compared(points: list[Point]) -> list[Point]:
    base = points[0]  # the fewest ranks, with the method that a user gets
    for point in points:
        point.compare(base)
    return points


def disagreements(points: list[Point]) -> list[str]:
    """Return a line for each graph whose forests are not all the same."""
    digests: dict[str, set[str]] = {}
    for point in points:
        digests.setdefault(point.graph, set()).update(point.digests)
    return [
        f"DISAGREEMENT on {graph}: {len(found)} different forests"
        for graph, found in digests.items()
        if len(found) > 1
    ]


_HEADINGS = (
    f"{'ranks x threads':>15} {'method':>8} {'seconds':>9} {'CPU sec':>9} "
    f"{'speed-up':>9} {'efficiency':>10} {'bytes/vertex':>12} "
    f"{'edges sent':>10} {'MiB/rank':>9}"
)


def block(points: list[Point]) -> str:
    """Return the table of a series."""
    sizes = dict.fromkeys((p.graph, p.num_vertices, p.num_edges) for p in points)
    titles = [
        f"{points[0].series} scaling, {graph}: n={n:,} m={m:,}" for graph, n, m in sizes
    ]
    return "\n".join([*titles, _HEADINGS, *map(_row, points)])


def _row(point: Point) -> str:
    share = point.edges_sent / max(1, point.num_edges)
    return (
        f"{point.ranks:>7} x {point.threads:<5} {point.name:>8} {point.time:>9.3f} "
        f"{point.cpu_seconds:>9.3f} {point.speedup:>9.2f} {point.efficiency:>10.2f} "
        f"{point.bytes_sent / max(1, point.num_vertices):>12.2f} {share:>10.2%} "
        f"{point.peak_bytes / 2**20:>9.0f}"
    )


def plot(series: list[list[Point]], path: Path, files: AtomicOutput) -> None:
    """Draw speed-up (strong) and efficiency (weak) against ranks, a panel for each.

    Raises OutputError if the picture cannot be written.
    """
    kinds = list(dict.fromkeys(points[0].series for points in series))
    rows = [[p for p in series if p[0].series == kind] for kind in kinds]
    columns = max(map(len, rows))
    figure = figure_of(3.6 * columns, 3.4 * len(rows))
    grid = figure.subplots(len(rows), columns, squeeze=False)
    for axes, points in zip(grid.flat, [p for row in rows for p in row], strict=False):
        _panel(axes, points)
    write_picture_file(figure, files, path, BENCH_PICTURE)


def _panel(axes: "Axes", points: list[Point]) -> None:
    strong, threads = points[0].series == "strong", points[0].threads
    base = points[0].ranks * threads

    def draw(mine: list[Point], label: str, style: str) -> None:
        values = [p.speedup if strong else p.efficiency for p in mine]
        axes.plot([p.ranks * p.threads for p in mine], values, style, label=label)

    for name in dict.fromkeys(point.name for point in points):
        draw([p for p in points if (p.name, p.threads) == (name, threads)], name, "o-")
    others = [point for point in points if point.threads != threads]
    alone = [point for point in points if point.ranks == 1 and point.name == "auto"]
    if others:
        draw(sorted(alone, key=lambda p: p.threads), "auto, 1 rank", "s--")
    for point in others:
        if point.ranks > 1:
            draw([point], f"auto, {point.ranks} x {point.threads}", "^")
    workers = sorted({point.ranks * point.threads for point in points})
    ideal: list[Any] = [w / base if strong else 1.0 for w in workers]
    axes.plot(workers, ideal, color="grey", linestyle=":", label="ideal")
    axes.set_xscale("log", base=2)
    if strong:
        axes.set_yscale("log", base=2)
    axes.set_xticks(workers, [str(w) for w in workers])
    axes.set_xlabel("ranks x threads")
    axes.set_ylabel("speed-up" if strong else "efficiency")
    axes.set_title(f"{points[0].series}, {points[-1].graph}", fontsize="small")
    axes.legend()
