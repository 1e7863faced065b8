"""The command `completion`."""

import argparse
from functools import partial
from typing import Any

NAME = "completion"


def add(commands: Any, parser: argparse.ArgumentParser) -> None:
    """Add the command to the parser, which it describes to the shell."""
    completion = commands.add_parser(
        NAME,
        help="print a script that completes commands in a shell",
        description="Print a completion script. For bash: "
        'eval "$(mndmst completion bash)" in ~/.bashrc.',
    )
    completion.add_argument(
        "shell", choices=("bash", "zsh", "tcsh"), help="which shell"
    )
    completion.set_defaults(process=partial(_completion, parser))


def _completion(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> int:
    from ..host.errors import optional

    print(optional("shtab", "progress").complete(parser, arguments.shell))
    return 0
