"""Graphs with locality: a rank contracts along all its edges before ranks merge.

Where hardly any arc leads to another rank, a rank has a giant component of its own
once the light edges are contracted, and of its heavier edges few are in the forest of
its edges: edges that leave this component, and cut edges. So ranks merge once, not
once for the light edges and once for the others.
"""

import numpy as np

from ..graph.giant import most_frequent
from ..graph.model import ReducedGraph, Rows, component_of
from ..kernels.heavier_arcs import GiantComponent, cut_arcs
from ..kernels.pointer_jumping import step_up
from ..run.run import Run
from .bands import GIANT_SAMPLE, GIANT_SHARE
from .boruvka import ExceptionCondition, cycle_filter
from .contract import merge
from .heavier import reduced_arcs, walk_outside
from .parts import contract_here


def contract_heavier(
    run: Run, left: ReducedGraph, above: int, exception: ExceptionCondition
) -> ReducedGraph | None:
    """Contract what ranks have left of a band together with all heavier edges.

    Collective.

    Parameters
    ----------
    left : ReducedGraph
        What independent computation has left of the band on this rank.
    above : int
        The largest key of the band.

    Returns
    -------
    ReducedGraph or None
        What is left of all edges. None on every rank, and nothing has changed, if a
        rank has no giant component of its own.
    """
    rows, directory = run.workers[0].rows, run.directory
    label = directory.parent
    component = _reached(run, left, label)
    giant = _giant(rows, component)
    if not run.comm.min(int(giant is not None or not rows.num_arcs)):
        return None
    if giant is not None:
        tail, head, key = _arcs_that_matter(run, rows, component, giant, above)
        components = (component_of(end, rows, label) for end in (tail, head))
        heavier = reduced_arcs(run, (tail, head, key, *components))
        left = cycle_filter(run.backend, merge([left, heavier], run.threads))
    return contract_here(run, left, exception)


def _reached(run: Run, left: ReducedGraph, label: np.ndarray) -> np.ndarray:
    """Return the component of each row if the edges that wait were contracted, too.

    They are lighter than the edges to come, so edges inside them are useless.
    """
    first, last = run.directory.first, run.directory.last
    root = run.backend.forest(left).root
    own = np.flatnonzero(left.own)
    names = np.full(len(left.labels), last, np.int64)
    np.minimum.at(names, root[own], left.labels[own])
    parent = np.arange(first, last, dtype=label.dtype)
    parent[left.labels[own] - first] = names[root[own]]
    found = np.empty_like(label)
    ranges = run.threads.ranges(len(label))
    steps = [(label[b:e], first, parent, found[b:e]) for b, e in ranges]
    run.threads.map(step_up, steps)
    return found


def _giant(rows: Rows, component: np.ndarray) -> int | None:
    """Return the component most arcs of some rows leave from, if it has a majority."""
    arcs = np.arange(0, rows.num_arcs, 1 + rows.num_arcs // GIANT_SAMPLE)
    tails = np.searchsorted(rows.indptr, arcs, side="right") - 1
    return most_frequent(component[tails], GIANT_SHARE)


def _arcs_that_matter(
    run: Run, rows: Rows, component: np.ndarray, giant: int, above: int
) -> tuple[np.ndarray, ...]:
    """Return the heavier arcs (tail, head, key) that may be in the forest of some rows.

    Nothing is known of ghosts, and they do not search: so all arcs to them count, also
    those behind a row's lightest arc into the giant component.
    """
    key_above = rows.keys.dtype.type(above)
    inner = walk_outside(run, rows, GiantComponent.of_rows(component, giant), above)
    csr, ranges = rows.csr, run.threads.ranges(len(rows))
    cut = run.threads.map(cut_arcs, [(csr, key_above, *bounds) for bounds in ranges])
    lists = [part[:3] for part in inner] + cut
    return tuple(np.concatenate(column) for column in zip(*lists, strict=True))
