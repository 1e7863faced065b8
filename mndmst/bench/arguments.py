"""What the options of `mndmst bench` are read and written with."""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ..graph.order import WEIGHT_DTYPES
from ..host.errors import ConfigError
from ..host.extras import optional

Process = Callable[[argparse.Namespace], int]


def finish(parser: argparse.ArgumentParser, process: Process) -> None:
    """Add the common options, and set the function that runs."""
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="write everything here"
    )
    parser.set_defaults(process=partial(_measure, process))


def _measure(process: Process, arguments: argparse.Namespace) -> int:
    check_files(arguments.json, getattr(arguments, "plot", None))
    return process(arguments)


def check_files(record: Path | None, plot: Path | None) -> None:
    """Make sure, before anything is measured, that files can be written there.

    Raises
    ------
    OutputError
        If one cannot be made.
    ConfigError
        If a name says another format.
    MissingExtraError
        If a plot is asked for, and Matplotlib is not installed.
    """
    from ..io.endings import PICTURE, RECORD
    from ..io.outputs import check_outputs

    check_outputs([], [(record, RECORD), (plot, PICTURE)])
    if plot is not None:
        optional("matplotlib", "plot", "Plots need")


def chosen(
    what: str,
    given: tuple[str, ...] | None,
    known: Sequence[str],
    default: tuple[str, ...],
) -> tuple[str, ...]:
    """Return the names given, or the default if none were."""
    unknown = set(given or ()) - set(known)
    if unknown:
        raise ConfigError(
            f"no {what} is called {', '.join(sorted(unknown))} here; "
            f"give some of {', '.join(known) or 'none'} to --{what}s."
        )
    return default if given is None else given


def write(path: Path | None, **record: Any) -> None:
    """Write a record and the command as JSON, if there is to be a file.

    Raises
    ------
    OutputError
        If it cannot be written.
    """
    from ..io.whole_file import whole_file

    if path is not None:
        text = json.dumps({"command": sys.argv, **record}, indent=1)
        with whole_file(path) as temporary:
            temporary.write_text(text + "\n")


def list_of(kind: Callable[[str], Any]) -> Callable[[str], tuple[Any, ...]]:
    """Return what reads a list whose entries are separated by commas."""

    def convert(text: str) -> tuple[Any, ...]:
        return tuple(map(kind, text.split(",")))

    return convert


def names(text: str) -> tuple[str, ...]:
    """Read names separated by commas."""
    return tuple(name for name in text.split(",") if name)


def positive(text: str) -> int:
    """Read a number from 1 on."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is no number from 1 on")
    return int(text)


def weights(text: str) -> str:
    """Read the name of a type of weights."""
    known = [dtype.name for dtype in WEIGHT_DTYPES]
    if text not in known:
        raise argparse.ArgumentTypeError(f"{text} is none of {', '.join(known)}")
    return text
