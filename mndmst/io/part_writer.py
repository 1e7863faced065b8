"""Write the datasets of one part, rows by rows."""

from typing import Any

import h5py
import numpy as np

from .chunks import SUM_BYTES, checksum
from .layout import CHUNK_BYTES


class Column:
    """A checksummed dataset that is written from its beginning to its end.

    Whole chunks are written at once, so that none is checksummed twice.

    Parameters
    ----------
    group : h5py.Group
    name : str
    most : int
        No more entries will be appended.
    dtype : dtype
    compress : bool
        Shuffle and gzip it.
    """

    def __init__(
        self,
        group: h5py.Group,
        name: str,
        most: int,
        dtype: np.dtype,
        compress: bool = False,
    ) -> None:
        self.length = 0
        self.compress = compress
        self.held = np.empty(0, dtype)
        if most == 0:  # HDF5 cannot chunk a dataset without elements
            self.dataset = group.create_dataset(name, shape=(0,), dtype=dtype)
            return
        self.chunk = min(most, CHUNK_BYTES // dtype.itemsize)
        self.summed = np.empty(self.chunk * dtype.itemsize + SUM_BYTES, np.uint8)
        options: dict[str, Any] = {"compression": "gzip"} if compress else {}
        self.dataset = group.create_dataset(
            name, (most,), dtype, chunks=(self.chunk,), maxshape=(most,),
            fletcher32=True, shuffle=compress, **options,
        )  # fmt: skip

    def append(self, data: np.ndarray) -> None:
        """Append entries; integers of another width are converted."""
        if data.dtype == np.uint32 and self.held.dtype == np.int32:
            data = data.view(np.int32)
        data = data.astype(self.held.dtype, copy=False)
        if len(self.held) == 0 and len(data) == 0:
            return
        if len(self.held):
            missing = min(len(data), self.chunk - len(self.held))
            self.held = np.concatenate((self.held, data[:missing]))
            data = data[missing:]
            if len(self.held) < self.chunk:
                return
            self._write(self.held)
        whole = len(data) // self.chunk * self.chunk
        self._write(data[:whole])
        self.held = data[whole:].copy()

    def finish(self) -> int:
        """Write what is left; return how many entries there are in all."""
        if len(self.held):
            self._write(self.held)
        if self.length < len(self.dataset):
            self.dataset.resize((self.length,))
        return self.length

    def _write(self, data: np.ndarray) -> None:
        data = np.ascontiguousarray(data)
        whole = 0 if self.compress else len(data) // self.chunk * self.chunk
        for low in range(0, whole, self.chunk):
            self._write_chunk(data[low : low + self.chunk], self.length + low)
        if whole < len(data):
            place = np.s_[self.length + whole : self.length + len(data)]
            self.dataset.write_direct(data[whole:], dest_sel=place)
        self.length += len(data)

    def _write_chunk(self, data: np.ndarray, place: int) -> None:
        """Write a chunk past HDF5's filter, which takes long for its checksum."""
        raw = data.view(np.uint8)
        self.summed[:-SUM_BYTES] = raw
        self.summed[-SUM_BYTES:].view("<u4")[0] = checksum(raw)
        self.dataset.id.write_direct_chunk((place,), self.summed)


class PartWriter:
    """The rows of a part being written.

    Parameters
    ----------
    group : h5py.Group
    rows : int
        How many there will be.
    most_arcs : int
        No more will be appended.
    types : tuple of dtype
        Of ids and weights.
    compress : bool
        As in `Column`.
    """

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
        self.indptr = Column(group, "indptr", rows + 1, np.dtype(np.int64), compress)
        self.indices = Column(group, "indices", most_arcs, types[0], compress)
        self.data = Column(group, "data", most_arcs, types[1], compress)
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
        """Write what is left; return how many arcs there are."""
        rows = self.indptr.finish() - 1
        if rows != self.rows:
            raise ValueError(f"the part must have {self.rows} rows, not {rows}")
        self.indices.finish()
        return self.data.finish()
