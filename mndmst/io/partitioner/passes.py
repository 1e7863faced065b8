"""The passes over an edge file: number its vertices, survey, plan, route and sort it.

The module of each pass describes it. If a killed run has left its plan
and its run files, only the passes after them run.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ...host.errors import ConfigError
from ...host.formatting import counted
from ...host.memory import Budget
from ...host.progress import Progress
from ..edge_file import EdgeFile, UnnumberedEndError, is_sparse
from ..named_edge_file import EndKinds, NameableFile, NamedEdgeFile
from ..names import NameSource, ReorderedNames, shown
from ..shards.shard_writer import OriginalIds, ShardWriter, VertexIds
from .arc_buckets import route_arcs
from .bucket_plan import Plan, built_size, check_size, check_vertices, make_plan
from .builders import Builders
from .edge_survey import (
    Spool,
    Survey,
    arc_without_reverse,
    own_pieces,
    share,
    survey_edges,
)
from .partition_run import (
    NAMES_KIND,
    ORDER,
    VERTICES,
    Options,
    RunProgress,
    RunStart,
    load_plan,
    record_of,
    remove_numbers,
    remove_work,
    save_plan,
)
from .vertex_numbering import (
    Bounded,
    Compact,
    Numbered,
    Renumbered,
    load_ids,
    save_names,
    save_order,
    save_vertices,
    saved_kind,
)
from .write_parts import UNNAMED, finish_graph, listed_rows, sorted_rows, write_parts

# What Python, compiled kernels and the buffers of files take while a bucket is sorted.
RESERVE = 48 << 20


def make_graph(
    builders: Builders,
    file: EdgeFile | NamedEdgeFile,
    options: Options,
    start: RunStart,
    progress: Progress,
) -> None:
    """Make the graph, or the parts that are missing. Collective.

    Parameters
    ----------
    start : RunStart
        As `prepare` returns it.
    """
    target, described = start.target, start.described
    routed = None
    if start.found is RunProgress.PLAN:
        with builders.raise_on_all():
            routed = load_plan(options.work, described)
    if routed is None:
        prepared = _prepare_any(builders, file, options, progress)
        routed = _route(builders, prepared, progress)
        with builders.raise_on_all():
            if builders.rank == 0:
                plan, runs = routed
                save_plan(options.work, described, plan, runs)
    else:
        prepared = _prepared_before(builders, file, options)
    given, numbered, options = prepared.given, prepared.numbered, prepared.options
    plan, runs = routed
    rows_of = partial(sorted_rows, plan, runs)
    if plan.in_rows:
        rows_of = partial(listed_rows, plan, numbered)
    writer = ShardWriter(
        target, plan.num_vertices, plan.weight_dtype, plan.vtxdist, UNNAMED,
        options.compress, _vertex_ids(given, options),
    )  # fmt: skip
    write_parts(builders, plan, writer, rows_of, options.work, progress)
    with builders.raise_on_all():
        if builders.rank == 0:
            record = record_of(described) if options.restart else None
            finish_graph(writer, options.work, record)
            remove_work(options.work, target.token)


@dataclass(frozen=True)
class Prepared:
    """An edge list whose vertices have their numbers in the graph.

    Attributes
    ----------
    given : EdgeFile
        With the numbers of the file or of names, which messages use.
    numbered : EdgeFile
        With the numbers of the graph.
    options : Options
        With `compact_ids` if ids are taken for names.
    surveyed : tuple of Spool and Survey, or None
        A copy of the edges and their survey; None if a plan exists already.
    """

    given: EdgeFile
    numbered: EdgeFile
    options: Options
    surveyed: tuple[Spool, Survey] | None = None


def _prepare_any(
    builders: Builders,
    file: EdgeFile | NamedEdgeFile,
    options: Options,
    progress: Progress,
) -> Prepared:
    """Number the vertices and survey all edges; ends in tables may be names."""
    if isinstance(file, NamedEdgeFile):
        return _prepare(
            builders, _named(builders, file, options, progress), options, progress
        )
    try:
        return _prepare(builders, file, options, progress)
    except UnnumberedEndError:
        if not isinstance(file, NameableFile) or options.num_vertices is not None:
            raise
        kinds = _kinds_of_ends(builders, file, options)
        if not kinds.are_names:
            raise
    named = _named(builders, file.named(kinds.kind), options, progress)
    return _prepare(builders, named, options, progress)


def _kinds_of_ends(
    builders: Builders, file: NameableFile, options: Options
) -> EndKinds:
    """Return the kinds of all ends, and remove files of a numbering by ids."""
    with builders.raise_on_all():
        remove_numbers(options.work, builders.rank)
        own = file.kinds_of_ends(*share(builders, file))
    kinds = EndKinds()
    for other in builders.allgather(own):
        kinds = kinds.with_other(other)
    return kinds


def _prepare(
    builders: Builders, file: EdgeFile, options: Options, progress: Progress
) -> Prepared:
    """Number the vertices and survey all edges."""
    if options.reorder != "none" and _may_be_sparse(file, options):
        options = _compact_if_sparse(builders, file, options, progress)
    numbered = _numbered(builders, file, options, progress)
    spool, survey = _survey(builders, numbered, options, progress)
    sparse = is_sparse(survey.num_vertices, survey.num_entries)
    if sparse and _may_be_sparse(file, options):
        options = _compact(file, options, progress)
        spool.remove()
        numbered = _numbered(builders, file, options, progress)
        spool, survey = _survey(builders, numbered, options, progress)
    return Prepared(file, numbered, options, (spool, survey))


def _prepared_before(
    builders: Builders, file: EdgeFile | NamedEdgeFile, options: Options
) -> Prepared:
    """Return the edge list that a killed run has prepared."""
    with builders.raise_on_all():
        if isinstance(file, NameableFile) and (options.work / NAMES_KIND).exists():
            file = file.named(saved_kind(options.work))
        if isinstance(file, NamedEdgeFile):
            file = Numbered(file, options.work)
        if (options.work / VERTICES).exists():
            options = replace(options, compact_ids=True)
        return Prepared(file, _with_numbers(file, options), options)


def _named(
    builders: Builders, file: NamedEdgeFile, options: Options, progress: Progress
) -> EdgeFile:
    """Return the file with numbers in place of names, and save the names."""
    if options.num_vertices is not None:
        with builders.raise_on_all():
            raise ConfigError(
                f"{file.name}: --num-vertices goes with vertices that are numbers, and "
                "this file names them. Leave it out."
            )
    progress.stage("looking for names")
    save_names(builders, file, options.work, _room(builders, options))
    with builders.raise_on_all():
        numbered = Numbered(file, options.work)
        ends = numbered.names.take(np.unique([0, len(numbered.names) - 1]))
        examples = map(shown, ends.texts() if len(numbered.names) else ())
    progress.say(
        f"{file.name}: its vertices have names ({file.kind}, from "
        f"{' to '.join(examples)}), which the graph keeps; their order numbers them"
    )
    return numbered


def _numbered(
    builders: Builders,
    file: EdgeFile,
    options: Options,
    progress: Progress,
) -> EdgeFile:
    """Return the file with the vertices of the graph, and save their numbers."""
    bounded = file
    if options.num_vertices is not None:
        bounded = Bounded(file, options.num_vertices)
    compact = bounded
    if options.compact_ids:
        progress.stage("looking for vertices")
        save_vertices(builders, bounded, options.work, _room(builders, options))
        with builders.raise_on_all():
            compact = Compact(bounded, options.work)
    if options.reorder != "none":
        progress.stage(f"ordering vertices by {options.reorder}")
        save_order(builders, compact, options.reorder, options.work)
    with builders.raise_on_all():
        return _with_numbers(file, options)


def _with_numbers(file: EdgeFile, options: Options) -> EdgeFile:
    """Return the file with the vertices of the graph, whose numbers are saved."""
    if options.num_vertices is not None:
        file = Bounded(file, options.num_vertices)
    if options.compact_ids:
        file = Compact(file, options.work)
    if options.reorder != "none":
        file = Renumbered(file, options.work)
    return file


def _vertex_ids(file: EdgeFile, options: Options) -> VertexIds | None:
    """Return the names or ids that the vertices of the graph have in the file."""
    if file.names is not None:
        return _kept_names(file.names, options)
    order = None if options.reorder == "none" else load_ids(options.work / ORDER)
    if not options.compact_ids:
        return None if order is None else OriginalIds(order, len(order))
    vertices = load_ids(options.work / VERTICES)
    bound = options.num_vertices or file.num_vertices
    if bound is None:
        bound = 1 + int(vertices[-1]) if len(vertices) else 0
    return OriginalIds(vertices if order is None else vertices[order], bound)


def _kept_names(names: NameSource, options: Options) -> NameSource:
    """Return the names of the vertices of the graph, in their order."""
    if options.compact_ids:
        names = ReorderedNames(names, load_ids(options.work / VERTICES))
    if options.reorder != "none":
        names = ReorderedNames(names, load_ids(options.work / ORDER))
    return names


def _room(builders: Builders, options: Options) -> int:
    """Return the bytes that every process may still take."""
    with builders.raise_on_all():
        room = Budget(options.memory).room() - RESERVE
    room = min(builders.allgather(room))
    with builders.raise_on_all():
        if room <= 0:
            raise ConfigError(
                f"--memory {options.memory:,} is less than a process takes before it "
                f"begins. Give {options.memory - room + (64 << 20):,} bytes or more."
            )
    return room


def _may_be_sparse(file: EdgeFile, options: Options) -> bool:
    """Return whether neither user nor header has set the number of vertices."""
    stated = options.num_vertices is not None or file.num_vertices is not None
    return not (options.compact_ids or stated or file.vertices_asked)


def _compact_if_sparse(
    builders: Builders, file: EdgeFile, options: Options, progress: Progress
) -> Options:
    """Look at all ids, before vertices are ordered by number, and return options."""
    bound = entries = 0
    with builders.raise_on_all():
        begin, end = share(builders, file)
        for piece in file.pieces(begin, end) if begin < end else ():
            bound = max(bound, piece.num_vertices)
            entries += len(piece)
    bounds, counts = zip(*builders.allgather((bound, entries)), strict=True)
    if is_sparse(max(bounds), sum(counts)):
        return _compact(file, options, progress)
    return options


def _compact(file: EdgeFile, options: Options, progress: Progress) -> Options:
    """Return options with `compact_ids`, and print a message."""
    progress.say(
        f"{file.name}: its ids are far apart, so they are names, which the graph keeps "
        "(--num-vertices N makes a vertex of every number)"
    )
    return replace(options, compact_ids=True)


def _told(
    progress: Progress, pieces: Iterator[Any], text: Callable[[int], str]
) -> Iterator[Any]:
    """Pass pieces on, and report progress."""
    done = 0
    for piece in pieces:
        done += len(piece)
        progress.stage(text(done))
        yield piece


def _survey(
    builders: Builders, file: EdgeFile, options: Options, progress: Progress
) -> tuple[Spool, Survey]:
    """Survey all edges; return a copy of them and the survey."""
    spool = Spool(options.work / f"spool-{builders.rank}")

    def reading(pieces: Iterator[Any]) -> Iterator[Any]:
        return _told(
            progress,
            pieces,
            lambda done: f"reading: {counted(done * builders.size, 'edge')}",
        )

    return spool, survey_edges(builders, file, spool, reading)


def _route(
    builders: Builders, prepared: Prepared, progress: Progress
) -> tuple[Plan, list[Path]]:
    """Plan, and write the arcs to run files by their buckets; return both."""
    given, file, options = prepared.given, prepared.numbered, prepared.options
    if prepared.surveyed is None:
        raise ValueError("the edges have not been looked at")
    spool, found = prepared.surveyed
    run = options.work / f"run-{builders.rank}"
    total = max(1, found.num_entries // builders.size)
    with builders.raise_on_all():
        check_vertices(file, found.num_vertices, found.num_entries)
    if file.both_directions and not (found.symmetric or options.symmetrize):
        with builders.raise_on_all():
            if builders.rank == 0:
                raise arc_without_reverse(given)
    _tell_size(builders, file, found, options, progress)
    room = _room(builders, options)
    with builders.raise_on_all():
        plan = make_plan(found, options.parts, room, file.name)
        if not plan.in_rows:
            pieces = own_pieces(builders, file, spool, again=True)
            routing = _told(
                progress, pieces, lambda done: f"routing: {100 * done // total} %"
            )
            route_arcs(plan, routing, run, room)
        spool.remove()
    return plan, [options.work / f"run-{rank}" for rank in range(builders.size)]


def _tell_size(
    builders: Builders,
    file: EdgeFile,
    found: Survey,
    options: Options,
    progress: Progress,
) -> None:
    """Print the plan, and check that the disk has room for it."""
    arcs, size = built_size(found, options.parts)
    progress.say(
        f"{file.name}: makes {counted(found.num_vertices, 'vertex')} and at most "
        f"{counted(arcs, 'arc')}, {size:,} "
        f"bytes{' before --compress' * options.compress}"
    )
    with builders.raise_on_all():
        if builders.rank == 0:
            out, compress = options.out, options.compress
            check_size(found, options.parts, file.name, out, compress)
