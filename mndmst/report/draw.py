"""The charts of one run, of several side by side, and of a forest."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..api.forest import Forest
from ..tree.linkage import in_merge_order
from .record import (
    COLOURS,
    Record,
    Span,
    device_work,
    kind_of,
    seconds_by_kind,
    solve_seconds,
    stage_rows,
    stages,
)

MIB = 1 << 20
SHOWN_RANKS = 64
# A start-up that takes a larger share of a run has a second time line without it.
LONG_START = 0.3
POINTS_PER_INCH = 72
UNDER_LABEL = 36  # points that the numbers and the label of an axis take
FEW_BARS = 8  # more have their numbers upright
ALL_EDGES = "all edges"
BARS = 40
SHOWN_POINTS = 2_000  # of a line
SHOWN_MERGES = 10
COLOUR, SECOND_COLOUR = "#3b6fb6", "#e6842a"
_LIMIT = "#d62728"
_PHASE_COLOURS = ("#9e9e9e", "#e6842a", "#7570b3", "#1b9e77", "#d95f8a")


def timeline(axes: Any, record: Record, begin: float = 0.0) -> None:
    """Draw what each rank did when; below its stages, when its devices worked.

    The axis of time begins at `begin`; see `end_of_start`.
    """
    ranks = record["ranks"][:SHOWN_RANKS]
    drawn = set()

    def bar(span: Span, extent: tuple[float, float], name: str) -> None:
        if span.begin + span.seconds > begin:
            axes.broken_barh([(span.begin, span.seconds)], extent, color=COLOURS[name])
            drawn.add(name)

    for rank in ranks:
        row = rank["rank"]
        for span in stages(rank):
            bar(span, (row - 0.4, 0.5), kind_of(span.stage))
        for span in device_work(rank):
            gpu = not span.name.startswith("cpu")
            extent = (row + 0.12, 0.12) if gpu else (row + 0.26, 0.12)
            bar(span, extent, "GPU works" if gpu else "CPU works")
    axes.set_ylim(len(ranks) - 0.4, -0.6)
    axes.set_yticks([rank["rank"] for rank in ranks])
    axes.set_xlim(begin, record["seconds"])
    title = "What the ranks did"
    if begin:
        title += ", after the start"
    axes.set(xlabel="seconds since the launch", ylabel="rank", title=title)
    _legend(axes, [name for name in COLOURS if name in drawn])


def end_of_start(record: Record) -> float:
    """Return when the first rank began to read; 0 if little of the run came before.

    A start-up that takes most of a run leaves no space on an axis for the rest.
    """
    begins = [
        entry["begin"]
        for rank in record["ranks"]
        for entry in rank["stages"]
        if entry["stage"] == "read"
    ]
    begin = min(begins, default=0.0)
    return begin if begin > LONG_START * record["seconds"] else 0.0


def shares(axes: Any, record: Record) -> None:
    """Draw the seconds of each rank by activity, waiting included."""
    ranks = record["ranks"][:SHOWN_RANKS]
    names = [rank["rank"] for rank in ranks]
    sums = [seconds_by_kind(rank) for rank in ranks]
    kinds = [kind for kind in sums[0] if any(each[kind] for each in sums)]
    begins = np.zeros(len(names))
    for kind in kinds:
        seconds = np.array([each[kind] for each in sums])
        axes.barh(names, seconds, left=begins, color=COLOURS[kind])
        begins += seconds
    axes.set_yticks(names)
    axes.invert_yaxis()
    axes.set(xlabel="seconds", ylabel="rank", title="Where the time went")
    _legend(axes, kinds)


def edges_left(axes: Any, record: Record) -> None:
    """Draw the number of edges after each step, on a logarithmic axis.

    A phase of the run has edges of a range of weights, so the number rises where a
    phase begins: each has its colour.
    """
    levels = record["levels"]
    phases = [level.get("portion", ALL_EDGES) for level in levels]
    colours = dict(
        zip(dict.fromkeys(phases), _PHASE_COLOURS * len(levels), strict=False)
    )
    positions = range(len(levels))
    counts = [level["edges"] for level in levels]
    axes.bar(positions, counts, color=[colours[phase] for phase in phases])
    axes.set_yscale("symlog", linthresh=1)
    _write_counts(axes.yaxis)
    many = len(counts) > FEW_BARS
    axes.set_ylim(0, (100 if many else 8) * max([1, *counts]))  # room for the numbers
    axes.set_xticks(positions, [level["after"] for level in levels], rotation=60)
    axes.tick_params(axis="x", labelsize=8)
    for label in axes.get_xticklabels():
        label.set_horizontalalignment("right")
    for position, count in zip(positions, counts, strict=True):
        axes.annotate(_short(count), (position, max(1, count)), (0, 2),
                      textcoords="offset points", rotation=90 if many else 0,
                      ha="center", va="bottom", fontsize=8)  # fmt: skip
    axes.set(ylabel="edges", title="Edges left after each step")
    _legend(axes, list(colours), colours, below=60)


def bytes_sent(axes: Any, record: Record) -> None:
    """Draw the bytes that all ranks sent in each stage."""
    sent = {row.name: row.bytes_sent for row in stage_rows(record) if row.bytes_sent}
    shown = sent or {"nothing": 0}
    axes.barh(list(shown), [n / 1e6 for n in shown.values()], color="#7570b3")
    axes.invert_yaxis()
    vertices = max(1, record.get("num_vertices", 1))
    each = sum(sent.values()) / vertices
    axes.set(xlabel="MB", title=f"Sent between ranks: {each:.1f} bytes a vertex")


def memory(axes: Any, record: Record) -> None:
    """Draw each rank's peak, and the limit if there was one."""
    ranks = record["ranks"][:SHOWN_RANKS]
    peaks = [rank["peak_bytes"] / MIB for rank in ranks]
    axes.barh([rank["rank"] for rank in ranks], peaks, color="#1b9e77")
    limit = record.get("config", {}).get("memory", 0)
    if limit:
        axes.axvline(limit / MIB, color=_LIMIT)
        _legend(axes, ["--memory"], {"--memory": _LIMIT})
    axes.set_yticks([rank["rank"] for rank in ranks])
    axes.invert_yaxis()
    axes.set(xlabel="MiB", ylabel="rank", title="Peak memory")


