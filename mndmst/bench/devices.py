"""`mndmst bench devices`: a graph from file to file, on the CPU, on the GPU, on both.

Every run is a new process, so that start-up counts. The arrangements take turns,
so that what else happens on the machine happens to all of them.
"""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from ..host.errors import MndmstError

ARRANGEMENTS = {
    "cpu": ("--backend", "cpu"),
    "gpu": ("--backend", "cuda"),
    "auto": ("--backend", "auto"),
    "both": ("--backend", "auto", "--ratio", "0.5"),
}


def run(graph: Path, names: tuple[str, ...], repeat: int) -> Iterator[dict[str, Any]]:
    """Solve a graph in several arrangements, in turn; yield a record of each run.

    Raises
    ------
    MndmstError
        If a run fails; its message is that of the run.
    """
    for turn in range(repeat + 1):  # the first one reads the files and compiles
        for name in names:
            record = _solve(graph, ARRANGEMENTS[name])
            if turn:
                yield {"arrangement": name, **record}


def _solve(graph: Path, options: tuple[str, ...]) -> dict[str, Any]:
    with TemporaryDirectory(prefix="mndmst-") as folder:
        report = Path(folder) / "report.json"
        command = [sys.executable, "-m", "mndmst", "solve", str(graph), "-q"]
        command += ["-o", str(Path(folder) / "forest.h5"), "--report", str(report)]
        begin = time.perf_counter()
        done = subprocess.run([*command, *options], capture_output=True, text=True)
        seconds = time.perf_counter() - begin
        if done.returncode:
            raise MndmstError(f"solve {' '.join(options)}: {done.stderr.strip()}")
        return {"process_seconds": seconds, **json.loads(report.read_text())}


def table(records: list[dict[str, Any]]) -> str:
    """Return the median seconds of every stage in each arrangement."""
    names = list(dict.fromkeys(record["arrangement"] for record in records))
    runs = {n: [r for r in records if r["arrangement"] == n] for n in names}
    stages = dict.fromkeys(
        e["stage"] for record in records for e in record["ranks"][0]["stages"]
    )
    lines = [f"{'seconds':<12}" + "".join(f"{name:>9}" for name in names)]
    for stage in stages:
        times = [median(_seconds(run, stage) for run in runs[n]) for n in names]
        lines.append(f"{stage:<12}" + "".join(f"{t:9.3f}" for t in times))
    for total, what in (("seconds", "all"), ("process_seconds", "process")):
        times = [median(run[total] for run in runs[n]) for n in names]
        lines.append(f"{what:<12}" + "".join(f"{t:9.3f}" for t in times))
    return "\n".join(lines)


def _seconds(record: dict[str, Any], stage: str) -> float:
    entries = record["ranks"][0]["stages"]
    return sum(entry["seconds"] for entry in entries if entry["stage"] == stage)


def digests(records: list[dict[str, Any]]) -> set[str]:
    """Return the different digests of the forests: one, if all is well."""
    return {record["digest"] for record in records}
