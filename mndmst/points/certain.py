"""The forest of listed edges: those that are certain, and those that join the rest."""

import numpy as np

from .kernels.certain import first_listed, join_certain, list_leaving
from .kernels.edges import Edges, all_of, no_edges
from .kernels.rounds import find_best, join, keep_leaving, name_components
from .neighbours import Neighbours


def join_listed(
    found: Neighbours, rows: np.ndarray, reach: np.ndarray, parent: np.ndarray
) -> tuple[Edges, Edges]:
    """Join points along listed edges that are certain, in Borůvka rounds.

    A component waits while a point of it may have an edge that is not listed, and is as
    light as its lightest listed one.

    Parameters
    ----------
    found : Neighbours
        Places beyond those there are belong to other ranks, and are passed over.
    reach : ndarray of float64, shape (points,)
        The least weight that an edge of each point may have which is not listed.
    parent : ndarray of uint32, shape (points,)
        Union-find links of the components.

    Returns
    -------
    sure : Edges
        Those that join.
    rest : Edges
        The forest of all listed edges between the components there are then.
    """
    of_place = np.empty(len(parent), np.uint32)
    active = np.arange(len(parent), dtype=np.uint32)
    sure, joining = [no_edges()], True
    while joining:
        best = np.empty(name_components(parent, of_place), np.int64)
        active = active[: first_listed(found, rows, of_place, active, best)]
        sure.append(Edges(*join_certain(found, reach, of_place, best, parent)))
        joining = len(sure[-1].a) > 0
    leaving = Edges(*list_leaving(found, of_place, active))
    return all_of(sure), _forest(leaving, rows, parent.copy())


def _forest(edges: Edges, rows: np.ndarray, parent: np.ndarray) -> Edges:
    """Return the forest of some edges between components."""
    of_place = np.empty(len(parent), np.uint32)
    forest, joining = [no_edges()], True
    while joining:
        best = np.empty(name_components(parent, of_place), np.int64)
        edges = edges.take(slice(keep_leaving(edges, of_place)))
        find_best(edges, rows, of_place, best)
        every = np.ones(len(best), np.bool_)
        forest.append(edges.take(join(edges, best, every, parent)))
        joining = len(forest[-1].a) > 0
    return all_of(forest)
