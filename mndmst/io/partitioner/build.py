"""Make shards of edges in memory, and describe shards."""

from pathlib import Path

import numpy as np

from ..edge_file import Edges, EdgesInMemory
from ..kernels.csr_conversion import both_directions, upper_triangle
from ..shards.sharded_graph import ShardedGraph
from . import Options, check_place, partition
from .builders import Alone

MEMORY = 4 << 30  # at least what edges in memory take to be sorted


def build_shards(
    edges: Edges,
    out: str | Path,
    num_parts: int,
    overwrite: bool = False,
    compress: bool = False,
) -> ShardedGraph:
    """Write edges as a sharded graph, the same one for any number of parts.

    Self-loops are dropped. Of edges that join the same two vertices, in either
    direction, the lightest in the order of edges is kept.

    Parameters
    ----------
    out : str or Path
        Directory to make.
    num_parts : int
        May exceed the number of vertices; parts are then empty.
    overwrite, compress : bool
        As in `ShardWriter`.

    Returns
    -------
    ShardedGraph
        Its uuid is derived from the contents.

    Raises
    ------
    ConfigError
        If `num_parts` is below 1.
    OutputError
        If `out` is not empty or cannot be written.
    """
    options = _options(out, num_parts, overwrite, compress)
    return partition(Alone(), EdgesInMemory("edges", edges, True), options)


def check_new_graph(out: str | Path, num_parts: int, overwrite: bool) -> None:
    """Make sure, before edges are computed, that `build_shards` can begin; see there.

    Nothing is changed.
    """
    options = _options(out, num_parts, overwrite)
    options.check()
    check_place(options)


def _options(
    out: str | Path, num_parts: int, overwrite: bool, compress: bool = False
) -> Options:
    return Options(
        Path(out), num_parts, MEMORY, overwrite=overwrite, compress=compress, quiet=True
    )


def symmetric_rows(edges: Edges) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the CSR rows of the undirected graph of some edges.

    Returns
    -------
    indptr : ndarray of int64, shape (num_vertices + 1,)
    indices : ndarray like `edges.src`, shape (arcs,)
        Ascending within a row, no self-loops, no id twice.
    weights : ndarray like `edges.weight`, shape (arcs,)
        -0.0 is written as 0.0, which it equals.
    """
    weight = edges.weight
    if weight.dtype.kind == "f":
        weight = weight + weight.dtype.type(0)
    return both_directions(
        *upper_triangle(edges.num_vertices, edges.src, edges.dst, weight)
    )
