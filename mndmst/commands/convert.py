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
    convert.add_argument("file", type=Path)
    convert.add_argument("out", type=Path)
    convert.add_argument("--format", help="the format, where the suffix does not tell")
    convert.set_defaults(process=_convert)


def _convert(arguments: argparse.Namespace) -> int:
    from ..io.formats import read_edges, write_edges

    write_edges(read_edges(arguments.file, arguments.format), arguments.out)
    return 0
