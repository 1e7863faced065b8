"""The command `verify`."""

import argparse
from pathlib import Path
from typing import Any

from .options import add_graph


def add(commands: Any) -> None:
    """Add the command to the parser."""
    verify = commands.add_parser(
        "verify",
        help="prove a forest from the files alone (under mpirun or alone)",
        description="Prove that a forest is the minimum spanning forest of a graph: "
        "its edges exist, close no cycle, span every component, and no other edge is "
        "lighter than the heaviest tree edge between its ends.",
    )
    add_graph(verify)
    verify.add_argument("forest", type=Path, help="file that solve has written")
    verify.add_argument(
        "--threads",
        type=int,
        metavar="N",
        help="threads of a rank, some 30 MB each; by default as many as its cores",
    )
    verify.set_defaults(process=_verify)


def _verify(arguments: argparse.Namespace) -> int:
    from ..comm.placement import locate
    from ..io.shards import open_graph
    from ..run.compile import compile_kernels
    from ..verify import verify
    from .ranks import begin

    comm, _, progress = begin(arguments)
    with comm.raise_on_all():
        graph = open_graph(arguments.graph, check=comm.rank == 0)
    compile_kernels(comm, "verify", graph.weight_dtype, progress.say)
    own = locate(comm).share
    threads = own if arguments.threads is None else arguments.threads
    verdict = verify(comm, graph, arguments.forest, threads)
    if comm.rank == 0:
        print(verdict.text(), flush=True)
    return 0 if verdict.ok else 1
