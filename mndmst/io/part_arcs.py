"""The arcs of some rows in a part's file, in pieces."""

from itertools import pairwise
from pathlib import Path

import h5py
import numpy as np

from ..graph.model import Csr
from ..host.errors import InputError
from ..kernels.arc_inspection import BAD_ID, FINE, NOT_A_NUMBER, NOT_ASCENDING
from .chunks import ChunkReader
from .kernels.arcs import BAD_IDS, BAD_WEIGHTS
from .kernels.checks import Chunks

PIECE_BYTES = 4 << 20  # of a column, at the least


class PartArcs:
    """Arcs in the open file of a part, and where they go.

    Parameters
    ----------
    path : Path
    file : h5py.File
    csr : Csr
        The rows of the part that are wanted; ids and keys are those of all parts.
    arcs : (int, int)
        The arcs [begin, end) of these rows.
    shift : int
        In the file their numbers are larger by so much.

    Attributes
    ----------
    seams : list of int
        The arcs with which pieces begin, but for the first one.
    chunks : (Chunks, Chunks) or None
        Where ids and weights are, numbered as arcs, if they need no other type and no
        unpacking.

    Raises
    ------
    InputError
        If a chunk is missing.
    """

    def __init__(
        self,
        path: Path,
        file: h5py.File,
        csr: Csr,
        arcs: tuple[int, int],
        shift: int,
    ) -> None:
        self.path, self.csr, self._arcs, self._shift = path, csr, arcs, shift
        columns = file["graph/indices"], file["graph/data"]
        begin, end = arcs[0] + shift, arcs[1] + shift
        ids, weights = (ChunkReader(path, column, begin, end) for column in columns)
        self._ids, self._weights = ids, weights
        # Between two pieces no chunk is divided, or it would have to be read twice
        chunk = max(column.chunks[0] for column in columns)
        step = chunk * -(-PIECE_BYTES // (chunk * columns[0].dtype.itemsize))
        self.seams = list(range(begin // step * step + step - shift, arcs[1], step))
        self.chunks = self._whole_chunks()

    def pieces(self) -> list[tuple[int, int]]:
        """Return ranges of arcs for threads to read."""
        return list(pairwise([self._arcs[0], *self.seams, self._arcs[1]]))

    def read(self, low: int, high: int, num_vertices: int) -> None:
        """Read the ids and the weights of the arcs [low, high).

        Raises
        ------
        InputError
            If a chunk is damaged, or an id has no room in the type of the rows.
        """
        ids, weights = self.csr.indices[low:high], self.csr.keys[low:high]
        self._weights.read(low + self._shift, weights)
        stored = self._ids.dataset.dtype
        if stored.itemsize == ids.itemsize:
            self._ids.read(low + self._shift, ids)
            return
        signed = np.empty(len(ids), stored)
        self._ids.read(low + self._shift, signed)
        wrong = signed[(signed < 0) | (signed >= num_vertices)]
        if len(wrong):
            raise self._wrong(f"an id, {wrong[0]}, is out of range")
        ids[:] = signed

    def check(self, found: tuple) -> None:
        """Raise what `read_arcs` or `inspect_rows` has found, unless all is fine."""
        status, vertex, arc, *_ = found
        if status in (BAD_IDS, BAD_WEIGHTS):
            column = self._ids if status == BAD_IDS else self._weights
            raise column.damage(arc + self._shift)
        if status != FINE:
            signed = f"i{self.csr.indices.itemsize}"  # as they are in the file
            head = int(self.csr.indices[arc : arc + 1].view(signed)[0])
            what = {
                BAD_ID: f"arc ({vertex}, {head}): an id is out of range",
                NOT_ASCENDING: f"the ids of a row do not ascend (vertex {vertex})",
                NOT_A_NUMBER: f"the weight of arc ({vertex}, {head}) is NaN",
            }
            raise self._wrong(what[status])

    def repeats(self) -> int:
        """Return how many edges were counted on both sides of a seam.

        Raises
        ------
        InputError
            If a row descends there.
        """
        first, indptr, indices, _ = self.csr
        count = 0
        for arc in self.seams:
            row = int(np.searchsorted(indptr, arc, "right")) - 1
            if indptr[row] == arc:
                continue
            vertex, (before, head) = first + row, indices[arc - 1 : arc + 1]
            if head < before:
                raise self._wrong(f"the ids of a row do not ascend (vertex {vertex})")
            count += int(head == before and head > vertex)
        return count

    def _whole_chunks(self) -> tuple[Chunks, Chunks] | None:
        ids, weights = self._ids.whole, self._weights.whole
        same = self._ids.dataset.dtype.itemsize == self.csr.indices.itemsize
        if ids is None or weights is None or not same:
            return None
        ids, weights = (c._replace(begin=c.begin - self._shift) for c in (ids, weights))
        return ids, weights

    def _wrong(self, what: str) -> InputError:
        return InputError(f"{self.path}: {what}. Make the graph again.")
