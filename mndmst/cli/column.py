"""The command `column`."""

import argparse
from pathlib import Path
from typing import Any

from ..host.formatting import counted
from .options import add_graph, add_overwrite, terminal_stages


def add_column(commands: Any) -> None:
    """Add the command to the parser."""
    column = commands.add_parser(
        "column",
        help="add a column of weights to a graph, from a graph with the same edges",
        description="Write the weights of another graph with the same edges as a "
        "column beside the shards of this graph. A service solves by a column, or by "
        "an expression of several columns.",
        epilog="Example: mndmst partition times.gr times; mndmst column roads "
        "travel_time times. Both graphs are read piece by piece.",
    )
    add_graph(column)
    column.add_argument(
        "name", help="name of the column: letters, digits and underscores"
    )
    column.add_argument(
        "other", type=Path, help="graph with the same vertices and edges"
    )
    add_overwrite(column, "replace a file that is not a column")
    column.set_defaults(process=_column)


def _column(arguments: argparse.Namespace) -> int:
    from ..io.shards.sharded_graph import open_graph
    from ..io.shards.weight_columns import weights_of_same_edges, write_column

    graph, other = open_graph(arguments.graph), open_graph(arguments.other)
    with terminal_stages() as progress:
        progress.stage(f"comparing the edges of {arguments.other}")
        weights = weights_of_same_edges(graph, other)
        column = write_column(
            graph, arguments.name, other.weight_dtype, weights, arguments.overwrite
        )
    print(
        f"{column.path}: {counted(column.num_edges, 'weight')} of type {column.dtype}"
    )
    return 0
