"""Where the seconds of a whole command go, from its first moment to its last."""

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from ..host.formatting import counted
from ..io.shards.sharded_graph import open_graph
from .scaling import environment, launcher

# What any program of this kind does before it can begin.
_FLOORS = {
    "bare interpreter": "pass",
    "with NumPy, h5py and MPI": "import numpy, h5py; from mpi4py import MPI",
}
_PIECE = 4 << 20


@dataclass
class StartUp:
    """What a command has taken on one number of ranks.

    Attributes
    ----------
    whole : float
        Seconds from the launch to the end; the median, as all others.
    stages : dict of str to float
        Seconds of each stage of the slowest rank, and `exit`, what was left.
    floors : dict of str to float
        Seconds of the same number of processes that do less.
    resident_bytes : int
        Memory of the largest rank before it reads.
    first : float
        Seconds of the first run, which does not count.
    """

    ranks: int
    whole: float
    stages: dict[str, float]
    floors: dict[str, float]
    resident_bytes: int
    first: float


def measure(
    graph: Path, ranks: int, repeat: int, options: Sequence[str] = ()
) -> StartUp:
    """Run a solve several times after one that does not count.

    Parameters
    ----------
    options : sequence of str
        Of `solve`.
    """
    begin = [launcher(), "-n", str(ranks), sys.executable] if ranks > 1 else []
    begin = begin or [sys.executable]
    with TemporaryDirectory() as work:
        report = Path(work) / "report.json"
        solve = [*begin, "-m", "mndmst", "solve", str(graph), "-q", *options]
        solve += ["-o", str(Path(work) / "forest.h5"), "--report", str(report)]
        first, turns = _seconds(solve), []
        for _ in range(repeat):
            seconds = _seconds(solve)
            turns.append((seconds, json.loads(report.read_text())))
    floors = {
        name: median(_seconds([*begin, "-c", code]) for _ in range(repeat))
        for name, code in _FLOORS.items()
    }
    floors["read of the shards"] = median(_read(graph) for _ in range(repeat))
    records = [record for _, record in turns]
    stages = [_stages(seconds, record) for seconds, record in turns]
    return StartUp(
        ranks,
        median(seconds for seconds, _ in turns),
        {name: median(s[name] for s in stages) for name in stages[0]},
        floors,
        max(_resident(record) for record in records),
        first,
    )


def _seconds(command: Sequence[str]) -> float:
    begin = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment())
    return time.perf_counter() - begin


def _stages(whole: float, record: dict[str, Any]) -> dict[str, float]:
    """Return the seconds of each stage of the slowest rank, and the rest."""
    found: dict[str, float] = {}
    for rank in record["ranks"]:
        mine: dict[str, float] = {}
        for entry in rank["stages"]:
            mine[entry["stage"]] = mine.get(entry["stage"], 0.0) + entry["seconds"]
        for name, seconds in mine.items():
            found[name] = max(found.get(name, 0.0), seconds)
    return {**found, "launch and exit": whole - record["seconds"]}


def _resident(record: dict[str, Any]) -> int:
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


def text(found: StartUp) -> str:
    """Return a table for people."""
    lines = [
        f"{counted(found.ranks, 'rank')}: {found.whole:.3f} s (first run "
        f"{found.first:.3f} s), {found.resident_bytes >> 20} MiB in a rank before it "
        "reads",
        *(f"  {name:<26} {seconds:8.3f}" for name, seconds in found.stages.items()),
        "  floor",
        *(f"    {name:<24} {seconds:8.3f}" for name, seconds in found.floors.items()),
    ]
    return "\n".join(lines)
