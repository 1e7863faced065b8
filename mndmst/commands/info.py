"""The command `info`."""

import argparse
import json
import sys
from pathlib import Path
from typing import Any


def add(commands: Any) -> None:
    """Add the command to the parser."""
    info = commands.add_parser(
        "info",
        help="describe a graph, a forest, or this installation",
        description="Describe a graph or a forest file; without one, the versions "
        "and devices found here, for bug reports.",
    )
    info.add_argument("path", type=Path, nargs="?")
    info.add_argument("--json", action="store_true", help="for machines")
    info.set_defaults(process=_info)


def _info(arguments: argparse.Namespace) -> int:
    if arguments.path is None:
        from ..installation import describe_installation

        return _print(describe_installation(), arguments.json)
    return describe(arguments.path, arguments.json)


def describe(path: Path, as_json: bool = False) -> int:
    """Print the facts of a graph or a forest; return 1 if it is damaged."""
    from ..io import describe as facts_of

    facts = facts_of.describe(path)
    _print(facts, as_json)
    return 1 if facts.get("damage") else 0


def _print(facts: dict[str, Any], as_json: bool) -> int:
    if as_json:
        json.dump(facts, sys.stdout, indent=1, default=str)
        print()
        return 0
    width = max(map(len, facts))
    for name, value in facts.items():
        shown = "(see --json)" if isinstance(value, dict) else value
        print(f"{name:<{width}}  {shown}")
    return 0
