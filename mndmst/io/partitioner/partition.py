"""From an edge file of any size to shards, in bounded memory, by many processes.

1. Number: vertices keep the numbers of the file, or ids without gaps, names or a better
   order number them (`vertex_numbering`).
2. Survey: every process reads a share of the file and counts the ends of edges by
   blocks of vertices (`edge_survey`). Text and packed files are stored as arrays.
3. Plan: the counts cut the vertices into parts, and parts into buckets that fit into
   memory (`arc_buckets`). All processes make the same plan.
4. Route: every arc is written to the bucket of its row, and so is its reverse, unless
   the survey has found every edge listed in both directions (`arc_buckets`). Buckets
   are in memory where they fit, else in files. Where the survey has found arcs in the
   order of rows too, as CSR files list them, a bucket is a range of the file.
5. Sort: every process sorts the buckets of some parts and writes these (`write_parts`).

Intermediate files are in a directory beside the output. They stay there if the
processes are killed; a restart then makes the parts that are missing (`partition_run`).
"""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, replace
from functools import partial, reduce
from pathlib import Path
from typing import TypeVar

import numpy as np

from ...comm.communicator import Comm
from ...comm.world import SingleProcess
from ...host.errors import ConfigError
from ...host.formatting import counted, option_size, size_text, sufficient_size
from ...host.memory import Budget
from ...host.memory_costs import MIB, PARTITION_RESERVE
from ...host.progress import Progress, progress_text
from ...native.loader import announcing_compilation
from ..edge_file import (
    EdgeFile,
    Edges,
    EdgesInMemory,
    RowPiece,
    UnnumberedEndError,
    ids_begin_above_0,
    is_sparse,
)
from ..named_edge_file import EndKinds, NameableFile, NamedEdgeFile
from ..names import IdRange, Names, NameSource, ReorderedNames, escaped
from ..shards.graph_directory import no_new_folders
from ..shards.shard_writer import OriginalIds, ShardWriter, VertexIds
from ..shards.sharded_graph import ShardedGraph, open_graph
from .arc_buckets import (
    Plan,
    built_size,
    check_size,
    check_vertices,
    make_plan,
    open_run_file,
    process_space,
    route_arcs,
)
from .edge_survey import (
    Spool,
    Survey,
    arc_without_reverse,
    bound_and_total,
    share,
    share_pieces,
    survey_edges,
)
from .graph_lock import locked
from .partition_run import (
    NAMES_KIND,
    ORDER,
    Options,
    RunProgress,
    RunStart,
    check_direction,
    check_output,
    describe,
    give_up,
    load_plan,
    prepare,
    record_of,
    remove_numbers,
    remove_work,
    save_plan,
)
from .vertex_numbering import (
    BoundedFile,
    CompactFile,
    NumberedFile,
    ReorderedFile,
    has_saved_vertices,
    load_ids,
    load_vertices,
    save_names,
    save_order,
    save_vertices,
    saved_kind,
)
from .write_parts import UNNAMED, finish_graph, listed_rows, sorted_rows, write_parts

Piece = TypeVar("Piece", bound=Edges | RowPiece)


