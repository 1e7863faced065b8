"""The first round where graphs have no locality: all vertices hook at once.

Where many arcs lead to other ranks, a rank can contract little by itself, but it knows
the lightest edge of each of its vertices. As long as a list of all vertices is small
beside the rows of a rank, all ranks may know where every vertex hooks, and then the
component of every vertex [1]. What is left of a band has no ghosts then: any rank may
have any edge, and no rank needs to ask for a name.

[1] Dehne and Götz: Practical parallel algorithms for minimum spanning trees, SRDS
    1998, who replicate the vertices and divide the edges.
"""

import numpy as np

from ..backends.base import Band
from ..graph.model import EdgeList, ReducedGraph
from ..kernels.columns import keep_in_place
from ..kernels.hooks import (
    HALF,
    NUMBER,
    ROOT,
    climb,
    edges_of_hooks,
    keep_joining,
    link,
    number_roots,
)
from ..kernels.kruskal import LOW
from ..kernels.spanning import spanning_pairs
from ..run.run import Run
from ..steps.contract import drop_unused, empty_graph
from ..steps.heavier import Between
from .dealing import dealt_in_order
from .messages import Messages
from .strategy import Facts, NotSuitableError, Setting

# The part of the bytes of a rank's rows that a list of all vertices may take.
LIST_SHARE = 0.125
# Bytes of an edge that all ranks know: its key and both its ends.
EDGE_BYTES = 12


class Replicated(Messages):
    """Every rank knows where all vertices hook; the first round needs no names."""

    name = "replicated vertices"

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self.width = 1.0
        run = self.run
        room = _room_for(run, 4 * run.num_vertices, run.workers[0].rows.nbytes)
        if not run.comm.min(int(room)):
            raise NotSuitableError("a list of all vertices is too large for a rank")

    @staticmethod
    def refuses(merge: str, facts: Facts) -> str | None:
        """See `Strategy.refuses`."""
        if merge in ("ring", "boruvka"):
            return f"--merge {merge} was asked for"
        if facts.has_locality:
            return f"only {facts.cut_share:.0%} of the edges lead to other ranks"
        if facts.workers > 1 or facts.num_vertices > int(NUMBER):
            return "a rank has two devices, or the graph has too many vertices"
        if facts.resumed or facts.own_exception:
            return "the run resumes, or has an exception condition of its own"
        return None

    def ind_comp(self, edges: Band | Between) -> Between:
        """Hook all vertices along the lightest edges; see `Strategy.ind_comp`."""
        if not isinstance(edges, Band):
            return super().ind_comp(edges)
        with self.run.report.stage("hook"):
            return Between(join_replicated(self.run, edges), with_owners=False)


def _room_for(run: Run, nbytes: int, row_bytes: int) -> bool:
    """Return whether some bytes are few beside the rows, and fit."""
    return nbytes <= LIST_SHARE * row_bytes and run.budget.fits(nbytes)


def join_replicated(run: Run, band: Band) -> ReducedGraph:
    """Hook all vertices, and merge what is left of a band, if that is little.

    Collective. The directory knows the components afterwards, and is resolved.

    Parameters
    ----------
    band : Band
        The lightest one.

    Returns
    -------
    ReducedGraph
        The edges not merged yet, each on one rank only, so no component is own.
    """
    worker, directory = run.workers[0], run.directory
    hook, best, edges = worker.backend.row_hooks(worker.placed, band)
    component, names = _components(run, hook, best)
    edges = dealt_in_order(run.comm, edges, run.report)
    edges, pairs = _forest(run, edges, component, len(names))
    parent = np.arange(len(names), dtype=np.uint32)
    nbytes = run.comm.sum(len(edges)) * EDGE_BYTES
    little = run.comm.min(int(_room_for(run, nbytes, worker.rows.nbytes)))
    if little:
        in_forest = _merged(run, edges.key, pairs, parent)
        run.state.forest_edges.append(edges.take(in_forest))
    directory.parent[:] = names[parent[component[directory.first : directory.last]]]
    if little:
        return empty_graph(edges)
    a, b = (end.astype(np.uint32) for end in (pairs >> HALF, pairs & LOW))
    own = np.zeros(len(names), np.bool_)
    return drop_unused(ReducedGraph(edges, a, b, names.astype(np.int64), own))


def _forest(
    run: Run, edges: EdgeList, component: np.ndarray, count: int
) -> tuple[EdgeList, np.ndarray]:
    """Return the forest of this rank's edges, and both ends of each in one word."""
    *ends_and_key, pairs = keep_in_place(
        lambda u, v, key, pairs: keep_joining(u, v, key, component, pairs),
        [edges.u, edges.v, edges.key, np.empty(len(edges), np.uint64)],
        run.threads,
    )
    edges = EdgeList(*ends_and_key)
    parent = np.arange(count, dtype=np.uint32)
    kept = np.flatnonzero(spanning_pairs(edges.key, pairs, parent, run.threads))
    return edges.take(kept), pairs[kept]


def _merged(
    run: Run, key: np.ndarray, pairs: np.ndarray, parent: np.ndarray
) -> np.ndarray:
    """Merge along the edges of all ranks, on every rank; mark the final ones here.

    Collective. A rank that computed less would only wait for the names.
    """
    before = run.comm.exscan(len(key))
    keys, pairs = run.comm.allgatherv(key), run.comm.allgatherv(pairs)
    kept = spanning_pairs(keys, pairs, parent, run.threads)
    return kept[before : before + len(key)]


def _components(
    run: Run, hook: np.ndarray, best: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Contract along the hooks, and keep their edges. Collective.

    Returns
    -------
    component : ndarray of uint32, shape (vertices,)
        The number of each vertex's component.
    names : ndarray of uint32, shape (components,)
        For each number the vertex that its component is called after, ascending.
    """
    first, last = run.directory.first, run.directory.last
    ranges = [(first + b, first + e) for b, e in run.threads.ranges(last - first)]
    hook = run.comm.allgatherv(hook)
    component = np.empty(len(hook), np.uint32)
    roots = run.threads.map(lambda b, e: sum(link(hook, b, e, component)), ranges)
    run.state.forest_edges.append(edges_of_hooks(hook, best, component, first, last))
    mine = component[first:last]
    names = run.comm.allgatherv(mine[mine & ROOT != 0] & NUMBER)
    number_roots(component, first, last, run.comm.exscan(sum(roots)))
    component = run.comm.allgatherv(component[first:last])
    # A thread shortens the paths of its own range only, and paths may lead through all
    # vertices: if each rank climbed its own vertices only, a chain on another rank
    # would be followed to its end from every vertex here.
    everywhere = run.threads.ranges(len(component))
    run.threads.map(lambda b, e: climb(component, b, e), everywhere)
    component &= NUMBER
    return component, names
