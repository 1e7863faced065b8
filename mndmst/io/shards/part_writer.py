"""Write the datasets of one part, rows by rows."""

from typing import Any

import h5py
import numpy as np

from ..file_errors import CHUNK_BYTES
from ..hdf5.chunk_filters import SUM_BYTES, checksum


class ColumnWriter:
    """A checksummed dataset that is written from its beginning to its end.

    What is appended is gathered until it makes a whole chunk, checksum behind it, so
    that no chunk is checksummed twice.

    Parameters
    ----------
    most : int
        No more entries will be appended.
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
        self.held = 0
        self.compress = compress
        self.chunk = max(1, min(most, CHUNK_BYTES // dtype.itemsize))
        self.raw = np.empty(self.chunk * dtype.itemsize + SUM_BYTES, np.uint8)
        self.entries = self.raw[:-SUM_BYTES].view(dtype)
        if most == 0:  # HDF5 cannot chunk a dataset without elements
            self.dataset = group.create_dataset(name, shape=(0,), dtype=dtype)
            return
        options: dict[str, Any] = {"compression": "gzip"} if compress else {}
        self.dataset = group.create_dataset(
            name, (most,), dtype, chunks=(self.chunk,), maxshape=(most,),
            fletcher32=True, shuffle=compress, **options,
        )  # fmt: skip

    def append(self, data: np.ndarray) -> None:
        """Append entries; integers of another width are converted."""
        while len(data):
            some = data[: self.chunk - self.held]
            self.entries[self.held : self.held + len(some)] = some
            self.held += len(some)
            if self.held == self.chunk:
                self._write()
            data = data[len(some) :]

    def finish(self) -> int:
        """Write the remaining entries; return the number of all entries."""
        if self.held:
            self._write()
        if self.length < len(self.dataset):
            self.dataset.resize((self.length,))
        return self.length

    def _write(self) -> None:
        """Write a chunk; a whole one past HDF5's filter, which takes long to sum."""
        end = self.length + self.held
        if self.compress or self.held < self.chunk:
            held = self.entries[: self.held]
            self.dataset.write_direct(held, dest_sel=np.s_[self.length : end])
        else:
            total = checksum(self.raw[:-SUM_BYTES])
            self.raw[-SUM_BYTES:].view("<u4")[0] = total
            self.dataset.id.write_direct_chunk((self.length,), self.raw)
        self.length, self.held = end, 0


class PartWriter:
    """The rows of a part being written.

    Parameters
    ----------
    rows : int
        How many there will be.
    most_arcs : int
        No more will be appended.
    types : tuple of dtype
        Of ids and weights.
    compress : bool
        As in `ColumnWriter`.
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
