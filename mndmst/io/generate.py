"""Random graphs, made by KaGen [1] from a seed.

Weights are a hash of the seed and the ends of an edge, so that a graph is the same
however it is cut, and so that they need not be stored with the generator. They are
uniform over a range that suits the type:

=================  ==========================================
int32, uint32      1 to 2^24
int64, uint64      1 to 2^40
float32            odd multiples of 2^-24 between 0 and 1
float64            odd multiples of 2^-53 between 0 and 1
=================  ==========================================

[1] Funke, Lamm, Meyer, Penschuck, Sanders, Schulz, Strash and von Looz:
Communication-free massively distributed graph generation. JPDC 131, 2019.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ..backends.numba.build import hash_edges
from ..errors import ConfigError, MissingExtraError
from ..order import WEIGHT_DTYPES, id_dtype
from .build import build_shards
from .edges import Edges
from .shards import ShardedGraph


def _rmat(kagen: Any, scale: int, edge_factor: int) -> Any:
    return kagen.generate_rmat(1 << scale, edge_factor << scale, 0.57, 0.19, 0.19)


def _gnm(kagen: Any, n: int, m: int) -> Any:
    return kagen.generate_undirected_gnm(n, m)


def _rgg2d(kagen: Any, n: int, degree: float) -> Any:
    return kagen.generate_rgg2d_nm(n, round(n * degree / 2))


def _rgg3d(kagen: Any, n: int, degree: float) -> Any:
    return kagen.generate_rgg3d_nm(n, round(n * degree / 2))


def _rhg(kagen: Any, n: int, degree: float, gamma: float) -> Any:
    return kagen.generate_rhg(gamma, n, degree)


def _grid2d(kagen: Any, side: int, keep: float) -> Any:
    return kagen.generate_grid2d(side, side, keep)


def _grid3d(kagen: Any, side: int, keep: float) -> Any:
    return kagen.generate_grid3d(side, side, side, keep)


# Each kind with its parameters and their defaults; None must be given.
KINDS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "rmat": (_rmat, {"scale": None, "edge_factor": 16}),
    "gnm": (_gnm, {"n": None, "m": None}),
    "rgg2d": (_rgg2d, {"n": None, "degree": 16.0}),
    "rgg3d": (_rgg3d, {"n": None, "degree": 16.0}),
    "rhg": (_rhg, {"n": None, "degree": 16.0, "gamma": 2.8}),
    "grid2d": (_grid2d, {"side": None, "keep": 1.0}),
    "grid3d": (_grid3d, {"side": None, "keep": 1.0}),
}


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
        One of `KINDS`: ``rmat`` (a = 0.57, b = c = 0.19), ``gnm``, ``rgg2d``,
        ``rgg3d``, ``rhg``, ``grid2d``, ``grid3d``.
    out : str or Path
        Directory to make.
    parts : int
        The graph is the same for any number.
    seed : int
        From 0 to 2^31 - 1.
    weights : dtype
        One of `order.WEIGHT_DTYPES`.
    **parameters
        What the kind needs: ``scale``, ``edge_factor``; ``n``, ``m``; ``n``,
        ``degree``, ``gamma``; ``side``, ``keep`` (the share of the edges kept).

    Returns
    -------
    ShardedGraph

    Raises
    ------
    ConfigError
        If the kind, a parameter or the weight type is not known, or one is missing.
    MissingExtraError
        If KaGen is not installed.
    OutputError
        If `out` is not empty or cannot be written.
    """
    return build_shards(generate_edges(kind, seed, weights, **parameters), out, parts)


def generate_edges(
    kind: str, seed: int = 1, weights: str | np.dtype = "int32", **parameters: float
) -> Edges:
    """Make a random graph in memory; see `generate`.

    An edge may be listed twice, with equal weights.
    """
    dtype = np.dtype(weights)
    if dtype not in WEIGHT_DTYPES:
        raise ConfigError(
            f"weights of type {dtype} are not supported; give one of "
            f"{', '.join(known.name for known in WEIGHT_DTYPES)}"
        )
    if not 0 <= seed < 1 << 31:
        raise ConfigError(f"the seed is from 0 to 2^31 - 1, not {seed}")
    maker, given = _complete(kind, parameters)
    kagen = _import_kagen().KaGen()
    kagen.use_edge_list_representation()
    kagen.set_seed(seed)
    try:
        graph = maker(kagen, **given)
    except (ValueError, RuntimeError, TypeError, OverflowError) as error:
        raise ConfigError(f"KaGen cannot make {kind} of {given}: {error}") from error
    num_vertices = graph.num_vertices()
    ends = graph.edges().reshape(-1, 2)
    src, dst = (ends[:, side].astype(id_dtype(num_vertices)) for side in (0, 1))
    weight = _weights(hash_edges(seed, src, dst), dtype)
    return Edges(num_vertices, src, dst, weight, directed=True)


def _complete(kind: str, parameters: dict[str, Any]) -> tuple[Callable, dict[str, Any]]:
    """Return the maker of a kind and its parameters with defaults."""
    if kind not in KINDS:
        raise ConfigError(
            f"no kind of graph is called {kind}; known: {', '.join(KINDS)}"
        )
    maker, defaults = KINDS[kind]
    complete = defaults | parameters
    unknown = ", ".join(sorted(set(parameters) - set(defaults)))
    missing = ", ".join(name for name, value in complete.items() if value is None)
    if unknown or missing:
        problem = f"does not take {unknown}" if unknown else f"needs {missing}"
        raise ConfigError(f"{kind} {problem}; its parameters are {', '.join(defaults)}")
    return maker, complete


def _weights(hashes: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Turn hashed bits into weights, the uppermost bits first."""
    if dtype.kind == "f":
        digits = np.finfo(dtype).nmant  # one bit less than fits, to add a half
        hashes >>= np.uint64(64 - digits)
        return (hashes.astype(dtype) + dtype.type(0.5)) * dtype.type(0.5**digits)
    digits = 24 if dtype.itemsize == 4 else 40
    hashes >>= np.uint64(64 - digits)
    hashes += np.uint64(1)
    return hashes.astype(dtype)


def _import_kagen() -> Any:
    try:
        import kagen
    except ImportError as error:
        raise MissingExtraError(
            "Random graphs need KaGen, which is not installed. Install it with\n"
            '    pip install "mndmst[generate]"'
        ) from error
    return kagen
