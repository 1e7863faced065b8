"""From an edge file of any size to shards, in bounded memory, by many processes.

1. Survey: every process reads a share of the file and counts the ends of edges by
   blocks of vertices. Text and packed files are kept as arrays meanwhile.
2. Plan: the counts cut the vertices into parts, and parts into buckets that fit into
   memory. All processes make the same plan.
3. Route: every arc is written to the bucket of its row, and so is its reverse, unless
   the survey has found every edge listed in both directions. Where it has found them
   in the order of rows too, as CSR files list them, a bucket is a range of the file.
4. Sort: every process sorts the buckets of some parts and writes these.

Intermediate files are in a directory beside the output. They stay there if the
processes are killed; a restart then makes the parts that are missing.
"""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from ...host.errors import ConfigError
from ...host.memory import Budget
from ...host.progress import Progress
from ..destination import Destination
from ..edge_file import EdgeFile
from ..shard_writer import OriginalIds, ShardWriter
from ..shards import ShardedGraph, open_graph
from .lock import locked
from .options import Options
from .parts import UNNAMED, finish_graph, write_parts
from .plan import Plan, built_size, check_size, check_vertices, make_plan
from .renumber import Renumbered, save_order
from .restart import (
    Found,
    check_place,
    describe,
    give_up,
    load_plan,
    prepare,
    record_of,
    save_plan,
)
from .route import route_arcs
from .sort import listed_rows, sorted_rows
from .spool import Spool
from .survey import Survey, own_pieces, survey_edges
from .team import Team
from .twins import lonely_arc
from .vertices import Bounded, Compact, load_ids, save_vertices
from .work import ORDER, VERTICES, remove_work

__all__ = ["Options", "check_place", "partition"]

# What Python, compiled kernels and the buffers of files take while a bucket is sorted.
RESERVE = 48 << 20


def partition(team: Team, file: EdgeFile, options: Options) -> ShardedGraph:
    """Make shards of an edge file. Collective.

    The graph is the same for every number of processes and any memory.

    Returns
    -------
    ShardedGraph
        Its uuid is derived from the contents.

    Raises
    ------
    ConfigError
        If the memory does not suffice, there are far more parts than vertices, or
        another run has left what there is to go on from.
    InputError
        If the file is damaged, an arc has no reverse where all should, or there are far
        more vertices than its edges can name.
    OutputError
        If the output is not empty, has not enough room or cannot be written, or
        another run is writing there.
    """
    with team.raise_on_all():
        options.check()
    progress = Progress(team.rank == 0 and not options.quiet)
    with locked(team, options.place, options.out) as has_locks:
        if not has_locks:
            progress.say(
                f"{options.out}: its file system has no locks, so another run that "
                "writes a graph there is not noticed"
            )
        # Copies of the file on several machines may have been made at several times.
        described = team.allgather(describe(file, options))[0]
        found, target = _begin(team, options, described, has_locks)
        if options.restart:
            progress.say(_text(found, options))
        if found is Found.GRAPH:
            return _made(team, options)
        try:
            _make(team, file, options, (found, target, described), progress)
        except Exception as error:
            # What is left of a run that was killed can be used, of one that failed not;
            # but where one process fails alone, others may still be writing
            if team.rank == 0 and getattr(error, "ranks", 1) == team.size:
                give_up(options.work, target)
            raise
        return _made(team, options)


def _begin(
    team: Team, options: Options, described: dict[str, Any], has_locks: bool
) -> tuple[Found, Destination]:
    """Make the directories ready; return what a restart finds there."""
    begun: tuple[Found, Destination] | None = None
    with team.raise_on_all():
        if team.rank == 0:
            begun = prepare(options, described, has_locks)
    found, target = team.allgather(begun)[0]
    return found, target


def _text(found: Found, options: Options) -> str:
    return {
        Found.NOTHING: "nothing to go on from: begins anew",
        Found.PLAN: f"goes on from {options.work}",
        Found.GRAPH: f"{options.out} is finished already",
    }[found]


def _made(team: Team, options: Options) -> ShardedGraph:
    with team.raise_on_all():
        return open_graph(options.out, check=False)


