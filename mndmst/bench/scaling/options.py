"""The options of `mndmst bench scaling`; the benchmark is imported when it runs."""

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ...host.formatting import counted
from ...run.config import CHOICES
from ..arguments import chosen, exponent, finish, list_of, names, positive, write


def add_scaling(devices: Any) -> None:
    """Add the command to the parser."""
    scaling = devices.add_parser(
        "scaling",
        help="time against the number of ranks, strong and weak",
        description="Solve generated graphs on more and more ranks of this machine, "
        "which are started here, by the plain method of MND-MST and as auto chooses; "
        "check that the forests agree. Lists are separated by commas.",
    )
    for name, default, kind, what in (
        ("ranks", "1,2,4,8,16", list_of(positive), "numbers of ranks"),
        ("graphs", "rmat,gnm,rgg2d,grid2d", names, "kinds of graphs"),
        ("scale", 20, exponent, "2^scale vertices, in grids 8 times the number"),
        ("threads", 1, positive, "threads of each rank"),
        ("repeat", 3, positive, "turns of each method"),
        ("group-sizes", "4", list_of(positive), "of the plain method"),
    ):
        scaling.add_argument(f"--{name}", default=default, type=kind, help=what)
    scaling.add_argument(
        "--backend",
        default="cpu",
        choices=CHOICES["backend"],
        help="devices of a rank",
    )
    scaling.add_argument("--strong", action="store_true", help="no weak scaling")
    scaling.add_argument(
        "--work",
        type=Path,
        metavar="DIR",
        help="where the graphs stay for the next time; by default they are removed",
    )
    scaling.add_argument("--plot", type=Path, metavar="FILE", help=".svg, .png or .pdf")
    finish(scaling, _scaling)


def _scaling(arguments: argparse.Namespace) -> int:
    from ..table import machine
    from . import KINDS, ScalingPlan, disagreements, run
    from .table import block, plot

    facts, series, wrong = machine(()), [], []
    with _folder(arguments.work) as work:
        plan = ScalingPlan(
            chosen("graph", arguments.graphs, KINDS, KINDS),
            arguments.scale,
            tuple(sorted(set(arguments.ranks))),
            arguments.threads,
            arguments.repeat,
            tuple(arguments.group_sizes),
            not arguments.strong,
            arguments.backend,
            work,
        )
        print(
            f"{facts['cpu']}, {counted(facts['cores'], 'core')}, load {facts['load']}; "
            "medians"
        )
        for points in run(plan):
            print(f"\n{block(points)}", flush=True)
            wrong += disagreements(points)
            series.append(points)
    every = [point.as_dict() for points in series for point in points]
    draw = partial(plot, series)
    write(arguments, draw, machine=facts, points=every, disagreements=wrong)
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


@contextmanager
def _folder(path: Path | None) -> Iterator[Path]:
    """Yield a directory that is made if need be, or one that is removed again."""
    if path is None:
        with TemporaryDirectory(prefix="mndmst-") as name:
            yield Path(name)
    else:
        path.mkdir(parents=True, exist_ok=True)
        yield path
