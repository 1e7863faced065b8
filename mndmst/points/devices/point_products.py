"""Points on a device, searched by matrix products: the interface and its inputs."""

from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol, Self

import numpy as np

from ...comm.communicator import Comm

# Takes the number of points that a search has done, and of all.
Report = Callable[[int, int], object]
# The longest list of neighbours that a device keeps for a point.
MOST_NEIGHBOURS = 256
NO_POSITION = np.uint32(0xFFFFFFFF)


class PointArrays(NamedTuple):
    """Points by position; their coordinates may be quotients."""

    # float32 or float64, shape (rows, dimensions): on the host or on a device
    values: np.ndarray
    # float64, shape (rows,): each coordinate is divided by `largest`, then by `length`;
    # empty if coordinates are not divided
    largest: np.ndarray
    length: np.ndarray
    source: np.ndarray  # uint32, by position: the row of `values`
    point: np.ndarray  # uint32, by position

    @classmethod
    def undivided(
        cls, values: np.ndarray, source: np.ndarray, point: np.ndarray
    ) -> Self:
        """Return points whose coordinates are not divided."""
        none = np.empty(0)
        return cls(values, none, none, source, point)

    def coordinates(self, positions: slice | np.ndarray) -> np.ndarray:
        """Return the float64 coordinates, divided, at some positions."""
        rows = self.source[positions]
        coordinates = self.values[rows].astype(np.float64)
        if len(self.length):
            coordinates /= self.largest[rows, None]
            coordinates /= self.length[rows, None]
        return coordinates


class PointMeasures(NamedTuple):
    """Magnitudes of points (float64), with the bits that the host computes."""

    smallest: np.ndarray  # of a point's coordinates other than 0; infinity without one
    largest: np.ndarray  # of its coordinates; infinity if one is not finite
    length: np.ndarray  # of the point divided by `largest`


class PointsOnDevice(Protocol):
    """A user's points in a device's memory; `np.asarray` copies them to the host."""

    array: np.ndarray  # of the device's library; float32 or float64
    shape: tuple[int, ...]
    dtype: np.dtype

    def __len__(self) -> int: ...

    def __getitem__(self, rows: np.ndarray | slice) -> np.ndarray:
        """Return some points on the host."""

    def __array__(
        self, dtype: np.dtype | None = None, copy: bool | None = None
    ) -> np.ndarray:
        """Return all points on the host."""

    @property
    def measures(self) -> PointMeasures:
        """The magnitudes of all points."""


class ComponentArrays(NamedTuple):
    """Components of points, and bounds of their outgoing edges."""

    of_position: np.ndarray  # uint32: the component of each position
    cores: np.ndarray  # float64, by position: core distances; zeros for plain distances
    lower_bound: np.ndarray  # float64, by position: of a point's unlisted edges
    # float64, by component: the weight of its lightest known outgoing edge, which
    # searches lower
    bound: np.ndarray


class RemoteQueries(NamedTuple):
    """Points of another rank that search their lightest edges to other components."""

    points: np.ndarray  # float32 or float64, shape (queries, dimensions)
    component: np.ndarray  # uint32
    core: np.ndarray  # float64
    point: np.ndarray  # uint32
    bound: np.ndarray  # float64: heavier edges are not wanted


def query_arrays(values: np.ndarray, point: np.ndarray) -> PointArrays:
    """Return points in their given order; their coordinates are not divided."""
    positions = np.arange(len(point), dtype=np.uint32)
    return PointArrays.undivided(values, positions, point)


class ReceivedPoints(NamedTuple):
    """Points received from another rank, by component."""

    point: np.ndarray  # uint32
    component: np.ndarray  # uint32
    core: np.ndarray  # float64
    lower_bound: np.ndarray  # float64; see `ComponentArrays`
    points: np.ndarray  # shape (points, dimensions), of the type of this rank's values


class PointExchange(Protocol):
    """Iterates over other ranks' points."""

    ranks: Comm

    def received(
        self, positions: np.ndarray, components: ComponentArrays
    ) -> Iterator[tuple[ReceivedPoints, int]]:
        """Yield received points, and the number of local points to compare them with.

        Local points are those at `positions`, which may hold NO_POSITION; received
        points are compared with the first of them. So one of two ranks compares each
        pair of their points. Collective: all ranks exhaust the iterator.
        """


