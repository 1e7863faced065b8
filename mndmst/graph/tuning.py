"""Thresholds at which the program changes from one way to another.

Every way finds the same forest (the order of edges is total), so no threshold changes a
result. The defaults are measured. Tests set others, so that small graphs take the ways
of large ones.
"""

from dataclasses import dataclass
from typing import ClassVar

MOST = 1 << 62  # stands for no limit


@dataclass(frozen=True)
class Tuning:
    """Thresholds of threads, backends and strategies."""

    default: ClassVar["Tuning"]

    # Ranks that merge into one leader (MND-MST 3.4).
    group_size: int = 4
    # Number of samples on which the GPU's share is measured, and their share of the
    # rows (MND-MST 4.3.1).
    ratio_samples: int = 5
    ratio_share: float = 0.05
    # With merge="auto", global rounds end after one that shrank the edges by a smaller
    # share; leaders take over (the diminishing benefits of MND-MST 4.3.2).
    round_gain: float = 0.1
    # A rank deals a reduced graph with more edges to both workers again (4.3.3).
    recursion_edges: int = 100_000_000
    # A group whose members hold no more edges in all goes to its leader without ring
    # rounds, and these end after one that shrank its edges by less (MND-MST 4.3.4).
    leader_edges: int = 1_000_000
    ring_gain: float = 0.1

    # Edges per vertex in the first phase (`light_edges.py`): fewer leave no giant
    # component, more take longer to sort.
    light_edges: float = 1.3
    # The same on a GPU that has all rows, and on one that rows pass through: there each
    # row outside the giant component is copied once more.
    device_light_edges: float = 1.25
    streamed_light_edges: float = 2.5
    # Graphs with at most this many edges for each vertex are sparse: all edges are
    # light.
    dense_edges: float = 3.0
    # Larger shares of sampled arcs make a component the giant one.
    giant_share: float = 0.5
    # Width of the first band, in `light_edges`, where most edges travel to other ranks:
    # there an edge in the band costs more than a vertex outside.
    travelling_width: float = 0.75
    grain: int = 1 << 15  # Elements for each thread that are worth waking it
    # Members of a team that do Borůvka rounds. Fewer share a sort, and one of them runs
    # Kruskal's algorithm, which is less than half the work.
    rounds_from: int = 4
    # Edges for each component from which Kruskal's algorithm takes light ones first.
    # With fewer, a look at all edges between takes longer than to sort them.
    many_edges: float = 8
    # Rows outside the giant component are read in their order, if they are no larger
    # share of all rows.
    outside_share: float = 0.25
    # Room for the lightest edges of pairs of components, for each vertex.
    pairs_per_vertex: float = 1.0
    named_first: int = 1024  # Vertices that one thread names before others begin
    # The host solves reduced graphs with fewer edges before a GPU has begun.
    device_edges: int = 100_000
    # Room of a GPU's list of edges beyond the estimate of a sample.
    listed_slack: int = 1 << 16
    # Edges of such a list: positions have 32 bits, and one of them means none.
    most_listed: int = (1 << 32) - 2
    # Arcs that are copied to a GPU at a time while rows are read.
    uploaded_arcs: int = 1 << 21
    # Bytes of arcs in a piece that passes through a GPU: long enough to make a launch
    # cheap.
    streamed_bytes: int = 64 << 20
    # Predicted seconds of the faster device from which on the speeds of both are
    # measured, to divide the rows: measuring takes up to a second.
    measured_seconds: float = 8.0
    # Up to this share of cut arcs a rank contracts all its edges before ranks merge. It
    # may have to keep an edge for each of them.
    near_share: float = 0.02
    # With a larger share of cut arcs a graph has no locality.
    locality_share: float = 0.25
    # The largest share of the average host's rows that hosts send it at a time.
    sent_share: float = 0.125
    # Bytes of an edge that all hosts know: its key and both its ends.
    merged_edge_bytes: int = 12
    # With no more edges on all ranks together a leader is faster than a round.
    few_edges: int = 1 << 18
    # One rank solves a graph with at most this many vertices and arcs, without kernels:
    # NumPy and Python take some milliseconds, as long as messages between ranks.
    few_arcs: int = 1 << 15


Tuning.default = Tuning()

# The thresholds that users set (`--set`), with their least and greatest values.
SETTINGS: dict[str, tuple[float, float]] = {
    "group_size": (2, MOST),
    "ratio_samples": (1, MOST),
    "ratio_share": (1e-9, 1),
    "round_gain": (0, 1),
    "recursion_edges": (0, MOST),
    "leader_edges": (0, MOST),
    "ring_gain": (0, 1),
}
