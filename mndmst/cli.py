"""The command line: one subcommand for each thing to do, listed here."""

import argparse

from . import __version__
from .commands import (
    bench,
    components,
    convert,
    generate,
    info,
    partition,
    solve,
    verify,
)

COMMANDS = (solve, components, partition, generate, convert, verify, info, bench)


def main(argv: list[str] | None = None) -> int:
    """Run a command; return its exit status."""
    arguments = parser().parse_args(argv)
    return int(arguments.process(arguments) or 0)


def parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    top = argparse.ArgumentParser(
        prog="mndmst",
        description="Minimum spanning forests of graphs larger than one machine. "
        "Without a command, solves the small graph that comes with the program.",
    )
    top.add_argument("--version", action="version", version=f"mndmst {__version__}")
    top.set_defaults(process=solve.demo)
    commands = top.add_subparsers(title="commands", metavar="COMMAND")
    for command in COMMANDS:
        command.add(commands)
    return top
