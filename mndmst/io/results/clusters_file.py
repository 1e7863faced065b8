"""The cluster file of `cluster`, `hdbscan` and `linkage`, readable with plain h5py.

docs/files.md describes it. The file of `predict` has the labels and probabilities of
new points, whose labels may exceed their number. The file of `linkage` has the
dendrogram alone. A table has the ids, labels and probabilities, or that dendrogram; a
file whose name ends in `.nwk` has the dendrogram as Newick trees.
"""

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import h5py
import numpy as np
from h5py import string_dtype

from ...host.errors import InputError, optional
from ...host.memory import FREE_MEMORY
from ...host.memory_costs import CLUSTER_COPIES, LABEL_COPIES
from ..atomic_output import AtomicOutput
from ..file_access import (
    check_counts,
    check_version,
    count_attribute,
    open_hdf5,
    read_attribute,
    read_attributes,
    reading,
    write_attributes,
)
from ..hdf5_reader import checked_dataset, read_dataset
from ..hdf5_writer import create_dataset, hdf5_file
from ..memory_limit import check_room
from ..names import NameSource, names_of_values
from ..output_kinds import CLUSTERS, hdf5_mark
from .newick import leaf_names, write_newick
from .text_tables import Cells, name_cells, quoted, text_cells, write_rows

FORMAT = CLUSTERS.format
VERSION = 1
REMAKE = "Cluster again"
COUNTS = ("num_vertices", "num_clusters", "next_number")
_NO_CLUSTERS = "has no clusters. Give what cluster has written."
_NO_DENDROGRAM = "has no dendrogram. Give what hdbscan, linkage or cluster has written."
TABLES = (".csv", ".parquet", ".arrow")
# Bytes of a letter in an array of texts and in its encoded copy
TEXT_BYTES = 4 + 4


def write_clusters(
    path: Path,
    attributes: dict[str, object],
    columns: dict[str, np.ndarray],
    files: AtomicOutput,
    names: NameSource | None = None,
) -> None:
    """Write clusters to a file that becomes `path` with the other files.

    `columns` are datasets by name. `names` of vertices name the rows of a table and
    the leaves of trees, and are the dataset `ids` of an HDF5 file.
    """
    if path.suffix in TABLES:
        id_name = str(attributes.get("ids-name", "id"))
        _write_table(path, id_name, columns, files, names)
        return
    if path.suffix == ".nwk":
        with (
            files.file(path, CLUSTERS) as temporary,
            temporary.open("w", encoding="utf-8") as text,
        ):
            ids = None if names is None else names.take(slice(None)).texts()
            name_of = leaf_names(columns.get("ids") if ids is None else ids)
            write_newick(text, columns["linkage"], name_of)
        return
    if names is not None:
        columns = {**columns, "ids": _id_column(path, names)}
    with files.file(path, CLUSTERS) as temporary, hdf5_file(temporary) as file:
        write_attributes(file, hdf5_mark(FORMAT, VERSION) | attributes)
        for name, column in columns.items():
            if column.dtype.kind == "U":
                column = np.char.encode(column, "utf-8")
                column = column.astype(string_dtype("utf-8", column.itemsize))
            create_dataset(file, name, column.shape, column.dtype)[...] = column


def _id_column(path: Path, names: NameSource) -> np.ndarray:
    """Return names as integers, or as texts, whose array is as wide as the longest."""
    ids = names.take(slice(None))
    if ids.kind.is_integer:
        return ids.columns()["integers"]
    texts = ids.texts()
    nbytes = TEXT_BYTES * len(texts) * max(map(len, texts), default=0)
    check_room(FREE_MEMORY, path, nbytes, "the array of its vertices' names")
    return np.array(texts, np.str_)


def _write_table(
    path: Path,
    id_name: str,
    columns: dict[str, np.ndarray],
    files: AtomicOutput,
    names: NameSource | None,
) -> None:
    """Write a row for each vertex, or for each step of a dendrogram alone."""
    if "labels" in columns:
        table = [("vertex", np.arange(len(columns["labels"])))]
        if "ids" in columns:
            table.append((id_name, columns["ids"]))
        table.append(("label", columns["labels"]))
        if "probabilities" in columns:
            table.append(("probability", columns["probabilities"]))
    else:
        names = None
        rows = columns["linkage"]
        ends, size = rows[:, :2].T.astype(np.int64), rows[:, 3].astype(np.int64)
        table = [("cluster1", ends[0]), ("cluster2", ends[1])]
        table += [("distance", rows[:, 2]), ("size", size)]
    header, values = zip(*table, strict=True)
    with files.file(path, CLUSTERS) as temporary:
        if path.suffix == ".csv":
            cells: list[Cells] = [partial(text_cells, path)] * len(header)
            if names is not None:
                cells[0] = name_cells(path, names)
            with temporary.open("w", encoding="utf-8") as file:
                file.write(",".join(quoted(path, name) for name in header) + "\n")
                write_rows(file, values, cells)
            return
        if names is not None:
            values = (_id_column(path, names), *values[1:])
        arrow = optional("pyarrow", "formats")
        typed = arrow.Table.from_arrays(list(map(arrow.array, values)), header)
        if path.suffix == ".parquet":
            optional("pyarrow.parquet", "formats").write_table(typed, temporary)
        else:
            optional("pyarrow.feather", "formats").write_feather(typed, temporary)


def is_clusters(path: Path) -> bool:
    """Return whether an HDF5 file is one of the project's cluster files."""
    with reading(path), open_hdf5(path) as file:
        return bool(read_attribute(file, "format") == FORMAT)


