"""Read and write the forest file: a run's result, readable with plain h5py.

docs/files.md describes it. Nothing in the datasets, the totals (`digest_and_total`) and
the digest depends on how many ranks computed the forest. All ranks write one file
together (`parallel_columns`), or one process alone.
"""

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import h5py
import numpy as np

from ...graph.model import EdgeList
from ...graph.order import WEIGHT_DTYPES
from ...host.errors import InputError
from ...host.formatting import counted, to_json
from ...kernels.threads import ALONE, Threads
from ..atomic_output import AtomicOutput
from ..file_access import (
    check_version,
    count_attribute,
    flag_attribute,
    open_hdf5,
    read_attribute,
    reading,
    text_attribute,
    write_attributes,
)
from ..hdf5_reader import checked_dataset, read_dataset, read_names
from ..hdf5_writer import create_dataset, hdf5_file
from ..names import IdRange, NameKind, Names
from ..output_kinds import FOREST, hdf5_mark
from ..shards.graph_directory import FIRST_ID, read_first_id
from .digest_and_total import PIECE, ExactSum, PairDigest, same_total
from .parallel_columns import StoredAs, write_columns

FORMAT = FOREST.format
VERSION = 1
REMAKE = "solve again"
# The attributes of a `NamesLocation`, in its order
NAMES_LOCATION = ("names-uuid", "names-path", "names-path-relative")


@dataclass(frozen=True)
class NamesLocation:
    """The graph that keeps the names of a forest's vertices."""

    uuid: str  # of the graph: the forest's own, or the one that changes were made to
    path: str  # its directory
    # Its directory, seen from that of the forest file; empty before it is written
    relative: str = ""


@dataclass(frozen=True)
class ForestHeader:
    """Attributes of a forest file that describe the whole forest."""

    graph_uuid: str  # the graph the forest belongs to
    num_vertices: int
    total_weight: int | float  # as `digest_and_total.exact_total` returns it
    digest: str  # as `digest_and_total.forest_digest` returns it
    # The run's configuration and report, as far as JSON can hold them
    config: dict[str, object] = field(default_factory=dict)
    report: dict[str, object] = field(default_factory=dict)
    # The graph that keeps the names of the vertices, if they have any
    names: NamesLocation | None = None
    maximum: bool = False  # Whether it is a maximum spanning forest
    # The id of vertex 0. The file has the ids; `ForestFile` reads numbers from 0.
    first_id: int = 0

    @property
    def id_range(self) -> IdRange | None:
        """The ids of the vertices, where they do not begin at 0."""
        return IdRange(self.first_id, self.num_vertices) if self.first_id else None


