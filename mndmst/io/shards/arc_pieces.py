"""The arcs of open parts, in pieces that threads read or copy to a device.

A kernel on each thread takes piece after piece, without the interpreter
(`kernels/chunk_reading.py`), where checksums are the only filter of ids and weights.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import h5py
import numpy as np

from ...graph.arc_files import Driver, Lane
from ...graph.model import Csr
from ...host.errors import InputError
from ...kernels.arc_inspection import (
    BAD_ID,
    FINE,
    NOT_A_NUMBER,
    NOT_ASCENDING,
    ArcFacts,
    Check,
)
from ...kernels.read_progress import ArcsRead
from ...kernels.threads import Threads
from ..file_access import reading
from ..hdf5_reader import ChunkReader
from ..kernels.chunk_reading import (
    BAD_IDS,
    BAD_WEIGHTS,
    DEVICE_FAILED,
    ArcTargets,
    Chunks,
    StoredArcs,
    copy_arcs,
    read_arcs,
)

PIECE_BYTES = 4 << 20  # of both columns, but no less than a chunk

# Pieces that a thread reads before the interpreter can handle a signal.
PIECES_AT_ONCE = 32
SAMPLE = 8192  # ids that the host has of arcs on a device


class PartArcs:
    """Arcs [begin, end) of the requested rows in the open file of a part.

    `csr` are these rows, with the ids and keys of all parts; arc numbers in the file
    are larger by `shift`. `seams` are the arcs with which pieces begin, but for the
    first one. `chunks` say where ids and weights are, if they need no other type and no
    unpacking.
    """

    def __init__(
        self, path: Path, file: h5py.File, csr: Csr, arcs: tuple[int, int], shift: int
    ) -> None:
        self.path, self.csr, self._arcs, self._shift = path, csr, arcs, shift
        columns = file["graph/indices"], file["graph/data"]
        self._stored_ids = columns[0].dtype
        begin, end = arcs[0] + shift, arcs[1] + shift
        ids, weights = (ChunkReader(path, column, begin, end) for column in columns)
        self._ids, self._weights = ids, weights
        # Between two pieces no chunk is divided, or it would have to be read twice
        chunk = max(column.chunks[0] for column in columns)
        arc_bytes = sum(column.dtype.itemsize for column in columns)
        step = chunk * max(1, PIECE_BYTES // (chunk * arc_bytes))
        self.seams = list(range(begin // step * step + step - shift, arcs[1], step))
        self.chunks = self._whole_chunks()

    def pieces(self) -> list[tuple[int, int]]:
        """Return ranges of arcs for threads to read."""
        return list(pairwise([self._arcs[0], *self.seams, self._arcs[1]]))

    def read(
        self, low: int, ids: np.ndarray, weights: np.ndarray, num_vertices: int
    ) -> None:
        """Read the ids and the weights of the arcs from `low` on."""
        self._weights.read(low + self._shift, weights)
        if self._stored_ids.itemsize == ids.itemsize:
            self._ids.read(low + self._shift, ids)
            return
        signed = np.empty(len(ids), self._stored_ids)
        self._ids.read(low + self._shift, signed)
        wrong = signed[(signed < 0) | (signed >= num_vertices)]
        if len(wrong):
            raise self._wrong(f"an id, {wrong[0]}, is out of range")
        ids[:] = signed

    def check(self, status: int, vertex: int, arc: int) -> None:
        """Raise an error for a fault that `read_arcs` or `inspect_rows` reports."""
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
        """Count the edges that were counted on both sides of a seam."""
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
        same = self._stored_ids.itemsize == self.csr.indices.itemsize
        if ids is None or weights is None or not same:
            return None
        ids, weights = (c._replace(begin=c.begin - self._shift) for c in (ids, weights))
        return ids, weights

    def _wrong(self, what: str) -> InputError:
        return InputError(f"{self.path}: {what}. Make the graph again.")


# A status, the number of the piece, and further numbers
Taken = tuple[int, ...]


class ArcPieces:
    """The arcs of open parts with `chunks`, in pieces that threads take in turn.

    One call of `read` or `copy` takes all pieces. `rows` are all rows of this rank,
    those of other parts included. `sampled` has the ids of at most `SAMPLE` evenly
    spaced arcs of those that `copy` has copied.
    """

    def __init__(self, parts: Sequence[PartArcs], rows: Csr, threads: Threads) -> None:
        self.rows, self._parts, self._threads = rows, parts, threads
        self.sampled = np.empty(0, rows.indices.dtype)
        pieces = [(i, *arcs) for i, part in enumerate(parts) for arcs in part.pieces()]
        columns = [column for part in parts for column in part.chunks or ()]
        ends = np.cumsum([len(column.offsets) for column in columns], dtype=np.int64)
        facts = [
            (*column[:4], end - len(column.offsets))
            for column, end in zip(columns, ends, strict=True)
        ]
        self._stored = StoredArcs(
            np.array(facts, np.int64).reshape(-1, 5),
            np.concatenate([np.empty(0, np.int64), *(c.offsets for c in columns)]),
            np.array(pieces, np.int64).reshape(-1, 3),
            np.zeros(1, np.int64),
        )

    def __len__(self) -> int:
        return len(self._stored.pieces)

    @property
    def piece_bytes(self) -> int:
        """See `OpenArcs.piece_bytes`."""
        _, begin, end = self._stored.pieces.T
        arc_bytes = self.rows.indices.itemsize + self.rows.keys.itemsize
        return int((end - begin).max(initial=0)) * arc_bytes

    def read(self, check: Check, progress: ArcsRead) -> list[ArcFacts]:
        """Read all arcs into the rows, inspect them, and note the progress."""
        call = self._stored, self.rows, check, progress.words, PIECES_AT_ONCE
        results = self._take(read_arcs, [call] * self._threads.count)
        for status, piece, vertex, arc, *_ in sorted(results, key=_piece):
            self._check(status, piece, vertex, arc)
        return [ArcFacts(int(edges), int(balance)) for *_, edges, balance in results]

    def copy(
        self, driver: Driver, lanes: Sequence[tuple[Lane, Lane]], ids: int, weights: int
    ) -> int:
        """See `OpenArcs.copy`."""
        arcs, id_dtype = len(self.rows.indices), self.rows.indices.dtype
        step = 1 + arcs // SAMPLE
        self.sampled = np.empty(-(-arcs // step), id_dtype)
        targets = ArcTargets(ids, weights, id_dtype.itemsize, self.rows.keys.itemsize)
        calls = [
            (self._stored, driver, pair, targets, self.sampled, step) for pair in lanes
        ]
        results = self._take(copy_arcs, calls[: self._threads.count])
        for status, _, failure in results:
            if status == DEVICE_FAILED:
                return int(failure)
        for status, piece, arc in sorted(results, key=_piece):
            self._check(status, piece, 0, arc)
        return 0

    def _take(
        self, kernel: Callable[..., Taken], calls: Sequence[tuple[object, ...]]
    ) -> list[Taken]:
        """Run a kernel on threads until all pieces are taken; return all results."""
        taken = self._stored.taken

        def take(*arguments: object) -> list[Taken]:
            results = [kernel(*arguments)]
            while taken[0] < len(self):
                results.append(kernel(*arguments))
            return results

        try:
            results = self._threads.map(take, calls[: len(self)])
        except BaseException:
            taken[0] = len(self)  # ends the other threads' calls
            raise
        return [result for of_thread in results for result in of_thread]

    def _check(self, status: int, piece: int, vertex: int, arc: int) -> None:
        if status != FINE:
            part = self._parts[self._stored.pieces[piece, 0]]
            with reading(part.path):
                part.check(status, vertex, arc)


def _piece(result: Taken) -> int:
    """Return the piece of a result of `read_arcs` or `copy_arcs`."""
    return result[1]