def partition(
    comm: Comm,
    file: EdgeFile | NamedEdgeFile,
    options: Options,
    inspect: Callable[[ShardedGraph], object] | None = None,
) -> ShardedGraph:
    """Make shards of an edge file. Collective.

    Rank 0 calls `inspect` with the graph while no other run may replace its files.

    The graph is the same for every number of processes and any memory. Its uuid is
    derived from the contents. Raises ConfigError if the memory does not suffice, there
    are far more parts than vertices, or a run with other options has left the files
    that a restart finds; InputError if the file is damaged, an arc has no reverse where
    all should, or there are far more vertices than its edges can name; OutputError if
    the output is not empty, has not enough room or cannot be written, or another run is
    writing there.
    """
    with comm.raise_on_all():
        options.check()
        check_direction(file, options)
    progress = Progress(comm.rank == 0 and not options.quiet)
    cleanup = no_new_folders(options.resolved) if comm.rank == 0 else nullcontext()
    with (
        announcing_compilation(progress.say) if progress.active else nullcontext(),
        cleanup,
        locked(comm, options.resolved, options.out) as has_locks,
    ):
        if not has_locks:
            progress.say(
                f"{options.out}: its file system has no locks, so another run that "
                "writes a graph there is not noticed"
            )
        # Copies of the file on several machines may have been made at several times.
        described = comm.bcast(describe(file, options))
        start = None
        with comm.raise_on_all():
            if comm.rank == 0:
                start = prepare(options, described, has_locks)
        start = comm.bcast(start)
        if options.restart:
            progress.say({
                RunProgress.NOTHING: "no earlier run to continue: starts from the "
                "beginning",
                RunProgress.PLAN: f"continues from {options.work}",
                RunProgress.GRAPH: f"{options.out} is already finished",
            }[start.progress])  # fmt: skip
        if start.progress is not RunProgress.GRAPH:
            try:
                _Passes(comm, options, progress).make_graph(file, start)
            except Exception as error:
                # A restart uses the files of a killed run, not of a failed one; but if
                # one process fails alone, others may still be writing
                if comm.rank == 0 and getattr(error, "ranks", 1) == comm.size:
                    give_up(options.work, start.target)
                raise
        with comm.raise_on_all():
            graph = open_graph(options.out, check=False)
            if inspect is not None and comm.rank == 0:
                inspect(graph)
            return graph


def _about_names(file: NamedEdgeFile, names: Names) -> str:
    """Return the line that says which names the vertices of a graph have."""
    if not len(names):
        return f"{file.name}: no edge, and so no vertex"
    ends = names.take(np.unique([0, len(names) - 1])).texts()
    return (
        f"{file.name}: its vertices have names ({file.kind}, from "
        f"{' to '.join(map(escaped, ends))}), which the graph keeps; their order "
        "numbers them"
    )


@dataclass(frozen=True)
class _NumberedVertices:
    """An edge file whose vertices have their numbers in the graph."""

    given: EdgeFile  # with the numbers of the file or of names, which messages use
    numbered: EdgeFile  # with the numbers of the graph
    compact: bool  # whether ids are numbered without gaps


