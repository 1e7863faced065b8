"""The graphs of a benchmark, as CSR rows in memory."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from math import isqrt
from pathlib import Path
from typing import Any

import numpy as np

from mndmst.graph.model import Rows
from mndmst.graph.order import weights_to_keys
from mndmst.host.errors import ConfigError
from mndmst.io.edge_file import Edges
from mndmst.io.formats import read_edges
from mndmst.io.partitioner.random_graphs import open_random
from mndmst.io.partitioner.vertex_numbering import symmetric_rows

_ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class BenchGraph:
    """An undirected graph; every edge is in the rows of both its ends."""

    name: str
    # How the weights are spread: ``given``, or one of the hard ways of `hardened`.
    order: str
    indptr: np.ndarray  # int64, shape (num_vertices + 1,)
    indices: np.ndarray  # uint32 or int64, shape (arcs,)
    weights: np.ndarray  # one of `order.WEIGHT_DTYPES`, shape (arcs,)

    @property
    def num_vertices(self) -> int:
        """Number of vertices."""
        return len(self.indptr) - 1

    @property
    def num_edges(self) -> int:
        """Number of undirected edges."""
        return len(self.indices) // 2

    def rows(self) -> Rows:
        """Return the graph as the rows of one worker."""
        keys = weights_to_keys(self.weights.copy())
        return Rows(0, self.num_vertices, self.indptr, self.indices, keys)

    def upper(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return ends u < v and weights, each edge once, in (u, v) order."""
        vertices = np.arange(self.num_vertices, dtype=self.indices.dtype)
        tails = np.repeat(vertices, np.diff(self.indptr))
        once = tails < self.indices
        return tails[once], self.indices[once], self.weights[once]

    def edges(self) -> Edges:
        """Return every edge once."""
        return Edges(self.num_vertices, *self.upper(), directed=False)

    def both_ways(self) -> Edges:
        """Return every edge in both directions."""
        tails = np.repeat(np.arange(self.num_vertices), np.diff(self.indptr))
        return Edges(self.num_vertices, tails, self.indices, self.weights)

    def save(self, folder: Path) -> None:
        """Write the arrays for another process on this machine."""
        for name in ("indptr", "indices", "weights"):
            np.save(folder / f"{name}.npy", getattr(self, name))

    @classmethod
    def load(cls, folder: Path) -> "BenchGraph":
        """Read the arrays that `save` wrote."""
        names = ("indptr", "indices", "weights")
        return cls("", "", *(np.load(folder / f"{name}.npy") for name in names))


def _generated(name: str, scale: int) -> dict[str, Any]:
    n = 1 << scale
    parameters: dict[str, dict[str, Any]] = {
        "rmat": {"scale": scale, "edge_factor": 16},
        "gnm": {"n": n, "m": 16 * n},
        "rgg2d": {"n": n, "degree": 16.0},
        "rhg": {"n": n, "degree": 32.0, "gamma": 2.8},
        "grid2d": {"side": 2 * isqrt(n), "keep": 0.6},
    }
    return parameters[name]


GENERATED = ("rmat", "gnm", "rgg2d", "rhg", "grid2d")
REAL = {"USA-topo.FLA": "USA-topo.FLA.gr.xz", "web-cnr-2000": "web-cnr-2000.gr.xz"}
NAMES = (*GENERATED, *REAL)
HARD = ("equal", "ascending", "descending")


def available() -> tuple[str, ...]:
    """Return the names of the graphs that can be generated or read here."""
    return (*GENERATED, *(name for name in REAL if _real_file(name).exists()))


def make(name: str, scale: int, dtype: np.dtype) -> BenchGraph:
    """Generate or read a graph, one of `NAMES`.

    Generated graphs have 2^scale vertices, the road-like ``grid2d`` four times the same
    number. Real graphs have integer weights, which fit all of `order.WEIGHT_DTYPES`.
    Raises ConfigError if the file of a real graph is not there; MissingExtraError if
    KaGen is not installed.
    """
    if name in REAL:
        edges = _read(name, dtype)
    else:
        edges = open_random(name, 1, dtype, **_generated(name, scale)).read()
    return BenchGraph(name, "given", *symmetric_rows(edges))


def hardened(graph: BenchGraph, orders: tuple[str, ...] = HARD) -> Iterator[BenchGraph]:
    """Yield the graph with weights that leave little to filter or many to compare.

    All are ``equal``, or they are ``ascending`` or ``descending`` along every row.
    """
    u, v, _ = graph.upper()
    positions = np.arange(1, len(u) + 1, dtype=graph.weights.dtype)
    weights = {
        "equal": np.ones_like(positions),
        "ascending": positions,
        "descending": positions[::-1].copy(),
    }
    for order in orders:
        edges = Edges(graph.num_vertices, u, v, weights[order], directed=False)
        yield BenchGraph(graph.name, order, *symmetric_rows(edges))


def data_folder() -> Path:
    """Return the default folder of graphs, the same as for the tests."""
    folder = os.environ.get("MNDMST_TEST_DATA")
    return Path(folder) if folder else _ROOT.parent / "shared/data"


def _real_file(name: str) -> Path:
    return data_folder() / REAL[name]


def _read(name: str, dtype: np.dtype) -> Edges:
    file = _real_file(name)
    if not file.exists():
        raise ConfigError(
            f"{file}: the graph {name} is not there. Set MNDMST_TEST_DATA to the "
            "directory that holds it, or leave it out of --graphs."
        )
    edges = read_edges(file)
    weight = edges.weight.astype(dtype)
    return Edges(edges.num_vertices, edges.src, edges.dst, weight, edges.directed)
