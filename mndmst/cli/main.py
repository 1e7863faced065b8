"""The command line: one subcommand for each thing to do, listed here."""

import argparse
import contextlib
import os
import sys
from collections.abc import Sequence
from importlib import import_module

from ..host import __version__
from ..host.launcher import launched_processes, launched_rank
from ..host.signals import stop_signals
from . import completion, solve
from .parser import OTHER_NAMES, Parser, UsageError, advice

# Each has a file of its name here.
COMMANDS = (
    "solve", "update", "components", "cluster", "hdbscan", "linkage", "serve", "client",
    "partition", "generate", "neighbours", "column", "convert", "verify", "info",
    "report", "compile", "bench",
)  # fmt: skip


def main(argv: list[str] | None = None) -> int:
    """Run a command; return its exit status."""
    arguments = parse(argv)
    holds = getattr(arguments, "holds_signals", False)
    if getattr(arguments, "checkpoint", None) is None and not holds:
        stop_signals.release()
    return int(arguments.process(arguments) or 0)


def parse(argv: list[str] | None) -> argparse.Namespace:
    """Return the arguments; if they are wrong, only the first process says so.

    Raises
    ------
    SystemExit
        On every rank, with status 2 after an error.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    if words:
        words[0] = OTHER_NAMES.get(words[0], words[0])
    with contextlib.ExitStack() as stack:
        if launched_rank() > 0:
            nowhere = stack.enter_context(open(os.devnull, "w"))  # noqa: PTH123
            stack.enter_context(contextlib.redirect_stdout(nowhere))
            stack.enter_context(contextlib.redirect_stderr(nowhere))
        try:
            return parser(words).parse_args(words)
        except UsageError as error:
            known = (*COMMANDS, completion.NAME)
            print(f"mndmst: error: {advice(error, words, known)}", file=sys.stderr)
            _leave_together()
            raise SystemExit(2) from error


def _leave_together() -> None:
    """Wait for all ranks: a launcher ends all when one leaves with an error."""
    stop_signals.release()
    if launched_processes() > 1:
        from ..comm.communicator import world

        world().barrier()


def parser(argv: Sequence[str] = ()) -> Parser:
    """Return the parser of all commands.

    Parameters
    ----------
    argv : sequence of str
        If they begin with a command, only its options are there: those of others
        would take their time to import.
    """
    top = Parser(
        prog="mndmst",
        description="Minimum spanning forests of graphs larger than one machine. "
        "Without a command, solves the small graph that comes with the program.",
    )
    top.add_argument("--version", action="version", version=f"mndmst {__version__}")
    top.set_defaults(process=solve.demo)
    commands = top.add_subparsers(title="commands", metavar="COMMAND")
    for command in [name for name in COMMANDS if name in argv[:1]] or COMMANDS:
        import_module(f".{command}", __package__).add(commands)
    completion.add(commands, top)
    for parser_of_all in (top, *commands.choices.values()):
        # `__main__` looks for it, since an error may come before it is parsed
        parser_of_all.advanced.add_argument(
            "--debug",
            action="store_true",
            help="print where an unforeseen error came from; as MNDMST_DEBUG=1",
        )
    return top
