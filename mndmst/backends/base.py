"""The interface between the algorithm and a device.

Every backend implements the same steps. The first group works on CSR rows that `upload`
has copied to the device, the second on reduced graphs in host memory, which are small.
Every step obeys the total order of `mndmst.graph.order` and is deterministic: the
result is the same on every device and for every number of threads.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import (
    Generic,
    NamedTuple,
    NewType,
    Protocol,
    Self,
    SupportsInt,
    TypeVar,
    cast,
)

import numpy as np

from ..graph.model import EdgeList, ReducedGraph, Rows
from ..host.errors import ConfigError
from ..kernels.arc_inspection import ArcFacts
from ..kernels.hooks import Hooks


class Band(NamedTuple):
    """Arcs whose key is in (low, high]; None leaves an end open.

    The first band of a graph has low = None; a band with both ends open is the
    whole graph.
    """

    low: int | None = None
    high: int | None = None


class LabelledForest(NamedTuple):
    """The minimum spanning forest of some graph."""

    edges: EdgeList  # The edges of the forest, in no particular order
    # Returns for each vertex the representative of its tree (uint32 or int64). Few
    # programs need the labels, so the call computes them or copies them to the host.
    labels: Callable[[], np.ndarray]


class ContractedComponents(NamedTuple):
    """The components of a reduced graph after a contraction."""

    # bool, shape (edges,): the edges along which components were contracted
    in_forest: np.ndarray
    # uint32 or int64, shape (components,): for each component the position of its
    # representative
    root: np.ndarray


class ContractedRows(NamedTuple):
    """The result of border-excepting contraction on rows."""

    # Edges of the minimum spanning forest of the whole graph, in no particular order.
    forest_edges: EdgeList
    # uint32, shape (rows,): for each row the first row of its component.
    label: np.ndarray
    # The other edges of the forest of these rows, with ghosts as ordinary vertices.
    remaining: EdgeList
    # The components at the ends of `remaining`, as vertex ids. The component of a ghost
    # is the ghost.
    ends: tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Memory:
    """Memory of a device in bytes: the total, and the free part."""

    total: int
    free: int


class DeviceMemoryError(ConfigError):
    """A step needs more memory than its device has; `Fallback` repeats it elsewhere."""


class MergedForests(Protocol):
    """The forest of the edges that all devices have published, on one device."""

    @property
    def bounds(self) -> list[int]:
        """Rank r has published the edges [bounds[r], bounds[r + 1])."""


PublishedT = TypeVar("PublishedT")
MergedT = TypeVar("MergedT", bound=MergedForests)


class DevicePeer(ABC, Generic[PublishedT, MergedT]):
    """Rows on a device that merges directly with devices of other ranks of the host.

    Ranks send each other the small values that the steps return. A step returns None if
    the device has too little memory or cannot access the other devices.
    """

    @abstractmethod
    def publish(self) -> PublishedT | None:
        """Publish the forest of the rows on the device; return what `merge` needs.

        Ghosts are ordinary vertices. A rank publishes only edges with their smaller end
        in its rows. Each edge of the graph's forest is in the forest of the rows of
        both its ends, so the forest of all published edges is the forest of the graph.
        """

    @abstractmethod
    def merge(self, published: Sequence[PublishedT], rank: int) -> MergedT | None:
        """Compute the forest of all ranks' published forests on this rank's device."""

    @abstractmethod
    def receive(self, merged: MergedT, rank: int) -> tuple[EdgeList, np.ndarray] | None:
        """Return this rank's part of the forest that `merge` has computed.

        The result is the published edges of this rank that are in the forest of the
        graph, and for each row the smallest vertex of its tree (uint32). The merging
        rank must keep its peer until all ranks have called `receive`.
        """


RowsT = TypeVar("RowsT")
ArrayT = TypeVar("ArrayT")


# A peer of any kind of device
Peer = DevicePeer[object, MergedForests]


class Backend(ABC, Generic[RowsT, ArrayT]):
    """A device that can compute minimum spanning forests.

    `RowsT` is the type of rows on the device, as `upload` returns them, and `ArrayT`
    the type of arrays of the device's library.
    `inspects_arcs` is true if the device inspects arcs faster than the threads that
    read them.
    """

    name: str
    inspects_arcs = False

    def describe(self) -> str:
        """Return the device's name for reports."""
        return self.name

    def start(self, keys: np.dtype) -> None:
        """Load kernels for keys of a type, if loading takes the device time.

        The method calls no kernel of the host, which may not be compiled yet. Another
        thread may call `upload` at the same time.
        """
        return

    @abstractmethod
    def memory(self) -> Memory:
        """Return the memory of the device."""

    @abstractmethod
    def rows_nbytes(self, rows: Rows) -> int:
        """Return the bytes of the device that `upload` and the steps on rows need."""

    # Steps on rows

    @abstractmethod
    def upload(self, rows: Rows) -> RowsT:
        """Copy rows to the device; return the copy for the steps below."""

    def inspect_arcs(self, rows: RowsT, num_vertices: int) -> ArcFacts | None:
        """Return the facts of all arcs of uploaded rows.

        The result is None if an id is out of range or smaller than its predecessor in
        the row, or if the device cannot inspect arcs.
        """
        return None

    @abstractmethod
    def msf(self, rows: RowsT) -> LabelledForest:
        """Return the forest of rows that are the whole graph (no ghosts)."""

    @abstractmethod
    def msf_of_edges(
        self, num_vertices: int, src: ArrayT, dst: ArrayT, weight: ArrayT, maximum: bool
    ) -> LabelledForest:
        """Return the forest of undirected edges in arrays of this device, in any order.

        Ends are integers below `num_vertices`, which is below 2^32. If `maximum`, the
        result is the maximum spanning forest, with descending keys.
        """

    @abstractmethod
    def band_forest(
        self, rows: RowsT, band: Band, label: np.ndarray | None
    ) -> EdgeList:
        """Return the forest of a band, with ghosts as ordinary vertices.

        By the cycle property no other edge of the band can be in the forest of the
        whole graph. `label` (int64, by row) has the component of each row's vertex:
        with it, the vertices are these components and ghosts, and edges inside a
        component are left out.
        """

    def contract_rows(self, rows: RowsT, band: Band) -> ContractedRows | None:
        """Do `band_forest` and then `contract` for rows with ghosts, in one step.

        The band is the lightest. A device that gains nothing by one step returns None,
        and the caller takes the two steps.
        """
        return None

    @abstractmethod
    def row_hooks(self, rows: RowsT, band: Band, hooks: Hooks) -> EdgeList:
        """Hook rows; return the edges of the lightest band.

        For graphs of at most 2^31 vertices. `hooks` has all vertices of the graph. The
        call fills in the vertices of the rows: the far end of a row's lightest edge,
        even above the band, and the key of that edge. A vertex without edges hooks to
        itself. The edges of the band lead from the rows to larger vertices, except
        edges along which rows hook.
        """

    def peer(self, rows: RowsT, num_vertices: int) -> Peer | None:
        """Return rows as a peer that merges without hosts, if the device can."""
        return None

    # Steps on reduced graphs

    @abstractmethod
    def forest(self, graph: ReducedGraph) -> ContractedComponents:
        """Return the forest of a reduced graph, with ghosts as ordinary vertices.

        `in_forest` marks the edges of the forest, and `root` identifies its trees.
        """

    @abstractmethod
    def contract(self, graph: ReducedGraph) -> ContractedComponents:
        """Contract components, except across borders (Panja and Vadhiyar 2018, 3.2).

        Interior components merge along their lightest edges. A component stops if its
        lightest edge leads to a ghost. Ghosts are roots.
        """


class ArrayOnDevice(Protocol):
    """An array of any device's library, which has the methods of NumPy's."""

    @property
    def dtype(self) -> np.dtype:
        """The type of the values."""

    @property
    def ndim(self) -> int:
        """The number of dimensions."""

    @property
    def size(self) -> int:
        """The number of values."""

    def __len__(self) -> int: ...

    def min(self) -> SupportsInt:
        """Return the smallest value."""

    def max(self) -> SupportsInt:
        """Return the largest value."""

    def astype(self, dtype: np.dtype, *, copy: bool = True) -> Self:
        """Return the values in another type."""


# A device that reads rows and arrays in host memory
HostBackend = Backend[Rows, np.ndarray]
# Rows on a device of any kind; only their own backend reads them.
RowsOnDevice = NewType("RowsOnDevice", object)
Device = Backend[RowsOnDevice, ArrayOnDevice]


def as_device(backend: Backend[RowsT, ArrayT]) -> Device:
    """Return a backend as one of any kind, for ranks with several kinds of devices."""
    return cast(Device, backend)
