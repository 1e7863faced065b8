"""What the options of `mndmst bench` are read and written with."""

import argparse
import json
import math
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..graph.order import WEIGHT_DTYPES
from ..host.errors import ConfigError, optional

if TYPE_CHECKING:
    from ..io.atomic_output import AtomicOutput
# Turns, ranks or threads, and binary logarithms of vertices.
MOST, MOST_EXPONENT = 4096, 40

Process = Callable[[argparse.Namespace], int]
Drawing = Callable[[Path, "AtomicOutput"], None]


def finish(parser: argparse.ArgumentParser, process: Process) -> None:
    """Add the common options, and set the function that runs."""
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="write everything here"
    )
    parser.add_argument(
        "--overwrite",
        action="store_true",
        help="replace a file that is not an earlier result",
    )
    parser.set_defaults(process=partial(_measure, process))


def _measure(process: Process, arguments: argparse.Namespace) -> int:
    check_files(arguments.json, getattr(arguments, "plot", None), arguments.overwrite)
    return process(arguments)


def check_files(
    record: Path | None, plot: Path | None, overwrite: bool = False
) -> None:
    """Make sure, before anything is measured, that files can be written there.

    Raises
    ------
    OutputError
        If one cannot be made, or would replace something else.
    ConfigError
        If a name says another format.
    MissingExtraError
        If a plot is asked for, and Matplotlib is not installed.
    """
    from ..io.output_checks import check_outputs
    from ..io.output_kinds import BENCH_PICTURE, BENCH_RECORD

    outputs = (record, BENCH_RECORD), (plot, BENCH_PICTURE)
    check_outputs([], outputs, overwrite=overwrite)
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
            f"--{what}s {','.join(sorted(unknown))}: unknown here; "
            f"give some of {', '.join(known) or 'none'}."
        )
    return default if given is None else given


def write(
    arguments: argparse.Namespace, draw: Drawing | None = None, **record: Any
) -> None:
    """Write the files that were asked for: a record as JSON, and a picture.

    Parameters
    ----------
    draw : callable, optional
        Draws the picture, of a command that has `--plot`.
    **record
        Entries of the JSON, beside the command line.

    Raises
    ------
    OutputError
        If one cannot be written.
    """
    from ..io.atomic_output import AtomicOutput
    from ..io.output_kinds import BENCH_RECORD, json_mark

    with AtomicOutput(overwrite=arguments.overwrite) as files:
        if arguments.json is not None:
            entries = json_mark(BENCH_RECORD) | {"command": sys.argv} | record
            with files.file(arguments.json, BENCH_RECORD) as temporary:
                temporary.write_text(json.dumps(entries, indent=1) + "\n")
        if draw is not None and arguments.plot is not None:
            draw(arguments.plot, files)


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
