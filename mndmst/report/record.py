"""What the charts read of a report."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ..host.errors import InputError, MndmstError
from ..io.regular_files import read_small
from ..run.report import SCHEMA

Record = dict[str, Any]
LARGEST = 1 << 28  # bytes of a report

# Stages in groups, each with a colour: what a rank is doing.
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
    """Something that took time, in seconds from the start of the run.

    Attributes
    ----------
    name : str
        Of a stage with its number; of a device.
    stage : str
        The stage itself; empty for a device.
    """

    name: str
    begin: float
    seconds: float
    stage: str = ""


def read_record(path: Path) -> Record:
    """Read a report.

    Raises
    ------
    InputError
        If the file is no report of this version.
    """
    try:
        record = json.loads(read_small(path, LARGEST))
        schema = record["schema"]
        known = schema == SCHEMA and {"ranks", "levels", "seconds"} <= record.keys()
    except OSError as error:
        raise InputError(
            f"{path}: {error.strerror}. Give a report of solve."
        ) from error
    except MndmstError:
        raise
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(
            f"{path}: no report ({error}). Give what solve --report has written."
        ) from error
    if not known:
        raise InputError(
            f"{path}: a report of version {schema}; this program draws version "
            f"{SCHEMA}. Solve again."
        )
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


def totals(record: Record, what: str) -> dict[str, float]:
    """Return a number of the stages added up over ranks, by stage name."""
    found: dict[str, float] = {}
    for rank in record["ranks"]:
        for entry in rank["stages"]:
            name = entry["stage"]
            found[name] = found.get(name, 0) + entry.get(what, 0)
    return found


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