def check_format(path: Path, file: h5py.File, refusal: str) -> None:
    """Refuse a file that is not a cluster file, or has another version of the format.

    `refusal` says what the file is not, and which file to give.
    """
    if read_attribute(file, "format") != FORMAT:
        raise InputError(f"{path}: {refusal}")
    check_version(path, file, VERSION, REMAKE)


def convert_to_table(path: Path, out: Path, files: AtomicOutput, numbers: bool) -> None:
    """Write the table that the command of a cluster file would have written.

    `numbers` leaves out the names of vertices and the ids of points.
    """
    columns: dict[str, np.ndarray] = {}
    with reading(path, "cluster again"), open_hdf5(path) as file:
        check_format(path, file, _NO_CLUSTERS)
        check_counts(file, *COUNTS)
        facts = read_attributes(file)
        if "labels" not in file:
            columns["linkage"] = _read_linkage(path, file)
        for name in ("ids", "probabilities"):
            if name in file and "linkage" not in columns:
                columns[name] = _read_column(path, file, name)
    if "linkage" not in columns:
        columns["labels"] = read_labels(path)
        for name, column in columns.items():
            if len(column) != len(columns["labels"]):
                raise InputError(f"{path}: labels and {name} differ. {REMAKE}.")
    ids = columns.pop("ids", None)
    names = None
    if ids is not None and not numbers:
        if "ids-name" in facts:  # of points, beside their numbers
            columns["ids"] = ids
        else:
            names = names_of_values(path, ids.tolist())
    write_clusters(out, facts, columns, files, names)


def _read_column(path: Path, file: h5py.File, name: str) -> np.ndarray:
    """Read a dataset of a cluster file; texts are decoded."""
    dataset = checked_dataset(path, file, name, remake=REMAKE)
    nbytes = CLUSTER_COPIES * dataset.nbytes
    check_room(FREE_MEMORY, path, nbytes, f"its dataset {name}")
    column = read_dataset(path, dataset)
    if column.dtype.kind == "S":
        return np.char.decode(column, "utf-8", "replace")
    return column


def _read_linkage(path: Path, file: h5py.File) -> np.ndarray:
    """Read the dendrogram of a cluster file; InputError if its rows are not one."""
    dataset = checked_dataset(path, file, "linkage", None, REMAKE, 2)
    check_room(FREE_MEMORY, path, CLUSTER_COPIES * dataset.nbytes, "its dendrogram")
    linkage: np.ndarray = dataset[:]
    if not _is_dendrogram(linkage):
        raise InputError(f"{path}: its linkage is not a dendrogram. {REMAKE}.")
    return linkage


def read_labels(path: str | Path) -> np.ndarray:
    """Return the cluster of each vertex (int64)."""
    path = Path(path)
    with reading(path, "cluster again"), open_hdf5(path) as file:
        check_format(path, file, _NO_CLUSTERS)
        dataset = checked_dataset(path, file, "labels", remake=REMAKE)
        nbytes = LABEL_COPIES * dataset.dtype.itemsize * len(dataset)
        check_room(FREE_MEMORY, path, nbytes, "the list of labels")
        labels = read_dataset(path, dataset)
        check_counts(file, *COUNTS)
        limits = [
            count_attribute(file, name)
            for name in ("num_clusters", "next_number")
            if name in file.attrs
        ]
    limit = max([len(labels), *limits])
    if labels.dtype != np.int64 or (labels >= limit).any():
        raise InputError(f"{path}: a label is out of range. Cluster again.")
    return labels


@dataclass(frozen=True)
class StoredDendrogram:
    """The dendrogram of a cluster file, and the columns of its points."""

    linkage: np.ndarray  # float64 [points - 1, 4]
    labels: np.ndarray | None
    ids: np.ndarray | None
    persistence: np.ndarray | None
    facts: dict[str, object]  # the attributes of the file


def read_dendrogram(path: Path) -> StoredDendrogram:
    """Read the dendrogram of a cluster file; InputError if it is none, or damaged."""
    columns: dict[str, np.ndarray] = {}
    with reading(path, "cluster again"), open_hdf5(path) as file:
        check_format(path, file, _NO_DENDROGRAM)
        if "linkage" not in file:
            raise InputError(f"{path}: {_NO_DENDROGRAM}")
        check_counts(file, *COUNTS)
        facts = read_attributes(file)
        columns["linkage"] = _read_linkage(path, file)
        for name in ("labels", "ids", "persistence"):
            if name in file:
                columns[name] = _read_column(path, file, name)
    linkage = columns["linkage"]
    count = len(linkage) + 1
    for name in ("labels", "ids"):
        if name in columns and len(columns[name]) != count:
            raise InputError(f"{path}: linkage and {name} differ. Cluster again.")
    return StoredDendrogram(
        linkage,
        columns.get("labels"),
        columns.get("ids"),
        columns.get("persistence"),
        facts,
    )


def _is_dendrogram(linkage: np.ndarray) -> bool:
    """Return whether rows merge clusters of rows before, each once."""
    if linkage.shape[1:] != (4,):
        return False
    ids, rows = linkage[:, :2], np.arange(len(linkage)) + len(linkage) + 1
    fits = (ids >= 0) & (ids < rows[:, None]) & (ids == np.floor(ids))
    return bool(fits.all()) and len(np.unique(ids)) == ids.size


def describe_clusters(path: Path) -> dict[str, object]:
    """Return the contents of a cluster file in readable form."""
    with reading(path, "cluster again"), open_hdf5(path) as file:
        check_format(path, file, _NO_CLUSTERS)
        check_counts(file, *COUNTS)
        facts = read_attributes(file)
        if "labels" not in file:  # a dendrogram alone
            return facts
    labels = read_labels(path)
    _, sizes = np.unique(labels[labels >= 0], return_counts=True)
    largest = int(sizes.max(initial=0))
    return facts | {"largest": largest, "noise": int((labels < 0).sum())}