def scaling(axes: Any, records: list[Record]) -> None:
    """Draw the time of several runs over their numbers of ranks."""
    best: dict[int, float] = {}
    for record in records:
        count, seconds_taken = record["num_ranks"], solve_seconds(record)
        best[count] = min(seconds_taken, best.get(count, seconds_taken))
    ranks = sorted(best)
    seconds = [best[count] for count in ranks]
    colours = {"solving": "#1f77b4", "as 1/ranks": "grey"}
    axes.plot(ranks, seconds, "o-", color=colours["solving"])
    ideal = [seconds[0] * ranks[0] / p for p in ranks]
    axes.plot(ranks, ideal, "--", color=colours["as 1/ranks"])
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.minorticks_off()
    axes.set_yticks(seconds, [f"{number:.3g}" for number in seconds])
    axes.set_xticks(ranks, ranks)
    axes.set(xlabel="ranks", ylabel="seconds", title="Compute and merge, best runs")
    _legend(axes, list(colours), colours)


@dataclass(frozen=True)
class Merges:
    """The components that the edges of a forest join, by ascending weight.

    Those of a maximum forest are in descending order.
    """

    weight: np.ndarray  # float64, shape (edges,)
    # int64, shape (edges,): vertices of the two components that the edge joins.
    smaller: np.ndarray
    larger: np.ndarray
    num_vertices: int
    maximum: bool

    @classmethod
    def of(cls, forest: Forest) -> "Merges":
        """Return the merges of a forest."""
        if not len(forest):
            none = np.zeros(0, np.int64)
            weight = none.astype(np.float64)
            return cls(weight, none, none, forest.num_vertices, forest.maximum)
        rows = forest.linkage()[: len(forest)]  # further rows join trees
        sizes = np.ones(forest.num_vertices + len(rows), np.int64)
        sizes[forest.num_vertices :] = rows[:, 3]
        both = np.sort(sizes[rows[:, :2].astype(np.int64)], axis=1)
        weight = forest.weight[in_merge_order(forest)].astype(np.float64)
        return cls(weight, both[:, 0], both[:, 1], forest.num_vertices, forest.maximum)

    def largest(self) -> np.ndarray:
        """Return the positions of the merges with the largest smaller component."""
        order = np.argsort(-self.smaller, kind="stable")[:SHOWN_MERGES]
        return np.sort(order[self.smaller[order] > 1])


