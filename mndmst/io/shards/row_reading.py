"""Read rows: row pointers first, then arcs in pieces, each checked while in the cache.

`solver.read` chooses a rank's rows. `ReadInProgress` reads them; `arc_pieces` has the
pieces. Where a device inspects ids and symmetry, the threads that read check checksums
and NaN only.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import pairwise
from threading import Lock

import numpy as np

from ...graph.model import Csr, Rows
from ...graph.order import KeyRule, id_dtype, key_dtype, key_rule
from ...host.errors import InputError
from ...kernels.arc_inspection import (
    ArcFacts,
    ArcInspection,
    Check,
    inspect_few,
    inspect_rows,
    make_keys,
)
from ...kernels.read_progress import ArcsRead
from ...kernels.threads import ALONE, Threads
from ..file_access import reading
from .arc_pieces import ArcPieces, PartArcs
from .sharded_graph import OPEN_PARTS, ShardedGraph

# A device reads all parts at once; a process may have 1,024 files open.
MOST_OPEN = 256


@dataclass(frozen=True, eq=False)
class RowsInFiles(Rows):
    """Rows whose arcs the host reads when something first uses them."""

    # `__getattr__` gives these two, which no instance has
    indices: np.ndarray = field(init=False, repr=False)
    keys: np.ndarray = field(init=False, repr=False)
    files: "ReadInProgress" = field(kw_only=True, repr=False)

    @classmethod
    def of(cls, files: "ReadInProgress") -> "RowsInFiles":
        """Return the rows that are being read from files."""
        num_vertices = files.graph.num_vertices
        return cls(files.begin, num_vertices, files.indptr, files=files)

    def __getattr__(self, name: str) -> np.ndarray:
        if name not in ("indices", "keys"):
            raise AttributeError(name)
        self.files.load()
        return self.files.indices if name == "indices" else self.files.keys

    @property
    def num_arcs(self) -> int:
        """See `Rows.num_arcs`."""
        return int(self.indptr[-1])

    def sample_indices(self, count: int) -> np.ndarray:
        """See `Rows.sample_indices`; at most `SAMPLE` ids if a device has the arcs."""
        sampled = self.files.sampled
        return sampled if len(sampled) else super().sample_indices(count)

    @property
    def id_dtype(self) -> np.dtype:
        """See `Rows.id_dtype`."""
        return self.files.indices.dtype

    @property
    def key_dtype(self) -> np.dtype:
        """See `Rows.key_dtype`."""
        return self.files.keys.dtype


class ReadInProgress:
    """The rows of the vertices [begin, end) of a graph, whose arcs are being read.

    The constructor reads the row pointers and takes memory for the arcs; `read` reads
    the arcs. Meanwhile a consumer in another thread waits for them by `progress`, which
    `rows` has, too. `keys` are the weights, whose bits become keys. `sampled` are ids
    of arcs that a device has (`ArcPieces`).
    """

    def __init__(
        self, graph: ShardedGraph, begin: int, end: int, threads: Threads = ALONE
    ) -> None:
        self.graph, self.begin, self.end, self.threads = graph, begin, end, threads
        self.indptr = graph.read_indptr(begin, end, threads)
        self._first_arc = int(self.indptr[0])
        if self._first_arc:
            self.indptr -= self._first_arc
        num_arcs = int(self.indptr[-1])
        self.indices = np.empty(num_arcs, id_dtype(graph.num_vertices))
        self.weights = np.empty(num_arcs, graph.weight_dtype)
        self.keys = self.weights.view(key_dtype(graph.weight_dtype))
        self.progress = ArcsRead(num_arcs)
        self._parts: list[PartArcs] = []
        self.sampled = np.empty(0, self.indices.dtype)
        self._opened: tuple[ArcPieces | None, ExitStack] | None = None
        self._loaded: ArcFacts | None = None
        self._loading = Lock()

    @property
    def rows(self) -> Rows:
        """The rows, for consumers that wait for arcs, or after `read`."""
        return Rows(
            self.begin,
            self.graph.num_vertices,
            self.indptr,
            self.indices,
            self.keys,
            self.progress,
        )

    @property
    def _csr(self) -> Csr:
        return Csr(self.begin, self.indptr, self.indices, self.keys)

    @property
    def rule(self) -> KeyRule:
        """See `ArcFiles.rule`."""
        return self.graph.key_rule

    def _open_all(self) -> tuple[ArcPieces | None, ExitStack]:
        """Open all parts; return their arcs (see `ArcFiles.opened`) and the files."""
        with ExitStack() as opening:
            parts = [
                arcs
                for part, low, high in self.graph.overlap(self.begin, self.end)
                for arcs in self._open(opening, part, low, high)
            ]
            plain = all(part.chunks for part in parts)
            pieces = ArcPieces(parts, self._csr, self.threads) if plain else None
            return pieces, opening.pop_all()

    @contextmanager
    def opened(self) -> Iterator[ArcPieces | None]:
        """See `ArcFiles.opened`; `rows_in_files` has opened the files, for one use."""
        (pieces, files), self._opened = self._opened or self._open_all(), None
        try:  # an error of the device is not damage of a file
            yield pieces
        finally:
            files.close()
        if pieces is not None:
            self.sampled = pieces.sampled

    def rows_in_files(self) -> Rows:
        """Return the rows for a device that reads the arcs itself; open their files.

        The device may be starting meanwhile.
        """
        if sum(1 for _ in self.graph.overlap(self.begin, self.end)) > MOST_OPEN:
            return self.rows
        self._opened = self._open_all()
        return RowsInFiles.of(self)

    def load(self) -> ArcFacts:
        """Read all arcs into host memory, once; see `read`."""
        with self._loading:
            if self._opened is not None:
                self._opened[1].close()
                self._opened = None
            if self._loaded is None:
                self._loaded = self.read()
            return self._loaded

    def read(
        self, to_keys: bool = True, inspection: ArcInspection | None = None
    ) -> ArcFacts:
        """Read all arcs and check ids, their order, weights and checksums.

        `to_keys` turns weights into keys, in place. With an `inspection` elsewhere,
        only checksums and weights are checked here, unless it fails.
        """
        rule = self.graph.key_rule
        rule = rule if to_keys else rule.unchanged()
        check = Check(self.graph.num_vertices, rule, whole=inspection is None)
        facts_of_parts: list[ArcFacts] = []
        waiting: list[PartArcs] = []
        self._parts.clear()
        try:
            if inspection is None and (facts := self._read_few(rule)) is not None:
                return facts
            with ExitStack() as files:
                for part, low, high in self.graph.overlap(self.begin, self.end):
                    waiting += self._open(files, part, low, high)
                    if len(waiting) == OPEN_PARTS:
                        facts_of_parts += self._read_parts(waiting, check)
                        waiting.clear()
                        files.close()
                facts_of_parts += self._read_parts(waiting, check)
        except BaseException:
            self.progress.fail()
            raise
        if inspection is None:
            return _sum(facts_of_parts)
        return inspection.facts() or self.inspect()

    def _read_few(self, rule: KeyRule) -> ArcFacts | None:
        """Read the arcs if they are few, without kernels; None if they are not.

        Or if there is a fault: then they are read as if they were many, which names it.
        """
        size = len(self.indptr) + len(self.indices)
        if size > self.threads.tuning.few_arcs:
            return None
        with suppress(InputError), ExitStack() as files:
            for part, low, high in self.graph.overlap(self.begin, self.end):
                for arcs in self._open(files, part, low, high):
                    for begin, end in arcs.pieces():
                        ids, weights = self.indices[begin:end], self.keys[begin:end]
                        with reading(arcs.path):
                            arcs.read(begin, ids, weights, self.graph.num_vertices)
            facts = inspect_few(self._csr, self.graph.num_vertices, rule)
            if facts is not None:
                self.progress.note_few()
            return facts
        return None

    def inspect(self) -> ArcFacts:
        """Inspect arcs that have been read, and whose weights are keys."""
        rule = key_rule(self.keys.dtype).unchanged()
        pieces = [(p, *piece, rule) for p in self._parts for piece in p.pieces()]
        facts = self.threads.map(self._inspect_piece, pieces)
        return _sum([*facts, *_repeats(self._parts)])

    def _inspect_piece(
        self, part: PartArcs, low: int, high: int, rule: KeyRule
    ) -> ArcFacts:
        """Inspect the arcs [low, high) of a part, and turn their weights into keys."""
        status, vertex, arc, edges, balance = inspect_rows(
            part.csr, (low, high), self.graph.num_vertices, rule
        )
        with reading(part.path):
            part.check(status, vertex, arc)
        return ArcFacts(int(edges), int(balance))

    def _open(self, files: ExitStack, part: int, low: int, high: int) -> list[PartArcs]:
        """Open a part for the rows [low, high), if these have arcs."""
        low, high = low - self.begin, high - self.begin
        arcs = int(self.indptr[low]), int(self.indptr[high])
        if arcs[0] == arcs[1]:
            return []
        file = files.enter_context(self.graph.open(part))
        shift = self._first_arc - int(self.graph.arcdist[part])
        indptr = self.indptr[low : high + 1]
        csr = Csr(self.begin + low, indptr, self.indices, self.keys)
        return [PartArcs(self.graph.parts[part], file, csr, arcs, shift)]

    def _read_parts(self, parts: list[PartArcs], check: Check) -> list[ArcFacts]:
        """Read parts; one kernel reads those with checksums as their only filter."""
        num_vertices, rule, whole = check
        self._parts += parts

        def read(part: PartArcs, low: int, high: int) -> ArcFacts:
            with reading(part.path):
                ids, weights = self.indices[low:high], self.keys[low:high]
                part.read(low, ids, weights, num_vertices)
            facts = ArcFacts(0, 0)
            if whole or not make_keys(self.keys[low:high], rule):
                facts = self._inspect_piece(part, low, high, rule)
            self.progress.note(low, high)
            return facts

        quick = [part for part in parts if part.chunks]
        slow = [(p, *piece) for p in parts if not p.chunks for piece in p.pieces()]
        facts = self.threads.map(read, slow)
        facts += ArcPieces(quick, self._csr, self.threads).read(check, self.progress)
        return [*facts, *(_repeats(parts) if whole else ())]


def _repeats(parts: list[PartArcs]) -> list[ArcFacts]:
    """Return facts that subtract the edges counted on both sides of a seam."""
    return [ArcFacts(-part.repeats(), 0) for part in parts]


def _sum(facts: list[ArcFacts]) -> ArcFacts:
    """Return the facts of all pieces together."""
    balance = sum(fact.balance for fact in facts) % (1 << 64)
    return ArcFacts(sum(fact.edges for fact in facts), balance)


def read_rows(
    graph: ShardedGraph, begin: int, end: int, threads: Threads = ALONE
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the CSR rows of the vertices [begin, end) of a graph, checked.

    `indptr` (int64) starts at 0; global ids (`order.id_dtype`) ascend within a row;
    weights have the type of the graph.
    """
    rows = ReadInProgress(graph, begin, end, threads)
    rows.read(to_keys=False)
    return rows.indptr, rows.indices, rows.weights


@dataclass(frozen=True)
class StoredRows:
    """Pieces of rows that stay in their file; one at a time is in memory.

    Iteration reads and yields each piece; a consumer must drop one before the next.
    """

    graph: ShardedGraph
    # The first vertex of each piece, and the end of the last; one bound if there is no
    # piece.
    bounds: list[int]
    threads: Threads = ALONE

    def __len__(self) -> int:
        return len(self.bounds) - 1

    @property
    def num_rows(self) -> int:
        """Rows in all pieces."""
        return self.bounds[-1] - self.bounds[0]

    def __iter__(self) -> Iterator[Rows]:
        for piece in self.begin_pieces():
            piece.read()
            yield piece.rows

    def begin_pieces(self) -> Iterator[ReadInProgress]:
        """Yield each piece with its row pointers; the consumer reads the arcs."""
        for begin, end in pairwise(self.bounds):
            yield ReadInProgress(self.graph, begin, end, self.threads)
