"""Random graphs as edge files, made from a seed while they are read.

All processes make the four kinds of mndmst's own by the numbers of edges: `rmat`,
`ssca2`, `gnm`, and `road`, a grid of streets some of which are missing. KaGen [1] makes
the others whole, in one process.

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

[2] Chakrabarti, Zhan and Faloutsos: R-MAT: A recursive model for graph mining.
    SDM 2004.

[3] Bader and Madduri: Design and implementation of the HPCS graph analysis
    benchmark on symmetric multiprocessors. HiPC 2005.
"""

import math
from abc import abstractmethod
from collections.abc import Iterator
from functools import partial
from numbers import Integral, Real
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from ...graph.order import WEIGHT_DTYPES, id_dtype
from ...host.errors import ConfigError, MissingExtraError, MndmstError
from ...host.formatting import size_text
from ...host.memory import FREE_MEMORY, Budget
from ..edge_file import EdgeFile, Edges
from ..kernels import generators as kernels
from ..kernels.csr_conversion import hash_edges
from ..memory_limit import room

if TYPE_CHECKING:
    import kagen

# Each kind with its parameters and their defaults; None must be given.
OWN_KINDS: dict[str, dict[str, float | None]] = {
    "rmat": {"scale": None, "edge_factor": 16, "a": 0.57, "b": 0.19, "c": 0.19},
    "ssca2": {"scale": None, "clique": 0, "between": 0.5},
    "gnm": {"n": None, "m": None},
    "road": {"side": None, "keep": 0.65},
}

# Each kind with its parameters and their defaults; None must be given.
KAGEN_KINDS: dict[str, dict[str, float | None]] = {
    "rgg2d": {"n": None, "degree": 16.0},
    "rgg3d": {"n": None, "degree": 16.0},
    "rhg": {"n": None, "degree": 16.0, "gamma": 2.8},
    "grid2d": {"side": None, "keep": 1.0},
    "grid3d": {"side": None, "keep": 1.0},
}
KINDS = OWN_KINDS | KAGEN_KINDS
# Of a clique: its bound in a growing list, and in an array
BOUND_BYTES = 24
WHOLE = ("scale", "edge_factor", "clique", "n", "m", "side")


class RandomEdges(EdgeFile):
    """A random graph that any process makes any part of, the same for a seed."""

    PIECE = 1 << 18
    rereadable = True
    vertices_given = True

    def __init__(
        self,
        kind: str,
        seed: int,
        dtype: np.dtype,
        parameters: dict[str, float],
        budget: Budget,
    ) -> None:
        self.name = self.kind = kind
        self.budget = budget
        self.seed = seed
        self.weight_dtype: np.dtype = dtype
        self.parameters = parameters
        self._prepare(parameters)

    @abstractmethod
    def _prepare(self, given: dict[str, float]) -> None:
        """Check the parameters, and set the numbers of edges and of vertices."""

    def identity(self) -> dict[str, object]:
        """Return facts that identify the graph."""
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
            yield Edges(self.num_vertices or 0, src, dst, weight)


