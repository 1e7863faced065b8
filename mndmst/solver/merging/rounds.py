"""Global Borůvka rounds: for when merging would not pay or would not fit.

The lightest edge of every component is a forest edge, cut edge or not. A rank that
has all edges of a component knows it; for the others each rank proposes the lightest
it holds to the component's owner, which takes the lightest of all. The owner hooks the
component onto the other end, and pointer jumping finds the new representatives. The
graph itself does not move, and every round at least halves the components that still
have edges.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ...comm.exchange import Coded
from ...graph.model import EdgeList, ReducedGraph
from ...kernels.group_by_owner import lightest_proposals, mark_shared_pairs
from ...kernels.reduced_edges import lightest_edges
from ...kernels.varint_ids import (
    decode_ascending,
    decode_near,
    encode_ascending,
    encode_near,
)
from ..contract import cycle_filter, learn_names
from ..reduced_graphs import drop_unused
from ..run import Run


class LightestEdges(NamedTuple):
    """For some components the lightest edge and the component at its far end."""

    label: np.ndarray
    other: np.ndarray
    edges: EdgeList

    def take(self, index: np.ndarray) -> "LightestEdges":
        """Return the choices at some positions."""
        return LightestEdges(
            self.label[index], self.other[index], self.edges.take(index)
        )


def first_round(run: Run, graph: ReducedGraph, giant: int | None) -> ReducedGraph:
    """Do a round while edges are still at the owners of their ends. Collective.

    Only ranks where a component has members propose an edge for it, and none does for
    a component that is own. Other components alone choose `CrossEdges.giant`, whose
    ranks lack its edges. Afterwards one rank is enough to hold an edge: of a cut edge
    that both owners have kept, one does; any other is the last of a cycle.
    """
    first, last = run.directory.first, run.directory.last
    member = np.zeros(len(graph.labels), np.bool_)
    for end, component in ((graph.edges.u, graph.a), (graph.edges.v, graph.b)):
        member[component[(end >= first) & (end < last)]] = True
    decided = graph.own & (graph.labels >= first) & (graph.labels < last)
    proposed = member & ~decided & (graph.labels != giant)
    return agree(run, _round(run, graph, decided, proposed), giant)


def global_round(run: Run, graph: ReducedGraph) -> ReducedGraph:
    """Merge every component with the neighbour across its lightest edge. Collective.

    Afterwards a component may have edges on several ranks, so none is own.
    """
    everything = np.ones(len(graph.labels), np.bool_)
    return _round(run, graph, ~everything, everything)


def _round(
    run: Run, graph: ReducedGraph, decided: np.ndarray, proposed: np.ndarray
) -> ReducedGraph:
    """Do a round; masks say for which components this rank decides or proposes."""
    mine = _lightest(graph)
    _hook(run, _decide(run, mine.take(decided), mine.take(proposed)))
    return learn_names(run, replace(graph, own=np.zeros_like(graph.own)))


def _lightest(graph: ReducedGraph) -> LightestEdges:
    """Return for each component the lightest edge that is here."""
    best = lightest_edges(graph.a, graph.b, graph.edges.key, len(graph.labels))
    here = np.arange(len(best))
    other = np.where(graph.a[best] == here, graph.b[best], graph.a[best])
    return LightestEdges(graph.labels, graph.labels[other], graph.edges.take(best))


def _decide(
    run: Run, decided: LightestEdges, proposals: LightestEdges
) -> LightestEdges:
    """Return this rank's decisions and the lightest of all ranks' proposals to it."""
    counts = run.directory.count_by_owner(proposals.label)
    run.report.ship(len(proposals.label) - counts[run.comm.rank])
    near = Coded(*encode_near(proposals.other, proposals.label, counts))
    _, columns = run.comm.alltoallv(
        counts, proposals.label.astype(run.directory.parent.dtype), near,
        proposals.edges.u, proposals.edges.v, proposals.edges.key,
    )  # fmt: skip
    label, data, u, v, key = columns
    label = label.astype(np.int64)
    arrived = LightestEdges(label, decode_near(data, label), EdgeList(u, v, key))
    best = arrived.take(
        lightest_proposals(label, u, v, key, run.directory.first, run.directory.last)
    )
    return LightestEdges(
        np.concatenate([decided.label, best.label]),
        np.concatenate([decided.other, best.other]),
        decided.edges.followed_by(best.edges),
    )


def _hook(run: Run, choice: LightestEdges) -> None:
    """Hook components that this rank owns onto others; find the representatives."""
    directory, label, other = run.directory, choice.label, choice.other
    mine = label - directory.first
    directory.parent[mine] = other
    # Two components that chose the same edge: the smaller one stays a root, and
    # the other one keeps the edge. Longer cycles cannot be, the order is total.
    back = directory.lookup_any(other)
    root = (back == label) & (label < other)
    directory.parent[mine[root]] = label[root]
    run.state.forest_edges.append(choice.edges.take(~root))
    directory.jump(mine)


def agree(run: Run, graph: ReducedGraph, giant: int | None) -> ReducedGraph:
    """Keep a cut edge on one rank only, and only if both owners have it. Collective.

    An edge that one of them has dropped is the last of a cycle, unless the ranks of
    one component lack its edges (`CrossEdges.giant`): then every edge stays.
    """
    if giant is not None:
        return graph
    directory, edges = run.directory, graph.edges
    u, v = edges.u.astype(np.int64), edges.v.astype(np.int64)
    owner_u, owner_v = (
        np.searchsorted(directory.vtxdist, end, side="right") - 1 for end in (u, v)
    )
    rank = run.comm.rank
    other = np.where(owner_u == rank, owner_v, owner_u)
    keeper = np.where((u + v) % 2 == 0, owner_u, owner_v)
    order = np.argsort(other, kind="stable")
    keep = order[(keeper == rank)[order] & (other != rank)[order]]
    give = order[(keeper != rank)[order]]
    counts = np.bincount(other[give], minlength=run.comm.size)
    bases = np.zeros_like(counts)
    received, (low, high) = run.comm.alltoallv(
        counts,
        Coded(*encode_ascending(u[give], counts, bases)),
        Coded(*encode_near(v[give], u[give], counts)),
    )
    low = decode_ascending(low, received, bases)
    high = decode_near(high, low)
    expected = np.bincount(other[keep], minlength=run.comm.size)
    agreed = mark_shared_pairs(u[keep], v[keep], expected, low, high, received)
    kept = other == rank
    kept[keep[agreed]] = True
    return cycle_filter(run.backend, drop_unused(graph.take(kept)))
