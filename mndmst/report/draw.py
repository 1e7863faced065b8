"""The charts of one run, and of several side by side."""

from typing import Any

from .record import COLOURS, Record, device_work, kind_of, solve_seconds, stages, totals

MIB = 1 << 20
SHOWN_RANKS = 64


def timeline(axes: Any, record: Record) -> None:
    """Draw what each rank did when; below its stages, when its devices worked."""
    ranks = record["ranks"][:SHOWN_RANKS]
    for rank in ranks:
        row = rank["rank"]
        for span in stages(rank):
            colour = COLOURS[kind_of(span.name.split(" ")[0])]
            axes.broken_barh(
                [(span.begin, span.seconds)], (row - 0.4, 0.5), color=colour
            )
        for span in device_work(rank):
            gpu = span.name.startswith(("cuda", "NVIDIA"))
            colour = COLOURS["GPU works" if gpu else "CPU works"]
            place = (row + 0.12, 0.12) if gpu else (row + 0.26, 0.12)
            axes.broken_barh([(span.begin, span.seconds)], place, color=colour)
    axes.set_ylim(len(ranks) - 0.4, -0.6)
    axes.set_yticks([rank["rank"] for rank in ranks])
    # The start, mostly loading of libraries and kernels, would leave no space for the
    # rest.
    begin = _begin(record)
    axes.set_xlim(left=begin)
    label = f"seconds (from {begin:.2f} s on, after the start)"
    axes.set(xlabel=label, ylabel="rank", title="What the ranks did")
    _legend(axes, [name for name in COLOURS if name != "wait"])


def shares(axes: Any, record: Record) -> None:
    """Draw the seconds of each rank by what they went into, waiting among them."""
    names = [rank["rank"] for rank in record["ranks"][:SHOWN_RANKS]]
    left, begin = [0.0] * len(names), _begin(record)
    sums: dict[str, list[float]] = {kind: left.copy() for kind in COLOURS}
    for row, rank in enumerate(record["ranks"][:SHOWN_RANKS]):
        for entry in rank["stages"]:
            if entry["begin"] < begin:
                continue
            waited = entry.get("seconds_waited", 0.0)
            sums[kind_of(entry["stage"])][row] += entry["seconds"] - waited
            sums["wait"][row] += waited
    for kind in ("start and read", "compute", "merge", "write", "wait"):
        axes.barh(names, sums[kind], left=left, color=COLOURS[kind], label=kind)
        left = [a + b for a, b in zip(left, sums[kind], strict=True)]
    axes.set_yticks(names)
    axes.invert_yaxis()
    axes.set(xlabel="seconds", ylabel="rank", title="Where the time went, start apart")
    axes.legend(fontsize=8, ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.2))


def edges_left(axes: Any, record: Record) -> None:
    """Draw the edges that are left after each step, on a logarithmic axis."""
    levels = record["levels"]
    places = range(len(levels))
    axes.bar(places, [level["edges"] for level in levels], color=COLOURS["merge"])
    axes.set_yscale("symlog", linthresh=1)
    axes.set_xticks(places, [level["after"] for level in levels], rotation=60)
    axes.tick_params(axis="x", labelsize=7)
    for label in axes.get_xticklabels():
        label.set_horizontalalignment("right")
    for place, level in enumerate(levels):
        axes.annotate(_short(level["edges"]), (place, max(1, level["edges"])),
                      ha="center", va="bottom", fontsize=7)  # fmt: skip
    axes.set(ylabel="edges", title="Edges left after each step")


def bytes_sent(axes: Any, record: Record) -> None:
    """Draw the bytes that all ranks sent in each stage."""
    sent = {name: n for name, n in totals(record, "bytes_sent").items() if n}
    names = list(sent) or ["nothing"]
    axes.barh(names, [sent.get(name, 0) / 1e6 for name in names], color="#7570b3")
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
        axes.axvline(limit / MIB, color="#d62728", label="--memory")
        axes.legend(fontsize=8)
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
    axes.plot(ranks, seconds, "o-", label="solving")
    ideal = [seconds[0] * ranks[0] / p for p in ranks]
    axes.plot(ranks, ideal, "--", color="grey", label="as 1/ranks")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    axes.set_xticks(ranks, ranks)
    axes.legend(fontsize=8)
    axes.set(xlabel="ranks", ylabel="seconds", title="Compute and merge, best runs")


def _legend(axes: Any, names: list[str]) -> None:
    from matplotlib.patches import Patch

    patches = [Patch(color=COLOURS[name], label=name) for name in names]
    place = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.15)}
    axes.legend(handles=patches, ncols=len(names), fontsize=8, **place)


def _begin(record: Record) -> float:
    """Return when the first rank began to read."""
    begins = [
        entry["begin"]
        for rank in record["ranks"]
        for entry in rank["stages"]
        if entry["stage"] == "read"
    ]
    return min(begins, default=0.0)


def _short(number: int) -> str:
    """Return a number in three figures or so: 1.23M."""
    for size, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.3g}{letter}"
    return str(number)
