"""The cluster file of `cluster`, `hdbscan` and `linkage`, readable with plain h5py.

One HDF5 file::

    clusters.h5
        @ format "mndmst-clusters", version, creator
        @ graph-uuid, num_vertices, num_clusters, rule; of points also metric, and
          ids-name where there are ids
        labels                   int64 [vertices]: 0, 1, ... ; -1 is noise
        probabilities            float64 [vertices], of HDBSCAN*
        ids                      of points whose table has them: int64, or UTF-8 text
        outlier_scores           float64 [vertices], of hdbscan: GLOSH
        persistence              float64 [clusters], of hdbscan
        linkage                  float64 [vertices - 1, 4], as SciPy's
        condensed                of HDBSCAN*: parent, child, lambda, size
        prediction               of hdbscan --prediction-data, see
                                 `points.prediction_file`

The file of `predict` has the labels and probabilities of new points, whose labels may
exceed their number.

The file of `linkage` has the dendrogram alone. A file whose name ends in `.csv` has the
ids, labels and probabilities as text, or that dendrogram; a file whose name ends in
`.nwk` has the dendrogram as Newick trees.

Dendrograms as Newick trees, for programs of phylogeny.

The leaves of a tree are the points. A branch is half as long as the distances of its
ends differ, so the path between two leaves is as long as the distance at which the
dendrogram merges them. A dendrogram of several trees (merged at infinite distances)
becomes one line for each tree.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from h5py import string_dtype

from ...host.errors import InputError
from ..atomic_output import AtomicOutput
from ..file_access import open_hdf5, read_attribute, read_attributes, reading
from ..hdf5_reader import checked_dataset, read_dataset
from ..hdf5_writer import create_dataset, hdf5_file
from ..memory_limit import check_room
from ..names import NameSource
from ..output_kinds import CLUSTERS, hdf5_mark
from .text_tables import (
    Cells,
    name_cells,
    number_cells,
    quoted,
    text_cells,
    write_lines,
    write_rows,
)

FORMAT = CLUSTERS.format


def write_clusters(
    path: Path,
    attributes: dict[str, Any],
    columns: dict[str, np.ndarray],
    files: AtomicOutput,
    names: NameSource | None = None,
) -> None:
    """Write clusters to a file that becomes `path` with the other files.

    `columns` are datasets by name, `attributes` follow the format's own. `names` has
    the names of vertices, for a table of text.
    """
    if path.suffix == ".csv":
        id_name = attributes.get("ids-name", "id")
        _write_text(path, id_name, columns, files, names)
        return
    if path.suffix == ".nwk":
        with (
            files.file(path, CLUSTERS) as temporary,
            temporary.open("w", encoding="utf-8") as text,
        ):
            write_newick(text, columns["linkage"], _leaf_names(columns, names))
        return
    with files.file(path, CLUSTERS) as temporary, hdf5_file(temporary) as file:
        file.attrs.update(hdf5_mark(FORMAT) | attributes)
        for name, column in columns.items():
            if column.dtype.kind == "U":
                column = np.char.encode(column, "utf-8")
                column = column.astype(string_dtype("utf-8", column.itemsize))
            create_dataset(file, name, column.shape, column.dtype)[...] = column


def _leaf_names(
    columns: dict[str, np.ndarray], names: NameSource | None
) -> Callable[[int], str]:
    """Return the function that names the leaves of a dendrogram."""
    if names is not None:
        return lambda vertex: names.take(np.array([vertex])).texts()[0]
    if "ids" in columns:
        ids = columns["ids"]
        return lambda vertex: str(ids[vertex])
    return str


def _write_text(
    path: Path,
    id_name: str,
    columns: dict[str, np.ndarray],
    files: AtomicOutput,
    names: NameSource | None,
) -> None:
    """Write a line for each vertex, or for each step of a dendrogram alone."""
    if "labels" in columns:
        header = ["vertex", "label"]
        written = [np.arange(len(columns["labels"])), columns["labels"]]
        cells: list[Cells] = [name_cells(names), number_cells]
        if "ids" in columns:
            header.insert(1, quoted(id_name))
            written.insert(1, columns["ids"])
            cells.insert(1, text_cells)
        if "probabilities" in columns:
            header.append("probability")
            written.append(columns["probabilities"])
            cells.append(number_cells)
        with (
            files.file(path, CLUSTERS) as temporary,
            temporary.open("w", encoding="utf-8") as file,
        ):
            file.write(",".join(header) + "\n")
            write_rows(file, written, cells)
        return
    header, line = ["cluster1", "cluster2", "distance", "size"], "%d,%d,%r,%d"
    with files.file(path, CLUSTERS) as temporary, temporary.open("w") as file:
        file.write(",".join(header) + "\n")
        write_lines(file, line, [*columns["linkage"].T])


def read_labels(path: str | Path) -> np.ndarray:
    """Return the cluster of each vertex (int64)."""
    path = Path(path)
    with reading(path, "cluster again"), open_hdf5(path) as file:
        if file.attrs.get("format") != FORMAT:
            raise InputError(f"{path}: has no clusters. Give what cluster has written.")
        labels = checked_dataset(path, file, "labels", remake="Cluster again")
        check_room(path, 3 * labels.dtype.itemsize * len(labels), "the list of labels")
        found = read_dataset(path, labels)
        clusters = read_attribute(file, "num_clusters")
    limit = len(found)
    if isinstance(clusters, np.integer):
        limit = max(limit, int(clusters))
    if found.dtype != np.int64 or (found >= limit).any():
        raise InputError(f"{path}: a label is out of range. Cluster again.")
    return found


def describe_clusters(path: Path) -> dict[str, Any]:
    """Return the contents of a cluster file in readable form."""
    with reading(path, "cluster again"), open_hdf5(path) as file:
        facts = read_attributes(file)
        if "labels" not in file:  # a dendrogram alone
            return facts
    labels = read_labels(path)
    _, sizes = np.unique(labels[labels >= 0], return_counts=True)
    largest = int(sizes.max(initial=0))
    return facts | {"largest": largest, "noise": int((labels < 0).sum())}


PIECES = 1 << 16  # pieces of text that are written together


def write_newick(
    file: TextIO, linkage: np.ndarray, name: Callable[[int], str] = str
) -> None:
    """Write a dendrogram (`single_linkage`) as Newick trees, a line for each."""
    held: list[str] = []
    for piece in _pieces(linkage, name):
        held.append(piece)
        if len(held) == PIECES:
            file.write("".join(held))
            held.clear()
    file.write("".join(held))


def quoted_label(name: str) -> str:
    """Return a name as a Newick label: in quotes unless it is a plain word."""
    if name and all(c.isalnum() or c in ".-+" for c in name):
        return name
    return "'" + name.replace("'", "''") + "'"


def _pieces(linkage: np.ndarray, name: Callable[[int], str]) -> Iterator[str]:
    """Yield the text in pieces, by a walk with a stack: trees may be deep."""
    n = len(linkage) + 1
    left, right = linkage[:, 0].astype(np.int64), linkage[:, 1].astype(np.int64)
    height = np.concatenate([np.zeros(n), linkage[:, 2]])
    roots, todo = [], [2 * n - 2]
    while todo:
        node = todo.pop()
        if np.isfinite(height[node]):
            roots.append(node)
        else:
            todo += [int(right[node - n]), int(left[node - n])]
    for root in roots:
        # A node is opened, then both sides follow, and then its text is closed.
        stack: list[tuple[int, str]] = [(root, ";\n")]
        while stack:
            node, after = stack.pop()
            if node < 0:
                yield after
            elif node < n:
                yield quoted_label(name(node)) + after
            else:
                yield "("
                one, other = int(left[node - n]), int(right[node - n])
                stack.append((-1, ")" + after))
                stack.append((other, _length(height[node] - height[other])))
                stack.append((one, _length(height[node] - height[one]) + ","))


def _length(difference: float) -> str:
    return f":{float(difference) / 2!r}"
