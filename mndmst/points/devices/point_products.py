"""Points on a device, searched by matrix products: the interface and its inputs."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np

from ...comm.communicator import Comm

# Takes how many rows of a search are done, and how many there are.
Report = Callable[[int, int], object]
# The longest list of neighbours that a device keeps for a point.
MOST_NEIGHBOURS = 256
NO_POSITION = np.uint32(0xFFFFFFFF)


class PointArrays(NamedTuple):
    """Points as float64 distances take them; a position is an index among them."""

    # float32 or float64, shape (values, dimensions): on the host or on a device.
    values: np.ndarray
    # float64, shape (values,): each coordinate is divided by the one, then by the
    # other; empty arrays for coordinates that are taken as they are.
    largest: np.ndarray
    length: np.ndarray
    source: np.ndarray  # uint32, shape (points,): the row of `values` of each point
    point: np.ndarray  # uint32, shape (points,): the user's number of each point

    def plain(self, positions: slice | np.ndarray) -> np.ndarray:
        """Return the float64 coordinates of some positions, as distances take them."""
        rows = self.source[positions]
        plain = self.values[rows].astype(np.float64)
        if len(self.length):
            plain /= self.largest[rows, None]
            plain /= self.length[rows, None]
        return plain


class PointMeasures(NamedTuple):
    """Sizes of points (float64), as the host computes them."""

    smallest: np.ndarray  # of the coordinates other than 0; infinity without one
    largest: np.ndarray  # infinity if a coordinate is not finite
    length: np.ndarray  # of each point, divided by its largest coordinate


class PointsOnDevice(Protocol):
    """Points of a user that lie on a device; NumPy takes a copy of them.

    `array` is of the library for the device, of float32 or float64.
    """

    array: Any
    shape: tuple[int, ...]
    dtype: np.dtype

    def __len__(self) -> int: ...

    def __getitem__(self, rows: np.ndarray | slice) -> np.ndarray:
        """Return some points on the host."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """Return all points on the host."""

    @property
    def measures(self) -> PointMeasures:
        """The sizes of all points."""


class ComponentArrays(NamedTuple):
    """Components of points, and bounds on the edges that leave them."""

    of_position: np.ndarray  # uint32, shape (points,)
    # float64, shape (points,): core distances; zeros for plain distances.
    cores: np.ndarray
    # float64, shape (points,): lower bound of a point's unlisted edges.
    reach: np.ndarray
    # float64, shape (components,): the weight of the lightest known edge that leaves
    # each; searches lower it.
    bound: np.ndarray


class RemoteQueries(NamedTuple):
    """Points of another rank that search the lightest edge to another component."""

    points: np.ndarray  # float32 or float64, shape (points, dimensions)
    component: np.ndarray  # uint32
    core: np.ndarray  # float64
    point: np.ndarray  # uint32: the users' numbers of the points
    bound: np.ndarray  # float64: no heavier edge is wanted


def query_arrays(points: np.ndarray, numbers: np.ndarray) -> PointArrays:
    """Return points of other ranks, and their users' numbers, as points."""
    none = np.empty(0)
    positions = np.arange(len(numbers), dtype=np.uint32)
    return PointArrays(points, none, none, positions, numbers)


class ReceivedPoints(NamedTuple):
    """Points received from another rank, by component."""

    point: np.ndarray  # uint32: the users' numbers of the points
    component: np.ndarray  # uint32
    core: np.ndarray  # float64
    reach: np.ndarray  # float64; see `ComponentArrays`
    points: np.ndarray  # shape (points, dimensions), of the type of this rank's values


class PointExchange(Protocol):
    """Iterates over other ranks' points."""

    ranks: Comm

    def received(
        self, positions: np.ndarray, components: ComponentArrays
    ) -> Iterator[tuple[ReceivedPoints, int]]:
        """Yield points of other ranks, and how many positions to compare them with.

        Collective: all ranks exhaust the iterator. One of two ranks compares each pair
        of their points: received points with the points at its first positions.

        Parameters
        ----------
        positions : ndarray of uint32
            The positions of the points of this rank that take part, or NO_POSITION.
        components : ComponentArrays
        """


class EdgesBetween(NamedTuple):
    """Edges between components."""

    a: np.ndarray  # uint32
    b: np.ndarray  # uint32
    weight: np.ndarray  # float64
    key: np.ndarray  # uint64: The users' numbers, the smaller in the upper half


class PointProducts(Protocol):
    """Points that are searched by tiles of matrix products, exactly.

    With more than `most_components`, `between` takes longer than rounds. It iterates
    `passes` times over the points of other ranks.
    """

    most_components: int
    passes: int

    def nearest(self, k: int, report: Report) -> tuple[np.ndarray, np.ndarray]:
        """Return the k nearest other points of every point, by position.

        Squared distances (float64) and positions (uint32) have the shape (points, k).
        Distances ascend; of equal ones the point with the smaller number is first.
        """

    def lightest(
        self,
        components: ComponentArrays,
        asked: np.ndarray,
        bounded: bool,
        report: Report,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the lightest edges that leave the components of some positions.

        If `bounded`, edges above the bounds of components are left out; products may do
        so anyway. Returns the far ends (uint32), NO_POSITION where there is none within
        the bound; and the weights (float64), there the bound, which all edges exceed.
        """

    def between(
        self,
        components: ComponentArrays,
        least: np.ndarray,
        exchange: PointExchange,
        report: Report,
    ) -> EdgesBetween | None:
        """Return the lightest edges between each two components of all ranks.

        Collective, on ranks with the same `passes`. Each edge is on one of them; None
        on all if the edges are not found. `least` (float64, shape (components,
        components)) has upper bounds of the weights, which the search lowers. The
        result may have heavier edges.
        """


class QueriedProducts(PointProducts, Protocol):
    """Products that points of other ranks search, too."""

    def nearest_to(
        self, points: np.ndarray, limits: np.ndarray, k: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the k points nearest to others, within a squared distance of each.

        Points have the shape (queries, dimensions). Distances and positions are as
        from `nearest`; infinity and NO_POSITION where fewer are within a limit.
        """

    def lightest_to(
        self, components: ComponentArrays, queries: RemoteQueries
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the lightest edges from other points to another component of these.

        Edges above the bounds of the queries are left out. The result is as from
        `lightest`.
        """
