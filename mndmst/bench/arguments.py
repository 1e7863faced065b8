"""What the options of `mndmst bench` are read and written with."""

import argparse
import json
import math
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ..graph.order import WEIGHT_DTYPES
from ..host.errors import ConfigError
from ..host.extras import optional

# Turns, ranks or threads, and binary logarithms of vertices.
MOST, MOST_EXPONENT = 4096, 40

Process = Callable[[argparse.Namespace], int]


def finish(parser: argparse.ArgumentParser, process: Process) -> None:
    """Add what all have, and say what they start."""
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
    """Read a number from 1 to `MOST`."""
    return _whole(text, MOST)


def exponent(text: str) -> int:
    """Read the binary logarithm of a number of vertices."""
    return _whole(text, MOST_EXPONENT)


def seconds(text: str) -> float:
    """Read a number of seconds, from 0 on."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not number >= 0 or "_" in text or not text.isascii():
        raise argparse.ArgumentTypeError(f"'{text}' is not a number from 0 on")
    return number


def _whole(text: str, most: int) -> int:
    digits = text.isascii() and text.isdecimal() and len(text) <= len(str(most))
    if not digits or not 1 <= int(text) <= most:
        raise argparse.ArgumentTypeError(
            f"'{text}' is not a whole number from 1 to {most:,}"
        )
    return int(text)


def weights(text: str) -> str:
    """Read the name of a type of weights."""
    known = [dtype.name for dtype in WEIGHT_DTYPES]
    if text not in known:
        raise argparse.ArgumentTypeError(f"{text} is none of {', '.join(known)}")
    return text
