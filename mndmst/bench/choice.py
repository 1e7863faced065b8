"""`mndmst bench choice`: whether `auto` is the best of all backends, on this machine.

Every way is a new process, or a job of ranks, so that start-up counts. The ways take
turns, so that other load on the machine slows all of them alike.
"""

import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from ..backends import ACCELERATORS, accelerator
from ..host.errors import MndmstError
from .scaling import environment, launcher


@dataclass(frozen=True)
class Way:
    """A number of ranks and the choice of `--backend` for each."""

    ranks: int
    backend: str

    def command(self, graph: Path, forest: Path) -> list[str]:
        """Return the command that solves a graph in this way."""
        begin = [launcher(), "-n", str(self.ranks)] if self.ranks > 1 else []
        return [
            *begin, sys.executable, "-m", "mndmst", "solve", str(graph), "-q",
            "--backend", self.backend, "-o", str(forest), "--overwrite",
        ]  # fmt: skip


@dataclass(frozen=True)
class Turn:
    """One run in a way, with its seconds and the result line."""

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


def run(graph: Path, every: Sequence[Way], repeat: int) -> Iterator[Turn]:
    """Solve a graph in every way in turn; the first turn does not count.

    Raises
    ------
    MndmstError
        If a run fails; the message is that of the run.
    """
    with TemporaryDirectory(prefix="mndmst-") as folder:
        for turn in range(repeat + 1):
            for way in every:
                found = _solve(way, graph, Path(folder) / "forest.h5")
                if turn:
                    yield found


def _solve(way: Way, graph: Path, forest: Path) -> Turn:
    begin = time.perf_counter()
    done = subprocess.run(
        way.command(graph, forest), capture_output=True, text=True, env=environment()
    )
    seconds = time.perf_counter() - begin
    if done.returncode:
        raise MndmstError(f"solve --backend {way.backend}: {done.stderr.strip()}")
    digest = done.stdout.partition("digest=")[2].partition(" ")[0]
    return Turn(way, seconds, digest)


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


def table(seconds: dict[Way, float]) -> str:
    """Return a line for each number of ranks: all backends, and the ratio of auto."""
    backends = list(dict.fromkeys(way.backend for way in seconds))
    lines = [f"{'ranks':>6}" + "".join(f"{b:>9}" for b in backends) + "  auto / best"]
    for ranks, ratio in ratios(seconds).items():
        times = [seconds[Way(ranks, backend)] for backend in backends]
        row = "".join(f"{value:9.3f}" for value in times)
        lines.append(f"{ranks:>6}{row}{ratio:13.2f}")
    return "\n".join(lines)
