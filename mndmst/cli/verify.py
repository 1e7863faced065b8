"""The command `verify`."""

import argparse
from pathlib import Path
from typing import Any

from ..host.errors import ConfigError
from .options import add_point_columns, tell_notes, terminal_stages
from .parser import threads


def add_verify(commands: Any) -> None:
    """Add the command to the parser."""
    verify = commands.add_parser(
        "verify",
        help="prove a forest from its files (under mpirun or alone)",
        description="Prove that a forest is the minimum spanning forest of a graph: "
        "its edges exist, close no cycle, span every component, and no other edge is "
        "lighter than the heaviest tree edge between its ends. A forest of points is "
        "proved from the points, in one process.",
    )
    verify.add_argument(
        "graph",
        type=Path,
        help="directory of shards, or its index; or, for a forest of linkage or "
        "hdbscan, the file of points",
    )
    verify.add_argument("forest", type=Path, help="forest file to prove")
    verify.add_argument(
        "--threads",
        type=threads(1),
        metavar="N",
        help="threads per rank, about 30 MB each (default: one per core)",
    )
    add_point_columns(verify)
    verify.set_defaults(process=_verify)


def _verify(arguments: argparse.Namespace) -> int:
    from ..points.point_files import is_point_file

    if is_point_file(arguments.graph):
        return _verify_points(arguments)
    if arguments.columns or arguments.key:
        raise ConfigError(
            f"--columns and --key need a file of points; {arguments.graph} is a graph."
        )

    from ..comm.placement import locate
    from ..io.results.graph_names import names_of_graph
    from ..io.shards.sharded_graph import open_graph
    from ..run.startup import compile_kernels
    from ..verify import verify
    from .ranks import begin

    comm, _, progress = begin(arguments)
    with comm.raise_on_all():
        graph = open_graph(arguments.graph, check=comm.rank == 0)
    compile_kernels(comm, "verify", graph.weight_dtype, progress.say)
    own = locate(comm).share
    threads = own if arguments.threads is None else arguments.threads
    with terminal_stages(quiet=comm.rank > 0) as shown:
        shown.stage(f"verifying {arguments.forest}")
        verdict = verify(comm, graph, arguments.forest, threads)
    if comm.rank == 0:
        print(verdict.with_names(names_of_graph(graph)).text(), flush=True)
    return 0 if verdict.ok else 1


def _verify_points(arguments: argparse.Namespace) -> int:
    from ..points.point_files import read_point_table
    from ..verify.point_certificate import verify_points

    table = read_point_table(
        arguments.graph, columns=arguments.columns, key=arguments.key
    )
    tell_notes(table.notes, quiet=False)
    with terminal_stages() as shown:
        shown.stage(f"verifying {arguments.forest}")
        verdict = verify_points(table.points, arguments.forest)
    print(verdict.text(), flush=True)
    return 0 if verdict.ok else 1
