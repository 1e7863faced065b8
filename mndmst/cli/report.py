"""The command `report`."""

import argparse
from pathlib import Path
from typing import Any

from .options import add_overwrite


def add_report(commands: Any) -> None:
    """Add the command to the parser."""
    report = commands.add_parser(
        "report",
        help="draw a run from the JSON of solve --report",
        description="Draw the first run: stages of its ranks and work of its devices "
        "over time, remaining edges, bytes sent, memory; with several runs, also time "
        "against ranks. Without -o and --trace, print a table.",
    )
    report.add_argument(
        "runs",
        type=Path,
        nargs="+",
        metavar="RUN.json",
        help="file of solve --report",
    )
    report.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="page, .html, or picture, .png, .svg or .pdf",
    )
    report.add_argument(
        "--trace",
        type=Path,
        metavar="FILE",
        help="JSON file to write for chrome://tracing or ui.perfetto.dev",
    )
    add_overwrite(report)
    report.set_defaults(process=_report)


def _report(arguments: argparse.Namespace) -> int:
    from ..io.atomic_output import AtomicOutput
    from ..io.output_checks import check_outputs
    from ..io.output_kinds import PAGE, TRACE
    from ..report.record import read_record

    outputs = (arguments.output, PAGE), (arguments.trace, TRACE)
    check_outputs(arguments.runs, outputs, overwrite=arguments.overwrite)
    records = [read_record(path) for path in arguments.runs]
    with AtomicOutput(overwrite=arguments.overwrite) as files:
        if arguments.output is not None:
            _draw(records, arguments.output, files)
        if arguments.trace is not None:
            from ..report.trace import write_trace

            write_trace(records[0], arguments.trace, files)
    if arguments.output is None and arguments.trace is None:
        from ..run.report import text

        print(text(records[0]))
    return 0


def _draw(records: list[Any], path: Path, files: Any) -> None:
    from ..report.page import write_page, write_picture

    write = write_page if path.suffix == ".html" else write_picture
    write(records, path, files)
