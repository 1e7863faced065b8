"""What a report says in words: the command, the options, the stages and their names."""

import re
import shlex
from functools import cache
from pathlib import Path, PurePath
from typing import Any, NamedTuple

from .record import Record

DOCS = Path(__file__).parents[1] / "docs" / "files.md"
_ROW = re.compile(r"^\| `([^`]+)` \| (.+?) \|[^|]*\|$", re.MULTILINE)
_PROGRAMS = ("__main__.py", "mndmst")
# Options for which 0 or None is not a number, and the meaning of these values.
_UNSET = {
    "ratio": "auto",
    "threads": "auto",
    "memory": "auto",
    "gpu_memory": "auto",
    "light_edges": "none",
    "timeout": "none",
    "checkpoint_interval": "none",
}


class StageRow(NamedTuple):
    """A stage over all ranks: seconds, and MB sent."""

    name: str
    least: float
    mean: float
    most: float
    sent: float
    meaning: str


def command(record: Record) -> str:
    """Return the command line as a shell takes it, on any machine.

    A report has the path of the program where it ran, which is of no use elsewhere.
    """
    program, *words = record["command"] or [""]
    ranks = record["num_ranks"]
    name = PurePath(program).name
    start = ["python", name]
    if name in _PROGRAMS:
        start = ["python", "-m", "mndmst"] if ranks > 1 else ["mndmst"]
    if ranks > 1:
        start = ["mpirun", "-n", str(ranks), *start]
    return shlex.join([*start, *words])


def options(record: Record) -> dict[str, str]:
    """Return the options in force, as they are typed and in words."""
    return {
        f"--{name.replace('_', '-')}": _value(name, value)
        for name, value in record.get("config", {}).items()
    }


def _value(name: str, value: Any) -> str:
    if name in _UNSET and value in (None, 0):
        return _UNSET[name]
    if name.endswith("memory"):
        return f"{value / 2**20:,.0f} MiB"
    return f"{value:,}" if isinstance(value, int) else str(value)


def stage_rows(record: Record) -> list[StageRow]:
    """Return the stages of a run in the order in which they began."""
    ranks = record["ranks"]
    entries = [entry for rank in ranks for entry in rank["stages"]]
    entries.sort(key=lambda entry: entry["begin"])
    rows = []
    for name in dict.fromkeys(entry["stage"] for entry in entries):
        seconds = [
            sum(entry["seconds"] for entry in rank["stages"] if entry["stage"] == name)
            for rank in ranks
        ]
        sent = sum(e.get("bytes_sent", 0) for e in entries if e["stage"] == name)
        mean = sum(seconds) / len(seconds)
        meaning = meanings().get(name, "")
        rows.append(
            StageRow(name, min(seconds), mean, max(seconds), sent / 1e6, meaning)
        )
    return rows


@cache
def meanings() -> dict[str, str]:
    """Return what happens in each stage, as `files.md` explains it."""
    return {
        name: re.sub(r"`([^`]+)`", r"\1", meaning)
        for name, meaning in _ROW.findall(DOCS.read_text(encoding="utf-8"))
    }
