"""Options that several commands have."""

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from ..host.progress import Progress, notice
from ..solver.config import CHOICES
from .parser import Parser, setting

if TYPE_CHECKING:
    from ..points.point_files import PointTable

# How `parse_bytes` takes sizes, for the help of options
SIZES = "8G or 8GiB: units of 2^30 bytes, 8GB: of 10^9"


# A parser, or a group of its options
Options: TypeAlias = "argparse._ActionsContainer"


def add_flag(parser: Options, name: str, help: str) -> None:
    """Add an option without a value."""
    parser.add_argument(name, action="store_true", help=help)


class _OneFile(argparse.Action):
    """Store a path; a second one would replace it in silence."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        if getattr(namespace, self.dest) is not None:
            raise argparse.ArgumentError(self, "is given twice; name one file")
        setattr(namespace, self.dest, values)


def add_file(parser: Options, name: str, help: str, metavar: str = "FILE") -> None:
    """Add an option with a path."""
    parser.add_argument(name, action=_OneFile, type=Path, metavar=metavar, help=help)


def add_graph(parser: Parser) -> None:
    """Add the graph that a command reads."""
    parser.add_argument("graph", type=Path, help="directory of shards, or its index")


def add_new_graph(parser: Parser) -> None:
    """Add the graph that a command makes."""
    parser.add_argument("out", type=Path, help="directory to create")
    add_overwrite(parser, "replace an existing graph")


def add_overwrite(
    parser: Options, help: str = "replace a file that is not an earlier result"
) -> None:
    """Add `--overwrite`, which every command with output files has."""
    add_flag(parser, "--overwrite", help)


def add_output(parser: Options, help: str, required: bool = False) -> None:
    """Add `--output`, the file that a command writes."""
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", required=required, help=help
    )


def add_table_output(parser: Options) -> None:
    """Add `--output` and `--overwrite` for a table that is printed otherwise."""
    add_output(parser, ".csv, .arrow or .parquet")
    add_overwrite(parser, "replace an existing file")


def add_outputs(parser: Parser, help: str, required: bool = False) -> None:
    """Add `--output`, which may be repeated: the files appear together, or none."""
    more = "may be repeated" + "; without it, nothing is kept" * (not required)
    parser.add_argument(
        "-o",
        "--output",
        dest="outputs",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        required=required,
        help=f"{help}; {more}",
    )


def add_moved_graph(parser: Parser) -> None:
    """Add `--graph`, the present path of the graph of a forest."""
    parser.add_argument(
        "--graph",
        type=Path,
        metavar="GRAPH",
        help="graph of the forest, which has the names or original ids of vertices; "
        "needed only if the graph has moved",
    )


def add_threads(
    parser: Parser,
    help: str = "threads per rank (default: its share of the cores)",
    type: Callable[[str], int] = int,
) -> None:
    """Add `--threads`."""
    parser.add_argument("--threads", type=type, metavar="N", help=help)


def add_memory(
    parser: Parser,
    help: str = "memory limit per rank",
    type: Callable[[str], object] = str,
) -> None:
    """Add `--memory`."""
    help = f"{help}; {SIZES}"
    parser.add_argument("--memory", type=type, metavar="SIZE", help=help)


def add_devices(parser: Parser) -> None:
    """Add `--config`, and the devices, threads, memory and merging of ranks."""
    add_file(parser, "--config", "TOML file with any options")
    parser.add_argument(
        "--backend",
        choices=CHOICES["backend"],
        help="devices of each rank; auto: the faster one of CPU and GPU",
    )
    add_threads(parser)
    add_memory(
        parser,
        "memory limit per rank (default: its share of the host)",
    )
    parser.advanced.add_argument(
        "--merge",
        choices=CHOICES["merge"],
        help="strategy by which ranks merge; auto chooses the fastest for the graph "
        "and the machine; replicated, ring and boruvka are slower and serve "
        "comparisons",
    )


def add_run(parser: Parser, output: str) -> None:
    """Add the graph and outputs of a run, its devices and its merging.

    `output` is the help text of `--output`.
    """
    add_graph(parser)
    add_outputs(parser, output)
    add_file(parser, "--report", "write a report of the run to this JSON file")
    add_overwrite(parser)
    add_devices(parser)
    parser.advanced.add_argument(
        "--set",
        type=setting,
        action="append",
        metavar="NAME=VALUE",
        help="threshold of MND-MST, see tuning.md; may be repeated",
    )


def add_from(parser: Parser, matrix: str) -> None:
    """Add `--from`, the values of a precomputed matrix, which is the argument named."""
    parser.add_argument(
        "--from",
        choices=("correlation", "correlation:1-r"),
        help=f"for precomputed: {matrix} is a matrix of correlations r, and distances "
        "are sqrt(2(1-r)), or 1-r by the second name",
    )


def add_numbers(parser: Parser) -> None:
    """Add `--numbers`, for tables of graphs whose vertices have names."""
    add_flag(parser, "--numbers", "in tables, write vertex numbers instead of names")


def add_talk(parser: Parser, details: str) -> None:
    """Add `--quiet` and `--verbose`, which also prints some details."""
    talk = parser.add_mutually_exclusive_group()
    add_quiet(talk)
    talk.add_argument(
        "-v",
        "--verbose",
        action="store_true",
        help=f"also print {details}",
    )


def add_quiet(parser: Options, default: bool | str = False) -> None:
    """Add `-q`, with one meaning in all commands."""
    parser.add_argument(
        "-q",
        "--quiet",
        action="store_true",
        default=default,
        help="print only the result: no progress, tables or advice",
    )


def add_quiet_below(
    command: argparse.ArgumentParser, default: bool | str = False
) -> None:
    """Add `-q` to a command and its actions where it is missing.

    Actions have no default (SUPPRESS), so they keep a `-q` before the action.
    """
    if "-q" not in command._option_string_actions:
        add_quiet(command, default)
    for action in command._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                add_quiet_below(below, argparse.SUPPRESS)


class _WithoutPandas:
    """A module finder that says that pandas is not installed."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        """Raise ModuleNotFoundError for pandas; pass on other modules (None)."""
        if name == "pandas":
            raise ModuleNotFoundError("a command of the service does not use pandas")


def leave_out_pandas() -> None:
    """Keep PyArrow from importing pandas, which commands of the service do not use.

    PyArrow imports an installed pandas to test whether the first array that it converts
    is of pandas.
    """
    sys.meta_path.insert(0, _WithoutPandas)  # type: ignore[arg-type]


def notice_not_kept(what: str, quiet: bool) -> None:
    """Print that a result was not written to a file, unless quiet."""
    if not quiet:
        notice(f"{what} not kept; name a file with -o")


@contextmanager
def terminal_stages(quiet: bool = False) -> Iterator[Progress]:
    """Yield a `Progress` that shows stages if standard error is a terminal."""
    progress = Progress(sys.stderr.isatty() and not quiet)
    try:
        yield progress
    finally:
        progress.close()


def add_columns(parser: Parser) -> None:
    """Add the option that names the columns of a table of edges."""
    parser.add_argument(
        "--columns",
        metavar="source=A,target=B,weight=C",
        help="columns of a table that are the ends and the weight, or some of these; "
        "positions from 1 where columns have no names; weight= for weight 1",
    )


def add_point_columns(parser: Parser) -> None:
    """Add `--columns` and `--key`: the part of a file that holds the points."""
    parser.add_argument(
        "--columns",
        metavar="A,B,...",
        help="coordinate columns of a table, such as lon,lat; positions from 1 if "
        "columns have no names (default: all numbers except ids and labels)",
    )
    parser.add_argument(
        "--key",
        metavar="NAME",
        help="array of an .npz file; also written as FILE.npz:NAME",
    )


def add_plot(parser: Parser, pictures: Sequence[str]) -> None:
    """Add `--plot` and `--picture`, with the kinds of pictures to choose from."""
    add_file(
        parser,
        "--plot",
        "also draw a picture: .png, .svg or .pdf; .html is a page of all pictures",
    )
    parser.add_argument(
        "--picture",
        choices=(*pictures, "all"),
        help="picture that --plot draws (default: the first of these)",
    )


def read_noted_points(
    arguments: argparse.Namespace,
    source: Path,
    finite: bool = True,
    metric: str = "",
    typed: bool = False,
) -> "PointTable":
    """Read the points that `--columns` and `--key` select, and print notes on them."""
    from ..points.point_files import read_point_table

    table = read_point_table(
        source,
        columns=arguments.columns,
        key=arguments.key,
        typed=typed,
        finite=finite,
        metric=metric,
    )
    print_notes(table.notes, arguments.quiet)
    return table


def print_notes(notes: Iterable[str], quiet: bool) -> None:
    """Print notes on how a file is read."""
    if not quiet:
        for note in notes:
            notice(note)