@dataclass(frozen=True)
class ForestFile:
    """A forest file whose header and datasets fit together."""

    path: Path
    creator: str  # program and version that wrote the file
    header: ForestHeader
    num_edges: int
    num_trees: int
    weight_dtype: np.dtype
    has_labels: bool

    def read(self, begin: int, end: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return src, dst (int64, from 0) and weight of the edges [begin, end)."""
        with reading(self.path, REMAKE), open_hdf5(self.path) as file:
            src, dst, weight = (
                self._dataset(file, name, begin, end)
                for name in ("forest/src", "forest/dst", "forest/weight")
            )
        return self._numbers(src), self._numbers(dst), weight

    def read_labels(self, begin: int, end: int) -> np.ndarray:
        """Return the labels (int64, from 0) of the vertices [begin, end)."""
        with reading(self.path, REMAKE), open_hdf5(self.path) as file:
            return self._numbers(self._dataset(file, "labels", begin, end))

    def _numbers(self, ids: np.ndarray) -> np.ndarray:
        """Return the numbers of vertices (int64, from 0) for the ids in the file."""
        numbers = ids.astype(np.int64, copy=False)
        return numbers - self.header.first_id if self.header.first_id else numbers

    def _dataset(
        self, file: h5py.File, name: str, begin: int = 0, end: int | None = None
    ) -> np.ndarray:
        dataset = checked_dataset(self.path, file, name, remake="Solve again")
        return read_dataset(self.path, dataset, begin, end)

    def read_names(self) -> Names | None:
        """Return the names of the vertices that this file keeps itself, if any."""
        with reading(self.path, REMAKE), open_hdf5(self.path) as file:
            if "names" not in file:
                return None
            kind = NameKind.TEXT
            if "names/integers" in file:
                stored = checked_dataset(self.path, file, "names/integers")
                kind = NameKind(stored.dtype.name)
            count = self.header.num_vertices
            rows = range(count)
            return read_names(self.path, file, kind, count, rows, "Solve again")

    def pieces(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Yield src, dst and weight of all edges, a bounded piece at a time."""
        for low in range(0, self.num_edges, PIECE):
            yield self.read(low, min(low + PIECE, self.num_edges))


def read_forest(path: str | Path) -> ForestFile:
    """Open a forest file and check that its header fits its datasets."""
    path = Path(path)
    with reading(path, REMAKE), open_hdf5(path) as file:
        kind = read_attribute(file, "format")
        if kind != FORMAT:
            named = "it names no format" if kind is None else f"its format is {kind}"
            raise InputError(
                f"{path}: is HDF5, but not a forest of this version ({named}). Give "
                "the file that solve has written, or solve again."
            )
        check_version(path, file, VERSION, "Solve again")
        forest = _from_attributes(path, file)
        _check_datasets(forest, file)
        return forest


def file_digest(path: str | Path) -> str:
    """Return the digest of a forest file, computed again from its edges."""
    digest = PairDigest()
    for src, dst, _ in read_forest(path).pieces():
        digest.add(src, dst)
    return digest.hexdigest()


def describe_forest(path: str | Path) -> dict[str, object]:
    """Return a forest file's attributes; `damage` says how its edges differ."""
    forest = read_forest(path)
    header = forest.header
    digest, total = PairDigest(), ExactSum(forest.weight_dtype)
    for src, dst, weight in forest.pieces():
        digest.add(src, dst)
        total.add(weight)
    description = {
        "format": FORMAT,
        "version": VERSION,
        "creator": forest.creator,
        "graph-uuid": header.graph_uuid,
        "num_vertices": header.num_vertices,
        "num_edges": forest.num_edges,
        "num_trees": forest.num_trees,
        "total_weight": total.total(),
        "weight_dtype": forest.weight_dtype.name,
        "digest": digest.hexdigest(),
        "maximum": header.maximum,
        "labels": forest.has_labels,
        **({"first_id": header.first_id} if header.first_id else {}),
        **({"names": f"in {header.names.path}"} if header.names else {}),
        "config": header.config,
        "report": header.report,
    }
    return {**description, "damage": differences(forest, digest, total)}


def differences(forest: ForestFile, digest: PairDigest, total: ExactSum) -> list[str]:
    """Return the differences between a file's attributes and its edges, in words."""
    header = forest.header
    trees = header.num_vertices - forest.num_edges
    texts = []
    if digest.hexdigest() != header.digest:
        texts.append(
            f"the digest of the edges is {digest.hexdigest()}, "
            f"the attribute says {header.digest}"
        )
    if not same_total(total.total(), header.total_weight):
        texts.append(
            f"the total weight of the edges is {total.total()}, "
            f"the attribute says {header.total_weight}"
        )
    if trees != forest.num_trees:
        texts.append(
            f"{counted(forest.num_edges, 'edge')} on "
            f"{counted(header.num_vertices, 'vertex')} make "
            f"{counted(trees, 'tree')}, the attribute says {forest.num_trees}"
        )
    return texts


def _from_attributes(path: Path, file: h5py.File) -> ForestFile:
    header = ForestHeader(
        graph_uuid=text_attribute(file, "graph-uuid"),
        num_vertices=count_attribute(file, "num_vertices"),
        total_weight=_total_weight(file),
        digest=text_attribute(file, "digest"),
        config=json.loads(text_attribute(file, "config")),
        report=json.loads(text_attribute(file, "report")),
        names=_names_location(file),
        maximum=flag_attribute(file, "maximum"),
        first_id=read_first_id(file),
    )
    return ForestFile(
        path=path,
        creator=text_attribute(file, "creator"),
        header=header,
        num_edges=count_attribute(file, "num_edges"),
        num_trees=count_attribute(file, "num_trees"),
        weight_dtype=np.dtype(text_attribute(file, "weight_dtype")),
        has_labels="labels" in file,
    )


def _total_weight(file: h5py.File) -> int | float:
    """Return the total, which is a text where it needs more than 64 bits."""
    total = read_attribute(file, "total_weight")
    if isinstance(total, str):
        return int(total)
    if not isinstance(total, np.integer | np.float64):
        raise ValueError("attribute total_weight is not a number")
    number: int | float = total.item()
    return number


def _names_location(file: h5py.File) -> NamesLocation | None:
    values = [read_attribute(file, name) for name in NAMES_LOCATION]
    texts = [value for value in values if isinstance(value, str)]
    return NamesLocation(*texts) if len(texts) == len(values) else None


def _check_datasets(forest: ForestFile, file: h5py.File) -> None:
    """Compare the types and lengths of the datasets with the attributes."""
    if forest.weight_dtype not in WEIGHT_DTYPES:
        raise InputError(
            f"{forest.path}: has weights of type {forest.weight_dtype}; supported are "
            f"{', '.join(dtype.name for dtype in WEIGHT_DTYPES)}. Solve again."
        )
    ids = np.dtype(np.int32), np.dtype(np.int64)
    expected = [
        ("forest/src", forest.num_edges, ids),
        ("forest/dst", forest.num_edges, ids),
        ("forest/weight", forest.num_edges, (forest.weight_dtype,)),
    ]
    if forest.has_labels:
        expected.append(("labels", forest.header.num_vertices, ids))
    for name, length, dtypes in expected:
        dataset = checked_dataset(forest.path, file, name, length, "Solve again")
        if dataset.dtype not in dtypes:
            raise InputError(
                f"{forest.path}: {name} is {dataset.dtype} in place of "
                f"{' or '.join(map(str, dtypes))}. Solve again."
            )


def write_forest(
    outputs: AtomicOutput,
    path: Path,
    edges: EdgeList,
    weights: np.ndarray,
    header: Callable[[], ForestHeader],
    ids: IdRange,
    labels: np.ndarray | None = None,
    threads: Threads = ALONE,
) -> None:
    """Write a forest whose edges are spread over the ranks; every rank calls it.

    Edges are sorted by (u, v), also from rank to rank; weights are in the graph's type.
    `ids` are the vertices' in the file; the header has the first of them, too. Every
    rank calls `header` when the edges have been written. `labels` is this rank's
    slice, in rank order, of the labels of all vertices; given by every rank or by none.
    """
    columns = {"forest/src": edges.u, "forest/dst": edges.v, "forest/weight": weights}
    if labels is not None:
        columns["labels"] = labels
    vertices = columns.keys() - {"forest/weight"}
    stored = dict.fromkeys(vertices, StoredAs(ids.stored_dtype, ids.first))
    num_edges = outputs.ranks.sum(len(edges))

    def attributes() -> dict[str, object]:
        return _attributes(path, header(), num_edges, weights.dtype)

    write_columns(outputs, path, FOREST, columns, attributes, stored, threads)


def write_forest_in(
    files: AtomicOutput,
    path: Path,
    edges: tuple[np.ndarray, np.ndarray, np.ndarray],
    header: ForestHeader,
    labels: np.ndarray | None = None,
    names: Names | None = None,
) -> None:
    """Write a forest in memory to a file that becomes `path` with other files.

    `edges` are the sorted ends, src < dst, and the weights. The file keeps `names`
    itself. Vertices are numbers from 0, and the file has the ids from the header's
    `first_id`.
    """
    first = header.first_id
    ids = IdRange(first, header.num_vertices).stored_dtype
    src, dst = ((end + first).astype(ids) for end in edges[:2])
    edges = src, dst, edges[2]
    datasets = ("forest/src", "forest/dst", "forest/weight")
    columns = dict(zip(datasets, edges, strict=True))
    if names is not None:
        columns |= {f"names/{name}": c for name, c in names.columns().items()}
    if labels is not None:
        columns["labels"] = (labels + first).astype(ids)
    with files.file(path, FOREST) as temporary, hdf5_file(temporary) as file:
        for name, column in columns.items():
            create_dataset(file, name, column.shape, column.dtype)[:] = column
        facts = _attributes(path, header, len(edges[0]), edges[2].dtype)
        write_attributes(file, facts)


def _attributes(
    path: Path, header: ForestHeader, num_edges: int, weight_dtype: np.dtype
) -> dict[str, object]:
    total: int | float | str = header.total_weight
    if isinstance(total, int) and not -(1 << 63) <= total < 1 << 63:
        total = str(total)
    return {
        **hdf5_mark(FORMAT, VERSION),
        "graph-uuid": header.graph_uuid,
        "num_vertices": header.num_vertices,
        "num_edges": num_edges,
        "num_trees": header.num_vertices - num_edges,
        "total_weight": total,
        "weight_dtype": weight_dtype.name,
        "digest": header.digest,
        **({"maximum": True} if header.maximum else {}),
        "config": to_json(header.config),
        "report": to_json(header.report),
        **({FIRST_ID: header.first_id} if header.first_id else {}),
        **_names_attributes(path, header.names),
    }


def _names_attributes(path: Path, names: NamesLocation | None) -> dict[str, str]:
    """Return the attributes that locate the graph with the names: uuid and paths."""
    if names is None:
        return {}
    graph = os.path.realpath(names.path)
    relative = os.path.relpath(graph, os.path.realpath(path.parent))
    # A file name may have bytes that are not UTF-8
    values = (os.fsencode(p).decode(errors="replace") for p in (graph, relative))
    return dict(zip(NAMES_LOCATION, (names.uuid, *values), strict=True))
