"""The command `partition`."""

import argparse
from pathlib import Path
from typing import Any

from .info import describe


def add(commands: Any) -> None:
    """Add the command to the parser."""
    partition = commands.add_parser(
        "partition",
        help="turn an edge file into shards, or re-shard a graph",
        description="Read DIMACS .gr, Matrix Market .mtx, scipy .npz (also .gz, .xz) "
        "or a sharded graph and write it as shards.",
    )
    partition.add_argument("file", type=Path)
    partition.add_argument("out", type=Path, help="directory to make")
    partition.add_argument("--parts", type=int, default=1, help="number of shards")
    partition.add_argument("--overwrite", action="store_true", help="replace a graph")
    partition.set_defaults(process=_partition)


def _partition(arguments: argparse.Namespace) -> int:
    from ..io.build import build_shards
    from ..io.formats import read_edges

    edges = read_edges(arguments.file)
    build_shards(edges, arguments.out, arguments.parts, arguments.overwrite)
    return describe(arguments.out)
