"""The command line: parses the arguments, imports the command's module and runs it."""

import argparse
import contextlib
import os
import sys
from collections.abc import Sequence
from functools import partial
from importlib import import_module

from ..host import __version__
from ..host.errors import POINTS, has_points, points_required
from ..host.launcher import launched_processes, launched_rank
from ..host.progress import notice, use_json_lines
from ..host.signals import stop_signals
from .options import add_quiet_below
from .parser import OTHER_NAMES, Commands, Parser, UsageError, advice
from .solve import demo

COMPLETION = "completion"


def _add_completion(commands: Commands, parser: argparse.ArgumentParser) -> None:
    """Add the command, which describes the whole parser to a shell."""
    completion = commands.add_parser(
        COMPLETION,
        help="print a shell script that completes commands and options",
        description="Print a completion script. For bash: "
        'eval "$(mndmst completion bash)" in ~/.bashrc.',
    )
    completion.add_argument(
        "shell", choices=("bash", "zsh", "tcsh"), help="shell to complete in"
    )
    completion.set_defaults(process=partial(_completion, parser), one_process=True)


def _completion(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> int:
    from ..host.errors import optional

    print(optional("shtab", "progress").complete(parser, arguments.shell))
    return 0


# The module of each command, relative to this package; its function `add_COMMAND` adds
# the parser.
COMMANDS = {
    "solve": ".solve",
    "update": ".solve",
    "components": ".solve",
    "cluster": ".cluster",
    "root": ".root",
    "hdbscan": ".hdbscan",
    "linkage": ".linkage",
    "predict": ".predict",
    "serve": ".serve",
    "client": ".client",
    "partition": ".partition",
    "generate": ".partition",
    "neighbours": ".neighbours",
    "column": ".partition",
    "convert": ".convert",
    "verify": ".solve",
    "draw": ".pictures",
    "info": ".info",
    "plan": ".plan",
    "bench": ".bench",
    "report": ".pictures",
    "compile": ".compile",
}
# The commands that need the package `points`, which an installation may lack.
POINT_COMMANDS = ("hdbscan", "linkage", "predict", "neighbours")


def available_commands() -> list[str]:
    """Return the names of the commands that this installation has."""
    missing = () if has_points() else POINT_COMMANDS
    return [name for name in COMMANDS if name not in missing]


def main(argv: list[str] | None = None) -> int:
    """Run a command; return its exit status."""
    arguments = parse(argv)
    use_json_lines(arguments.log_json)
    holds = getattr(arguments, "holds_signals", False)
    if getattr(arguments, "checkpoint", None) is None and not holds:
        stop_signals.release()
    if getattr(arguments, "one_process", False) and launched_processes() > 1:
        from .ranks import on_rank_0

        return on_rank_0(partial(arguments.process, arguments))
    with contextlib.ExitStack() as stack:
        if getattr(arguments, "quiet", False):
            from ..native.loader import announcing_compilation

            stack.enter_context(announcing_compilation(lambda _: None))
        stack.enter_context(points_required())
        return int(arguments.process(arguments) or 0)


def parse(argv: list[str] | None) -> argparse.Namespace:
    """Return the arguments; only the first process reports a mistake.

    Raises SystemExit on every rank, with status 2 after an error.
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
            known = (*available_commands(), COMPLETION)
            text = advice(error, words, known)
            if words and words[0] in POINT_COMMANDS and words[0] not in known:
                text = (
                    f"{words[0]} needs {POINTS}, which this installation lacks; "
                    "install the complete package mndmst"
                )
            use_json_lines("--log-json" in words)
            notice(f"error: {text}", "error")
            _leave_together()
            raise SystemExit(2) from error


def _leave_together() -> None:
    """Wait for all ranks: a launcher ends all when one leaves with an error."""
    stop_signals.release()
    if launched_processes() > 1:
        from ..comm.world import world

        world().barrier()


def parser(argv: Sequence[str] = ()) -> Parser:
    """Return the parser of all commands.

    If `argv` begins with a command, only the options of that command are added: other
    commands would take time to import.
    """
    top = Parser(
        prog="mndmst",
        description="Minimum spanning forests of graphs larger than one machine. "
        "Without a command, mndmst solves the small graph that it comes with.",
    )
    top.add_argument("--version", action="version", version=f"mndmst {__version__}")
    top.set_defaults(process=demo)
    commands = top.add_subparsers(title="commands", metavar="COMMAND")
    available = available_commands()
    for command in [name for name in available if name in argv[:1]] or available:
        module = import_module(COMMANDS[command], __package__)
        getattr(module, f"add_{command}")(commands)
    _add_completion(commands, top)
    for parser_of_one in commands.choices.values():
        add_quiet_below(parser_of_one)
    for parser_of_all in (top, *commands.choices.values()):
        # `__main__` reads the flag itself: an error may precede parsing
        parser_of_all.advanced.add_argument(
            "--debug",
            action="store_true",
            help="print the traceback of an unexpected error; like MNDMST_DEBUG=1",
        )
        parser_of_all.advanced.add_argument(
            "--log-json",
            action="store_true",
            help="write progress, notices and errors to standard error as JSON lines",
        )
    return top
