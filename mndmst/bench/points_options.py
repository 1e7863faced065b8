"""The options of `mndmst bench points`."""

import argparse
from functools import partial
from pathlib import Path
from typing import Any

from ..host.formatting import counted
from .arguments import chosen, finish, names, positive, seconds, write


def add_points(devices: Any) -> None:
    """Add the command to the parser."""
    points = devices.add_parser(
        "points",
        help="HDBSCAN* of points beside other packages",
        description="Time HDBSCAN* of points in memory, exact and approximate, beside "
        "fast_hdbscan, hdbscan and scikit-learn, those that are installed, in turn.",
    )
    points.add_argument(
        "--sizes",
        default="20000x2,100000x3,100000x10",
        type=_sizes,
        help="points and dimensions, such as 100000x3, separated by commas",
    )
    points.add_argument(
        "--kinds", default="uniform,blobs", type=names, help="of uniform, blobs"
    )
    points.add_argument("--peers", default=None, type=names, help="all by default")
    points.add_argument("--repeat", default=3, type=positive, help="turns of everyone")
    points.add_argument(
        "--most",
        default=60.0,
        type=seconds,
        metavar="SECONDS",
        help="a package that has taken longer gets no further turn",
    )
    points.add_argument("--plot", type=Path, metavar="FILE", help=".svg, .png or .pdf")
    finish(points, _points)


def _sizes(text: str) -> list[tuple[int, int]]:
    found = []
    for word in text.split(","):
        count, _, dimensions = word.partition("x")
        if not (count.isdecimal() and dimensions.isdecimal() and int(dimensions)):
            raise argparse.ArgumentTypeError(f"{word} is not a size such as 100000x3")
        found.append((int(count), int(dimensions)))
    return found


def _points(arguments: argparse.Namespace) -> int:
    from dataclasses import asdict

    from .points import KINDS, PointsRow, draw, installed, run, text
    from .table import machine

    kinds = chosen("kind", arguments.kinds, KINDS, KINDS)
    peers = chosen("peer", arguments.peers, installed(), installed())
    facts = machine(tuple(name for name in peers if "_" in name or name == "hdbscan"))
    print(f"{facts['cpu']}, {counted(facts['cores'], 'core')}, load {facts['load']}")
    print("  least and median of the turns, times the first one's least")
    cases = [(kind, *size) for size in arguments.sizes for kind in kinds]
    rows: list[PointsRow] = []
    for found in run(cases, peers, arguments.repeat, arguments.most):
        print(text(found), flush=True)
        rows += found
    records = [asdict(row) for row in rows]
    write(arguments, partial(draw, rows), machine=facts, rows=records)
    return 0
