"""A contest as text, Markdown, CSV and JSON, with the machine and the software.

No table names a host, a user or a directory.
"""

import csv
import io
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from ..host.formatting import counted, size_text, to_json
from ..io.output_kinds import CONTEST, json_mark
from .contest import Case, Result

Facts = dict[str, Any]
_HEADINGS = ("program", "version", "build s", "solve s", "least", "times", "result")
_NUMBERS = range(2, 6)  # the columns of numbers


def machine_lines(facts: Facts) -> list[str]:
    """Return lines on the software and the machine, on which the times depend."""
    versions = facts["versions"]
    if facts["commit"]:
        exact = f"{versions['mndmst']} (commit {facts['commit']})"
        versions = versions | {"mndmst": exact}
    return [
        ", ".join(f"{name} {version}" for name, version in versions.items()),
        f"{facts['processor']}, {counted(facts['cores'], 'core')}, "
        f"{size_text(facts['memory_bytes'])} of memory, {facts['system']}",
        f"devices of solve: {', '.join(facts['devices']) or 'unknown'}; MPI: "
        f"{facts['mpi']}; load {facts['load']}; {facts['date']}",
    ]


def explanation(facts: Facts) -> str:
    """Return a text on the measurement: the columns, and the limits."""
    plan = facts["plan"]
    return (
        "Every program has its own process. build: from arrays of edges to the "
        "program's own structure; solve: from that, or from points, to the result, the "
        f"median of up to {counted(plan['turns'], 'turn')}, and the least; times: "
        "build and solve as a multiple of the first row. From file to file counts from "
        f"the launch of the command to its end. Limits: {plan['seconds']:g} s and "
        f"{size_text(plan['memory'])} of memory."
    )


def title(case: Case) -> str:
    """Return the title of a table: the input, its size, and our result."""
    text = f"{case.name}: {case.size}"
    if case.reference:
        text += f"; {case.reference['']}"
    return text


def _cells(case: Case, result: Result) -> tuple[str, ...]:
    least = min(result.turns, default=None)
    seconds = (result.build, result.seconds, least)
    times = case.times(result)
    return (
        result.program,
        result.version,
        *("" if value is None else f"{value:.4f}" for value in seconds),
        "" if times is None else f"{times:.2f}",
        case.verdict(result),
    )


def text_table(case: Case) -> str:
    """Return the table of an input for a terminal."""
    rows = [_HEADINGS, *(_cells(case, result) for result in case.results)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(
            cell.rjust(width) if n in _NUMBERS else cell.ljust(width)
            for n, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    return "\n".join([title(case), *lines, *case.notes])


def as_markdown(facts: Facts, cases: Sequence[Case], missing: Sequence[str]) -> str:
    """Return all tables as a page of Markdown."""
    lines = ["# Spanning forests and clusters by several programs", ""]
    lines += [f"- {line}" for line in machine_lines(facts)]
    lines += ["", explanation(facts)]
    rules = ["--:" if n in _NUMBERS else "---" for n in range(len(_HEADINGS))]
    for case in cases:
        rows = [_HEADINGS, rules, *(_cells(case, result) for result in case.results)]
        lines += ["", f"## {title(case)}", ""]
        lines += [f"| {' | '.join(map(_escaped, row))} |" for row in rows]
        lines += ["", " ".join(case.notes)]
    if missing:
        lines += ["", f"Not installed: {', '.join(missing)}."]
    return "\n".join(lines) + "\n"


def _escaped(cell: str) -> str:
    return cell.replace("|", "\\|").replace("\n", " ")


def as_csv(facts: Facts, cases: Sequence[Case], _: Sequence[str]) -> str:
    """Return a row for each program and input, with the machine."""
    versions = facts["versions"]
    machine = {
        "mndmst": versions["mndmst"], "python": versions["python"],
        "numpy": versions["numpy"],
        **{
            name: facts[name]
            for name in (
                "commit", "date", "processor", "cores", "memory_bytes", "system", "mpi",
                "load",
            )
        },
        "devices": "; ".join(facts["devices"]),
    }  # fmt: skip
    rows = [
        _record(case, result, case_facts) | machine
        for case in cases
        for case_facts in [_input_facts(case)]
        for result in case.results
    ]
    stream = io.StringIO()
    columns = dict.fromkeys(column for row in rows for column in row)
    table = csv.DictWriter(stream, columns, lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    return stream.getvalue()


def _input_facts(case: Case) -> Facts:
    return {"input": case.name, **case.size._asdict()}


def _record(case: Case, result: Result, graph: Facts) -> Facts:
    answer = next(iter(result.answers.values()), None)
    return graph | {
        "program": result.program,
        "version": result.version,
        "build_seconds": result.build,
        "solve_seconds": result.seconds,
        "least_seconds": min(result.turns, default=None),
        "turns": len(result.turns),
        **({} if answer is None else answer.columns()),
        "result": case.verdict(result),
    }


def as_json(facts: Facts, cases: Sequence[Case], missing: Sequence[str]) -> str:
    """Return everything, each turn included."""
    inputs = [
        _input_facts(case)
        | {
            "notes": case.notes,
            "results": [
                _record(case, result, {}) | {"seconds": asdict(result)["turns"]}
                for result in case.results
            ],
        }
        for case in cases
    ]
    record = {**json_mark(CONTEST), **facts, "missing": missing, "inputs": inputs}
    return to_json(record, indent=1) + "\n"


# The writers by suffix
WRITERS = {".md": as_markdown, ".csv": as_csv, ".json": as_json}
