"""The command `components`."""

import argparse
from pathlib import Path
from typing import Any

from ..run.config import MERGES


def add(commands: Any) -> None:
    """Add the command to the parser."""
    components = commands.add_parser(
        "components",
        help="find the connected components (under mpirun or alone)",
        description="Find the connected components of a sharded graph: how many, "
        "their sizes, and the smallest vertex of each vertex's component. Other "
        "options of solve can be given in a file or in the environment.",
    )
    components.add_argument(
        "graph", type=Path, help="directory of shards, or its index"
    )
    components.add_argument("-o", "--output", type=Path, help="file of labels to write")
    components.add_argument(
        "--report", type=Path, help="JSON file for the run's report"
    )
    components.add_argument("--config", type=Path, help="TOML file with any options")
    components.add_argument(
        "--backend",
        choices=("auto", "cpu", "cuda"),
        help="devices of a rank; auto: the CPU and, where there is one, a GPU",
    )
    components.add_argument("--threads", type=int, help="threads of a CPU worker")
    components.add_argument("--memory", help="what a rank may hold, such as 8GiB")
    components.add_argument(
        "--merge",
        choices=MERGES,
        help="how ranks merge; auto chooses by the graph and the machine, devices "
        "also says why if GPUs cannot merge directly",
    )
    components.add_argument("--group-size", type=int, help="ranks that merge into one")
    talk = components.add_mutually_exclusive_group()
    talk.add_argument("-q", "--quiet", action="store_true", help="RESULT alone")
    talk.add_argument(
        "-v", "--verbose", action="store_true", help="also say how ranks merge, and why"
    )
    components.set_defaults(process=_components)


def _components(arguments: argparse.Namespace) -> int:
    from ..components import connected_components
    from ..run.report import text
    from .ranks import begin

    comm, config, progress = begin(arguments)
    found = connected_components(
        comm, arguments.graph, config, progress, arguments.output, arguments.report
    )
    if found.report is not None:
        if not arguments.quiet:
            print(text(found.report), found.text(), sep="\n")
        print(found.line(), flush=True)
    return 0