@dataclass(frozen=True)
class _Passes:
    """The passes of one run over an edge file; `make_graph` is collective."""

    comm: Comm
    options: Options
    progress: Progress

    def make_graph(self, file: EdgeFile | NamedEdgeFile, start: RunStart) -> None:
        """Make the graph, or the parts that are missing."""
        with ExitStack() as run_files:
            self._make_graph(file, start, run_files)

    def _make_graph(
        self, file: EdgeFile | NamedEdgeFile, start: RunStart, run_files: ExitStack
    ) -> None:
        comm, options = self.comm, self.options
        if start.progress is RunProgress.PLAN:
            with comm.raise_on_all():
                plan = load_plan(options.work, start.described)
                vertices = self._saved_numbers(file)
        else:
            spool = Spool(options.work / f"spool-{comm.rank}")
            vertices, survey = self._survey_any(file, spool)
            if survey.num_vertices == 0 and vertices.numbered.num_vertices is None:
                self.progress.say(
                    f"{file.name}: has no edge, so the graph has no vertex "
                    "(--num-vertices N makes isolated vertices)"
                )
            plan, in_memory = self._route(vertices, spool, survey, run_files)
            with comm.raise_on_all():
                if comm.rank == 0 and not in_memory:
                    save_plan(options.work, start.described, plan)
        largest_load = options.sizes.largest_load
        rows_of = partial(sorted_rows, plan, options.work, largest_load=largest_load)
        if plan.in_rows:
            rows_of = partial(listed_rows, plan, vertices.numbered)
        writer = ShardWriter(
            start.target, plan.num_vertices, plan.weight_dtype, plan.vtxdist, UNNAMED,
            options.compress, self._vertex_ids(vertices, plan.num_vertices),
            options.maximum,
        )  # fmt: skip
        write_parts(comm, plan, writer, rows_of, options.work, self.progress)
        with comm.raise_on_all():
            if comm.rank == 0:
                record = record_of(start.described) if options.restart else None
                finish_graph(writer, options.work, record)
                remove_work(options.work, start.target.token)

    def _survey_any(
        self, file: EdgeFile | NamedEdgeFile, spool: Spool
    ) -> tuple[_NumberedVertices, Survey]:
        """Number the vertices and survey all edges; ends in tables may be names."""
        if isinstance(file, NamedEdgeFile):
            return self._survey(self._number_names(file), spool)
        try:
            return self._survey(file, spool)
        except UnnumberedEndError:
            counted_by_user = self.options.num_vertices is not None
            if counted_by_user or not isinstance(file, NameableFile):
                raise
            kinds = self._kinds_of_ends(file)
            if not kinds.are_names:
                raise
            if kinds.padded and not kinds.words:
                self.progress.say(
                    f"{file.name}: the id {escaped(kinds.padded)} begins with 0, so "
                    "all ids are texts (numbers have no leading zeros)"
                )
        return self._survey(self._number_names(file.named(kinds.kind)), spool)

    def _kinds_of_ends(self, file: NameableFile) -> EndKinds:
        """Return the kinds of all ends, and remove files of a numbering by ids."""
        with self.comm.raise_on_all():
            remove_numbers(self.options.work, self.comm.rank)
            local = file.kinds_of_ends(*share(self.comm, file))
        kinds: EndKinds = self.comm.combine(local, partial(reduce, EndKinds.with_other))
        return kinds

    def _survey(self, file: EdgeFile, spool: Spool) -> tuple[_NumberedVertices, Survey]:
        """Number the vertices and survey all edges, which go to the spool."""
        compact = self.options.compact_ids
        may_be_sparse = not (
            compact
            or self.options.num_vertices is not None
            or file.num_vertices is not None
            or file.vertices_given
        )
        if may_be_sparse and self.options.reorder != "none":
            compact = self._is_sparse(file)
        size = self.comm.size
        report = partial(
            self._report, lambda done: f"reading: {counted(done * size, 'edge')}"
        )
        while True:
            numbered, smallest = self._number(file, compact)
            survey = survey_edges(
                self.comm, numbered, spool, report, self.options.sizes.block_bits
            )
            sparse = is_sparse(survey.num_vertices, survey.num_entries)
            if compact or not (may_be_sparse and sparse):
                if may_be_sparse and not compact:
                    self._say_first_id(file, smallest or survey.smallest_end or 0)
                return _NumberedVertices(file, numbered, compact), survey
            self._say_compact(file)
            spool.remove()
            compact = True

    def _report(
        self, text: Callable[[int], str], pieces: Iterator[Piece]
    ) -> Iterator[Piece]:
        """Pass pieces on, and report progress."""
        done = 0
        for piece in pieces:
            done += len(piece)
            self.progress.stage(text(done))
            yield piece

    def _is_sparse(self, file: EdgeFile) -> bool:
        """Look at all ids, before vertices are ordered by number."""
        bound = entries = 0
        with self.comm.raise_on_all():
            for piece in share_pieces(self.comm, file):
                bound = max(bound, piece.num_vertices)
                entries += len(piece)
        sparse = is_sparse(*self.comm.combine((bound, entries), bound_and_total))
        if sparse:
            self._say_compact(file)
        return sparse

    def _say_first_id(self, file: EdgeFile, smallest: int) -> None:
        """Report vertices below all ids of a list without a number of vertices."""
        if smallest:
            self.progress.say(
                f"{file.name}: its {ids_begin_above_0(smallest)} (--compact-ids leaves "
                "out ids without an edge)"
            )

    def _say_compact(self, file: EdgeFile) -> None:
        self.progress.say(
            f"{file.name}: its ids are far apart, so they are names, which the graph "
            "keeps (--num-vertices N makes a vertex of every number)"
        )

    def _number_names(self, file: NamedEdgeFile) -> EdgeFile:
        """Return the file with numbers in place of names, and save the names."""
        comm, work = self.comm, self.options.work
        if self.options.num_vertices is not None:
            with comm.raise_on_all():
                raise ConfigError(
                    f"{file.name}: --num-vertices goes with vertices that are numbers, "
                    "and this file names them. Leave it out."
                )
        self.progress.stage("looking for names")
        save_names(comm, file, work, self._room(), self.options.sizes)
        with comm.raise_on_all():
            numbered = NumberedFile(file, work, self.options.sizes.slice_edges)
            about = _about_names(file, numbered.names)
        self.progress.say(about)
        return numbered

    def _number(self, file: EdgeFile, compact: bool) -> tuple[EdgeFile, int | None]:
        """Return the file with the vertices of the graph, and save their numbers.

        Also return the smallest end of all edges, if they had to be ordered.
        """
        comm, options, smallest = self.comm, self.options, None
        if compact:
            self.progress.stage("looking for vertices")
            bounded = self._with_numbers(file, compact=False, order=False)
            save_vertices(comm, bounded, options.work, self._room(), options.sizes)
        if options.reorder != "none":
            self.progress.stage(f"ordering vertices by {options.reorder}")
            with comm.raise_on_all():
                unordered = self._with_numbers(file, compact, order=False)
            smallest = save_order(comm, unordered, options.reorder, options.work)
        with comm.raise_on_all():
            return self._with_numbers(file, compact), smallest

    def _with_numbers(
        self, file: EdgeFile, compact: bool, order: bool = True
    ) -> EdgeFile:
        """Return the file with the vertices of the graph, whose numbers are saved."""
        if self.options.num_vertices is not None:
            file = BoundedFile(file, self.options.num_vertices)
        if compact:
            file = CompactFile(file, self.options.work, self.options.sizes.slice_edges)
        if order and self.options.reorder != "none":
            file = ReorderedFile(file, self.options.work)
        return file

    def _saved_numbers(self, file: EdgeFile | NamedEdgeFile) -> _NumberedVertices:
        """Return the file with the numbers that a killed run has saved."""
        work = self.options.work
        if isinstance(file, NameableFile) and (work / NAMES_KIND).exists():
            file = file.named(saved_kind(work))
        if isinstance(file, NamedEdgeFile):
            file = NumberedFile(file, work, self.options.sizes.slice_edges)
        compact = has_saved_vertices(work)
        return _NumberedVertices(file, self._with_numbers(file, compact), compact)

    def _vertex_ids(
        self, vertices: _NumberedVertices, num_vertices: int
    ) -> VertexIds | None:
        """Return the names or ids that the vertices of the graph have in the file."""
        options, file = self.options, vertices.given
        order = None if options.reorder == "none" else load_ids(options.work / ORDER)
        ids = load_vertices(options.work) if vertices.compact else None
        if file.names is not None:
            names: NameSource = file.names
            for positions in (ids, order):
                if positions is not None:
                    names = ReorderedNames(names, positions)
            return names
        first = file.first_id
        if ids is None:
            if order is not None:
                return OriginalIds(order + first, len(order), first)
            return IdRange(first, num_vertices) if first else None
        bound = options.num_vertices or file.num_vertices
        if bound is None:
            bound = 1 + int(ids[-1]) if len(ids) else 0
        return OriginalIds((ids if order is None else ids[order]) + first, bound, first)

    def _route(
        self,
        vertices: _NumberedVertices,
        spool: Spool,
        survey: Survey,
        run_files: ExitStack,
    ) -> tuple[Plan, bool]:
        """Plan, and write the arcs to run files by their buckets.

        Returns whether the run files are in memory, as long as `run_files` are open.
        """
        comm, options, file = self.comm, self.options, vertices.numbered
        total = max(1, survey.num_entries // comm.size)
        with comm.raise_on_all():
            check_vertices(file, survey.num_vertices, survey.num_entries)
        if file.both_directions and not (survey.symmetric or options.symmetrize):
            with comm.raise_on_all():
                if comm.rank == 0:
                    raise arc_without_reverse(vertices.given)
        arcs, size = built_size(survey, options.parts)
        self.progress.say(
            f"{file.name}: makes {counted(survey.num_vertices, 'vertex')} and at most "
            f"{counted(arcs, 'arc')}, {size_text(size)}"
            f"{' before --compress' * options.compress}"
        )
        with comm.raise_on_all():
            if comm.rank == 0:
                check_size(
                    survey, options.parts, file.name, options.out, options.compress
                )
        room = self._room()
        with comm.raise_on_all():
            plan = make_plan(
                survey,
                options.parts,
                room,
                options.memory,
                file.name,
                comm.size,
                options.maximum,
                options.sizes,
            )
        local_bytes = self._local_bytes(plan, file)
        in_memory = not plan.in_rows and self._fits(plan, local_bytes)
        if in_memory:
            plan = replace(plan, room=room - local_bytes)
        with comm.raise_on_all():
            if not plan.in_rows:
                since = time.monotonic()
                pieces = self._report(
                    lambda done: f"routing: {progress_text(done, total, since)}",
                    share_pieces(comm, file, spool, again=True),
                )
                run = open_run_file(options.work, comm.rank, in_memory)
                run_files.enter_context(run)
                work, room = options.work, plan.room
                route_arcs(plan, pieces, work, comm.rank, room, run, options.sizes)
            spool.remove()
        return plan, in_memory

    def _local_bytes(self, plan: Plan, file: EdgeFile) -> int:
        """Return the bytes of the arcs that this rank routes."""
        begin, end = share(self.comm, file)
        return plan.arc_bytes * (end - begin) // max(1, file.length)

    def _fits(self, plan: Plan, local_bytes: int) -> bool:
        """Return whether every rank can keep the arcs that it routes in memory.

        What `--restart` continues from must outlive the processes. Collective.
        """
        comm = self.comm
        if self.options.restart:
            return False
        space = process_space()
        is_shared = space == comm.bcast(space) and space is not None
        if not comm.min(int(is_shared)):
            return False
        short = comm.max(
            max(2 * local_bytes, local_bytes + 2 * plan.bucket_bytes) - plan.room
        )
        if short > 0:
            memory = sufficient_size(self.options.memory + short)
            self.progress.say(
                f"arcs of {size_text(plan.arc_bytes)} go through files beside the "
                f"graph; they stay in memory from --memory {memory} on"
            )
        return short <= 0

    def _room(self) -> int:
        """Return the bytes that every process may still take."""
        memory = self.options.memory
        with self.comm.raise_on_all():
            room = Budget(memory).room() - PARTITION_RESERVE
        room = self.comm.min(room)
        with self.comm.raise_on_all():
            if room <= 0:
                enough = sufficient_size(memory - room + 64 * MIB)
                raise ConfigError(
                    f"--memory {option_size(memory)} is less than a process takes "
                    f"before it begins. Give --memory {enough} or more."
                )
        return room


def build_shards(
    edges: Edges,
    out: str | Path,
    num_parts: int,
    overwrite: bool = False,
    inspect: Callable[[ShardedGraph], object] | None = None,
) -> ShardedGraph:
    """Write edges in memory as a sharded graph; see `partition`."""
    options = _in_memory(out, num_parts, overwrite)
    file = EdgesInMemory("edges", edges, True)
    return partition(SingleProcess(), file, options, inspect)


def check_new_graph(out: str | Path, num_parts: int, overwrite: bool) -> None:
    """Check, before edges are computed, that `build_shards` can begin."""
    options = _in_memory(out, num_parts, overwrite)
    options.check()
    check_output(options)


def _in_memory(out: str | Path, num_parts: int, overwrite: bool) -> Options:
    return Options(Path(out), num_parts, overwrite=overwrite, quiet=True)
