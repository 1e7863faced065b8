"""Thresholds by which the program chooses between methods.

All methods compute the same forest (the order of edges is total), so no threshold
changes a result. The defaults are measured. Tests set others, so that small graphs are
solved by the methods for large ones.
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
    # A rank divides a reduced graph with more edges between CPU and GPU again (4.3.3).
    recursion_edges: int = 100_000_000
    # A group with at most this many edges in all sends them to its leader without ring
    # rounds. Ring rounds end after one that shrinks the edges by a smaller share
    # (MND-MST 4.3.4).
    leader_edges: int = 1_000_000
    ring_gain: float = 0.1

    # Edges per vertex in the first phase (`light_edges.py`): fewer make no giant
    # component, more take longer to sort.
    light_edges: float = 1.3
    # The same on a GPU with all rows in its memory, and on one to which rows are
    # streamed: there each row outside the giant component is copied twice.
    device_light_edges: float = 1.25
    streamed_light_edges: float = 2.5
    # Graphs with at most this many edges for each vertex are sparse: all edges are
    # light.
    dense_edges: float = 3.0
    # A component with a larger share of the sampled arcs is the giant component.
    giant_share: float = 0.5
    # Share of `light_edges` in the first band, if most edges are sent to other ranks:
    # then an edge in the band costs more than a vertex outside the giant component.
    sent_light_share: float = 0.75
    grain: int = 1 << 15  # Fewer elements for each thread are not worth waking it
    # Teams of at least this many threads do Borůvka rounds. Smaller ones sort together,
    # and one thread runs Kruskal's algorithm, which is less than half the work.
    rounds_from: int = 4
    # With at least this many edges per component, Kruskal's algorithm sorts the light
    # edges first, and then only heavier edges between components. With fewer edges the
    # search for heavier ones takes longer than sorting all edges.
    many_edges: float = 8
    # Only the rows outside the giant component are searched for heavier edges, if they
    # are at most this share of all rows.
    outside_share: float = 0.25
    # Capacity per vertex of the buffers for lightest edges of pairs of components.
    pairs_per_vertex: float = 1.0
    # Vertices whose trees one thread names before the other threads name theirs.
    serial_vertices: int = 1024
    # The CPU solves reduced graphs with fewer edges before a GPU has started.
    device_edges: int = 100_000
    # Capacity of a GPU's list of edges beyond the length estimated from a sample.
    listed_slack: int = 1 << 16
    # Largest capacity: positions have 32 bits, and one value means no edge.
    most_listed: int = (1 << 32) - 2
    # Arcs that are copied to a GPU at a time while rows are read.
    uploaded_arcs: int = 1 << 21
    # Bytes of arcs in a streamed piece: enough to make the launch of a kernel cheap.
    streamed_bytes: int = 64 << 20
    # The speeds of CPU and GPU are measured, to divide the rows, if the faster one is
    # predicted to take at least this many seconds. Measuring takes up to a second.
    measured_seconds: float = 8.0
    # Up to this share of cut arcs a rank contracts all its edges before ranks merge. It
    # may have to keep an edge for each of them.
    near_share: float = 0.02
    # A graph with a larger share of cut arcs counts as one without locality.
    locality_share: float = 0.25
    # Hosts send a host at most this share of the average host's rows at a time.
    sent_share: float = 0.125
    # Bytes of an edge that all hosts know: its key and both its ends.
    merged_edge_bytes: int = 12
    # With at most this many edges on all ranks, a leader is faster than a round.
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
