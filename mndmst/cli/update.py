"""The command `update`."""

import argparse
from pathlib import Path
from typing import Any

from .options import add_graph, add_overwrite, add_quiet


def add_update(commands: Any) -> None:
    """Add the command to the parser."""
    update = commands.add_parser(
        "update",
        help="update a forest after changes of its graph (under mpirun or alone)",
        description="Compute the minimum spanning forest of a changed graph from the "
        "forest before the changes: edges inserted, deleted or given new weights. If "
        "one change is invalid, none is applied.",
        epilog='CHANGES is a table whose first line is "op,src,dst,weight". op is '
        "insert, delete or set. An edge to insert must be new; an edge to delete or "
        "set "
        "must exist. Changes of the same edge apply in their order. A deletion needs "
        "no "
        "weight.",
    )
    add_graph(update)
    update.add_argument(
        "forest", type=Path, help="forest of the graph before the changes"
    )
    update.add_argument("changes", type=Path, help="table of changes, see below")
    update.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        required=True,
        help="forest file to write, .h5",
    )
    update.add_argument(
        "--graph-out",
        type=Path,
        metavar="DIR",
        help="also write the changed graph to this directory",
    )
    add_overwrite(
        update,
        "replace a file that is not an earlier result, and a graph in --graph-out",
    )
    update.add_argument(
        "--memory", metavar="SIZE", help="memory limit per rank, such as 8GiB"
    )
    update.add_argument(
        "--threads",
        type=int,
        metavar="N",
        help="threads per rank (default: one per core)",
    )
    add_quiet(update)
    update.set_defaults(process=_update)


def _update(arguments: argparse.Namespace) -> int:
    from ..comm.placement import locate
    from ..io.output_kinds import FOREST
    from ..io.shards.sharded_graph import open_graph
    from ..run.startup import compile_kernels
    from ..update import Files, update
    from .ranks import begin

    comm, config, progress = begin(arguments, [(arguments.output, FOREST)])
    with comm.raise_on_all():
        graph = open_graph(arguments.graph, check=False)
    compile_kernels(comm, "update", graph.weight_dtype, progress.say)
    files = Files(
        arguments.graph, arguments.forest, arguments.changes, arguments.output,
        arguments.graph_out, arguments.overwrite,
    )  # fmt: skip
    threads = config.threads or locate(comm).share
    summary = update(comm, files, config.memory, threads, progress)
    if comm.rank == 0:
        print(summary.line(), flush=True)
    return 0
