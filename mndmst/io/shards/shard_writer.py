"""Write a sharded graph, part by part, so that a directory with an index is whole."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import h5py
import numpy as np

from ...graph.order import WEIGHT_DTYPES, stored_id_dtype
from ...host.errors import OutputError
from ..file_access import (
    MALFORMED,
    ascends,
    open_hdf5,
    read_attribute,
    write_attributes,
    writing,
)
from ..hdf5_writer import ColumnWriter, hdf5_file
from ..names import IdRange, NameSource
from ..output_kinds import INDEX_NAME, hdf5_mark
from .graph_directory import (
    FIRST_ID,
    GRAPH_FORMAT,
    MADE_FROM,
    MAXIMUM,
    NAMES,
    ORIGINAL_VERTICES,
    SHARD_FORMAT,
    VERSION,
    Destination,
    part_name,
)


class PartWriter:
    """The rows of a part being written."""

    def __init__(
        self,
        group: h5py.Group,
        rows: int,
        most_arcs: int,
        types: tuple[np.dtype, np.dtype],
        compress: bool,
    ) -> None:
        self.rows = rows
        self.arcs = 0
        self.indptr = ColumnWriter(
            group, "indptr", rows + 1, np.dtype(np.int64), compress
        )
        self.indices = ColumnWriter(group, "indices", most_arcs, types[0], compress)
        self.data = ColumnWriter(group, "data", most_arcs, types[1], compress)
        self.indptr.append(np.zeros(1, np.int64))

    def append(
        self, indptr: np.ndarray, indices: np.ndarray, weights: np.ndarray
    ) -> None:
        """Append rows; as in `ShardWriter.write_part`, any number of them."""
        if indptr[0] != 0 or not int(indptr[-1]) == len(indices) == len(weights):
            raise ValueError("indptr, indices and weights disagree on the arcs")
        self.indptr.append(indptr[1:] + self.arcs)
        self.indices.append(indices)
        self.data.append(weights)
        self.arcs += len(indices)

    def finish(self) -> int:
        """Write the remaining arcs; return the number of all arcs."""
        rows = self.indptr.finish() - 1
        if rows != self.rows:
            raise ValueError(f"the part must have {self.rows} rows, not {rows}")
        self.indices.finish()
        return self.data.finish()


class OriginalIds(NamedTuple):
    """The ids that vertices had in the file a graph is made of."""

    ids: np.ndarray  # integers [num_vertices]: below first + bound
    bound: int  # how many vertices the file had
    first: int = 0  # the least id that a vertex of the file can have

    @property
    def last(self) -> int:
        """The largest id that a vertex of the file can have."""
        return self.first + self.bound - 1


# The vertices' names, or ids, in the file that a graph is made of. Of an `IdRange` the
# graph keeps the first id alone.
VertexIds = OriginalIds | NameSource


class ShardWriter:
    """A sharded graph being written (docs/files.md describes the files).

    Parts go to temporary names in a `Destination` that has been claimed; if the block
    fails, they are removed. Several processes may write the parts of one graph, each
    through a writer of its own; after all of them are done one calls `finish`.
    `vtxdist` (int64 [parts + 1]) ascends from 0 to `num_vertices`. `compress` shuffles
    and gzips the datasets: smaller, and several times slower to read. `maximum` says
    that the forest of the graph is its maximum forest.
    """

    def __init__(
        self,
        target: Destination,
        num_vertices: int,
        weight_dtype: np.dtype,
        vtxdist: np.ndarray,
        uuid: str,
        compress: bool = False,
        original: VertexIds | None = None,
        maximum: bool = False,
    ) -> None:
        self.target = target
        self.num_vertices = int(num_vertices)
        self.weight_dtype = np.dtype(weight_dtype)
        self.vtxdist = np.asarray(vtxdist, np.int64)
        self.uuid = uuid
        self.compress = compress
        self.original = original
        self.maximum = maximum
        self._written: list[Path] = []
        if self.weight_dtype not in WEIGHT_DTYPES:
            raise ValueError(f"weights of type {self.weight_dtype} are not supported")
        ends = self.vtxdist[[0, -1]].tolist()
        if ends != [0, num_vertices] or not ascends(self.vtxdist):
            raise ValueError("vtxdist must ascend from 0 to num_vertices")

    @property
    def num_parts(self) -> int:
        """Number of parts, empty ones included."""
        return len(self.vtxdist) - 1

    def write_part(
        self, part: int, indptr: np.ndarray, indices: np.ndarray, weights: np.ndarray
    ) -> None:
        """Write the CSR rows of one part, ids ascending, under its temporary name."""
        with self.part(part, len(indices)) as file:
            file.append(indptr, indices, weights)

    @contextmanager
    def part(self, part: int, most_arcs: int) -> Iterator[PartWriter]:
        """Give a part to append rows to, under its temporary name."""
        begin, end = self.vtxdist[part : part + 2].tolist()
        header = {"vertex_begin": begin, "vertex_end": end, "part": part}
        with self._new_file(part_name(part)) as file:
            self._write_header(file, SHARD_FORMAT, header)
            self._write(file, "vtxdist", self.vtxdist, self.vtxdist.dtype)
            group = file.create_group("graph")
            shape = np.array([end - begin, self.num_vertices])
            encoding = {"encoding-type": "csr_matrix", "encoding-version": "0.1.0"}
            write_attributes(group, encoding | {"shape": shape})
            self._write_vertex_ids(file, begin, end)
            ids = stored_id_dtype(self.num_vertices)
            types = (ids, self.weight_dtype)
            writer = PartWriter(group, end - begin, most_arcs, types, self.compress)
            yield writer
            arcs = writer.finish()
            write_attributes(file, {"num_arcs": arcs})

    def _write_vertex_ids(self, file: h5py.File, begin: int, end: int) -> None:
        """Write the original ids or the names of a part's vertices, if any."""
        if isinstance(self.original, OriginalIds):
            stored = stored_id_dtype(self.original.last + 1)
            self._write(file, "original-id", self.original.ids[begin:end], stored)
        elif self.original is not None and not isinstance(self.original, IdRange):
            group = file.create_group(NAMES)
            columns = self.original.take(slice(begin, end)).columns()
            for name, column in columns.items():
                self._write(group, name, column, column.dtype)

    def finish(self, uuid: str | None = None, record: str | None = None) -> None:
        """Check that every part is there, then give all files their final names.

        A `uuid` replaces the first one; a `record` tells a restart that the graph is
        finished.
        """
        names = [part_name(part) for part in range(self.num_parts)]
        self.uuid = uuid or self.uuid
        arcs = [self._count_arcs(self.target.held(name), uuid) for name in names]
        arcdist = np.concatenate(([0], np.cumsum(arcs, dtype=np.int64)))
        with self._new_file(INDEX_NAME) as file:
            dtype = self.weight_dtype.name
            header = {"num_arcs": int(arcdist[-1]), "weight_dtype": dtype}
            self._write_header(file, GRAPH_FORMAT, header)
            if record is not None:
                write_attributes(file, {MADE_FROM: record})
            self._write(file, "vtxdist", self.vtxdist, self.vtxdist.dtype)
            self._write(file, "arcdist", arcdist, arcdist.dtype)
            parts = np.array(names, np.bytes_)
            self._write(file, "parts", parts, parts.dtype)
        self.target.publish([*names, INDEX_NAME])
        self._written.clear()

    def __enter__(self) -> "ShardWriter":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            for file in self._written:
                file.unlink(missing_ok=True)

    def is_whole(self, part: int) -> bool:
        """Return whether a part was written to its end, by any writer."""
        begin, end = self.vtxdist[part : part + 2].tolist()
        expected = {"part": part, "vertex_begin": begin, "vertex_end": end}
        # One that was being changed when its writer was killed cannot be opened
        with suppress(*MALFORMED), open_hdf5(self.target.held(part_name(part))) as file:
            stored = {name: read_attribute(file, name) for name in expected}
            return stored == expected and "num_arcs" in file.attrs
        return False

    @contextmanager
    def _new_file(self, name: str) -> Iterator[h5py.File]:
        """Make a file under its temporary name, in place of one that was cut off."""
        path = self.target.temporary(name)
        with writing(path):
            path.unlink(missing_ok=True)
            self._written.append(path)  # a full disk may fail to open it, too
            with hdf5_file(path, "x") as file:
                yield file

    def _count_arcs(self, file: Path, uuid: str | None) -> int:
        """Return the arcs of a part; give it its uuid if it has none yet."""
        if not file.exists():
            raise OutputError(f"{file}: the part was not written. Make it again.")
        with writing(file), open_hdf5(file) as part:
            arcs = int(part.attrs["num_arcs"])
            stored = read_attribute(part, "graph-uuid")
        if uuid not in (None, stored):
            with writing(file), hdf5_file(file, "r+") as part:
                write_attributes(part, {"graph-uuid": uuid})
        return arcs

    def _write_header(
        self, file: h5py.File, kind: str, more: dict[str, object]
    ) -> None:
        header = {
            **hdf5_mark(kind, VERSION),
            "graph-uuid": self.uuid,
            "num_vertices": self.num_vertices,
            "num_parts": self.num_parts,
            "reordered": isinstance(self.original, OriginalIds),
        }
        if self.maximum:
            header[MAXIMUM] = True
        if isinstance(self.original, OriginalIds | IdRange) and self.original.first:
            header[FIRST_ID] = self.original.first
        if isinstance(self.original, OriginalIds):
            if self.original.bound != self.num_vertices:
                header[ORIGINAL_VERTICES] = self.original.bound
        elif self.original is not None and not isinstance(self.original, IdRange):
            header[NAMES] = self.original.kind.value
        write_attributes(file, header | more)

    def _write(
        self, group: h5py.Group, name: str, data: np.ndarray, dtype: np.dtype
    ) -> None:
        """Write a checksummed dataset; HDF5 cannot chunk one without elements."""
        columns = ColumnWriter(group, name, len(data), dtype)
        columns.append(data)
        columns.finish()
