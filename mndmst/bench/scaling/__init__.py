"""`mndmst bench scaling`: time against the number of ranks, on generated graphs.

Strong scaling solves one graph on more and more ranks, weak scaling graphs that grow
with them. A graph is made once, and read once for each number of ranks; then what a
user gets (auto), the same by messages, and the plain method of MND-MST (rings, all
edges at once) take turns. At last one rank has as many threads as there were workers
each time, and the numbers of ranks between have as many as there were in all.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import log2
from pathlib import Path

from .jobs import KINDS, Point, job, make

__all__ = ["KINDS", "Point", "ScalingPlan", "disagreements", "run"]


@dataclass(frozen=True)
class ScalingPlan:
    """What to measure.

    Attributes
    ----------
    graphs : tuple of str
        Kinds of `mndmst generate`, some of `jobs.KINDS`.
    scale : int
        See `jobs.size_of`; of strong scaling, and of weak scaling on the most ranks.
    ranks : tuple of int
        Ascending.
    threads : int
        Of each rank.
    repeat : int
        Turns of each method.
    group_sizes : tuple of int
        The rings are measured with each of them.
    weak : bool
        Whether to measure weak scaling too.
    backend : str
    work : Path
        Where the graphs lie, or will.
    """

    graphs: tuple[str, ...]
    scale: int
    ranks: tuple[int, ...]
    threads: int
    repeat: int
    group_sizes: tuple[int, ...]
    weak: bool
    backend: str
    work: Path


def run(plan: ScalingPlan) -> Iterator[list[Point]]:
    """Measure graph by graph; yield each series when it is done.

    Raises
    ------
    MndmstError
        If a graph cannot be made, or a job fails; its message is that of the job.
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
    base = points[0]  # the fewest ranks, with what a user gets
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
