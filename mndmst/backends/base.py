"""The one interface between the algorithm and a device.

Every backend has the same steps under the same names. The first group works on
CSR rows, which `place` has brought to the device; the second on reduced graphs,
which live in host memory and are small. Every step obeys the total order of
`mndmst.graph.order` and is deterministic: the result is the same on every device and
for every number of threads.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from ..graph.model import EdgeList, ReducedGraph, Rows
from ..host.errors import ConfigError
from ..kernels.arc_inspection import ArcFacts


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
    # uint32 or int64: for each vertex the id of a vertex that represents its tree.
    label: np.ndarray


class Growth(NamedTuple):
    """The result of border-excepting Borůvka on a reduced graph."""

    # bool, shape (edges,): edges that belong to the minimum spanning forest of the
    # whole graph.
    in_forest: np.ndarray
    # uint32 or int64, shape (components,): for each component the position of the
    # component that now represents it.
    root: np.ndarray


class RowGrowth(NamedTuple):
    """The result of border-excepting Borůvka on rows."""

    # Edges that belong to the minimum spanning forest of the whole graph, in no
    # particular order.
    forest_edges: EdgeList
    # uint32, shape (rows,): for each row the first row of its component.
    label: np.ndarray
    # The other edges of the forest of these rows, ghosts as ordinary vertices.
    left: EdgeList
    # The components at their ends, as vertex ids; a ghost is its own.
    ends: tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Memory:
    """Memory of a device in bytes: the total, and the free part."""

    total: int
    free: int


class DeviceMemoryError(ConfigError):
    """The memory of a device does not suffice for a step; `Fallback` can fix it."""


class MergedForests(Protocol):
    """The forest of published forests: opaque, but for the numbers of edges."""

    @property
    def bounds(self) -> list[int]:
        """Rank r has published the edges [bounds[r], bounds[r + 1])."""


PublishedT = TypeVar("PublishedT")
MergedT = TypeVar("MergedT", bound=MergedForests)


class DevicePeer(ABC, Generic[PublishedT, MergedT]):
    """Rows on a device that merges directly with devices of other ranks of the host.

    The values that the steps return are small and can be sent. Each step returns None
    if it fails: the device is short of memory, or out of reach of the others.
    """

    @abstractmethod
    def publish(self) -> PublishedT | None:
        """Keep the forest of the rows on the device for `merge`; return a description.

        Ghosts are ordinary vertices. Only edges with their smaller end in the rows are
        published, as the other ranks that have an edge also know of it: the forest of
        all published edges is the forest of the graph.
        """

    @abstractmethod
    def merge(self, published: Sequence[PublishedT], rank: int) -> MergedT | None:
        """Compute the forest of all ranks' published forests on this rank's device."""

    @abstractmethod
    def receive(self, merged: MergedT, rank: int) -> tuple[EdgeList, np.ndarray] | None:
        """Return this rank's share of the forest that `merge` has computed.

        It is this rank's published edges that are in the forest of the graph, and for
        each row the smallest vertex of its tree (uint32). The rank that has merged must
        keep its peer until all ranks have received.
        """


class Backend(ABC):
    """A device that can compute minimum spanning forests.

    `inspects_arcs` says whether `inspect_arcs` works, faster than the threads that read
    the arcs.
    """

    name: str
    inspects_arcs = False

    def describe(self) -> str:
        """Return the device's name for reports."""
        return self.name

    def start(self, keys: np.dtype) -> None:
        """Load kernels for keys of a type, if that takes the device time.

        It calls no kernel of the host, as these may not be compiled yet. Another thread
        may call `place` at the same time.
        """
        return

    @abstractmethod
    def memory(self) -> Memory:
        """Return the memory of the device."""

    @abstractmethod
    def rows_nbytes(self, rows: Rows) -> int:
        """Return the bytes that `place` and the steps on rows will need."""

    # Steps on rows

    @abstractmethod
    def place(self, rows: Rows) -> Any:
        """Bring rows to the device; return them as the steps below take them."""

    def inspect_arcs(self, rows: Any, num_vertices: int) -> ArcFacts | None:
        """Return the facts of all arcs of placed rows, which have been read whole.

        None if an id is out of range or smaller than the one before it in a row, or if
        the device cannot inspect arcs.
        """
        return None

    @abstractmethod
    def msf(self, rows: Any) -> LabelledForest:
        """Return the forest of rows that are the whole graph (no ghosts).

        The labels are one per row.
        """

    @abstractmethod
    def msf_of_edges(
        self, num_vertices: int, src: Any, dst: Any, weight: Any, maximum: bool
    ) -> LabelledForest:
        """Return the forest of undirected edges in arrays of this device, in any order.

        Ends are integers, fewer than 2^32 vertices. If `maximum`, it is the maximum
        spanning forest, whose keys are inverted.
        """

    @abstractmethod
    def band_forest(self, rows: Any, band: Band, label: np.ndarray | None) -> EdgeList:
        """Return the forest of a band, with ghosts as ordinary vertices.

        By the cycle property no other edge of the band can be in the forest of
        the whole graph. With `label` (int64, one per row: the component of each
        row's vertex) edges whose ends are known to be in one component are left
        out, and the ends of the rest count as those components; a ghost counts
        as itself.
        """

    def grow_rows(self, rows: Any, band: Band) -> RowGrowth | None:
        """Do `band_forest` and then `grow` for rows with ghosts, in one step.

        The band is the lightest. A device that gains nothing by one step returns None,
        and the caller takes the two steps.
        """
        return None

    @abstractmethod
    def row_hooks(
        self, rows: Any, band: Band
    ) -> tuple[np.ndarray, np.ndarray, EdgeList]:
        """Return the hooks of rows, and the edges of the lightest band.

        For graphs of at most 2^31 vertices. The hook of a row (uint32) is the far end
        of its lightest edge, even above the band; a vertex without edges hooks to
        itself. The second array has the key of that edge, if there is one. The edges
        of the band lead from the rows to larger vertices, except edges
        along which rows hook.
        """

    def peer(self, rows: Any, num_vertices: int) -> DevicePeer[Any, Any] | None:
        """Return rows as a peer that merges without hosts, if the device can."""
        return None

    # Steps on reduced graphs

    @abstractmethod
    def forest(self, graph: ReducedGraph) -> Growth:
        """Return the forest of a reduced graph, ghosts as ordinary vertices.

        `in_forest` marks the forest's edges, `root` its trees.
        """

    @abstractmethod
    def grow(self, graph: ReducedGraph) -> Growth:
        """Grow components, except across borders (Panja and Vadhiyar 2018, 3.2).

        A component that is not `own`, or whose lightest edge leads to one that
        is not, stops growing; the others merge along their lightest edges until
        none can. `root` of a component that is not `own` is its own position.
        """
