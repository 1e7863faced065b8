"""Options that several commands have."""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..run.config import CHOICES
from .parser import Parser


def add_graph(parser: Parser) -> None:
    """Add the graph that a command reads."""
    parser.add_argument("graph", type=Path, help="directory of shards, or its index")


def add_new_graph(parser: Parser) -> None:
    """Add the graph that a command makes."""
    parser.add_argument("out", type=Path, help="directory to make")
    add_overwrite(parser, "replace a graph that is there")


def add_overwrite(
    parser: Any, help: str = "replace a file that is not an earlier result"
) -> None:
    """Add `--overwrite`, which every command with output files has."""
    parser.add_argument("--overwrite", action="store_true", help=help)


def add_run(parser: Parser, output: str) -> None:
    """Add the graph of a run, its outputs, and how ranks work and merge.

    Parameters
    ----------
    output : str
        What is written to the output.
    """
    add_graph(parser)
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help=f"{output}; else none is kept"
    )
    parser.add_argument(
        "--report", type=Path, metavar="FILE", help="JSON file for the run's report"
    )
    add_overwrite(parser)
    parser.add_argument(
        "--config", type=Path, metavar="FILE", help="TOML file with any options"
    )
    parser.add_argument(
        "--backend",
        choices=CHOICES["backend"],
        help="devices of a rank; auto: the CPU and, where there is one, a GPU",
    )
    parser.add_argument(
        "--threads",
        type=int,
        metavar="N",
        help="threads of a rank's CPU worker; by default its share of the cores",
    )
    parser.add_argument(
        "--memory",
        metavar="SIZE",
        help="what a rank may hold, such as 8GiB; by default its share of the host",
    )
    parser.advanced.add_argument(
        "--merge",
        choices=CHOICES["merge"],
        help="strategy by which ranks merge; auto chooses by the graph and the machine",
    )
    parser.advanced.add_argument(
        "--group-size",
        type=int,
        metavar="RANKS",
        help="ranks that merge into one leader, 4, with --merge ring",
    )


def add_numbers(parser: Parser) -> None:
    """Add `--numbers`, for tables of graphs whose vertices have names."""
    parser.add_argument(
        "--numbers",
        action="store_true",
        help="in tables, write numbers of vertices in place of their names",
    )


def add_talk(parser: Parser) -> None:
    """Add how much a run says."""
    talk = parser.add_mutually_exclusive_group()
    add_quiet(talk)
    talk.add_argument(
        "-v", "--verbose", action="store_true", help="also say how ranks merge, and why"
    )


def add_quiet(parser: Any) -> None:
    """Add `-q`, which means the same to every command that has it."""
    parser.add_argument(
        "-q",
        "--quiet",
        action="store_true",
        help="print nothing but the result: no progress, no tables, no advice",
    )


def say_not_kept(what: str, quiet: bool) -> None:
    """Say that a result has been printed only, unless nothing but it is wanted."""
    if not quiet:
        print(
            f"mndmst: {what} not kept; name a file with -o", file=sys.stderr, flush=True
        )


def add_columns(parser: Parser) -> None:
    """Add the option that names the columns of a table of edges."""
    parser.add_argument(
        "--columns",
        metavar="source=A,target=B,weight=C",
        help="columns of a table that are the ends and the weight, or some of these; "
        "positions from 1 where columns have no names; weight= for weight 1",
    )


def add_point_columns(parser: Parser) -> None:
    """Add the options that say which columns or array of a file are points."""
    parser.add_argument(
        "--columns",
        metavar="A,B,...",
        help="columns of a table that are coordinates, such as lon,lat; positions from "
        "1 where columns have no names; by default all numbers but ids and labels",
    )
    parser.add_argument(
        "--key",
        metavar="NAME",
        help="array of an .npz file that has several, also as FILE.npz:NAME",
    )


def tell_notes(notes: Iterable[str], quiet: bool) -> None:
    """Print lines that say how a file is read."""
    if not quiet:
        for note in notes:
            print(f"mndmst: {note}", file=sys.stderr)