class EdgesBetween(NamedTuple):
    """Edges between components."""

    a: np.ndarray  # uint32
    b: np.ndarray  # uint32
    weight: np.ndarray  # float64
    key: np.ndarray  # uint64: the two points, the smaller in the upper half


class PointProducts(Protocol):
    """Points searched exactly by tiles of matrix products.

    `between` iterates `passes` times over the points of other ranks. With more than
    `most_components` it takes longer than rounds of searches.
    """

    most_components: int
    passes: int

    def nearest(self, k: int, report: Report) -> tuple[np.ndarray, np.ndarray]:
        """Return the k nearest other points of every point.

        Squared distances (float64) and positions (uint32) have the shape (points, k).
        Distances ascend; of equal ones the smaller point is first.
        """

    def lightest(
        self,
        components: ComponentArrays,
        queries: np.ndarray,
        bounded: bool,
        report: Report,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the lightest outgoing edges of the positions `queries`.

        If `bounded`, edges above the bounds of components are left out; products may do
        so anyway. Returns the far ends (uint32), or NO_POSITION without an edge within
        the bound; and the weights (float64), or the bound, which all edges exceed.
        """

    def between(
        self,
        components: ComponentArrays,
        least: np.ndarray,
        exchange: PointExchange,
        report: Report,
    ) -> EdgesBetween | None:
        """Return the lightest edge between each two components of all ranks.

        Collective, on ranks with the same `passes`. Each edge is on one of them, and
        heavier edges may be in the result. None on all ranks if the search fails.
        `least` (float64, shape (components, components)) has upper bounds of the
        weights, which the search lowers.
        """

    def nearest_to(
        self, points: np.ndarray, limits: np.ndarray, k: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the k points nearest to each of other `points`.

        `limits` are squared distances: points beyond need not be found. Distances and
        positions are as from `nearest`; a missing point has an infinite distance and
        NO_POSITION.
        """

    def lightest_to(
        self, components: ComponentArrays, queries: RemoteQueries
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the queries' lightest edges to these points, as `lightest` does.

        Edges above the bounds of the queries are left out.
        """


class PairRows(NamedTuple):
    """Points that search pairs with columns."""

    points: np.ndarray  # float64, shape (rows, dimensions)
    bound: np.ndarray  # float64: pairs up to this distance are wanted; negative: none
    component: np.ndarray  # uint32: pairs with this component are not wanted

    def part(self, rows: slice) -> "PairRows":
        """Return some rows."""
        return PairRows(*(column[rows] for column in self))


class PairColumns(NamedTuple):
    """Which pairs with points are wanted: within the bound of a row, or in reach.

    Pairs within a bound or a reach below both `least` of a point are not wanted.
    """

    vertex: np.ndarray  # uint32, by position
    least: np.ndarray  # float64, by position; infinite for removed points
    of_vertex: np.ndarray  # uint32, by vertex: the component
    least_of_vertex: np.ndarray  # float64, by vertex
    reach: np.ndarray  # float64, by component; negative for none


class PairsWithin(NamedTuple):
    """Pairs of a row and a column."""

    row: np.ndarray  # uint32
    position: np.ndarray  # uint32
    square: np.ndarray  # float64: the squared distance


class ResidentPoints(Protocol):
    """Points on one device in which few others search; a search says which are present.

    All methods raise DeviceMemoryError if the device has too little memory; both
    searches raise ConfigError if the device cannot take the others. Points and columns
    that search may be arrays on the device.
    """

    def upload(self, column: np.ndarray) -> np.ndarray:
        """Return a copy of a column on the device."""

    def empty_points(self, count: int) -> np.ndarray:
        """Return an uninitialized array on the device (float64, by dimension)."""

    def copy_points(
        self, positions: np.ndarray, rows: np.ndarray, points: np.ndarray
    ) -> None:
        """Copy the coordinates at `positions` to `rows` of an array on the device."""

    def squares(
        self, points: np.ndarray, rows: np.ndarray, positions: np.ndarray
    ) -> np.ndarray:
        """Return the squared distances of pairs, with the bits of searches.

        A pair is a row of `points`, which may be on the device, and a position.
        """

    def nearest_to(
        self, points: np.ndarray, columns: PairColumns, k: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the k nearest present points; see `PointProducts.nearest_to`."""

    def pairs_within(self, rows: PairRows, columns: PairColumns) -> PairsWithin | None:
        """Return all wanted pairs, and pairs that are slightly too far.

        None if there are too many; there never are for one row.
        """
