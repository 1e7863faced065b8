"""The reference of all commands, in Markdown, from the parser itself."""

import argparse
from collections.abc import Iterator

from .main import parser


def reference() -> str:
    """Return the page."""
    top = parser()
    parts = [
        "# Commands",
        "`mndmst COMMAND --help` prints the same. Every command also has `--debug`: "
        "print where an unforeseen error came from. Made by `python -m mndmst.cli`.",
        *(_section(name, command) for name, command in _commands(top)),
    ]
    return "\n\n".join(parts) + "\n"


def _commands(
    parser: argparse.ArgumentParser, before: str = ""
) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, command in action.choices.items():
                yield before + name, command
                yield from _commands(command, f"{before}{name} ")


def _section(name: str, command: argparse.ArgumentParser) -> str:
    lines = [f"## mndmst {name}", command.description or ""]
    actions = [
        action
        for action in command._actions
        if not isinstance(action, (argparse._SubParsersAction, argparse._HelpAction))
        and action.dest != "debug"
    ]
    lines += [f"- {_usage(action)}: {_meaning(action)}" for action in actions]
    return "\n".join(lines).rstrip()


def _usage(action: argparse.Action) -> str:
    value = action.metavar or action.dest
    if action.choices is not None:
        value = ",".join(map(str, action.choices))
    elif action.option_strings:
        value = action.metavar or action.dest.upper()
    if not action.option_strings:
        return f"`{value}`"
    flags = ", ".join(action.option_strings)
    return f"`{flags}`" if action.nargs == 0 else f"`{flags} {value}`"


def _meaning(action: argparse.Action) -> str:
    text = (action.help or "").replace("%%", "%")
    if action.default not in (None, False, argparse.SUPPRESS, ()) and action.nargs != 0:
        default = action.default
        if isinstance(default, tuple):
            default = ",".join(map(str, default))
        text = f"{text} (default: {default})".strip()
    return text
