"""Make shards of edges in memory, and describe shards."""

from pathlib import Path
from typing import Any

import numpy as np

from ..edge_file import EdgesInMemory
from ..edges import Edges
from ..kernels.csr_conversion import both_directions, upper_triangle
from ..names import shown
from ..results.graph_names import names_of_graph
from ..shards.sharded_graph import ShardedGraph, open_graph
from . import Options, check_place, partition
from .builders import Alone

PIECE_VERTICES = 1 << 24
FEW_NAMES = 3  # that a description of a graph shows
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


def describe(path: str | Path) -> dict[str, Any]:
    """Return a description of a sharded graph, in plain values.

    Returns
    -------
    dict
        Counts, weight type, parts and the smallest, mean and largest degree.
    """
    graph = open_graph(path)
    smallest, largest, isolated = graph.num_vertices, 0, 0
    for begin in range(0, graph.num_vertices, PIECE_VERTICES):
        end = min(begin + PIECE_VERTICES, graph.num_vertices)
        degrees = np.diff(graph.read_indptr(begin, end))
        smallest = min(smallest, int(degrees.min()))
        largest = max(largest, int(degrees.max()))
        isolated += int((degrees == 0).sum())
    return {
        "kind": "graph",
        "path": str(path),
        "uuid": graph.uuid,
        "vertices": graph.num_vertices,
        "arcs": graph.num_arcs,
        "weights": graph.weight_dtype.name,
        "parts": graph.num_parts,
        "reordered": graph.reordered,
        "degree_min": smallest,
        "degree_mean": graph.num_arcs / max(1, graph.num_vertices),
        "degree_max": largest,
        "isolated": isolated,
        **_names_shown(graph),
    }


def _names_shown(graph: ShardedGraph) -> dict[str, str]:
    """Return the kind of a graph's names, and the first ones, if it keeps any."""
    names = names_of_graph(graph)
    if names is None:
        return {}
    first = ", ".join(map(shown, names.take(slice(0, FEW_NAMES)).texts()))
    kind = graph.names or "ids in the file it was made of"
    return {"names": f"{kind}: {first}{', ...' * (len(names) > FEW_NAMES)}"}
