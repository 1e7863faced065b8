"""Read the rows of a sharded graph; shards and ranks are independent.

The files are described in `mndmst.io.layout`: each undirected edge stands twice,
in the rows of both its ends, and the ids within a row ascend. What a header says
is checked against the datasets before any memory is taken for it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import h5py
import numpy as np

from ..backends.numba.checks import (
    BAD_ID,
    FINE,
    NOT_A_NUMBER,
    NOT_ASCENDING,
    check_rows,
)
from ..backends.numba.threads import ALONE, Threads
from ..errors import InputError
from ..order import id_dtype
from .chunks import read_range
from .layout import (
    SHARD_FORMAT,
    VERSION,
    ascends,
    checked_dataset,
    read_attribute,
    reading,
)


@dataclass(frozen=True)
class ShardedGraph:
    """A graph on disk. Reading takes memory for the rows asked for only.

    Attributes
    ----------
    path : Path
        The index, or the one shard.
    uuid : str
    weight_dtype : dtype
    vtxdist, arcdist : ndarray of int64, shape (parts + 1,)
        First vertex and first arc of every part.
    parts : tuple of Path
        The files.
    reordered : bool
        Whether the vertices had other ids at first, see `read_original_ids`.
    """

    path: Path
    uuid: str
    weight_dtype: np.dtype
    vtxdist: np.ndarray
    arcdist: np.ndarray
    parts: tuple[Path, ...]
    reordered: bool = False
    _checked: dict = field(default_factory=dict, repr=False, compare=False)

    @property
    def num_vertices(self) -> int:
        """Vertices of the whole graph."""
        return int(self.vtxdist[-1])

    @property
    def num_arcs(self) -> int:
        """Arcs of the whole graph; every undirected edge is two."""
        return int(self.arcdist[-1])

    @property
    def num_parts(self) -> int:
        """Number of files the rows are spread over."""
        return len(self.parts)

    def read_indptr(self, begin: int, end: int, threads: Threads = ALONE) -> np.ndarray:
        """Return where the rows of the vertices [begin, end) begin and end.

        Parameters
        ----------
        begin, end : int
        threads : Threads
            Read with these.

        Returns
        -------
        ndarray of int64, shape (end - begin + 1,)
            Arc numbers counted over the whole graph; differences are degrees.

        Raises
        ------
        InputError
            If a part is damaged or its row pointers do not ascend.
        """
        indptr = np.empty(end - begin + 1, np.int64)
        for part, low, high in self._overlap(begin, end):
            target = indptr[low - begin : high - begin + 1]
            first, arcs = self.vtxdist[part], self._arcs(part)
            with self._open(part) as file:
                dataset = file["graph/indptr"]
                read_range(self.parts[part], dataset, low - first, target, threads)
            whole = (low > first or target[0] == 0) and (
                high < self.vtxdist[part + 1] or target[-1] == arcs
            )
            if not (whole and ascends(target) and 0 <= target[0] <= target[-1] <= arcs):
                raise self._wrong(
                    part, "its row pointers do not ascend from 0 to the end"
                )
            target += self.arcdist[part]
        return indptr

    def read_original_ids(self, begin: int, end: int) -> np.ndarray:
        """Return the ids that the vertices [begin, end) had before they were reordered.

        Returns
        -------
        ndarray of int64, shape (end - begin,)
            Their present ids, where they were not.

        Raises
        ------
        InputError
            If a part is damaged or an id is out of range.
        """
        ids = np.arange(begin, end)
        for part, low, high in self._overlap(begin, end) if self.reordered else ():
            first, last = self.vtxdist[part : part + 2].tolist()
            with self._open(part) as file:
                path, name = self.parts[part], "original-id"
                dataset = checked_dataset(path, file, name, last - first)
                ids[low - begin : high - begin] = dataset[low - first : high - first]
        if len(ids) and (ids.min() < 0 or ids.max() >= self.num_vertices):
            raise InputError(
                f"{self.path}: an original id is out of range. Make the graph again."
            )
        return ids

    def read_rows(
        self, begin: int, end: int, threads: Threads = ALONE
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the CSR rows of the vertices [begin, end).

        Parameters
        ----------
        begin, end : int
        threads : Threads
            Read and check with these.

        Returns
        -------
        indptr : ndarray of int64, shape (end - begin + 1,)
            Starts at 0.
        indices : ndarray of uint32 or int64, shape (arcs,)
            Global ids, ascending within a row; `order.id_dtype` gives the type.
        weights : ndarray of `weight_dtype`, shape (arcs,)

        Raises
        ------
        InputError
            If a part is damaged, an id is out of range, a row does not ascend or a
            weight is not a number.
        """
        indptr = self.read_indptr(begin, end, threads)
        return self.read_arcs(begin, end, indptr, threads)

    def read_arcs(
        self, begin: int, end: int, indptr: np.ndarray, threads: Threads = ALONE
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return CSR rows as `read_rows` does, given what `read_indptr` returns."""
        first_arc, num_arcs = int(indptr[0]), int(indptr[-1] - indptr[0])
        indptr = indptr - first_arc
        indices = np.empty(num_arcs, id_dtype(self.num_vertices))
        weights = np.empty(num_arcs, self.weight_dtype)
        for part, low, high in self._overlap(begin, end):
            arcs = slice(*indptr[[low - begin, high - begin]].tolist())
            source = arcs.start + first_arc - int(self.arcdist[part])
            path = self.parts[part]
            with self._open(part) as file:
                self._read_ids(
                    part, file["graph/indices"], source, indices[arcs], threads
                )
                read_range(path, file["graph/data"], source, weights[arcs], threads)
        self._check_rows(begin, indptr, indices, weights, threads)
        return indptr, indices, weights

    def _read_ids(
        self, part: int, dataset: h5py.Dataset, source: int, target: np.ndarray,
        threads: Threads,
    ) -> None:  # fmt: skip
        """Read ids without a copy if the widths agree, else checked through one."""
        path = self.parts[part]
        if dataset.dtype.itemsize == target.itemsize:
            read_range(path, dataset, source, target, threads)
            return
        signed = np.empty(len(target), dataset.dtype)
        read_range(path, dataset, source, signed, threads)
        if len(signed) and (signed.min() < 0 or signed.max() >= self.num_vertices):
            raise self._wrong(part, "an id is out of range")
        target[:] = signed

    def _check_rows(
        self, begin: int, indptr: np.ndarray, indices: np.ndarray, weights: np.ndarray,
        threads: Threads,
    ) -> None:  # fmt: skip
        arrays = (indptr, indices, weights, self.num_vertices)
        bounds = row_ranges(indptr, threads)
        found = threads.map(lambda low, high: check_rows(*arrays, low, high), bounds)
        for status, row, arc in found:
            if status != FINE:
                vertex = begin + row
                part = int(np.searchsorted(self.vtxdist, vertex, "right")) - 1
                what = {
                    BAD_ID: f"arc ({vertex}, {indices[arc]}): an id is out of range",
                    NOT_ASCENDING: f"the ids of a row do not ascend (vertex {vertex})",
                    NOT_A_NUMBER: f"the weight of arc ({vertex}, {indices[arc]}) "
                    "is NaN",
                }
                raise self._wrong(part, what[status])

    @contextmanager
    def _open(self, part: int) -> Iterator[h5py.File]:
        """Open a part; compare it with the index if it is new or has changed."""
        path = self.parts[part]
        with reading(path), h5py.File(path) as file:
            found = path.stat()
            state = found.st_ino, found.st_size, found.st_mtime_ns
            if self._checked.get(part) != state:
                self._check(part, file)
                self._checked[part] = state
            yield file

    def check_part(self, part: int) -> None:
        """Compare a part's header and the sizes of its datasets with the index.

        Raises
        ------
        InputError
            If the part is missing, damaged or of another graph.
        """
        with self._open(part):
            pass

    def _check(self, part: int, file: h5py.File) -> None:
        begin, end = self.vtxdist[part : part + 2].tolist()
        expected = {
            "format": SHARD_FORMAT,
            "version": VERSION,
            "graph-uuid": self.uuid,
            "num_vertices": self.num_vertices,
            "num_arcs": self._arcs(part),
            "num_parts": self.num_parts,
            "part": part,
            "vertex_begin": begin,
            "vertex_end": end,
        }
        for name, value in expected.items():
            found = read_attribute(file, name)
            if found != value:
                raise InputError(
                    f"{self.parts[part]}: belongs to another graph ({name} is {found}, "
                    f"{self.path.name} expects {value}). Put the part there that was "
                    "made with the others, or make the graph again."
                )
        where = self.parts[part]
        indices = checked_dataset(where, file, "graph/indices", self._arcs(part))
        if indices.dtype not in (np.int32, np.int64):
            raise self._wrong(part, f"ids of type {indices.dtype}, not int32 or int64")
        indptr = checked_dataset(where, file, "graph/indptr", end - begin + 1)
        data = checked_dataset(where, file, "graph/data", self._arcs(part))
        if indptr.dtype != np.int64 or data.dtype != self.weight_dtype:
            raise self._wrong(part, "indptr or data is not of the type it should be")

    def _arcs(self, part: int) -> int:
        return int(self.arcdist[part + 1] - self.arcdist[part])

    def _overlap(self, begin: int, end: int) -> Iterator[tuple[int, int, int]]:
        """Yield the parts that [begin, end) touches and which rows of them.

        Rows may be none, as in an empty part, but there is always one part at least.
        """
        first = int(np.searchsorted(self.vtxdist, begin, "right")) - 1
        first = min(first, self.num_parts - 1)
        last = max(int(np.searchsorted(self.vtxdist, end, "left")), first + 1)
        for part in range(first, last):
            low, high = self.vtxdist[part : part + 2].tolist()
            yield part, max(begin, low), min(end, high)

    def _wrong(self, part: int, what: str) -> InputError:
        return InputError(f"{self.parts[part]}: {what}. Make the graph again.")


def row_ranges(indptr: np.ndarray, threads: Threads) -> list[tuple[int, int]]:
    """Cut rows into ranges of about as many arcs, one for each thread."""
    arcs = [low for low, _ in threads.ranges(int(indptr[-1]))][1:]
    bounds = [0, *np.searchsorted(indptr, arcs).tolist(), len(indptr) - 1]
    return list(pairwise(bounds))
