"""The command `convert`."""

import argparse
from pathlib import Path
from typing import Any


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
        "--format", help="the format of the input, in place of its suffix"
    )
    convert.add_argument(
        "--graph",
        type=Path,
        help="the graph of a forest: vertices get the ids they had before --reorder "
        "or --compact-ids",
    )
    convert.add_argument(
        "--memory", help="memory to use, such as 8GiB; by default what is free"
    )
    convert.set_defaults(process=_convert)


def _convert(arguments: argparse.Namespace) -> int:
    from ..io.allowance import allow
    from ..io.formats import read_edges, write_edges
    from ..io.original_ids import graph_of_forest, with_original_ids
    from ..io.outputs import check_outputs
    from ..run.config import parse_bytes

    check_outputs([arguments.file, arguments.graph], [arguments.out])
    allow(0 if arguments.memory is None else parse_bytes(arguments.memory))
    edges = read_edges(arguments.file, arguments.format)
    if arguments.graph:
        graph = graph_of_forest(arguments.file, arguments.graph)
        edges = with_original_ids(edges, graph)
    write_edges(edges, arguments.out)
    return 0
