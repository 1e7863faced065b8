"""Write a sharded graph, part by part, so that a directory with an index is whole."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

import h5py
import numpy as np

from .. import __version__
from ..errors import OutputError
from ..order import WEIGHT_DTYPES
from .hdf5_file import hdf5_file
from .layout import (
    GRAPH_FORMAT,
    INDEX_NAME,
    MADE_FROM,
    SHARD_FORMAT,
    VERSION,
    ascends,
    part_name,
    settle,
    write_attributes,
    writing,
)
from .part_writer import Column, PartWriter

TEMPORARY = ".tmp"


class ShardWriter:
    """A sharded graph being written (see `mndmst.io.layout` for the files).

    Parts go to temporary names in the target directory. `finish` gives them
    their final names and the index last. Used as a context manager, it removes
    the temporary parts it has written if the block fails. Several processes may
    write the parts of one graph, each through a writer of its own with the same
    arguments; after all of them are done one calls `finish`.

    Parameters
    ----------
    path : str or Path
        The directory; it is made if it is not there.
    num_vertices : int
    weight_dtype : dtype
        One of `order.WEIGHT_DTYPES`.
    vtxdist : ndarray of int64, shape (parts + 1,)
        First vertex of every part; from 0 to `num_vertices`, ascending.
    uuid : str
        Names the graph; the same graph in other parts may carry the same.
    overwrite : bool
        Replace the graph at `path`; it stays whole until `finish`.
    compress : bool
        Shuffle and gzip the datasets: smaller, and several times slower to read.
    original_ids : ndarray of uint32 or int64, shape (num_vertices,), optional
        The ids that vertices had at first, if they have been reordered.

    Raises
    ------
    OutputError
        If the directory holds something and `overwrite` is not set, or cannot be
        written.
    """

    def __init__(
        self,
        path: str | Path,
        num_vertices: int,
        weight_dtype: np.dtype,
        vtxdist: np.ndarray,
        uuid: str,
        overwrite: bool = False,
        compress: bool = False,
        original_ids: np.ndarray | None = None,
    ) -> None:
        self.path = Path(path)
        self.num_vertices = int(num_vertices)
        self.weight_dtype = np.dtype(weight_dtype)
        self.vtxdist = np.asarray(vtxdist, np.int64)
        self.uuid = uuid
        self.compress = compress
        self.original_ids = original_ids
        self._written: list[Path] = []
        if self.weight_dtype not in WEIGHT_DTYPES:
            raise ValueError(f"weights of type {self.weight_dtype} are not supported")
        ends = self.vtxdist[[0, -1]].tolist()
        if ends != [0, num_vertices] or not ascends(self.vtxdist):
            raise ValueError("vtxdist must ascend from 0 to num_vertices")
        self.claim(self.path, overwrite)

    @property
    def num_parts(self) -> int:
        """Number of parts, empty ones included."""
        return len(self.vtxdist) - 1

    @staticmethod
    def claim(path: Path, overwrite: bool) -> None:
        """Make the directory, or refuse one that holds something already."""
        with writing(path):
            if path.exists() and not path.is_dir():
                raise OutputError(f"{path}: is a file; give a directory.")
            path.mkdir(parents=True, exist_ok=True)
            # Temporary parts alone are what a run that was killed leaves behind.
            holds = any(file.suffix != TEMPORARY for file in path.iterdir())
        if holds and not overwrite:
            raise OutputError(
                f"{path}: is not empty. Give another directory, or --overwrite (in "
                "Python overwrite=True) to replace the graph in it."
            )

    @staticmethod
    def take_back(path: Path, num_parts: int) -> None:
        """Give parts their temporary names again, if a run ended as it named them.

        Raises
        ------
        OutputError
            If they cannot be renamed.
        """
        with writing(path):
            if (path / INDEX_NAME).exists():
                return
            for part in range(num_parts):
                final = path / part_name(part)
                temporary = final.with_name(final.name + TEMPORARY)
                if final.exists() and not temporary.exists():
                    final.rename(temporary)

    def write_part(
        self, part: int, indptr: np.ndarray, indices: np.ndarray, weights: np.ndarray
    ) -> None:
        """Write the rows of one part under its temporary name.

        Parameters
        ----------
        part : int
        indptr : ndarray of int64, shape (rows + 1,)
            Starts at 0.
        indices : ndarray of integers, shape (arcs,)
            Global ids, ascending within a row; each edge stands in both rows.
        weights : ndarray of `weight_dtype`, shape (arcs,)

        Raises
        ------
        OutputError
            If the file cannot be written.
        """
        with self.part(part, len(indices)) as file:
            file.append(indptr, indices, weights)

    @contextmanager
    def part(self, part: int, most_arcs: int) -> Iterator[PartWriter]:
        """Give a part to append rows to, under its temporary name.

        Parameters
        ----------
        part : int
        most_arcs : int
            No more will be appended.

        Raises
        ------
        OutputError
            If the file cannot be written.
        """
        begin, end = self.vtxdist[part : part + 2].tolist()
        header = {"vertex_begin": begin, "vertex_end": end, "part": part}
        target = self._temporary(part_name(part))
        self._written.append(target)
        with writing(target), hdf5_file(target) as file:
            self._write_header(file, SHARD_FORMAT, header)
            self._write(file, "vtxdist", self.vtxdist, self.vtxdist.dtype)
            group = file.create_group("graph")
            shape = np.array([end - begin, self.num_vertices])
            encoding = {"encoding-type": "csr_matrix", "encoding-version": "0.1.0"}
            write_attributes(group, encoding | {"shape": shape})
            ids = np.dtype(np.int32 if self.num_vertices <= 1 << 31 else np.int64)
            if self.original_ids is not None:
                self._write(file, "original-id", self.original_ids[begin:end], ids)
            types = (ids, self.weight_dtype)
            writer = PartWriter(group, end - begin, most_arcs, types, self.compress)
            yield writer
            arcs = writer.finish()
            write_attributes(file, {"num_arcs": arcs})

    def finish(self, uuid: str | None = None, record: str | None = None) -> None:
        """Check that every part is there, then give all files their final names.

        Parameters
        ----------
        uuid : str, optional
            In place of the one given at first, where that was not known yet.
        record : str, optional
            What tells that the graph is the one that a run would make.

        Raises
        ------
        OutputError
            If a part was not written or a file cannot be renamed.
        """
        names = [part_name(part) for part in range(self.num_parts)]
        self.uuid = uuid or self.uuid
        arcs = [self._count_arcs(self._temporary(name), uuid) for name in names]
        arcdist = np.concatenate(([0], np.cumsum(arcs, dtype=np.int64)))
        index = self._temporary(INDEX_NAME)
        self._written.append(index)
        with writing(index), hdf5_file(index) as file:
            header = {
                "num_arcs": int(arcdist[-1]),
                "weight_dtype": self.weight_dtype.name,
            }
            self._write_header(file, GRAPH_FORMAT, header)
            if record is not None:
                write_attributes(file, {MADE_FROM: record})
            self._write(file, "vtxdist", self.vtxdist, self.vtxdist.dtype)
            self._write(file, "arcdist", arcdist, arcdist.dtype)
            parts = np.array(names, np.bytes_)
            self._write(file, "parts", parts, parts.dtype)
        with writing(self.path):
            (self.path / INDEX_NAME).unlink(missing_ok=True)
            for old in self.path.glob("part-*.h5"):
                old.unlink()
            for name in [*names, INDEX_NAME]:
                settle(self._temporary(name))
                self._temporary(name).rename(self.path / name)
            settle(self.path)
        self._written.clear()

    def __enter__(self) -> "ShardWriter":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None:
            for file in self._written:
                file.unlink(missing_ok=True)

    def _temporary(self, name: str) -> Path:
        return self.path / (name + TEMPORARY)

    def _count_arcs(self, file: Path, uuid: str | None) -> int:
        """Return the arcs of a part; give it its uuid if it has none yet."""
        if not file.exists():
            raise OutputError(f"{file}: the part was not written. Make it again.")
        with writing(file), h5py.File(file, "r+" if uuid else "r") as part:
            if uuid:
                write_attributes(part, {"graph-uuid": uuid})
            return int(part.attrs["num_arcs"])

    def _write_header(self, file: h5py.File, kind: str, more: dict[str, Any]) -> None:
        header = {
            "format": kind,
            "version": VERSION,
            "creator": f"mndmst {__version__}",
            "graph-uuid": self.uuid,
            "num_vertices": self.num_vertices,
            "num_parts": self.num_parts,
            "reordered": self.original_ids is not None,
        }
        write_attributes(file, header | more)

    def _write(
        self, group: h5py.Group, name: str, data: np.ndarray, dtype: np.dtype
    ) -> None:
        """Write a checksummed dataset; HDF5 cannot chunk one without elements."""
        columns = Column(group, name, len(data), dtype)
        columns.append(data)
        columns.finish()
