"""The command `convert`."""

import argparse
from pathlib import Path
from typing import Any


def add(commands: Any) -> None:
    """Add the command to the parser."""
    convert = commands.add_parser(
        "convert",
        help="write a graph in another format",
        description="Read any graph `partition` reads and write .gr, .mtx or .npz.",
    )
    convert.add_argument("file", type=Path)
    convert.add_argument("out", type=Path)
    convert.set_defaults(process=_convert)


def _convert(arguments: argparse.Namespace) -> int:
    from ..io.formats import read_edges, write_edges

    write_edges(read_edges(arguments.file), arguments.out)
    return 0
