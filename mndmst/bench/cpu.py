"""`mndmst bench cpu`: the CPU worker beside every other package that is installed.

All take turns within one run, so that a busy machine hits all of them; times are
medians. Every answer is compared with ours.
"""

import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np

from . import graphs
from .contenders import (
    KernelContender,
    PeerPackage,
    ScipyUpper,
    enter,
    extra_bytes,
    of_packages,
    ranks,
)
from .graphs import BenchGraph
from .machine import measure_floor
from .results import Case, take_turns

# What several of a kind are compared with.
_ALONE = {"threads": "1 thread", "ranks": "1 rank"}


@dataclass(frozen=True)
class CpuPlan:
    """What to measure.

    Attributes
    ----------
    scale : int
        See `graphs.make`.
    threads : tuple of int
        The kernel runs once with each.
    repeat : int
        Turns of every contender.
    weights : tuple of str
        Types. Times of the others are compared with the first, which also has the
        hard weights.
    graphs : tuple of str
        Some of `graphs.NAMES`.
    peers : tuple of str
        Some of `peers.installed()`.
    orders : tuple of str
        Hard weights, some of `graphs.HARD`.
    """

    scale: int
    threads: tuple[int, ...]
    repeat: int
    weights: tuple[str, ...]
    graphs: tuple[str, ...]
    peers: tuple[str, ...]
    orders: tuple[str, ...]


def run(plan: CpuPlan, say: Callable[[str], None]) -> Iterator[Case]:
    """Measure graph by graph; yield each case when it is done.

    Parameters
    ----------
    say : callable
        Called with the name of each step before it begins.

    Raises
    ------
    ConfigError
        If a real graph is not there.
    MissingExtraError
        If KaGen, which makes the graphs, is not installed.
    """
    for name in plan.graphs:
        first: Case | None = None
        for dtype in plan.weights:
            say(f"making {name}, {dtype}")
            graph = graphs.make(name, plan.scale, np.dtype(dtype))
            case = contest(graph, plan, of_packages(plan.peers), say)
            if first is not None:
                _compare(case, first, first.weights)
            yield case
            if first is None and name in graphs.GENERATED:
                yield from _hard_cases(graph, case, plan, say)
            first = first or case


def contest(
    graph: BenchGraph,
    plan: CpuPlan,
    peers: tuple[type[PeerPackage], ...],
    say: Callable[[str], None],
) -> Case:
    """Let the kernel, with every number of threads and as ranks, and peers compete."""
    say(f"timing {graph.name}, {graph.weights.dtype}, {graph.order} weights")
    rows = graph.rows()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        graph.save(folder)
        extra = [extra_bytes(folder, threads) for threads in plan.threads]
        kernels = [KernelContender(rows, graph.weights.dtype, t) for t in plan.threads]
        for kernel in kernels:
            kernel.solve()  # once untimed
        with ranks(folder) as alone_and_together:
            contenders = [*kernels, *alone_and_together, *enter(peers, graph)]
            results = take_turns(contenders, plan.repeat)
    floors = [measure_floor(rows, threads) for threads in plan.threads]
    for result, nbytes, lowest in zip(results, extra, floors, strict=False):
        result.extra_bytes = nbytes
        result.floor = lowest.ms / result.ms
    for result, kernel in zip(results, kernels, strict=False):
        result.interpreter = median(kernel.shares)
    case = Case(
        graph.name,
        graph.order,
        graph.weights.dtype.name,
        graph.num_vertices,
        graph.num_edges,
        round(os.getloadavg()[0], 2),
        floors,
        results,
    )
    for result in results:
        base = _ALONE.get(result.contender.partition(" ")[2])
        if base is not None:
            result.compare(base, case.ms(base))
    return case


def _hard_cases(
    graph: BenchGraph, given: Case, plan: CpuPlan, say: Callable[[str], None]
) -> Iterator[Case]:
    """Yield the same graph with hard weights; SciPy alone checks them."""
    peers = (ScipyUpper,) if ScipyUpper.package in plan.peers else ()
    for hard in graphs.hardened(graph, plan.orders):
        case = contest(hard, plan, peers, say)
        _compare(case, given, "given")
        yield case


def _compare(case: Case, other: Case, what: str) -> None:
    for result in case.results:
        result.compare(what, other.ms(result.contender))
