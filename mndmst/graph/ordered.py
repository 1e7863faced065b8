"""Insertion of edges into lists in (u, v) order."""

import numpy as np

from .model import EdgeColumns, EdgeList


def places_among(edges: EdgeList, others: EdgeList) -> np.ndarray:
    """Return where other edges belong among some; all are in (u, v) order."""
    low = np.searchsorted(edges.u, others.u, side="left")
    high = np.searchsorted(edges.u, others.u, side="right")
    while (apart := low < high).any():  # v ascends where u is the same
        middle = (low + high) // 2
        less = apart.copy()
        less[apart] = edges.v[middle[apart]] < others.v[apart]
        low, high = np.where(less, middle + 1, low), np.where(less, high, middle)
    return low


class Ordered:
    """A list of edges in order that grows in place, a column at a time.

    Parameters
    ----------
    columns : EdgeColumns
        Buffer for all edges to come; unused pages are never touched.
    """

    def __init__(self, columns: EdgeColumns) -> None:
        self.columns = columns
        self.count = 0

    @property
    def edges(self) -> EdgeList:
        """The edges so far."""
        return EdgeList(*(column[: self.count] for column in self.columns))

    def add(self, more: EdgeList) -> None:
        """Insert edges that are in order; fastest at the end of the list."""
        if len(more) == 0:
            return
        places = places_among(self.edges, more)
        begin, end = int(places[0]), self.count + len(more)
        news = (more.u, more.v, more.key)
        for column, new in zip(self.columns, news, strict=True):
            column[begin:end] = np.insert(
                column[begin : self.count], places - begin, new
            )
        self.count = end
