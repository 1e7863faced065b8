"""Random graphs as edge files: edges by number, weights by a hash of their ends."""

import math
from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..graph.order import id_dtype
from ..host.errors import ConfigError
from .edge_file import EdgeFile
from .edges import Edges
from .kernels import generators as kernels
from .kernels.build import hash_edges

# Each kind with its parameters and their defaults; None must be given.
OWN_KINDS: dict[str, dict[str, Any]] = {
    "rmat": {"scale": None, "edge_factor": 16, "a": 0.57, "b": 0.19, "c": 0.19},
    "ssca2": {"scale": None, "clique": 0, "between": 0.5},
    "gnm": {"n": None, "m": None},
    "road": {"side": None, "keep": 0.65},
}


class RandomEdges(EdgeFile):
    """A random graph that any process makes any part of, the same for a seed.

    Parameters
    ----------
    kind : str
    seed : int
        From 0 to 2^31 - 1.
    dtype : dtype
        Of the weights.
    parameters : dict
        What else the kind takes; see `generate.open_random`.
    """

    PIECE = 1 << 18
    rereadable = True
    vertices_asked = True

    def __init__(
        self, kind: str, seed: int, dtype: np.dtype, parameters: dict[str, Any]
    ) -> None:
        self.name = self.kind = kind
        self.seed = seed
        self.weight_dtype: np.dtype = dtype
        self.parameters = parameters

    def identity(self) -> dict[str, Any]:
        """Return what tells the graph from others."""
        named = {name: float(value) for name, value in self.parameters.items()}
        weights = self.weight_dtype.name
        return {"kind": self.kind, "seed": self.seed, "weights": weights} | named

    @abstractmethod
    def ends(self, begin: int, end: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the ends of the edges in a range, some at a time."""

    def pieces(self, begin: int, end: int) -> Iterator[Edges]:
        """Yield the edges in a range with their weights."""
        for src, dst in self.ends(begin, end):
            weight = weights_of(hash_edges(self.seed, src, dst), self.weight_dtype)
            yield Edges(self.num_vertices or 0, src, dst, weight, directed=True)


class NumberedEdges(RandomEdges):
    """R-MAT [1], G(n, m), or a street grid: one edge, or none, for each number.

    [1] Chakrabarti, Zhan and Faloutsos: R-MAT: A recursive model for graph mining.
    SDM 2004.
    """

    def __init__(
        self, kind: str, seed: int, dtype: np.dtype, given: dict[str, Any]
    ) -> None:
        super().__init__(kind, seed, dtype, given)
        if kind == "rmat":
            _check(self, "scale", 1, 44)
            _check(self, "edge_factor", 0)
            for name in ("a", "b", "c"):
                _check(self, name, 0, 1)
            sums = np.cumsum([given["a"], given["b"], given["c"]])
            if sums[-1] > 1:
                raise ConfigError(
                    f"rmat: --a, --b and --c add up to {sums[-1]}: they are chances, "
                    "1 together at most"
                )
            self.num_vertices = 1 << given["scale"]
            self.length = given["edge_factor"] << given["scale"]
            self.bounds = np.round(sums * 65536).astype(np.uint64)
        elif kind == "gnm":
            n, m = given["n"], given["m"]
            _check(self, "n", 0, (1 << 32) - 1)
            _check(self, "m", 0, n * (n - 1) // 2)
            self.num_vertices, self.length = n, m
        else:
            _check(self, "side", 1, (1 << 23) - 1)
            _check(self, "keep", 0, 1)
            self.num_vertices = given["side"] ** 2
            self.length = 2 * self.num_vertices

    def ends(self, begin: int, end: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the edges of the numbers [begin, end)."""
        for low in range(begin, end, self.PIECE):
            count = min(self.PIECE, end - low)
            src, dst = np.empty((2, count), id_dtype(self.num_vertices or 0))
            if self.kind == "rmat":
                scale = self.parameters["scale"]
                kernels.rmat(self.seed, scale, self.bounds, low, src, dst)
            elif self.kind == "gnm":
                kernels.gnm(self.seed, self.num_vertices, low, src, dst)
            else:
                side, keep = (
                    self.parameters["side"],
                    np.uint64(self.parameters["keep"] * 2**32),
                )
                count = kernels.road(self.seed, side, keep, low, src, dst)
            yield src[:count], dst[:count]


class CliqueEdges(RandomEdges):
    """SSCA#2 [1]: random cliques, and fewer edges the farther two of them are apart.

    [1] Bader and Madduri: Design and implementation of the HPCS graph analysis
    benchmark on symmetric multiprocessors. HiPC 2005.
    """

    VERTICES = 1 << 13

    def __init__(
        self, kind: str, seed: int, dtype: np.dtype, given: dict[str, Any]
    ) -> None:
        super().__init__(kind, seed, dtype, given)
        _check(self, "scale", 1, 40)
        _check(self, "clique", 0)
        _check(self, "between", 0, 1)
        scale, largest = given["scale"], given["clique"] or 1 << given["scale"] // 3
        self.num_vertices = self.length = 1 << scale
        self.between = float(given["between"])
        self.bounds = kernels.clique_bounds(seed, self.num_vertices, largest)

    def ends(self, begin: int, end: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the edges that the vertices [begin, end) list."""
        none = np.empty(0, id_dtype(self.num_vertices or 0))
        for low in range(begin, end, self.VERTICES):
            high = min(low + self.VERTICES, end)
            count = kernels.ssca2(
                self.seed, self.bounds, self.between, low, high, none, none
            )
            src, dst = np.empty((2, count), none.dtype)
            kernels.ssca2(self.seed, self.bounds, self.between, low, high, src, dst)
            yield src, dst


def weights_of(hashes: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Turn hashed bits into weights, the uppermost bits first."""
    if dtype.kind == "f":
        digits = np.finfo(dtype).nmant  # one bit less than fits, to add a half
        hashes >>= np.uint64(64 - digits)
        return (hashes.astype(dtype) + dtype.type(0.5)) * dtype.type(0.5**digits)
    digits = 24 if dtype.itemsize == 4 else 40
    hashes >>= np.uint64(64 - digits)
    hashes += np.uint64(1)
    return hashes.astype(dtype)


def _check(edges: RandomEdges, name: str, low: int, high: float = math.inf) -> None:
    """Raise ConfigError if a parameter is out of its range."""
    value = edges.parameters[name]
    if not low <= value <= high:
        span = f"{low} or more" if high == math.inf else f"from {low} to {high}"
        raise ConfigError(f"{edges.kind}: {typed(name)} {value}: give a number {span}")


def typed(*parameters: str) -> str:
    """Return parameters as they are typed at the command line, for messages."""
    return ", ".join(f"--{name.replace('_', '-')}" for name in parameters)
