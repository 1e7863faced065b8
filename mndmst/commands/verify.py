"""The command `verify`."""

import argparse
from pathlib import Path
from typing import Any


def add(commands: Any) -> None:
    """Add the command to the parser."""
    verify = commands.add_parser(
        "verify",
        help="prove a forest from the files alone (under mpirun or alone)",
        description="Prove that a forest is the minimum spanning forest of a graph: "
        "its edges exist, close no cycle, span every component, and no other edge is "
        "lighter than the heaviest tree edge between its ends.",
    )
    verify.add_argument("graph", type=Path)
    verify.add_argument("forest", type=Path)
    verify.set_defaults(process=_verify)


def _verify(arguments: argparse.Namespace) -> int:
    from ..io.shards import open_graph
    from ..verify import verify
    from .ranks import begin

    comm, *_ = begin(arguments)
    with comm.together():
        graph = open_graph(arguments.graph, check=comm.rank == 0)
    verdict = verify(comm, graph, arguments.forest)
    if comm.rank == 0:
        print(verdict.text(), flush=True)
    return 0 if verdict.ok else 1
