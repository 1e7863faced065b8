"""The model of devices: seconds, by which `--backend auto` decides, and GPU memory."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..host.memory_costs import (
    LISTED_EDGE_BYTES,
    STREAMED_FOREST_EDGES,
    STREAMED_VERTEX_BYTES,
)

if TYPE_CHECKING:
    from ..graph.model import Rows

ARC_BYTES = 8  # in most files: an id and a weight of 32 bits


@dataclass(frozen=True)
class DeviceCosts:
    """Costs of CPU and GPU in a run, beyond the work that both do.

    Both devices read the same file in about the same time, so only the rest counts.
    """

    # Seconds of a core for an arc: to compute the forest, and to sort its edges.
    core_arc: float = 13e-9
    # Seconds of all cores of a host for an arc, if memory bandwidth limits them.
    host_arc: float = 0.8e-9
    gpu_start: float = 0.6  # Seconds by which a run with a GPU starts and ends later
    gpu_arc: float = 0.15e-9  # Seconds of a GPU for an arc
    # Seconds of a GPU for an arc of streamed rows, which is copied in every run.
    streamed_arc: float = 0.82e-9

    def cpu_seconds(self, arcs: float, cores: int, ranks: int) -> float:
        """Predict the seconds of a rank's cores for its arcs.

        `ranks` is the number of ranks of the host, each with this number of arcs.
        """
        return arcs * max(self.core_arc / cores, self.host_arc * ranks)

    def gpu_seconds(
        self, arcs: float, streamed: bool = False, solves: int = 1
    ) -> float:
        """Predict the seconds of a GPU for the arcs of its rank, in one of some solves.

        The GPU starts once for all of them. Rows larger than its memory are `streamed`.
        """
        arc = self.streamed_arc if streamed else self.gpu_arc
        return self.gpu_start / solves + arcs * arc


COSTS = DeviceCosts()
# Expected solves of a graph that stays loaded. `auto` starts a GPU for them if these
# take less time than on the CPU, the start included.
SERVED_SOLVES = 10

# Vertices on one GPU: three levels of the stack of components in 32 bits
MAX_DEVICE_VERTICES = 1 << 30


class RowsSize(NamedTuple):
    """The size of some rows, from which their bytes on a GPU follow."""

    num_vertices: int  # of the graph
    rows: int
    arcs: int
    id_bytes: int
    key_bytes: int

    @classmethod
    def of(cls, rows: "Rows") -> "RowsSize":
        """Return the size of rows."""
        ids, keys = rows.id_dtype.itemsize, rows.key_dtype.itemsize
        return cls(rows.num_vertices, len(rows), rows.num_arcs, ids, keys)

    @property
    def device_vertices(self) -> int:
        """The most vertices on the GPU: at worst a ghost per arc or per vertex."""
        return min(self.rows + self.arcs, self.num_vertices)

    @property
    def held_nbytes(self) -> int:
        """The bytes that rows on a GPU and the steps on them need.

        The sum counts every arc, and its 64-bit id before the renumbering; every vertex
        in the arrays of the solver; two bits per vertex of the graph, to find ghosts;
        and a list of light edges.
        """
        raw = 8 if self.id_bytes == 8 else 0
        complete = self.rows == self.num_vertices
        bits = 0 if complete or raw else self.num_vertices // 4
        vertex = 200 + 8 * self.key_bytes
        arc = 4 + self.key_bytes + raw
        return self.arcs * arc + self.device_vertices * vertex + bits


class StreamingNeed(NamedTuple):
    """GPU memory that streamed rows need."""

    fixed: int  # bytes of two pieces and of the arrays of all vertices
    listed: int  # bytes per edge in the list
    edges: int  # the smallest capacity of the list

    @classmethod
    def of(cls, size: RowsSize, longest: int) -> "StreamingNeed":
        """Return the bytes for rows whose longest piece has at most `longest` arcs."""
        width = size.key_bytes
        vertex = STREAMED_VERTEX_BYTES + STREAMED_FOREST_EDGES * (8 + width)
        piece = 8 * size.rows + (size.id_bytes + 4 + width) * longest
        row = 8  # bytes per row for degrees and for the choice of rows
        fixed = size.num_vertices * vertex + size.rows * row + 2 * piece
        listed = LISTED_EDGE_BYTES + width
        return cls(fixed, listed, size.num_vertices + longest)

    @property
    def nbytes(self) -> int:
        """The least bytes that suffice."""
        return self.fixed + self.listed * self.edges


def estimated_arcs(graph: Path) -> float:
    """Return about how many arcs a graph has, by the sizes of its files."""
    folder = graph if graph.is_dir() else graph.parent
    return sum(part.stat().st_size for part in folder.glob("*.h5")) / ARC_BYTES
