"""The project's own shards and forests, as input of `partition` and `convert`."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from ...graph.order import id_dtype
from ...host.memory import Budget
from ...host.memory_costs import EDGE_COPIES
from ..edge_file import (
    BOUND_BYTES,
    PIECE_ENTRIES,
    EdgeFile,
    Edges,
    checked_edges,
)
from ..file_access import open_hdf5, read_attribute, reading
from ..kernels import csr_conversion as kernels
from ..memory_limit import check_room
from ..results.forest_file import FORMAT, read_forest
from ..results.graph_names import with_vertex_ids
from ..shards.row_reading import read_rows
from ..shards.sharded_graph import ShardedGraph, open_graph


class ForestEdges(EdgeFile):
    """The edges of a forest file, each once. It counts in edges."""

    rereadable = True

    def __init__(self, path: Path, budget: Budget) -> None:
        self.budget = budget
        self.forest = read_forest(path)
        self.name = str(path)
        self.length = self.num_entries = self.forest.num_edges
        self.num_vertices: int = self.forest.header.num_vertices
        self.first_id = self.forest.header.first_id
        self.weight_dtype = self.forest.weight_dtype
        self.maximum = self.forest.header.maximum or None

    def pieces(self, begin: int, end: int) -> Iterator[Edges]:
        """Yield the edges [begin, end); see `EdgeFile`."""
        for low in range(begin, end, PIECE_ENTRIES):
            u, v, weight = self.forest.read(low, min(low + PIECE_ENTRIES, end))
            yield checked_edges(
                self.name, self.num_vertices, u, v, weight, low, self.first_id
            )

    def read(self) -> Edges:
        """Return the whole forest; no edge is listed in both directions."""
        return replace(super().read(), directed=False)


def is_forest(path: Path) -> bool:
    """Return whether a file is one of the project's forests."""
    with reading(path), open_hdf5(path) as file:
        return bool(read_attribute(file, "format") == FORMAT)


def read_shards(path: Path, budget: Budget) -> tuple[Edges, bool]:
    """Read a sharded graph, and whether it is one for maximum forests.

    Vertices that were reordered have their original ids again, and those with names
    are numbered in the order of these.
    """
    graph = open_graph(path)
    edges = with_vertex_ids(read_numbered(graph, budget), graph, budget)
    return edges, graph.maximum


def read_numbered(graph: ShardedGraph, budget: Budget) -> Edges:
    """Read a sharded graph under its own numbers.

    Each edge stands in two rows; the one of its smaller end is taken.
    """
    arc = id_dtype(graph.num_vertices).itemsize + graph.weight_dtype.itemsize
    nbytes = EDGE_COPIES * arc * graph.num_arcs + BOUND_BYTES * graph.num_vertices
    check_room(budget, graph.location, nbytes, "the whole graph")
    parts = [
        kernels.forward_arcs(begin, *read_rows(graph, begin, end))
        for begin, end in pairwise(graph.vtxdist.tolist())
    ]
    src, dst, weight = map(np.concatenate, zip(*parts, strict=True))
    return Edges(graph.num_vertices, src, dst, weight, directed=False)
