"""Options that several commands have."""

import argparse
from pathlib import Path

from ..run.config import CHOICES


def add_graph(parser: argparse.ArgumentParser) -> None:
    """Add the graph that a command reads."""
    parser.add_argument("graph", type=Path, help="directory of shards, or its index")


def add_new_graph(parser: argparse.ArgumentParser) -> None:
    """Add the graph that a command makes."""
    parser.add_argument("out", type=Path, help="directory to make")
    parser.add_argument("--overwrite", action="store_true", help="replace a graph")


def add_run(parser: argparse.ArgumentParser, output: str) -> None:
    """Add the graph of a run, its outputs, and how ranks work and merge.

    Parameters
    ----------
    output : str
        What is written to the output.
    """
    add_graph(parser)
    parser.add_argument("-o", "--output", type=Path, help=output)
    parser.add_argument("--report", type=Path, help="JSON file for the run's report")
    parser.add_argument("--config", type=Path, help="TOML file with any options")
    parser.add_argument(
        "--backend",
        choices=CHOICES["backend"],
        help="devices of a rank; auto: the CPU and, where there is one, a GPU",
    )
    parser.add_argument("--threads", type=int, help="threads of a rank's CPU worker")
    parser.add_argument("--memory", help="what a rank may hold, such as 8GiB")
    parser.add_argument(
        "--merge",
        choices=CHOICES["merge"],
        help="how ranks merge; auto chooses by the graph and the machine, devices "
        "also says why if GPUs cannot merge directly",
    )
    parser.add_argument("--group-size", type=int, help="ranks that merge into one")


def add_talk(parser: argparse.ArgumentParser) -> None:
    """Add how much a run says."""
    talk = parser.add_mutually_exclusive_group()
    talk.add_argument("-q", "--quiet", action="store_true", help="RESULT alone")
    talk.add_argument(
        "-v", "--verbose", action="store_true", help="also say how ranks merge, and why"
    )
