"""Rows that merge as those on GPUs do, on any machine: offers are sent as they are."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mndmst.backends.base import Backend, Band, Peer
from mndmst.graph.model import EdgeList, ReducedGraph, Rows


class Answer(NamedTuple):
    """Labels of all vertices and marks of all edges; see `CudaPeer`."""

    label: np.ndarray
    marks: np.ndarray
    bounds: list[int]


class HostPeer(Peer):
    """See `Peer`."""

    def __init__(self, backend: Backend, rows: Rows, num_vertices: int) -> None:
        self.backend, self.rows, self.num_vertices = backend, rows, num_vertices

    def offer(self) -> EdgeList:
        """Return the offered edges themselves."""
        edges = self.backend.band_forest(self.rows, Band(), None)
        self.edges = edges.take(edges.u >= self.rows.first)
        return self.edges

    def join(self, offers: Sequence[EdgeList], rank: int) -> Answer | None:
        """Compute the forest of all offers, if there are any edges."""
        bounds = np.cumsum([0, *map(len, offers)]).tolist()
        if bounds[-1] == 0:
            return None
        columns = (
            np.concatenate([getattr(offer, name) for offer in offers])
            for name in ("u", "v", "key")
        )
        edges = EdgeList(*columns)
        labels = np.arange(self.num_vertices)
        ends = edges.u.astype(np.uint32), edges.v.astype(np.uint32)
        graph = ReducedGraph(edges, *ends, labels, np.ones(len(labels), bool))
        growth = self.backend.forest(graph)
        smallest = np.full(len(labels), len(labels))
        np.minimum.at(smallest, growth.root, labels)
        return Answer(smallest[growth.root], growth.in_forest, bounds)

    def accept(self, answer: Answer, rank: int) -> tuple[EdgeList, np.ndarray]:
        """Return this rank's part of the answer."""
        marks = answer.marks[slice(*answer.bounds[rank : rank + 2])]
        return self.edges.take(marks), answer.label[self.rows.first : self.rows.last]
