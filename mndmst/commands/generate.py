"""The command `generate`."""

import argparse
from pathlib import Path
from typing import Any

from ..order import WEIGHT_DTYPES
from .info import describe

KINDS = ("rmat", "gnm", "rgg2d", "rgg3d", "rhg", "grid2d", "grid3d")


def add(commands: Any) -> None:
    """Add the command to the parser."""
    generate = commands.add_parser(
        "generate",
        help="make a random graph",
        description="Make a random graph with KaGen. Weights are a hash of the seed "
        "and the ends, so any number of parts gives the same graph.",
    )
    generate.add_argument("kind", choices=KINDS)
    generate.add_argument("out", type=Path, help="directory to make")
    generate.add_argument("--parts", type=int, default=1)
    generate.add_argument("--seed", type=int, default=1)
    generate.add_argument(
        "--weights", default="int32", choices=[dtype.name for dtype in WEIGHT_DTYPES]
    )
    for name, kind, what in (
        ("scale", int, "rmat: 2^scale vertices"),
        ("edge-factor", int, "rmat: edges a vertex, before repeats are dropped"),
        ("n", int, "gnm, rgg2d, rgg3d, rhg: vertices"),
        ("m", int, "gnm: edges"),
        ("degree", float, "rgg2d, rgg3d, rhg: average degree"),
        ("gamma", float, "rhg: exponent of the degrees"),
        ("side", int, "grid2d, grid3d: vertices along a side"),
        ("keep", float, "grid2d, grid3d: share of the edges that is kept"),
    ):
        generate.add_argument(f"--{name}", type=kind, help=what)
    generate.set_defaults(process=_generate)


def _generate(arguments: argparse.Namespace) -> int:
    from ..io.generate import generate

    names = ("scale", "edge_factor", "n", "m", "degree", "gamma", "side", "keep")
    given = {name: getattr(arguments, name) for name in names}
    generate(
        arguments.kind,
        arguments.out,
        arguments.parts,
        arguments.seed,
        arguments.weights,
        **{name: value for name, value in given.items() if value is not None},
    )
    return describe(arguments.out)
