"""Rows that merge as rows on GPUs do, on any machine: forests are sent as they are."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mndmst.backends.base import Backend, Band, DevicePeer
from mndmst.graph.model import EdgeList, ReducedGraph, Rows


class HostMerged(NamedTuple):
    """Labels of all vertices and marks of all edges; see `CudaPeer`."""

    label: np.ndarray
    marks: np.ndarray
    bounds: list[int]


class HostPeer(DevicePeer[EdgeList, HostMerged]):
    """See `DevicePeer`."""

    def __init__(self, backend: Backend, rows: Rows, num_vertices: int) -> None:
        self.backend, self.rows, self.num_vertices = backend, rows, num_vertices

    def publish(self) -> EdgeList:
        """Return the published edges themselves."""
        edges = self.backend.band_forest(self.rows, Band(), None)
        self.edges = edges.take(edges.u >= self.rows.first)
        return self.edges

    def merge(self, published: Sequence[EdgeList], rank: int) -> HostMerged | None:
        """Compute the forest of all forests, if they have any edges."""
        bounds = np.cumsum([0, *map(len, published)]).tolist()
        if bounds[-1] == 0:
            return None
        columns = (
            np.concatenate([getattr(forest, name) for forest in published])
            for name in ("u", "v", "key")
        )
        edges = EdgeList(*columns)
        labels = np.arange(self.num_vertices)
        ends = edges.u.astype(np.uint32), edges.v.astype(np.uint32)
        graph = ReducedGraph(edges, *ends, labels, np.ones(len(labels), bool))
        growth = self.backend.forest(graph)
        smallest = np.full(len(labels), len(labels))
        np.minimum.at(smallest, growth.root, labels)
        return HostMerged(smallest[growth.root], growth.in_forest, bounds)

    def receive(self, merged: HostMerged, rank: int) -> tuple[EdgeList, np.ndarray]:
        """Return this rank's share."""
        marks = merged.marks[slice(*merged.bounds[rank : rank + 2])]
        return self.edges.take(marks), merged.label[self.rows.first : self.rows.last]
