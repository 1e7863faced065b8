"""Describe and check graphs and result files, as `mndmst info` does."""

from pathlib import Path

import numpy as np

from ..host.cores import core_count
from ..host.errors import InputError
from ..kernels.threads import Threads
from .file_access import open_hdf5, read_attribute, reading
from .names import escaped
from .results.clusters_file import FORMAT as CLUSTERS_FORMAT
from .results.clusters_file import describe_clusters
from .results.forest_file import FORMAT as FOREST_FORMAT
from .results.forest_file import describe_forest
from .results.graph_names import names_of_graph
from .results.labels_file import FORMAT as LABELS_FORMAT
from .results.labels_file import describe_labels
from .shards.row_reading import ReadInProgress
from .shards.sharded_graph import ShardedGraph, open_graph

# Rows and arcs that are read at a time
PIECE_VERTICES, PIECE_ARCS = 1 << 22, 1 << 25
FEW_NAMES = 3  # that a description of a graph shows


def describe(path: Path) -> dict[str, object]:
    """Return the contents of a graph or a result file in readable form."""
    if not path.is_dir():
        with reading(path), open_hdf5(path) as file:
            kind = read_attribute(file, "format")
        if kind == FOREST_FORMAT:
            return describe_forest(path)
        if kind == LABELS_FORMAT:
            return describe_labels(path)
        if kind == CLUSTERS_FORMAT:
            return describe_clusters(path)
    return describe_graph(path)


def check_graph(
    graph: ShardedGraph,
    most_vertices: int = PIECE_VERTICES,
    most_arcs: int = PIECE_ARCS,
) -> dict[str, object]:
    """Read every row, a bounded piece at a time, and check all of it.

    Of reverse arcs a sum of hashes is checked; `solve` names a wrong arc. Returns
    `checked_arcs`, and `edges`: distinct ones without self-loops.
    """
    threads = Threads(core_count())
    edges = arcs = balance = 0
    for begin, end in graph.pieces(most_vertices, most_arcs, threads):
        piece = ReadInProgress(graph, begin, end, threads)
        facts = piece.read()
        edges, arcs = edges + facts.edges, arcs + len(piece.indices)
        balance += facts.balance
    if balance % (1 << 64):
        raise InputError(
            f"{graph.path}: some arc has no reverse arc of the same weight. Make the "
            'graph again from its edges with "mndmst partition", which stores every '
            "edge in both rows."
        )
    return {"checked_arcs": arcs, "edges": edges}


def describe_graph(
    path: str | Path, most_vertices: int = PIECE_VERTICES
) -> dict[str, object]:
    """Return the counts, weight type and degrees of a graph, as plain values."""
    graph = open_graph(path)
    smallest, largest, isolated = graph.num_vertices, 0, 0
    for begin in range(0, graph.num_vertices, most_vertices):
        end = min(begin + most_vertices, graph.num_vertices)
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
        **({"order": "maximum"} if graph.maximum else {}),
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
    first = ", ".join(map(escaped, names.take(slice(0, FEW_NAMES)).texts()))
    kind = graph.names or "ids of the file it was made of"
    return {"names": f"{kind}: {first}{', ...' * (len(names) > FEW_NAMES)}"}
