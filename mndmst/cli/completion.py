"""The command `completion`."""

import argparse
from typing import Any


def add(commands: Any) -> None:
    """Add the command to the parser."""
    completion = commands.add_parser(
        "completion",
        help="print a script that completes commands in a shell",
        description="Print a completion script. For bash: "
        'eval "$(mndmst completion bash)" in ~/.bashrc.',
    )
    completion.add_argument("shell", choices=("bash", "zsh", "tcsh"))
    completion.set_defaults(process=_completion)


def _completion(arguments: argparse.Namespace) -> int:
    from ..host.extras import optional
    from .main import parser

    print(optional("shtab", "progress").complete(parser(), arguments.shell))
    return 0