def _make(
    team: Team,
    file: EdgeFile,
    options: Options,
    begun: tuple[Found, Destination, dict[str, Any]],
    progress: Progress,
) -> None:
    """Make the graph, or what is missing of it.

    Parameters
    ----------
    begun : tuple
        What there is to go on from, where the graph goes, and what it is made of.
    """
    found, target, described = begun
    routed = None
    if found is Found.PLAN:
        with team.raise_on_all():
            routed = load_plan(options.work, described)
    numbered = _numbered(team, file, options, bool(routed), progress)
    if routed is None:
        routed = _route(team, (file, numbered), options, progress)
        with team.raise_on_all():
            if team.rank == 0:
                save_plan(options.work, described, *routed)
    plan, runs = routed
    rows_of = partial(sorted_rows, plan, runs)
    if plan.in_rows:
        rows_of = partial(listed_rows, plan, numbered)
    writer = ShardWriter(
        target, plan.num_vertices, plan.weight_dtype, plan.vtxdist, UNNAMED,
        options.compress, _original_ids(file, options),
    )  # fmt: skip
    write_parts(team, plan, writer, rows_of, options.work, progress)
    with team.raise_on_all():
        if team.rank == 0:
            record = record_of(described) if options.restart else None
            finish_graph(writer, options.work, record)
            remove_work(options.work, target.token)


def _numbered(
    team: Team, file: EdgeFile, options: Options, saved: bool, progress: Progress
) -> EdgeFile:
    """Return the file with the vertices of the graph, and save their numbers."""
    if options.num_vertices is not None:
        file = Bounded(file, options.num_vertices)
    if options.compact_ids:
        if not saved:
            progress.stage("looking for vertices")
            save_vertices(team, file, options.work, _room(team, options))
        with team.raise_on_all():
            file = Compact(file, options.work)
    if options.reorder != "none":
        if not saved:
            progress.stage(f"ordering vertices by {options.reorder}")
            save_order(team, file, options.reorder, options.work)
        with team.raise_on_all():
            file = Renumbered(file, options.work)
    return file


def _original_ids(file: EdgeFile, options: Options) -> OriginalIds | None:
    """Return the ids that the vertices of the graph have in the file."""
    order = None if options.reorder == "none" else load_ids(options.work / ORDER)
    if not options.compact_ids:
        return None if order is None else OriginalIds(order, len(order))
    vertices = load_ids(options.work / VERTICES)
    bound = options.num_vertices or file.num_vertices
    if bound is None:
        bound = 1 + int(vertices[-1]) if len(vertices) else 0
    return OriginalIds(vertices if order is None else vertices[order], bound)


def _room(team: Team, options: Options) -> int:
    """Return the bytes that every process may still take."""
    with team.raise_on_all():
        room = Budget(options.memory).room() - RESERVE
    room = min(team.allgather(room))
    with team.raise_on_all():
        if room <= 0:
            raise ConfigError(
                f"--memory {options.memory:,} is less than a process takes before it "
                f"begins. Give {options.memory - room + (64 << 20):,} bytes or more."
            )
    return room


def _route(
    team: Team, files: tuple[EdgeFile, EdgeFile], options: Options, progress: Progress
) -> tuple[Plan, list[Path]]:
    """Plan, and write the arcs to run files by their buckets; return both.

    Parameters
    ----------
    files : tuple of EdgeFile
        With the original ids, which messages name, and with those of the graph.
    """
    given, file = files
    spool = Spool(options.work / f"spool-{team.rank}")
    run = options.work / f"run-{team.rank}"

    def told(pieces: Iterator[Any], text: Callable[[int], str]) -> Iterator[Any]:
        done = 0
        for piece in pieces:
            done += len(piece)
            progress.stage(text(done))
            yield piece

    def reading(pieces: Iterator[Any]) -> Iterator[Any]:
        return told(pieces, lambda done: f"reading: {done * team.size:,} edges")

    found = survey_edges(team, file, spool, reading)
    total = max(1, found.num_entries // team.size)
    with team.raise_on_all():
        check_vertices(file, found.num_vertices, found.num_entries)
    if file.both_directions and not (found.symmetric or options.symmetrize):
        with team.raise_on_all():
            if team.rank == 0:
                raise lonely_arc(given)
    _tell_size(team, file, found, options, progress)
    room = _room(team, options)
    with team.raise_on_all():
        plan = make_plan(found, options.parts, room, file.name)
        if not plan.in_rows:
            pieces = own_pieces(team, file, spool, again=True)
            routing = told(pieces, lambda done: f"routing: {100 * done // total} %")
            route_arcs(plan, routing, run, room)
        spool.remove()
    return plan, [options.work / f"run-{rank}" for rank in range(team.size)]


def _tell_size(
    team: Team, file: EdgeFile, found: Survey, options: Options, progress: Progress
) -> None:
    """Say what will be made, and make sure that there is room for it."""
    arcs, size = built_size(found, options.parts)
    progress.say(
        f"{file.name}: makes {found.num_vertices:,} vertices and at most {arcs:,} "
        f"arcs, {size:,} bytes{' before --compress' * options.compress}"
    )
    with team.raise_on_all():
        if team.rank == 0:
            out, compress = options.out, options.compress
            check_size(found, options.parts, file.name, out, compress)
