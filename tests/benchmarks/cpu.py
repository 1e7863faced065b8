"""`tests.benchmarks cpu`: the CPU worker beside every other package that is installed.

All take turns within one run, so that a busy machine hits all of them; times are
medians. Every answer is compared with ours.
"""

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from mndmst.host.formatting import counted
from mndmst.io.atomic_output import AtomicOutput, write_picture_file
from mndmst.report.page import figure_of
from mndmst.report.peers import SCIPY, Answer, Peer

from . import graphs
from .contenders import (
    Contender,
    KernelContender,
    contenders_of,
    enter,
    extra_bytes,
    ranks,
)
from .graphs import BenchGraph
from .machine import Floor, measure_floor
from .output_kinds import BENCH_PICTURE


@dataclass
class Measurement:
    """The times and the answer of one contender."""

    contender: str
    times: list[float]  # Milliseconds of every turn
    answer: Answer
    agrees: bool  # Whether its answer was ours, every time
    extra_bytes: int | None = None  # Peak memory beyond the rows, where it was measured
    # The floor (`Floor.ms`) of the same number of threads, as a share of `ms`.
    floor: float | None = None
    # Share of the time outside kernels: the interpreter's and NumPy's.
    interpreter: float | None = None
    # `ms` as a multiple of other times: of one thread, of the same graph with its given
    # weights, of the first type of weights.
    relative: dict[str, float] = field(default_factory=dict)

    @property
    def ms(self) -> float:
        """The median of the times."""
        return median(self.times)

    def compare(self, what: str, ms: float | None) -> None:
        """Note the time as a multiple of another, if there is one."""
        if ms is not None:
            self.relative[what] = self.ms / ms


@dataclass
class Case:
    """A graph with some weights, the floors of the machine, and all results.

    `load` is the machine's when all was done, over a minute; it is about 1 to 2 where
    no other program works.
    """

    graph: str
    order: str
    weights: str
    num_vertices: int
    num_edges: int
    load: float
    floors: list[Floor]
    results: list[Measurement]

    def ms(self, contender: str) -> float | None:
        """Return the time of a contender, or None if it did not take part."""
        return next((r.ms for r in self.results if r.contender == contender), None)

    def faster(self, result: Measurement) -> float | None:
        """Return the speed-up over SciPy on the upper triangle."""
        scipy = self.ms("scipy")
        return None if scipy is None else scipy / result.ms

    def medges(self, result: Measurement) -> float:
        """Return million undirected edges a second."""
        return self.num_edges / (1e3 * result.ms)

    def speedup(self, result: Measurement) -> float | None:
        """Return the speed-up over one thread; None for other contenders."""
        one = self.ms("1 thread")
        ours = result.contender.partition(" ")[2] in ("thread", "threads")
        return one / result.ms if ours and one is not None else None

    def as_dict(self) -> dict[str, Any]:
        """Return everything for JSON."""
        record = asdict(self)
        for result, entry in zip(self.results, record["results"], strict=True):
            entry |= {
                "answer": result.answer._asdict(),
                "ms": result.ms,
                "medges_per_second": self.medges(result),
                "times_as_fast_as_scipy": self.faster(result),
                "speed_up": self.speedup(result),
            }
        return record


def take_turns(contenders: Sequence[Contender], repeat: int) -> list[Measurement]:
    """Time contenders in turn, `repeat` times, and compare answers with the first's."""
    times: list[list[float]] = [[] for _ in contenders]
    answers: list[list[Answer]] = [[] for _ in contenders]
    for _ in range(repeat):
        for place, contender in enumerate(contenders):
            ms, forest = contender.timed()
            times[place].append(ms)
            answers[place].append(contender.answer(forest))
            del forest
    ours = answers[0][0]
    return [
        Measurement(
            contender.name,
            times[place],
            next((a for a in answers[place] if not ours.agrees(a)), answers[place][0]),
            all(map(ours.agrees, answers[place])),
        )
        for place, contender in enumerate(contenders)
    ]


_HEADINGS = (
    f"  {'':<19}{'ms':>10}{'M edges/s':>11}{'x scipy':>9}{'speed-up':>10}"
    f"{'B/edge':>8}{'B/vertex':>10}{'of floor':>10}{'outside':>9}"
    "  time against"
)


def block(case: Case) -> str:
    """Return the table of one case."""
    floors = "; ".join(
        f"{counted(f.threads, 'thread')}: read {f.stream:.1f} ms, "
        f"a lookup for each light edge {f.gather:.1f} ms"
        for f in case.floors
    )
    title = (
        f"{case.graph}, {case.weights}, {case.order} weights: "
        f"n={case.num_vertices} m={case.num_edges} edges={case.results[0].answer.edges}"
    )
    rows = [_row(case, result) for result in case.results]
    return "\n".join((title, f"  load {case.load}; {floors}", _HEADINGS, *rows))


