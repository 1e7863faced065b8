"""Read the rows of a sharded graph; shards and ranks are independent."""

import numpy as np

from ..kernels.threads import ALONE, Threads
from .arc_reader import ArcReader
from .shard_files import ShardFiles


class ShardedGraph(ShardFiles):
    """A graph on disk; its attributes are those of `ShardFiles`."""

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
        arcs = ArcReader(self, begin, end, indptr)
        arcs.read(threads, to_keys=False)
        return arcs.indptr, arcs.indices, arcs.weights
