"""From an edge file of any size to shards, in bounded memory, by many processes.

1. Survey: every process reads a share of the file and counts the ends of edges by
   blocks of vertices. Text and packed files are kept as arrays on the way.
2. Plan: the counts cut the vertices into parts, and parts into buckets that fit into
   memory. All processes make the same plan.
3. Route: every arc is written to the bucket of its row, and so is its twin, unless
   the survey has found every edge listed in both directions. Where it has found them
   in the order of rows too, as CSR files list them, a bucket is a range of the file.
4. Sort: every process sorts the buckets of some parts and writes these.

What is on the way lies in a directory beside the output. It stays there if the
processes are killed; a restart then goes on with the parts that are missing.
"""

import hashlib
import json
import shutil
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ...host.errors import ConfigError
from ...host.memory import Budget
from ...host.progress import Progress
from ..edge_file import EdgeFile, Rows
from ..shard_writer import ShardWriter
from ..shards import ShardedGraph, open_graph
from .plan import Plan, check_size, make_plan
from .renumber import Renumbered, original_ids, save_order
from .restart import (
    Found,
    describe,
    load_plan,
    prepare,
    record_of,
    save_plan,
    write_json,
)
from .route import route_arcs
from .sort import listed_rows, sorted_rows, write_part
from .spool import Spool
from .survey import own_pieces, survey_edges
from .team import Team
from .twins import lonely_arc

# What Python, compiled kernels and the buffers of files take while a bucket is sorted.
RESERVE = 48 << 20


@dataclass(frozen=True)
class Options:
    """How to partition.

    Attributes
    ----------
    out : Path
        Directory to make.
    parts : int
    memory : int
        Bytes that each process may hold.
    symmetrize : bool
        Take a file that should list every edge in both directions as one that lists
        it in any.
    reorder : str
        One of `renumber.ORDERS`.
    overwrite, compress : bool
        As in `ShardWriter`.
    restart : bool
        Go on where a run that was killed has ended, if there is one; a graph that the
        same run has finished stays.
    quiet : bool
        Say nothing on standard error.
    """

    out: Path
    parts: int = 1
    memory: int = 1 << 30
    symmetrize: bool = False
    reorder: str = "none"
    overwrite: bool = False
    compress: bool = False
    restart: bool = False
    quiet: bool = False

    @property
    def work(self) -> Path:
        """The directory for what is on the way."""
        return self.out.with_name(f"{self.out.name}.partition-work")


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
        If the file is damaged, or an arc has no twin where all should.
    OutputError
        If the output is not empty, has not enough room or cannot be written.
    """
    with team.together():
        if options.parts < 1:
            raise ConfigError(f"a graph has at least 1 part, not {options.parts}")
    progress = Progress(team.rank == 0 and not options.quiet)
    # Copies of the file on several machines may have been made at several times.
    described = team.everyone(describe(file, options))[0]
    found = _begin(team, options, described, progress)
    if found is Found.GRAPH:
        return _made(team, options)
    routed = None
    if found is Found.PLAN:
        with team.together():
            routed = load_plan(options.work, described)
    record = record_of(described) if options.restart else None
    try:
        if options.reorder != "none":
            if not routed:
                progress.stage(f"ordering vertices by {options.reorder}")
                save_order(team, file, options.reorder, options.work)
            with team.together():
                file = Renumbered(file, options.work)
        plan, runs = routed or _route(team, file, options, progress, described)
        rows_of = partial(sorted_rows, plan, runs)
        if plan.in_rows:
            rows_of = partial(listed_rows, plan, file)
        _sort(team, plan, rows_of, options, progress, record)
    except Exception:
        # What is left of a run that was killed can be used, of one that failed not
        if team.rank == 0:
            shutil.rmtree(options.work, ignore_errors=True)
        raise
    return _made(team, options)


def _begin(
    team: Team, options: Options, described: dict[str, Any], progress: Progress
) -> Found:
    """Make the directories ready; return, and say, what a restart finds there."""
    found = Found.NOTHING
    with team.together():
        if team.rank == 0:
            found = prepare(options, described)
    found = team.everyone(found)[0]
    if options.restart:
        progress.say(
            {
                Found.NOTHING: "nothing to go on from: begins anew",
                Found.PLAN: f"goes on from {options.work}",
                Found.GRAPH: f"{options.out} is finished already",
            }[found]
        )
    return found


def _made(team: Team, options: Options) -> ShardedGraph:
    with team.together():
        return open_graph(options.out, check=False)


def _route(
    team: Team,
    file: EdgeFile,
    options: Options,
    progress: Progress,
    described: dict[str, Any],
) -> tuple[Plan, list[Path]]:
    """Plan, and write the arcs to run files by their buckets; return both."""
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
    if file.both_directions and not (found.symmetric or options.symmetrize):
        with team.together():
            if team.rank == 0:
                raise lonely_arc(file.file if isinstance(file, Renumbered) else file)
    with team.together():
        if team.rank == 0:
            out, compress = options.out, options.compress
            check_size(found, options.parts, file.name, out, compress)
    room = Budget(options.memory).room() - RESERVE
    room = min(team.everyone(room))
    with team.together():
        if room <= 0:
            raise ConfigError(
                f"--memory {options.memory:,} is less than a process takes before it "
                f"begins. Give {options.memory - room + (64 << 20):,} bytes or more."
            )
        plan = make_plan(found, options.parts, room, file.name)
        if not plan.in_rows:
            pieces = own_pieces(team, file, spool, again=True)
            routing = told(pieces, lambda done: f"routing: {100 * done // total} %")
            route_arcs(plan, routing, run, room)
        spool.remove()
    runs = [options.work / f"run-{rank}" for rank in range(team.size)]
    with team.together():
        if team.rank == 0:
            save_plan(options.work, described, plan, len(runs))
    return plan, runs


def _sort(
    team: Team,
    plan: Plan,
    rows_of: Callable[[range], Iterator[Rows]],
    options: Options,
    progress: Progress,
    record: str | None,
) -> None:
    """Write all parts that are not there yet, and the index."""
    unnamed = str(uuid.UUID(int=0))
    original = None if options.reorder == "none" else original_ids(options.work)
    writer = ShardWriter(
        options.out, plan.num_vertices, plan.weight_dtype, plan.vtxdist, unnamed,
        options.overwrite, options.compress, original,
    )  # fmt: skip
    with writer, team.together():
        for part in range(team.rank, options.parts, team.size):
            progress.stage(f"sorting: part {part} of {options.parts}")
            done = options.work / f"part-{part}.json"
            if not done.exists():
                sums = write_part(plan, writer, part, rows_of)
                write_json(done, sums)
    with team.together():
        if team.rank == 0:
            all_sums = [
                json.loads((options.work / f"part-{part}.json").read_text())
                for part in range(options.parts)
            ]
            sums = np.array(all_sums, np.uint64).sum(axis=0)
            writer.finish(_name_by_content(plan, sums, original), record)
            shutil.rmtree(options.work, ignore_errors=True)


def _name_by_content(plan: Plan, sums: np.ndarray, original: np.ndarray | None) -> str:
    """Return a uuid that only the same rows and ids have, whatever the parts."""
    digest = hashlib.blake2b(digest_size=16)
    digest.update(f"{plan.num_vertices} {plan.weight_dtype.str} ".encode())
    digest.update(sums.astype("<u8").tobytes())
    if original is not None:
        digest.update(original.data)
    return str(uuid.UUID(bytes=digest.digest(), version=5))
