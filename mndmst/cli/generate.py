"""The command `generate`."""

import argparse
from typing import Any

from ..graph.order import WEIGHT_DTYPES
from .building import Source, add_building, build
from .numbers import MOST_VERTICES, real, whole

OWN = ("rmat", "ssca2", "gnm", "road")
MOST_SEED, MOST_EDGES = (1 << 31) - 1, 1 << 62
BY_KAGEN = ("rgg2d", "rgg3d", "rhg", "grid2d", "grid3d")
PARAMETERS = (
    ("scale", whole(1, 48), "rmat, ssca2: 2^scale vertices"),
    (
        "edge-factor",
        whole(1, MOST_VERTICES),
        "rmat: edges a vertex, before repeats are dropped",
    ),
    ("a", real(0, 1), "rmat: chance of the upper left quadrant, 0.57"),
    ("b", real(0, 1), "rmat: chance of the upper right quadrant, 0.19"),
    ("c", real(0, 1), "rmat: chance of the lower left quadrant, 0.19"),
    (
        "clique",
        whole(0, MOST_VERTICES),
        "ssca2: vertices of a clique at most, 2^(scale / 3)",
    ),
    ("between", real(0, 1), "ssca2: chance of an edge to the next clique, 0.5"),
    ("n", whole(0, MOST_VERTICES), "gnm, rgg2d, rgg3d, rhg: vertices"),
    ("m", whole(0, MOST_EDGES), "gnm: edges"),
    ("degree", real(0, MOST_VERTICES), "rgg2d, rgg3d, rhg: average degree"),
    ("gamma", real(0, 1000), "rhg: exponent of the degrees"),
    ("side", whole(0, MOST_VERTICES), "road, grid2d, grid3d: vertices along a side"),
    ("keep", real(0, 1), "road, grid2d, grid3d: share of the edges that is kept"),
)


def add(commands: Any) -> None:
    """Add the command to the parser."""
    generate = commands.add_parser(
        "generate",
        help="make a random graph",
        description=f"Make a random graph, {', '.join(OWN)} by several processes or "
        f"under mpirun; {', '.join(BY_KAGEN)} with KaGen. Weights are a hash of the "
        "seed and the ends, so any number of parts and processes gives the same graph.",
    )
    generate.add_argument("kind", choices=OWN + BY_KAGEN, help="kind of graph")
    add_building(generate)
    generate.add_argument(
        "--seed", type=whole(0, MOST_SEED), default=1, help="0 to 2^31 - 1"
    )
    generate.add_argument(
        "--weights",
        default="int32",
        choices=[dtype.name for dtype in WEIGHT_DTYPES],
        help="type of weights",
    )
    for name, kind, what in PARAMETERS:
        generate.add_argument(f"--{name}", type=kind, help=what)
    generate.set_defaults(process=_generate)


def _generate(arguments: argparse.Namespace) -> int:
    from ..io.partitioner.generate import open_random

    names = [name.replace("-", "_") for name, _, _ in PARAMETERS]
    given = {name: getattr(arguments, name) for name in names}
    wanted = {name: value for name, value in given.items() if value is not None}
    return build(
        arguments,
        lambda: Source(
            open_random(arguments.kind, arguments.seed, arguments.weights, **wanted)
        ),
    )
