"""Parts of a rank: contracted side by side, merged, and contracted once more.

A part is what a worker, or a rank, holds. When two parts have merged,
the border between them is inside one part.
"""

import numpy as np

from ..backends.base import Band
from ..comm.directory import present_names
from ..graph.model import ReducedGraph
from ..run.run import Run
from .boruvka import (
    ContractedPart,
    ExceptionCondition,
    contract,
    contract_rows,
    cycle_filter,
)
from .contract import merge, rename, segment, without_segment


def contract_workers(
    run: Run, band: Band, exception: ExceptionCondition
) -> ReducedGraph:
    """Contract a band of the rows of each worker, all at once; return the other edges.

    When two workers are done the border between them disappears, so their other edges
    are contracted once more.
    """
    contractions = run.at_once([
        lambda w=worker: contract_rows(w.backend, w.rows, w.placed, band, exception)
        for worker in run.workers
    ])  # fmt: skip
    for contraction in contractions:
        run.state.forest_edges.append(contraction.forest_edges)
        run.directory.record_here(contraction.old, contraction.new)
    left = joined(contractions)
    return contract_here(run, left, exception) if len(contractions) > 1 else left


def contract_here(
    run: Run, graph: ReducedGraph, exception: ExceptionCondition
) -> ReducedGraph:
    """Contract once more what this rank's own rows have left.

    This rank owns the directory entries of these rows, so it notifies no other rank.
    They are pointed at their present names, because other ranks ask for one step only.
    """
    before = run.directory.parent.copy()
    contraction = contract(run.backend, graph, exception)
    run.state.forest_edges.append(contraction.forest_edges)
    run.directory.record_here(contraction.old, contraction.new)
    run.directory.step_up(before, run.threads)
    return contraction.graph


def contract_graph(
    run: Run, graph: ReducedGraph, exception: ExceptionCondition
) -> ReducedGraph:
    """Contract a reduced graph on the better device, or on both if it is large.

    The recursion of MND-MST 4.3.3: a graph of more than `recursion_edges` edges is
    dealt to both workers once more before one device has all of it.
    """
    if len(run.workers) == 2 and len(graph) > run.config.recursion_edges:
        owned = np.cumsum(graph.own)
        chosen = graph.own & (owned <= run.ratio * owned[-1])
        parts = segment(graph, chosen), without_segment(graph, chosen)
        contractions = run.at_once([
            lambda w=worker, part=part: contract(w.backend, part, exception)
            for worker, part in zip(run.workers, parts, strict=True)
        ])  # fmt: skip
        for contraction in contractions:
            keep(run, contraction)
        graph = joined(contractions)
    return keep(run, contract(run.backend, graph, exception))


def keep(run: Run, contraction: ContractedPart) -> ReducedGraph:
    """Keep the forest edges and new names of a contraction; return the other edges."""
    run.state.forest_edges.append(contraction.forest_edges)
    run.directory.note(np.asarray(contraction.old), contraction.new)
    return contraction.graph


def joined(contractions: list[ContractedPart]) -> ReducedGraph:
    """Return what the contractions of neighbouring parts have left, as one graph."""
    graphs = [contraction.graph for contraction in contractions]
    if len(graphs) == 1:
        return graphs[0]
    old = np.concatenate([np.asarray(c.old, np.int64) for c in contractions])
    new = np.concatenate([c.new.astype(np.int64) for c in contractions])
    order = np.argsort(old)
    old, new = old[order], new[order]
    return merge([rename(g, present_names(g.labels, old, new)) for g in graphs])


def learn_names(run: Run, graph: ReducedGraph) -> ReducedGraph:
    """Learn the present names of ghosts, drop self edges and multi-edges.

    Collective. Tells the directory what has been contracted here, asks it for the
    names of the ghosts, and keeps the forest of the remaining edges.
    """
    run.directory.publish()
    ghosts = ~graph.own
    names = graph.labels.copy()
    names[ghosts] = run.directory.lookup(graph.labels[ghosts])
    if (names == graph.labels).all():
        return graph
    return cycle_filter(run.backend, rename(graph, names))
