"""The cluster file of `cluster`, `hdbscan` and `linkage`, readable with plain h5py.

One HDF5 file::

    clusters.h5
        @ format "mndmst-clusters", version, creator
        @ graph-uuid, num_vertices, num_clusters, rule; of points also metric, and
          ids-name where there are ids
        labels                   int64 [vertices]: 0, 1, ... ; -1 is noise
        probabilities            float64 [vertices], of HDBSCAN*
        ids                      of points whose table has them: int64, or UTF-8 text
        linkage                  float64 [vertices - 1, 4], as SciPy's
        condensed                of HDBSCAN*: parent, child, lambda, size

What `linkage` writes has the dendrogram alone. A file whose name ends in `.csv` has the
ids, labels and probabilities as text, or that dendrogram.
"""

from pathlib import Path
from typing import Any

import numpy as np
from h5py import string_dtype

from ..host.errors import InputError
from ..host.version import __version__
from .allowance import check_room
from .datasets import checked_dataset, read_dataset
from .hdf5_file import hdf5_file
from .layout import open_hdf5, reading
from .lines import write_lines
from .whole_file import WholeFiles

FORMAT = "mndmst-clusters"
VERSION = 1
_CHUNK_ROWS = 1 << 16


def write_clusters(
    path: Path,
    attributes: dict[str, Any],
    columns: dict[str, np.ndarray],
    files: WholeFiles,
) -> None:
    """Write clusters to a file that becomes `path` with the other files.

    Parameters
    ----------
    attributes : dict
        What the file says beside its format.
    columns : dict
        Datasets by name.

    Raises
    ------
    OutputError
        If it cannot be written.
    """
    if path.suffix == ".csv":
        _write_text(path, attributes.get("ids-name", "id"), columns, files)
        return
    header = {"format": FORMAT, "version": VERSION, "creator": f"mndmst {__version__}"}
    with files.file(path) as temporary, hdf5_file(temporary) as file:
        file.attrs.update(header | attributes)
        for name, column in columns.items():
            if column.dtype.kind == "U":
                column = np.char.encode(column, "utf-8")
                column = column.astype(string_dtype("utf-8", column.itemsize))
            rows = (max(1, min(_CHUNK_ROWS, len(column))), *column.shape[1:])
            file.create_dataset(name, data=column, chunks=rows, fletcher32=True)


def _write_text(
    path: Path, id_name: str, columns: dict[str, np.ndarray], files: WholeFiles
) -> None:
    """Write a line for each vertex, or for each step of a dendrogram alone."""
    if "labels" in columns:
        names, line = ["vertex", "label"], "%d,%d"
        written = [np.arange(len(columns["labels"])), columns["labels"]]
        if "ids" in columns:
            names, line = ["vertex", _quoted(id_name), "label"], "%d,%s,%d"
            written.insert(1, _texts(columns["ids"]))
        if "probabilities" in columns:
            names, line = [*names, "probability"], line + ",%r"
            written.append(columns["probabilities"])
    else:
        names, line = ["cluster1", "cluster2", "distance", "size"], "%d,%d,%r,%d"
        written = [*columns["linkage"].T]
    with files.file(path) as temporary, temporary.open("w") as file:
        file.write(",".join(names) + "\n")
        write_lines(file, line, written)


def _texts(ids: np.ndarray) -> np.ndarray:
    """Return ids as fields of CSV."""
    if ids.dtype.kind != "U":
        return ids
    return np.array([_quoted(word) for word in ids.tolist()], np.str_)


def _quoted(word: str) -> str:
    """Return a field of CSV, in quotes where it needs them."""
    if any(mark in word for mark in ',"\r\n'):
        return '"' + word.replace('"', '""') + '"'
    return word


def read_labels(path: str | Path) -> np.ndarray:
    """Return the cluster of each vertex (int64).

    Raises
    ------
    InputError
        If it is no cluster file, or damaged.
    """
    path = Path(path)
    with reading(path, "cluster again"), open_hdf5(path) as file:
        if file.attrs.get("format") != FORMAT:
            raise InputError(f"{path}: has no clusters. Give what cluster has written.")
        labels = checked_dataset(path, file, "labels", remake="Cluster again")
        check_room(path, 3 * labels.dtype.itemsize * len(labels), "the list of labels")
        found = read_dataset(path, labels)
    if found.dtype != np.int64 or (found >= len(found)).any():
        raise InputError(f"{path}: a label is out of range. Cluster again.")
    return found


def describe_clusters(path: Path) -> dict[str, Any]:
    """Return what a cluster file holds, for people to read."""
    with reading(path, "cluster again"), open_hdf5(path) as file:
        facts = {name: _plain(value) for name, value in file.attrs.items()}
        if "labels" not in file:  # a dendrogram alone
            return facts
    labels = read_labels(path)
    sizes = np.bincount(labels[labels >= 0], minlength=1)
    return facts | {"largest": int(sizes.max()), "noise": int((labels < 0).sum())}


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value
