"""The command `components`."""

import argparse
from typing import Any

from .options import add_numbers, add_run, add_talk, say_not_kept


def add(commands: Any) -> None:
    """Add the command to the parser."""
    components = commands.add_parser(
        "components",
        help="find the connected components (under mpirun or alone)",
        description="Find the connected components of a sharded graph: how many, "
        "their sizes, and the smallest vertex of each vertex's component. Other "
        "options of solve can be given in a file or in the environment.",
    )
    add_run(components, "file of labels to write, .h5, or a table, .csv or .tsv")
    add_numbers(components)
    add_talk(components)
    components.set_defaults(process=_components)


def _components(arguments: argparse.Namespace) -> int:
    from ..components import connected_components
    from ..io.file_suffixes import LABELS, REPORT
    from ..run.report import text
    from .ranks import begin

    outputs = (arguments.output, LABELS), (arguments.report, REPORT)
    comm, config, progress = begin(arguments, outputs)
    found = connected_components(
        comm,
        arguments.graph,
        config,
        progress,
        arguments.output,
        arguments.report,
        arguments.overwrite,
        arguments.numbers,
    )
    if found.report is not None:
        if not arguments.quiet:
            print(text(found.report), found.text(), sep="\n")
        print(found.line(), flush=True)
        if arguments.output is None:
            say_not_kept("the labels are", arguments.quiet)
    return 0