def disagreements(case: Case) -> list[str]:
    """Return a line for each contender that disagrees with the CPU worker."""
    ours = case.results[0]
    return [
        f"DISAGREEMENT on {case.graph}, {case.weights}, {case.order} weights: "
        f"{result.contender} finds {counted(result.answer.edges, 'edge')} of weight "
        f"{result.answer.weight!r}, {ours.contender} {ours.answer.edges} of "
        f"{ours.answer.weight!r}"
        for result in case.results
        if not result.agrees
    ]


def _row(case: Case, result: Measurement) -> str:
    edges, vertices = max(1, case.num_edges), max(1, case.num_vertices)
    extra = result.extra_bytes
    against = [f"{ratio:.2f} x {what}" for what, ratio in result.relative.items()]
    if not result.agrees:
        against.append("DISAGREES")
    line = (
        f"  {result.contender:<19}{result.ms:>10.2f}{case.medges(result):>11.1f}"
        f"{_number(case.faster(result), 9, 1)}{_number(case.speedup(result), 10, 2)}"
        f"{_number(extra and extra / edges, 8, 1)}"
        f"{_number(extra and extra / vertices, 10, 1)}"
        f"{_number(result.floor, 10, 3)}{_number(result.interpreter, 9, 3)}"
        f"  {', '.join(against)}"
    )
    return line.rstrip()


def _number(value: float | None, width: int, digits: int) -> str:
    return " " * width if value is None else f"{value:>{width}.{digits}f}"


def plot_threads(cases: list[Case], path: Path, files: AtomicOutput) -> None:
    """Draw the speed-up of the kernel, and the share of the floor, over threads.

    Each case is a line; those measured with one number of threads are left out. The
    picture, which `files` names, is .svg, .png or .pdf. Raises MissingExtraError if
    Matplotlib is not installed; OutputError if the picture cannot be written.
    """
    figure = figure_of(7.2, 3.4)
    speed, floor = figure.subplots(1, 2)
    most = 1
    for case in cases:
        kernels = case.results[: len(case.floors)]
        threads = [measured.threads for measured in case.floors]
        if len(threads) > 1:
            name, most = f"{case.graph}, {case.weights}, {case.order}", max(threads)
            speed.plot(threads, [case.speedup(k) for k in kernels], "o-", label=name)
            floor.plot(threads, [k.floor for k in kernels], "o-", label=name)
    speed.plot([1, most], [1, most], color="grey", linestyle=":", label="ideal")
    for axes in (speed, floor):
        axes.set_xscale("log", base=2)
        axes.set_xlabel("threads")
    speed.set_yscale("log", base=2)
    speed.set_ylabel("times as fast as one")
    floor.set_ylabel("floor, as a share of the time")
    speed.legend(fontsize=7)
    write_picture_file(figure, files, path, BENCH_PICTURE, dpi=110)


# The first of a kind, with which the others are compared.
_ALONE = {"threads": "1 thread", "ranks": "1 rank"}


@dataclass(frozen=True)
class CpuPlan:
    """The measurements of `bench cpu`."""

    scale: int  # See `graphs.make`
    threads: tuple[int, ...]  # The kernel runs once with each
    repeat: int  # Turns of every contender
    # Types. Times of the others are compared with the first, which also has the hard
    # weights.
    weights: tuple[str, ...]
    graphs: tuple[str, ...]  # Some of `graphs.NAMES`
    peers: tuple[str, ...]  # Some of `peers.installed()`
    orders: tuple[str, ...]  # Hard weights, some of `graphs.HARD`


def run(plan: CpuPlan, say: Callable[[str], None]) -> Iterator[Case]:
    """Measure graph by graph; yield each case when it is done.

    Calls `say` with the name of each step before it begins. Raises ConfigError if a
    real graph is not there; MissingExtraError if KaGen, which makes the graphs, is not
    installed.
    """
    for name in plan.graphs:
        first: Case | None = None
        for dtype in plan.weights:
            say(f"making {name}, {dtype}")
            graph = graphs.make(name, plan.scale, np.dtype(dtype))
            case = contest(graph, plan, contenders_of(plan.peers), say)
            if first is not None:
                _compare(case, first, first.weights)
            yield case
            if first is None and name in graphs.GENERATED:
                yield from _hard_cases(graph, case, plan, say)
            first = first or case


def contest(
    graph: BenchGraph,
    plan: CpuPlan,
    peers: tuple[Peer, ...],
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
    peers = (SCIPY,) if SCIPY.package in plan.peers else ()
    for hard in graphs.hardened(graph, plan.orders):
        case = contest(hard, plan, peers, say)
        _compare(case, given, "given")
        yield case


def _compare(case: Case, other: Case, what: str) -> None:
    for result in case.results:
        result.compare(what, other.ms(result.contender))
