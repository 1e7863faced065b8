"""The command `convert`."""

import argparse
import sys
from pathlib import Path
from typing import Any

from .options import add_columns, tell_notes
from .parser import size


def add(commands: Any) -> None:
    """Add the command to the parser."""
    convert = commands.add_parser(
        "convert",
        help="write a graph or a forest in another format",
        description="Read a forest, or any graph that `partition` reads, and write it "
        "as .gr, .mtx, .npz, .parquet, .txt, .tsv or .csv.",
    )
    convert.add_argument("file", type=Path, help="graph or forest to read")
    convert.add_argument("out", type=Path, help="file to write")
    convert.add_argument(
        "--format",
        metavar="NAME",
        help="the format of the input, in place of its suffix",
    )
    add_columns(convert)
    convert.add_argument(
        "--graph",
        type=Path,
        help="the graph of a forest: vertices get the ids they had before --reorder "
        "or --compact-ids",
    )
    convert.add_argument(
        "--memory",
        type=size,
        metavar="SIZE",
        help="memory to use, such as 8GiB; by default what is free",
    )
    convert.set_defaults(process=_convert)


def _convert(arguments: argparse.Namespace) -> int:
    from ..io.allowance import allow
    from ..io.formats import check_writer, open_edges, write_edges
    from ..io.original_ids import graph_of_forest, with_original_ids
    from ..io.outputs import check_outputs

    check_outputs([arguments.file, arguments.graph], [(arguments.out, None)])
    check_writer(arguments.out)
    allow(arguments.memory or 0)
    file = open_edges(arguments.file, arguments.format, arguments.columns)
    tell_notes(file.notes, quiet=False)
    edges = file.read()
    if arguments.graph:
        graph = graph_of_forest(arguments.file, arguments.graph)
        edges = with_original_ids(edges, graph)
    write_edges(edges, arguments.out)
    if arguments.out.suffix == ".csv" and edges.num_vertices > _named(edges):
        print(
            f"mndmst: {arguments.out}: has no place for the number of vertices; read "
            f"it again with partition --num-vertices {edges.num_vertices}",
            file=sys.stderr,
        )
    return 0


def _named(edges: Any) -> int:
    """Return one more than the largest vertex that an edge names."""
    return 1 + max((int(ends.max()) for ends in (edges.src, edges.dst) if len(ends)),
                   default=-1)  # fmt: skip