class NumberedEdges(RandomEdges):
    """R-MAT [2], G(n, m), or a street grid: one edge, or none, for each number."""

    def _prepare(self, given: dict[str, float]) -> None:
        if self.kind == "rmat":
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
            self.num_vertices = 1 << int(given["scale"])
            self.length = int(given["edge_factor"]) << int(given["scale"])
            self.bounds = np.round(sums * 65536).astype(np.uint64)
        elif self.kind == "gnm":
            n, m = int(given["n"]), int(given["m"])
            _check(self, "n", 0, (1 << 32) - 1)
            _check(self, "m", 0, n * (n - 1) // 2)
            self.num_vertices, self.length = n, m
        else:
            _check(self, "side", 1, (1 << 23) - 1)
            _check(self, "keep", 0, 1)
            self.num_vertices = int(given["side"]) ** 2
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
                side = self.parameters["side"]
                keep = np.uint64(self.parameters["keep"] * 2**32)
                count = kernels.road(self.seed, side, keep, low, src, dst)
            yield src[:count], dst[:count]


class CliqueEdges(RandomEdges):
    """SSCA#2 [3]: random cliques, and fewer edges the farther two of them are apart."""

    VERTICES = 1 << 13

    def _prepare(self, given: dict[str, float]) -> None:
        _check(self, "scale", 1, 40)
        _check(self, "clique", 0, 1 << 40)
        _check(self, "between", 0, 1)
        scale = int(given["scale"])
        largest = int(given["clique"]) or 1 << scale // 3
        self.num_vertices = self.length = 1 << scale
        self.between = float(given["between"])
        self._check_room(2 * self.num_vertices // (largest + 1))
        self.bounds = kernels.clique_bounds(self.seed, self.num_vertices, largest)

    def _check_room(self, cliques: int) -> None:
        """Raise ConfigError if the bounds of so many cliques do not fit the memory."""
        nbytes, free = BOUND_BYTES * cliques, room(self.budget)
        if nbytes > free:
            raise ConfigError(
                f"{self.kind}: {typed('scale')} {int(self.parameters['scale'])}: the "
                f"bounds of about {cliques:,} cliques take {size_text(nbytes)} of "
                f"memory, and {size_text(free)} may be taken. Give a smaller scale, or "
                f"a larger {typed('clique')}."
            )

    def ends(self, begin: int, end: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the edges that the vertices [begin, end) list."""
        none = np.empty(0, id_dtype(self.num_vertices or 0))
        for low in range(begin, end, self.VERTICES):
            high = min(low + self.VERTICES, end)
            make = partial(
                kernels.ssca2, self.seed, self.bounds, self.between, low, high
            )
            src, dst = np.empty((2, make(none, none)), none.dtype)
            make(src, dst)
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


def _check(edges: RandomEdges, name: str, low: float, high: float = math.inf) -> None:
    """Raise ConfigError if a parameter is out of its range."""
    value = edges.parameters[name]
    if not low <= value <= high:
        span = f"{low} or more" if high == math.inf else f"from {low} to {high}"
        raise ConfigError(f"{edges.kind}: {typed(name)} {value}: give a number {span}")


def _check_above(edges: RandomEdges, name: str, low: int, high: int) -> None:
    """Raise ConfigError if a parameter is not above `low`, or beyond `high`."""
    value = edges.parameters[name]
    if not low < value <= high:
        raise ConfigError(
            f"{edges.kind}: {typed(name)} {value}: give a number above {low}, up to "
            f"{high}"
        )


def typed(*parameters: str) -> str:
    """Return parameters as they are typed at the command line, for messages."""
    return ", ".join(f"--{name.replace('_', '-')}" for name in parameters)


class KaGenEdges(RandomEdges):
    """A graph that KaGen generates when it is read."""

    seekable = False
    rereadable = False

    def _prepare(self, given: dict[str, float]) -> None:
        self.kagen = import_kagen()
        self.length = 1
        # KaGen ends the process, or crashes, for some of the parameters left out here
        if "side" in given:
            _check(self, "side", 1)
            _check_above(self, "keep", 0, 1)
            return
        _check(self, "n", 3)
        _check(self, "degree", 2 / given["n"], 0.8 * given["n"])
        if "gamma" in given:
            _check_above(self, "gamma", 2, 5)

    def ends(self, begin: int, end: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the ends of all edges."""
        kagen = self.kagen.KaGen()
        kagen.use_edge_list_representation()
        kagen.set_seed(self.seed)
        try:
            graph = _make(kagen, self.kind, **self.parameters)
        except MndmstError:
            raise
        except (ValueError, RuntimeError, TypeError, OverflowError) as error:
            raise ConfigError(
                f"KaGen cannot make {self.kind} of {self.parameters}: {error}"
            ) from error
        self.num_vertices = graph.num_vertices()
        ends = graph.edges().reshape(-1, 2)
        for low in range(0, max(1, len(ends)), self.PIECE):
            piece = ends[low : low + self.PIECE].astype(id_dtype(self.num_vertices))
            yield piece[:, 0].copy(), piece[:, 1].copy()


def _make(maker: "kagen.KaGen", kind: str, **given: float) -> "kagen.Graph":
    if kind in ("rgg2d", "rgg3d"):
        make = getattr(maker, f"generate_{kind}_nm")
        return make(given["n"], round(given["n"] * given["degree"] / 2))
    if kind == "rhg":
        return maker.generate_rhg(given["gamma"], given["n"], given["degree"])
    sides = [given["side"]] * int(kind[4])
    return getattr(maker, f"generate_{kind}")(*sides, given["keep"])


def import_kagen() -> ModuleType:
    """Return KaGen."""
    try:
        import kagen
    except ImportError as error:
        raise MissingExtraError(
            f"Graphs of the kinds {', '.join(KAGEN_KINDS)} need KaGen, which is not "
            'installed. Install it: pip install "mndmst[generate]"'
        ) from error
    return kagen


def open_random(
    kind: str,
    seed: int = 1,
    weights: str | np.dtype = "int32",
    budget: Budget = FREE_MEMORY,
    **parameters: float,
) -> RandomEdges:
    """Return a random graph of one of `KINDS` as an edge file, made as it is read.

    The seed is from 0 to 2^31 - 1, and the weights one of `order.WEIGHT_DTYPES`.
    ``scale`` is of 2^scale vertices, ``edge_factor`` counts edges a vertex, repeats
    included; ``a``, ``b``, ``c`` are the chances of three quadrants; ``clique`` has the
    most vertices of one, 2^(scale / 3) if 0; ``between`` is the chance of an edge to
    the next clique; ``keep`` the share of the edges that is kept.
    """
    dtypes = {dtype.name: dtype for dtype in WEIGHT_DTYPES}
    if str(weights) not in dtypes:
        raise ConfigError(f"--weights {weights}: give one of {', '.join(dtypes)}")
    if not 0 <= seed < 1 << 31:
        raise ConfigError(f"--seed {seed}: give a number from 0 to 2^31 - 1")
    given = _complete(kind, parameters)
    if kind in KAGEN_KINDS:
        maker: type[RandomEdges] = KaGenEdges
    else:
        maker = CliqueEdges if kind == "ssca2" else NumberedEdges
    return maker(kind, seed, dtypes[str(weights)], given, budget)


def _complete(kind: str, parameters: dict[str, float]) -> dict[str, float]:
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
    return complete  # type: ignore[return-value]  # no value is None
