"""`python -m mndmst.cli`: write the reference of the commands into the docs."""

import argparse
from collections.abc import Iterator
from pathlib import Path

from .main import parser
from .parser import ADVANCED


def pages() -> dict[str, str]:
    """Return the pages by the names of their files: `bench` has one of its own."""
    sections: dict[str, list[str]] = {"commands.md": [], "benchmarks.md": []}
    for name, command in commands(parser()):
        measures = name.split()[0] == "bench"
        page = "benchmarks.md" if measures else "commands.md"
        sections[page].append(_section(name, command))
    heads = {
        "commands.md": "# Commands\n\n"
        "`mndmst bench` has [a page](benchmarks.md) of its own. ",
        "benchmarks.md": "# Commands that measure\n\n",
    }
    about = (
        "`mndmst COMMAND --help` prints the same. Every command also has `--debug`: "
        "print where an unforeseen error came from. Made by `python -m mndmst.cli`."
    )
    return {
        page: "\n\n".join([heads[page] + about, *parts]) + "\n"
        for page, parts in sections.items()
    }


def commands(
    parser: argparse.ArgumentParser, before: str = ""
) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Yield all commands, those of commands too, with their names."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, command in action.choices.items():
                yield before + name, command
                yield from commands(command, f"{before}{name} ")


def _section(name: str, command: argparse.ArgumentParser) -> str:
    lines = [f"## mndmst {name}", command.description or ""]
    groups = {group.title: _arguments(group) for group in command._action_groups}
    advanced = groups.pop(ADVANCED, [])
    lines += [row for group in groups.values() for row in group]
    if advanced:
        lines += ["", "Advanced:", *advanced]
    if command.epilog:
        lines += ["", command.epilog]
    return "\n".join(lines).rstrip()


def _arguments(group: argparse._ArgumentGroup) -> list[str]:
    """Return the arguments of a group as entries of a list."""
    unlisted = (argparse._SubParsersAction, argparse._HelpAction)
    return [
        f"- {_usage(action)}: {_meaning(action)}"
        for action in group._group_actions
        if not isinstance(action, unlisted) and action.dest != "debug"
    ]


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


DOCS = Path(__file__).parents[1] / "docs"

if __name__ == "__main__":
    for name, text in pages().items():
        (DOCS / name).write_text(text)
