"""Make shards of edges, and describe what shards hold."""

import hashlib
import uuid
from pathlib import Path
from typing import Any

import numpy as np

from ..backends.numba.build import both_directions, upper_triangle
from ..errors import ConfigError
from .edges import Edges
from .shards import ShardedGraph, ShardWriter, open_graph

PIECE_VERTICES = 1 << 24


def build_shards(
    edges: Edges,
    out: str | Path,
    num_parts: int,
    overwrite: bool = False,
    compress: bool = False,
) -> ShardedGraph:
    """Write edges as a sharded graph, the same one for any number of parts.

    Loops are dropped. Of edges that join the same two vertices, in either direction,
    the lightest stays, which is the one the order of edges would choose. Time is
    linear. With ids and weights of 32 bits, memory beside the edges given is at most
    16 bytes per edge listed, later 8 per edge listed and 8 per arc written, and
    always 24 per vertex.

    Parameters
    ----------
    edges : Edges
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
    if num_parts < 1:
        raise ConfigError(f"a graph has at least 1 part, not {num_parts}")
    indptr, indices, weights = symmetric_rows(edges)
    vtxdist = balanced_vtxdist(indptr, num_parts)
    name = _name_by_content(indptr, indices, weights)
    with ShardWriter(
        out, edges.num_vertices, weights.dtype, vtxdist, name, overwrite, compress
    ) as writer:
        for part in range(num_parts):
            begin, end = vtxdist[part : part + 2]
            low, high = indptr[[begin, end]]
            rows = indptr[begin : end + 1] - low
            writer.write_part(part, rows, indices[low:high], weights[low:high])
        writer.finish()
    return open_graph(out, check=False)


def symmetric_rows(edges: Edges) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the CSR rows of the undirected graph that edges stand for.

    Returns
    -------
    indptr : ndarray of int64, shape (num_vertices + 1,)
    indices : ndarray like `edges.src`, shape (arcs,)
        Ascending within a row, no loops, no id twice.
    weights : ndarray like `edges.weight`, shape (arcs,)
        -0.0 is written as 0.0, which it equals.
    """
    weight = edges.weight
    if weight.dtype.kind == "f":
        weight = weight + weight.dtype.type(0)
    return both_directions(
        *upper_triangle(edges.num_vertices, edges.src, edges.dst, weight)
    )


def balanced_vtxdist(indptr: np.ndarray, num_parts: int) -> np.ndarray:
    """Cut vertices into contiguous parts of about equal cost.

    A vertex costs one for itself and one for each of its arcs.

    Parameters
    ----------
    indptr : ndarray of int64, shape (num_vertices + 1,)
    num_parts : int

    Returns
    -------
    ndarray of int64, shape (num_parts + 1,)
    """
    num_vertices = len(indptr) - 1
    cost = indptr + np.arange(num_vertices + 1)
    total = int(cost[-1])
    shares = np.array([total * part // num_parts for part in range(num_parts + 1)])
    vtxdist = np.searchsorted(cost, shares)
    vtxdist[-1] = num_vertices
    return vtxdist


def describe(path: str | Path) -> dict[str, Any]:
    """Return what a sharded graph holds, for people to read.

    Returns
    -------
    dict
        Counts, weight type, parts and the smallest, mean and largest degree.

    Raises
    ------
    InputError
        If it is no graph, or damaged.
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
        "degree_min": smallest,
        "degree_mean": graph.num_arcs / max(1, graph.num_vertices),
        "degree_max": largest,
        "isolated": isolated,
    }


def _name_by_content(*arrays: np.ndarray) -> str:
    """Return a uuid that only the same rows have, whatever the parts."""
    digest = hashlib.blake2b(digest_size=16)
    for array in arrays:
        digest.update(array.dtype.str.encode())
        digest.update(array.view(np.uint8).data)
    return str(uuid.UUID(bytes=digest.digest(), version=5))
