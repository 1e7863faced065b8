"""Random graphs, made from a seed.

All processes make the four kinds of mndmst's own: `rmat`, `ssca2`,
`gnm`, and `road`, a grid of streets some of which are missing. KaGen makes the others,
in one process.

Weights are a hash of the seed and the ends of an edge, so that a graph is the same
however it is cut, and so that they need not be stored with the generator. They are
uniform over a range that suits the type:

=================  ==========================================
int32, uint32      1 to 2^24
int64, uint64      1 to 2^40
float32            odd multiples of 2^-24 between 0 and 1
float64            odd multiples of 2^-53 between 0 and 1
=================  ==========================================
"""

from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np

from ...graph.order import WEIGHT_DTYPES
from ...host.errors import ConfigError
from ..edges import Edges
from ..shards.sharded_graph import ShardedGraph
from . import Options, partition
from .builders import Alone
from .random_graphs import (
    KAGEN_KINDS,
    OWN_KINDS,
    CliqueEdges,
    KaGenEdges,
    NumberedEdges,
    RandomEdges,
    typed,
)

KINDS = OWN_KINDS | KAGEN_KINDS
MEMORY = 4 << 30
WHOLE = ("scale", "edge_factor", "clique", "n", "m", "side")


def generate(
    kind: str,
    out: str | Path,
    parts: int = 1,
    seed: int = 1,
    weights: str | np.dtype = "int32",
    **parameters: float,
) -> ShardedGraph:
    """Make a random graph and write it as shards.

    Parameters
    ----------
    kind : str
        One of `KINDS`.
    out : str or Path
        Directory to make.
    parts : int
        The graph is the same for any number.
    seed : int
        From 0 to 2^31 - 1.
    weights : dtype
        One of `order.WEIGHT_DTYPES`.
    **parameters
        What the kind needs; see `open_random`.

    Raises
    ------
    ConfigError
        If the kind, a parameter or the weight type is not known, or one is missing.
    MissingExtraError
        If the kind needs KaGen and it is not installed.
    OutputError
        If `out` is not empty or cannot be written.
    """
    file = open_random(kind, seed, weights, **parameters)
    return partition(Alone(), file, Options(Path(out), parts, MEMORY, quiet=True))


def generate_edges(
    kind: str, seed: int = 1, weights: str | np.dtype = "int32", **parameters: float
) -> Edges:
    """Make a random graph in memory; see `generate`.

    An edge may be listed twice, with equal weights.
    """
    return open_random(kind, seed, weights, **parameters).read()


def open_random(
    kind: str, seed: int = 1, weights: str | np.dtype = "int32", **parameters: float
) -> RandomEdges:
    """Return a random graph as an edge file, made as it is read.

    Parameters
    ----------
    kind, seed, weights
        As in `generate`.
    **parameters
        ``rmat``: ``scale`` (2^scale vertices), ``edge_factor`` (edges a vertex,
        repeats included), ``a``, ``b``, ``c`` (the chances of three quadrants).
        ``ssca2``: ``scale``, ``clique`` (the most vertices of one, 2^(scale / 3) if
        0), ``between`` (the chance of an edge to the next clique).
        ``gnm``: ``n``, ``m``. ``rgg2d``, ``rgg3d``, ``rhg``: ``n``, ``degree``,
        ``gamma``. ``road``, ``grid2d``, ``grid3d``: ``side``, ``keep`` (the share of
        the edges that is kept).

    Raises
    ------
    ConfigError, MissingExtraError
        As `generate`.
    """
    try:
        dtype = np.dtype(weights)
    except TypeError:
        dtype = np.dtype(object)
    if dtype not in WEIGHT_DTYPES:
        raise ConfigError(
            f"--weights {weights}: give one of "
            f"{', '.join(known.name for known in WEIGHT_DTYPES)}"
        )
    if not 0 <= seed < 1 << 31:
        raise ConfigError(f"--seed {seed}: give a number from 0 to 2^31 - 1")
    given = _complete(kind, parameters)
    if kind in KAGEN_KINDS:
        return KaGenEdges(kind, seed, dtype, given)
    maker = CliqueEdges if kind == "ssca2" else NumberedEdges
    return maker(kind, seed, dtype, given)


def _complete(kind: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of a kind, with defaults."""
    if kind not in KINDS:
        raise ConfigError(
            f"no kind of graph is called {kind}; known: {', '.join(KINDS)}"
        )
    defaults = KINDS[kind]
    complete = defaults | parameters
    unknown = typed(*sorted(set(parameters) - set(defaults)))
    missing = typed(*(name for name, value in complete.items() if value is None))
    if unknown or missing:
        problem = f"does not take {unknown}" if unknown else f"needs {missing}"
        raise ConfigError(f"{kind} {problem}; its parameters are {typed(*defaults)}")
    for name, value in complete.items():
        number = Integral if name in WHOLE else Real
        if not isinstance(value, number) or isinstance(value, bool):
            whole = "a whole number" if name in WHOLE else "a number"
            raise ConfigError(f"{kind}: {typed(name)} {value!r}: give {whole}")
    return complete
