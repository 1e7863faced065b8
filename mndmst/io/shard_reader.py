"""Read the rows of a sharded graph; shards and ranks are independent.

The files are described in `mndmst.io.layout`: each undirected edge stands twice,
in the rows of both its ends, and the ids within a row ascend. What a header says
is checked against the datasets before any memory is taken for it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np

from ..errors import InputError
from ..order import id_dtype
from .layout import (
    SHARD_FORMAT,
    VERSION,
    ascends,
    checked_dataset,
    read_attribute,
    reading,
)

PIECE_ARCS = 1 << 20


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
    """

    path: Path
    uuid: str
    weight_dtype: np.dtype
    vtxdist: np.ndarray
    arcdist: np.ndarray
    parts: tuple[Path, ...]

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

    def read_indptr(self, begin: int, end: int) -> np.ndarray:
        """Return where the rows of the vertices [begin, end) begin and end.

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
            with reading(self.parts[part]), h5py.File(self.parts[part]) as file:
                self._check(part, file)
                rows = slice(low - first, high - first + 1)
                file["graph/indptr"].read_direct(target, rows)
            whole = (low > first or target[0] == 0) and (
                high < self.vtxdist[part + 1] or target[-1] == arcs
            )
            if not (whole and ascends(target) and 0 <= target[0] <= target[-1] <= arcs):
                raise self._wrong(
                    part, "its row pointers do not ascend from 0 to the end"
                )
            target += self.arcdist[part]
        return indptr

    def read_rows(
        self, begin: int, end: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the CSR rows of the vertices [begin, end).

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
        indptr = self.read_indptr(begin, end)
        first_arc, num_arcs = int(indptr[0]), int(indptr[-1] - indptr[0])
        indptr -= first_arc
        indices = np.empty(num_arcs, id_dtype(self.num_vertices))
        weights = np.empty(num_arcs, self.weight_dtype)
        for part, low, high in self._overlap(begin, end):
            arcs = slice(*indptr[[low - begin, high - begin]].tolist())
            offset = first_arc - int(self.arcdist[part])
            with reading(self.parts[part]), h5py.File(self.parts[part]) as file:
                for piece in _pieces(arcs):
                    source = slice(piece.start + offset, piece.stop + offset)
                    self._read_ids(part, file["graph/indices"], source, indices[piece])
                    file["graph/data"].read_direct(weights[piece], source)
                    if np.isnan(weights[piece].max()):
                        arc = piece.start + int(np.isnan(weights[piece]).argmax())
                        row = begin + int(np.searchsorted(indptr, arc, "right")) - 1
                        raise self._wrong(
                            part, f"the weight of arc ({row}, {indices[arc]}) is NaN"
                        )
                    if not _rows_ascend(indptr, indices, piece):
                        raise self._wrong(part, "the ids of a row do not ascend")
        return indptr, indices, weights

    def _read_ids(
        self, part: int, dataset: h5py.Dataset, source: slice, target: np.ndarray
    ) -> None:
        """Read ids without a copy if the widths agree, else checked through one."""
        if dataset.dtype.itemsize == target.itemsize:
            signed = target.view(dataset.dtype)
            dataset.read_direct(signed, source)
        else:
            signed = dataset[source]
            target[:] = signed
        if signed.min() < 0 or signed.max() >= self.num_vertices:
            raise self._wrong(
                part, f"arcs {source.start} to {source.stop} hold an id out of range"
            )

    def check_part(self, part: int) -> None:
        """Compare a part's header and the sizes of its datasets with the index.

        Raises
        ------
        InputError
            If the part is missing, damaged or of another graph.
        """
        with reading(self.parts[part]), h5py.File(self.parts[part]) as file:
            self._check(part, file)

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


def _rows_ascend(indptr: np.ndarray, indices: np.ndarray, piece: slice) -> bool:
    """Return whether no id of the piece is below the one before it in its row."""
    first = max(piece.start, 1)
    fine = indices[first : piece.stop] >= indices[first - 1 : piece.stop - 1]
    low, high = np.searchsorted(indptr, [first, piece.stop])
    fine[indptr[low:high] - first] = True
    return bool(fine.all())


def _pieces(arcs: slice) -> Iterator[slice]:
    for low in range(arcs.start, arcs.stop, PIECE_ARCS):
        yield slice(low, min(low + PIECE_ARCS, arcs.stop))
