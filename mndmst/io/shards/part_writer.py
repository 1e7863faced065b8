"""Write the datasets of one part, rows by rows."""

import h5py
import numpy as np

from ..hdf5.hdf5_writer import ColumnWriter


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
