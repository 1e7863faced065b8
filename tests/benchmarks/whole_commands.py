"""Whole commands from launch to end: `tests.benchmarks devices`, `choice` and `start`.

Each run is a new process, or a job of ranks, so that start-up counts. Commands that are
compared take turns, so that other load on the machine slows all of them alike, and the
first turn, which reads the files and compiles, does not count.
"""

import json
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from mndmst.backends import ACCELERATORS, accelerator
from mndmst.host.formatting import counted
from mndmst.host.launcher import find_mpirun
from mndmst.io.shards.sharded_graph import open_graph
from mndmst.report.record import Record, stage_rows

from .scaling import run_command


def solve(graph: Path, ranks: int, options: Sequence[str]) -> tuple[float, Record]:
    """Solve a graph from file to file; return the seconds and the report.

    Raises MndmstError if the run fails; the message is that of the run.
    """
    with TemporaryDirectory(prefix="mndmst-") as folder:
        report = Path(folder) / "report.json"
        command = [*_python(ranks), "-m", "mndmst", "solve", str(graph), "-q"]
        command += ["-o", str(Path(folder) / "forest.h5"), "--report", str(report)]
        begin = time.perf_counter()
        run_command([*command, *options])
        return time.perf_counter() - begin, json.loads(report.read_text())


def _python(ranks: int) -> list[str]:
    begin = [find_mpirun(), "-n", str(ranks)] if ranks > 1 else []
    return [*begin, sys.executable]


def slowest_stages(record: Record) -> dict[str, float]:
    """Return for each stage the seconds of the rank that took longest."""
    return {row.name: row.most for row in stage_rows(record)}


# `devices`: the stages on the CPU, on the GPU, and on both.
ARRANGEMENTS = {
    "cpu": ("--backend", "cpu"),
    "gpu": ("--backend", "cuda"),
    "auto": ("--backend", "auto"),
    "both": ("--backend", "auto", "--ratio", "0.5"),
}


def compare_arrangements(
    graph: Path, names: tuple[str, ...], repeat: int
) -> Iterator[Record]:
    """Solve a graph in several arrangements, in turn; yield a record of each run."""
    for turn in range(repeat + 1):
        for name in names:
            seconds, record = solve(graph, 1, ARRANGEMENTS[name])
            if turn:
                yield {"arrangement": name, "process_seconds": seconds, **record}


def arrangement_table(records: list[Record]) -> str:
    """Return the median seconds of every stage in each arrangement."""
    names = list(dict.fromkeys(record["arrangement"] for record in records))
    lines = [f"{'seconds':<12}" + "".join(f"{name:>9}" for name in names)]
    rows = [
        {
            **slowest_stages(record),
            "all": record["seconds"],
            "process": record["process_seconds"],
        }
        for record in records
    ]
    order = [name for row in rows for name in row if name not in ("all", "process")]
    for what in (*dict.fromkeys(order), "all", "process"):
        times = [
            median(
                row.get(what, 0.0)
                for row, record in zip(rows, records, strict=True)
                if record["arrangement"] == name
            )
            for name in names
        ]
        lines.append(f"{what:<12}" + "".join(f"{t:9.3f}" for t in times))
    return "\n".join(lines)


# `choice`: whether `auto` is the best of all backends, on this machine.
@dataclass(frozen=True)
class Way:
    """A number of ranks and the choice of `--backend` for each."""

    ranks: int
    backend: str


@dataclass(frozen=True)
class Turn:
    """One run in a way: its seconds and the digest of its forest."""

    way: Way
    seconds: float
    digest: str


def ways(ranks: Iterable[int]) -> list[Way]:
    """Return all ways that this machine has, `auto` last for each number of ranks."""
    usable = [name for name in ACCELERATORS if not accelerator(name).unavailable()]
    return [
        Way(count, backend)
        for count in ranks
        for backend in ("cpu", *usable, "auto")
    ]  # fmt: skip


def compare_ways(graph: Path, every: Sequence[Way], repeat: int) -> Iterator[Turn]:
    """Solve a graph in every way, in turn."""
    for turn in range(repeat + 1):
        for way in every:
            seconds, record = solve(graph, way.ranks, ("--backend", way.backend))
            if turn:
                yield Turn(way, seconds, record["digest"])