def weights(axes: Any, forest: Forest) -> None:
    """Draw how many edges have which weight."""
    finite = forest.weight[np.isfinite(forest.weight)]
    axes.hist(finite.astype(np.float64), BARS, color=COLOUR)
    axes.set(xlabel="weight", ylabel="edges", title="Weights")


def tree_sizes(axes: Any, forest: Forest) -> None:
    """Draw how many trees have which number of vertices."""
    sizes = forest.component_sizes()
    bounds = np.unique(np.geomspace(1, sizes.max(initial=1) + 1, BARS).astype(np.int64))
    axes.hist(sizes, np.append(bounds, bounds[-1] + 1), color=COLOUR)
    axes.set_xscale("log")
    axes.set_yscale("symlog", linthresh=1)
    _write_counts(axes.xaxis)
    _write_counts(axes.yaxis)
    axes.set(xlabel="vertices of a tree", ylabel="trees", title="Sizes of trees")


def degrees(axes: Any, forest: Forest) -> None:
    """Draw how many vertices have which number of edges in the forest."""
    ends = np.concatenate([forest.src, forest.dst])
    counts = np.bincount(np.bincount(ends, minlength=forest.num_vertices))
    shown = np.flatnonzero(counts)
    axes.bar(shown, counts[shown], color=COLOUR)
    axes.set_yscale("symlog", linthresh=1)
    _write_counts(axes.yaxis)
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set(xlabel="edges of a vertex", ylabel="vertices", title="Degrees")


def growth(axes: Any, merges: Merges) -> None:
    """Draw the number of components and the size of the largest, by edge weight."""
    largest = np.maximum.accumulate(merges.smaller + merges.larger)
    components = merges.num_vertices - 1 - np.arange(len(largest))
    finite = np.flatnonzero(np.isfinite(merges.weight))
    most = min(SHOWN_POINTS, len(finite))
    shown = finite[np.linspace(0, len(finite) - 1, most).astype(np.int64)]
    weight = merges.weight[shown]
    axes.step(weight, components[shown], color=COLOUR, where="post", label="components")
    axes.step(
        weight, largest[shown], color=SECOND_COLOUR, where="post",
        label="vertices of the largest",
    )  # fmt: skip
    axes.set_yscale("log")
    _write_counts(axes.yaxis)
    if merges.maximum:
        axes.invert_xaxis()
    way = "down" if merges.maximum else "up"
    axes.set(xlabel=f"edges {way} to this weight", title="When components merge")
    axes.legend(frameon=False, fontsize=8)


def _legend(
    axes: Any,
    names: list[str],
    colours: dict[str, str] = COLOURS,
    below: float = UNDER_LABEL,
) -> None:
    """Add a legend below the axes, where it covers nothing."""
    from matplotlib.patches import Patch
    from matplotlib.transforms import ScaledTranslation

    figure = axes.get_figure()
    down = ScaledTranslation(0, -below / POINTS_PER_INCH, figure.dpi_scale_trans)
    axes.legend(
        handles=[Patch(color=colours[name], label=name) for name in names],
        ncols=min(len(names), max(1, int(figure.get_figwidth() / 1.3))),
        fontsize=8,
        frameon=False,
        loc="upper center",
        bbox_to_anchor=(0.5, 0),
        bbox_transform=axes.transAxes + down,
    )


def _write_counts(axis: Any) -> None:
    """Write the counts on a logarithmic axis as plain text.

    Powers of ten would be formulas, and Matplotlib complains on stderr of each font
    for formulas that a machine lacks.
    """
    from matplotlib.ticker import LogFormatter

    axis.set_major_formatter(lambda count, _: _short(count))
    axis.set_minor_formatter(LogFormatter())  # shown if the axis has few powers of ten


def _short(number: float) -> str:
    """Return a number in three figures or so: 1.23M."""
    for size, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.3g}{letter}"
    return f"{number:.3g}"
