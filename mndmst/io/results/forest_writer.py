"""Write a forest file from all ranks (by `parallel_columns`) or from one process."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ...graph.model import EdgeList
from ...host import __version__
from ...host.formatting import to_json
from ...kernels.threads import ALONE, Threads
from ..atomic_output import AtomicOutput
from ..file_suffixes import FOREST, FOREST_OR_TABLE
from ..hdf5.hdf5_writer import hdf5_file
from ..names import Names
from .forest_file import FORMAT, NAMES_PLACE, VERSION, ForestHeader, NamesPlace
from .graph_names import GraphNames
from .parallel_columns import create_dataset, write_columns
from .text_tables import COLUMNS, write_table


def write_forest(
    outputs: AtomicOutput,
    path: Path,
    edges: EdgeList,
    weights: np.ndarray,
    header: Callable[[], ForestHeader],
    labels: np.ndarray | None = None,
    threads: Threads = ALONE,
) -> None:
    """Write a forest whose edges are spread over the ranks; every rank calls it.

    Parameters
    ----------
    outputs : AtomicOutput
        Of all ranks.
    edges : EdgeList
        This rank's edges; all are sorted by (u, v), also from rank to rank.
    weights : ndarray, shape (edges,)
        Their weights, in the graph's type on every rank.
    header : callable
        Called by every rank when the edges have been written.
    labels : ndarray of any integer type, optional
        This rank's slice, in rank order, of the labels of all vertices; given by
        every rank or by none.
    """
    columns = {"forest/src": edges.u, "forest/dst": edges.v, "forest/weight": weights}
    if labels is not None:
        columns["labels"] = labels
    wide = dict.fromkeys(columns.keys() - {"forest/weight"}, np.dtype(np.int64))
    num_edges = outputs.ranks.sum(len(edges))

    def attributes() -> dict[str, Any]:
        return _attributes(path, header(), num_edges, weights.dtype)

    write_columns(outputs, path, FOREST, columns, attributes, wide, threads)


def write_forest_table(
    outputs: AtomicOutput,
    path: Path,
    edges: EdgeList,
    weights: np.ndarray,
    names: GraphNames | None,
) -> None:
    """Write a forest as a table of text; every rank calls it.

    Parameters
    ----------
    edges, weights
        As in `write_forest`.
    names : GraphNames or None
        The names of vertices; None for numbers.
    """
    columns = edges.u, edges.v, weights
    write_table(outputs, path, COLUMNS, columns, names, FOREST_OR_TABLE)


def write_forest_alone(
    path: Path,
    edges: tuple[np.ndarray, np.ndarray, np.ndarray],
    header: ForestHeader,
    labels: np.ndarray | None = None,
    overwrite: bool = False,
) -> None:
    """Write a forest that this process has in memory; see `write_forest_in`."""
    with AtomicOutput(overwrite=overwrite) as files:
        write_forest_in(files, path, edges, header, labels)


def write_forest_in(
    files: AtomicOutput,
    path: Path,
    edges: tuple[np.ndarray, np.ndarray, np.ndarray],
    header: ForestHeader,
    labels: np.ndarray | None = None,
    names: Names | None = None,
) -> None:
    """Write a forest in memory to a file that becomes `path` with other files.

    Parameters
    ----------
    edges : tuple of ndarray, shape (edges,)
        src and dst as int64, sorted, src < dst; and the weights.
    labels : ndarray of int64, shape (num_vertices,), optional
    names : Names, optional
        The names of all vertices, no two equal, for the file to keep itself.
    """
    datasets = ("forest/src", "forest/dst", "forest/weight")
    columns = dict(zip(datasets, edges, strict=True))
    if names is not None:
        columns |= {f"names/{name}": c for name, c in names.columns().items()}
    if labels is not None:
        columns["labels"] = labels
    with files.file(path, FOREST) as temporary, hdf5_file(temporary) as file:
        for name, column in columns.items():
            create_dataset(file, name, len(column), column.dtype)[:] = column
        file.attrs.update(_attributes(path, header, len(edges[0]), edges[2].dtype))


def _attributes(
    path: Path, header: ForestHeader, num_edges: int, weight_dtype: np.dtype
) -> dict[str, Any]:
    total: int | float | str = header.total_weight
    if isinstance(total, int) and not -(1 << 63) <= total < 1 << 63:
        total = str(total)
    return {
        "format": FORMAT,
        "version": VERSION,
        "creator": f"mndmst {__version__}",
        "graph-uuid": header.graph_uuid,
        "num_vertices": header.num_vertices,
        "num_edges": num_edges,
        "num_trees": header.num_vertices - num_edges,
        "total_weight": total,
        "weight_dtype": weight_dtype.name,
        "digest": header.digest,
        "config": to_json(header.config),
        "report": to_json(header.report),
        **_names_place(path, header.names),
    }


def _names_place(path: Path, names: NamesPlace | None) -> dict[str, str]:
    """Return where the graph with the names is, by itself and seen from the forest."""
    if names is None:
        return {}
    graph = os.path.realpath(names.path)
    relative = os.path.relpath(graph, os.path.realpath(path.parent))
    # A name of a file need not be text
    values = (os.fsencode(p).decode(errors="replace") for p in (graph, relative))
    return dict(zip(NAMES_PLACE, (names.uuid, *values), strict=True))
