"""The figures of a benchmark for people."""

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from ..host.cores import core_count
from ..host.formatting import counted
from ..run.report import versions
from .processor import processor_facts
from .results import Case, Measurement

_HEADINGS = (
    f"  {'':<19}{'ms':>10}{'M edges/s':>11}{'x scipy':>9}{'speed-up':>10}"
    f"{'B/edge':>8}{'B/vertex':>10}{'of floor':>10}  time against"
)


def machine(packages: tuple[str, ...]) -> dict[str, Any]:
    """Return what the figures depend on: processor, cores, load, versions.

    Parameters
    ----------
    packages : tuple of str
        The peers that take part.
    """
    return {
        "cpu": _cpu_model(),
        "cores": core_count(),
        **processor_facts(),
        "load": round(os.getloadavg()[0], 2),
        "kernel": platform.release(),
        "versions": versions() | {name: _version(name) for name in packages},
    }


def header(facts: dict[str, Any]) -> str:
    """Return the lines that come first."""
    found = ", ".join(f"{name} {value}" for name, value in facts["versions"].items())
    return (
        f"{facts['cpu']}, {counted(facts['cores'], 'core')}, load {facts['load']}\n"
        f"{counted(facts['sockets'], 'socket')}, "
        f"{counted(facts['numa_nodes'], 'NUMA node')}, caches "
        f"{', '.join(facts['caches'])}, huge pages {facts['huge_pages']}\n{found}\n"
        "From CSR rows in memory to the forest's edges; medians of all turns.\n"
        "M edges/s: undirected edges. Ranks: separate processes, a graph each; the "
        "slowest's time.\nB/edge, B/vertex: peak memory beyond the rows. "
        "Of floor: the time to read the rows and to look up a label for each light "
        "edge, as a share."
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
    """Return a line for each contender whose answer is not ours."""
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
        f"{_number(result.floor, 10, 3)}  {', '.join(against)}"
    )
    return line.rstrip()


def _number(value: float | None, width: int, digits: int) -> str:
    return " " * width if value is None else f"{value:>{width}.{digits}f}"


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    models = (line.partition(":")[2].strip() for line in lines if "model name" in line)
    return next(models, platform.processor() or platform.machine())


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "of unknown version"
