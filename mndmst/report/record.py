"""A run's report as it is read, the facts that pages take from it, and its trace."""

import json
import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path, PurePath
from typing import Any, NamedTuple

from ..graph.tuning import SETTINGS
from ..host.errors import InputError, MndmstError
from ..io.atomic_output import AtomicOutput
from ..io.file_access import read_small, unreadable
from ..io.output_kinds import TRACE, json_mark
from ..solver.run_report import SCHEMA
from .record_form import fault_of

Record = dict[str, Any]
LARGEST = 1 << 28  # bytes of a report

# Stages in groups, each with a colour: the work of a rank.
KINDS = {
    "start": ("import", "start", "kernels", "choose", "resume"),
    "read": ("read", "split", "place"),
    "compute": ("indComp", "band", "heavier", "finish"),
    "merge": (
        "mergeParts",
        "ring",
        "leaders",
        "global round",
        "resolve",
        "hook",
        "devices",
    ),
    "write": ("sort", "digest", "write", "checkpoint", "labels"),
}
COLOURS = {
    "start": "#c3cde4",
    "read": "#7189c0",
    "compute": "#66a61e",
    "merge": "#e6842a",
    "write": "#a6761d",
    "wait": "#e4e4e4",
    "GPU works": "#1b4d3e",
    "CPU works": "#3b6fb6",
}


class Span(NamedTuple):
    """Something that took time, in seconds from the start of the run."""

    name: str  # Of a stage with its number; of a device
    begin: float
    seconds: float
    stage: str = ""  # The stage itself; empty for a device


def read_record(path: Path) -> Record:
    """Read a report.

    Raises InputError if the file is not a report of this version, or is damaged.
    """
    try:
        record = json.loads(read_small(path, LARGEST))
        schema = record["schema"]
        known = schema == SCHEMA and {"ranks", "levels", "seconds"} <= record.keys()
    except OSError as error:
        raise unreadable(path, error) from error
    except MndmstError:
        raise
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(
            f"{path}: is not a report ({error}). Give a file of solve --report."
        ) from error
    if not known:
        raise InputError(
            f"{path}: has version {schema} of the report, and this program reads "
            f"version {SCHEMA}. Solve again."
        )
    fault = fault_of(record)
    if fault:
        raise InputError(f"{path}: is a damaged report: {fault}. Solve again.")
    return dict(record)


def kind_of(stage: str) -> str:
    """Return the group that a stage belongs to."""
    return next((kind for kind, stages in KINDS.items() if stage in stages), "merge")


def stages(rank: Record) -> Iterator[Span]:
    """Yield the stages of a rank in the order they began."""
    for entry in sorted(rank["stages"], key=lambda entry: entry["begin"]):
        name, stage = stage_name(entry), entry["stage"]
        yield Span(name, entry["begin"], entry["seconds"], stage)


def stage_name(entry: Record) -> str:
    """Return a stage's name with its number, such as ``ring 2``."""
    details = (entry[key] for key in ("band", "level", "round") if key in entry)
    return " ".join([entry["stage"], *map(str, details)])


def device_work(rank: Record) -> Iterator[Span]:
    """Yield when the devices of a rank worked; the name is cpu or cuda."""
    for entry in rank["stages"]:
        for work in entry.get("work", ()):
            name = str(work["device"]).split(",")[0]
            yield Span(name, work["begin"], work["end"] - work["begin"])


def seconds_by_kind(rank: Record) -> dict[str, float]:
    """Return the seconds of a rank by kind of stage; waiting counts apart."""
    sums = dict.fromkeys([*KINDS, "wait"], 0.0)
    for entry in rank["stages"]:
        waited = min(entry.get("seconds_waited", 0.0), entry["seconds"])
        sums[kind_of(entry["stage"])] += entry["seconds"] - waited
        sums["wait"] += waited
    return sums


def solve_seconds(record: Record) -> float:
    """Return the longest time of a rank without start, reading and writing."""
    return max(
        sum(
            entry["seconds"]
            for entry in rank["stages"]
            if kind_of(entry["stage"]) in ("compute", "merge")
        )
        for rank in record["ranks"]
    )


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
    """A stage over all ranks: seconds of the ranks, and bytes that they sent."""

    name: str
    least: float
    mean: float
    most: float
    bytes_sent: int


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
        f"--set {name}" if name in SETTINGS else f"--{name.replace('_', '-')}": _value(
            name, value
        )
        for name, value in record.get("config", {}).items()
    }


def _value(name: str, value: object) -> str:
    if name in _UNSET and value in (None, 0):
        return _UNSET[name]
    if name.endswith("memory") and isinstance(value, int):
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
        rows.append(StageRow(name, min(seconds), mean, max(seconds), sent))
    return rows


def run_table(record: Record) -> str:
    """Return a short table of a run, for a terminal."""
    lines = [f"{'stage':<14} {'seconds (min mean max over ranks)':>36} {'MB sent':>10}"]
    for row in stage_rows(record):
        times = f"{row.least:.3f} {row.mean:.3f} {row.most:.3f}"
        lines.append(f"{row.name:<14} {times:>36} {row.bytes_sent / 1e6:>10.2f}")
    strategy = record["ranks"][0].get("strategy")
    if strategy:
        lines.append(f"strategy: {strategy['name']}")
    lines += ["edges left"] + [
        f"  after {level['after']:<20} {level['edges']:>15,}"
        for level in record["levels"]
    ]
    if record.get("choices"):
        lines.append("how ranks merged (edges before)")
    for choice in record.get("choices", ()):
        lines.append(f"  {choice['path']:<26} {choice['edges']:>15,}")
    peak = max(rank["peak_bytes"] for rank in record["ranks"])
    lines.append(f"peak memory of a rank: {peak / 2**20:.0f} MiB")
    return "\n".join(lines)


@cache
def meanings() -> dict[str, str]:
    """Return the meaning of each stage, from the table in `files.md`."""
    return {
        name: re.sub(r"`([^`]+)`", r"\1", meaning)
        for name, meaning in _ROW.findall(DOCS.read_text(encoding="utf-8"))
    }


def write_trace(record: Record, path: Path, files: AtomicOutput) -> None:
    """Write a run as chrome://tracing and ui.perfetto.dev show it.

    A rank is a process; its stages and each of its devices are threads.
    """
    events: list[Record] = []
    for rank in record["ranks"]:
        number = rank["rank"]
        name = f"rank {number} on {rank['host']}"
        events.append(_named("process_name", number, 0, name))
        events.append(_named("thread_name", number, 0, "stages"))
        for span in stages(rank):
            what = {"what happens": meanings().get(span.stage, "")}
            event = _event(span, number, 0, kind_of(span.stage))
            events.append(event | {"args": what})
        work = list(device_work(rank))
        devices = list(dict.fromkeys(span.name for span in work))
        for thread, device in enumerate(devices, start=1):
            events.append(_named("thread_name", number, thread, device))
        for span in work:
            thread = 1 + devices.index(span.name)
            events.append(_event(span, number, thread, "device"))
    with files.file(path, TRACE) as temporary:
        temporary.write_text(json.dumps(json_mark(TRACE) | {"traceEvents": events}))


def _event(span: Span, process: int, thread: int, category: str) -> Record:
    times = {"ts": span.begin * 1e6, "dur": span.seconds * 1e6}
    track = {"pid": process, "tid": thread}
    return {"ph": "X", "name": span.name, "cat": category, **track, **times}


def _named(what: str, process: int, thread: int, name: str) -> Record:
    track = {"pid": process, "tid": thread}
    return {"ph": "M", "name": what, **track, "args": {"name": name}}
