"""The project's own shards, to shard them again or to convert them."""

from pathlib import Path

import numpy as np

from ...graph.order import id_dtype
from ..edge_file import COPIES
from ..edges import Edges
from ..kernels import csr_conversion as kernels
from ..memory_limit import check_room
from ..shards.original_ids import with_vertex_ids
from ..shards.sharded_graph import ShardedGraph, open_graph

BOUND_BYTES = 8  # where a row begins


def read(path: Path) -> Edges:
    """Read a sharded graph; see `formats.read_edges`.

    Vertices that were reordered have their original ids again, and those with names
    are numbered in the order of these.
    """
    graph = open_graph(path)
    return with_vertex_ids(read_numbered(graph), graph)


def read_numbered(graph: ShardedGraph) -> Edges:
    """Read a sharded graph under its own numbers.

    Each edge stands in two rows; the one of its smaller end is taken.

    Raises
    ------
    ConfigError
        If it takes more than this process may hold.
    InputError
        If it is damaged.
    """
    arc = id_dtype(graph.num_vertices).itemsize + graph.weight_dtype.itemsize
    nbytes = COPIES * arc * graph.num_arcs + BOUND_BYTES * graph.num_vertices
    check_room(graph.place, nbytes, "the whole graph")
    src: list[np.ndarray] = []
    dst: list[np.ndarray] = []
    weight: list[np.ndarray] = []
    for begin, end in zip(graph.vtxdist[:-1], graph.vtxdist[1:], strict=True):
        indptr, indices, weights = graph.read_rows(int(begin), int(end))
        one_way = kernels.forward_arcs(begin, indptr, indices, weights)
        for column, piece in zip((src, dst, weight), one_way, strict=True):
            column.append(piece)
    return Edges(
        graph.num_vertices,
        np.concatenate(src),
        np.concatenate(dst),
        np.concatenate(weight),
        directed=False,
    )