def medians(turns: Iterable[Turn]) -> dict[Way, float]:
    """Return the median seconds of every way, in the order of the first turn."""
    found: dict[Way, list[float]] = {}
    for turn in turns:
        found.setdefault(turn.way, []).append(turn.seconds)
    return {way: median(seconds) for way, seconds in found.items()}


def ratios(seconds: dict[Way, float]) -> dict[int, float]:
    """Divide the seconds of `auto` by the least seconds, for each number of ranks."""
    best: dict[int, float] = {}
    for way, value in seconds.items():
        best[way.ranks] = min(value, best.get(way.ranks, value))
    return {
        way.ranks: value / best[way.ranks]
        for way, value in seconds.items()
        if way.backend == "auto"
    }


def way_table(seconds: dict[Way, float]) -> str:
    """Return a line for each number of ranks: all backends, and the ratio of auto."""
    backends = list(dict.fromkeys(way.backend for way in seconds))
    lines = [f"{'ranks':>6}" + "".join(f"{b:>9}" for b in backends) + "  auto / best"]
    for ranks, ratio in ratios(seconds).items():
        times = [seconds[Way(ranks, backend)] for backend in backends]
        row = "".join(f"{value:9.3f}" for value in times)
        lines.append(f"{ranks:>6}{row}{ratio:13.2f}")
    return "\n".join(lines)


# `bench start`: stages, beside processes that do less.
# Start-up that no program of this kind avoids.
_FLOORS = {
    "bare interpreter": "pass",
    "with NumPy, h5py and MPI": "import numpy, h5py; from mpi4py import MPI",
}
_PIECE = 4 << 20


@dataclass
class StartUp:
    """Times and memory of `solve` on one number of ranks."""

    ranks: int
    whole: float  # Seconds from the launch to the end; the median, as all others
    # Seconds of each stage of the slowest rank, and of launch and exit.
    stages: dict[str, float]
    floors: dict[str, float]  # Seconds of the same number of processes that do less
    resident_bytes: int  # Memory of the largest rank before it reads
    first: float  # Seconds of the first run, which does not count


def measure_start(graph: Path, ranks: int, repeat: int, backend: str) -> StartUp:
    """Run `solve` several times after one run that does not count."""
    options = ("--backend", backend)
    first, _ = solve(graph, ranks, options)
    turns = [solve(graph, ranks, options) for _ in range(repeat)]
    floors = {
        name: median(_seconds([*_python(ranks), "-c", code]) for _ in range(repeat))
        for name, code in _FLOORS.items()
    }
    floors["read of the shards"] = median(_read(graph) for _ in range(repeat))
    stages = [stages_and_rest(seconds, record) for seconds, record in turns]
    return StartUp(
        ranks,
        median(seconds for seconds, _ in turns),
        {name: median(s[name] for s in stages) for name in stages[0]},
        floors,
        max(_resident(record) for _, record in turns),
        first,
    )


def stages_and_rest(whole: float, record: Record) -> dict[str, float]:
    """Return the seconds of each stage of the slowest rank, and of launch and exit."""
    return {**slowest_stages(record), "launch and exit": whole - record["seconds"]}


def _seconds(command: Sequence[str]) -> float:
    begin = time.perf_counter()
    run_command(command)
    return time.perf_counter() - begin


def _resident(record: Record) -> int:
    stages = (entry for rank in record["ranks"] for entry in rank["stages"])
    return max(entry.get("resident_bytes", 0) for entry in stages)


def _read(graph: Path) -> float:
    """Return the seconds that one thread takes to read all shards and keep nothing."""
    buffer = memoryview(bytearray(_PIECE))
    begin = time.perf_counter()
    for part in open_graph(graph, check=False).parts:
        with part.open("rb", buffering=0) as file:
            while file.readinto(buffer):
                pass
    return time.perf_counter() - begin


def start_text(found: StartUp) -> str:
    """Return the times as a table."""
    lines = [
        f"{counted(found.ranks, 'rank')}: {found.whole:.3f} s (first run "
        f"{found.first:.3f} s), {found.resident_bytes >> 20} MiB in a rank before it "
        "reads",
        *(f"  {name:<26} {seconds:8.3f}" for name, seconds in found.stages.items()),
        "  floor",
        *(f"    {name:<24} {seconds:8.3f}" for name, seconds in found.floors.items()),
    ]
    return "\n".join(lines)
