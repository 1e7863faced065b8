"""Thresholds at which the program changes from one way to another.

Every way finds the same forest (the order of edges is total), so no threshold changes a
result. The defaults are measured. Tests set others, so that small graphs take the ways
of large ones.
"""

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True)
class Tuning:
    """Thresholds of threads, backends and strategies.

    Attributes
    ----------
    light_edges : float
        Edges for each vertex in the first portion (`light_edges.py`): fewer leave no
        giant component, more cost sorting.
    device_light_edges, streamed_light_edges : float
        The same on a GPU that has all rows, and on one that rows pass through: there
        each row outside the giant component is copied once more.
    dense_edges : float
        Graphs with at most this many edges for each vertex are sparse: all edges are
        light.
    giant_share : float
        Larger shares of sampled arcs make a component the giant one.
    travelling_width : float
        Width of the first band, in `light_edges`, where most edges travel to other
        ranks: there an edge in the band costs more than a vertex outside.
    grain : int
        Elements for each thread that are worth waking it.
    rounds_from : int
        Members of a team that do Borůvka rounds. Fewer share a sort, and one of them
        runs Kruskal's algorithm, which is less than half the work.
    many_edges : float
        Edges for each component from which Kruskal's algorithm takes light ones first.
        With fewer, a look at all edges between takes longer than to sort them.
    outside_share : float
        Rows outside the giant component are read in their order, if they are no larger
        share of all rows.
    pairs_per_vertex : float
        Room for the lightest edges of pairs of components, for each vertex.
    named_first : int
        Vertices that one thread names before others begin.
    device_edges : int
        The host solves reduced graphs with fewer edges before a GPU has begun.
    listed_slack : int
        Room of a GPU's list of edges beyond the estimate of a sample.
    most_listed : int
        Edges of such a list: positions have 32 bits, and one of them means none.
    placed_arcs : int
        Arcs that are copied to a GPU at a time while rows are read.
    streamed_bytes : int
        Bytes of arcs in a piece that passes through a GPU: long enough to make a launch
        cheap.
    measured_seconds : float
        Predicted seconds of the faster device from which on the speeds of both are
        measured, to divide the rows: measuring takes up to a second.
    near_share : float
        Up to this share of cut arcs a rank contracts all its edges before ranks merge.
        It may have to keep an edge for each of them.
    locality_share : float
        With a larger share of cut arcs a graph has no locality.
    sent_share : float
        The largest share of the average host's rows that hosts send it at a time.
    merged_edge_bytes : int
        Bytes of an edge that all hosts know: its key and both its ends.
    few_edges : int
        With no more edges on all ranks together a leader is faster than a round.
    """

    default: ClassVar["Tuning"]

    light_edges: float = 1.3
    device_light_edges: float = 1.25
    streamed_light_edges: float = 2.5
    dense_edges: float = 3.0
    giant_share: float = 0.5
    travelling_width: float = 0.75
    grain: int = 1 << 15
    rounds_from: int = 4
    many_edges: float = 8
    outside_share: float = 0.25
    pairs_per_vertex: float = 1.0
    named_first: int = 1024
    device_edges: int = 100_000
    listed_slack: int = 1 << 16
    most_listed: int = (1 << 32) - 2
    placed_arcs: int = 1 << 21
    streamed_bytes: int = 64 << 20
    measured_seconds: float = 8.0
    near_share: float = 0.02
    locality_share: float = 0.25
    sent_share: float = 0.125
    merged_edge_bytes: int = 12
    few_edges: int = 1 << 18


Tuning.default = Tuning()
