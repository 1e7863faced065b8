"""Traces in the JSON that chrome://tracing and ui.perfetto.dev show.

A rank is a process; its stages and each of its devices are threads.
"""

import json
from pathlib import Path
from typing import Any

from ..io.atomic_output import AtomicOutput
from ..io.output_kinds import TRACE, json_mark
from .record import Record, Span, device_work, kind_of, meanings, stages


def write_trace(record: Record, path: Path, files: AtomicOutput) -> None:
    """Write the trace of a run; raise OutputError if it cannot be written."""
    events: list[dict[str, Any]] = []
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


def _event(span: Span, process: int, thread: int, category: str) -> dict[str, Any]:
    return {
        "ph": "X",
        "name": span.name,
        "cat": category,
        "pid": process,
        "tid": thread,
        "ts": span.begin * 1e6,
        "dur": span.seconds * 1e6,
    }


def _named(what: str, process: int, thread: int, name: str) -> dict[str, Any]:
    return {
        "ph": "M",
        "name": what,
        "pid": process,
        "tid": thread,
        "args": {"name": name},
    }
