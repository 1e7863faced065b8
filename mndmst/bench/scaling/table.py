"""The figures of a series for people: a table, and a plot."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...io.atomic_output import AtomicOutput
from ...io.file_suffixes import BENCH_PICTURE
from ...io.picture_file import write_picture_file
from .jobs import Point

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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

    Raises
    ------
    OutputError
        If the picture cannot be written.
    """
    from matplotlib.figure import Figure

    kinds = list(dict.fromkeys(points[0].series for points in series))
    rows = [[p for p in series if p[0].series == kind] for kind in kinds]
    columns = max(map(len, rows))
    figure = Figure(figsize=(3.6 * columns, 3.4 * len(rows)), layout="constrained")
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
