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
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import ConfigError
from ...memory import Budget
from ...progress import Progress
from ..edge_file import EdgeFile, Rows
from ..layout import writing
from ..shard_writer import ShardWriter
from ..shards import ShardedGraph, open_graph
from .plan import Plan, check_size, make_plan
from .renumber import Renumbered, original_ids, save_order
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
        Go on where a run that was killed has ended.
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
        there is nothing to restart from.
    InputError
        If the file is damaged, or an arc has no twin where all should.
    OutputError
        If the output is not empty, has not enough room or cannot be written.
    """
    if options.parts < 1:
        raise ConfigError(f"a graph has at least 1 part, not {options.parts}")
    progress = Progress(team.rank == 0 and not options.quiet)
    with team.together():
        if team.rank == 0:
            ShardWriter.claim(options.out, options.overwrite)
            _prepare(options)
    routed = None
    if options.restart:
        with team.together():
            routed = _load_plan(options.work, _describe(file, options))
    try:
        if options.reorder != "none":
            if not routed:
                progress.stage(f"ordering vertices by {options.reorder}")
                save_order(team, file, options.reorder, options.work)
            with team.together():
                file = Renumbered(file, options.work)
        plan, runs = routed or _route(team, file, options, progress)
        rows_of = partial(sorted_rows, plan, runs)
        if plan.in_rows:
            rows_of = partial(listed_rows, plan, file)
        graph = _sorted(team, plan, rows_of, options, progress)
    except Exception:
        # What is left of a run that was killed can be used, of one that failed not
        if team.rank == 0:
            shutil.rmtree(options.work, ignore_errors=True)
        raise
    return graph


def _prepare(options: Options) -> None:
    """Make the directory for what is on the way."""
    with writing(options.work):
        if options.restart and (options.work / "plan.json").exists():
            return
        if options.restart:
            raise ConfigError(
                f"{options.work}: holds nothing to go on from. Run it without "
                "--restart."
            )
        shutil.rmtree(options.work, ignore_errors=True)
        options.work.mkdir(parents=True)


def _describe(file: EdgeFile, options: Options) -> dict[str, Any]:
    """Return what a restart must have in common with the run before."""
    return file.identity() | {
        "parts": options.parts,
        "symmetrize": options.symmetrize,
        "reorder": options.reorder,
    }


def _route(
    team: Team, file: EdgeFile, options: Options, progress: Progress
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
            _save_plan(options.work, _describe(file, options), plan, len(runs))
    return plan, runs


def _sorted(
    team: Team,
    plan: Plan,
    rows_of: Callable[[range], Iterator[Rows]],
    options: Options,
    progress: Progress,
) -> ShardedGraph:
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
                _write_json(done, sums)
    with team.together():
        if team.rank == 0:
            all_sums = [
                json.loads((options.work / f"part-{part}.json").read_text())
                for part in range(options.parts)
            ]
            sums = np.array(all_sums, np.uint64).sum(axis=0)
            writer.finish(_name_by_content(plan, sums, original))
            shutil.rmtree(options.work, ignore_errors=True)
    with team.together():
        return open_graph(options.out, check=False)


def _name_by_content(plan: Plan, sums: np.ndarray, original: np.ndarray | None) -> str:
    """Return a uuid that only the same rows and ids have, whatever the parts."""
    digest = hashlib.blake2b(digest_size=16)
    digest.update(f"{plan.num_vertices} {plan.weight_dtype.str} ".encode())
    digest.update(sums.astype("<u8").tobytes())
    if original is not None:
        digest.update(original.data)
    return str(uuid.UUID(bytes=digest.digest(), version=5))


def _save_plan(work: Path, described: dict[str, Any], plan: Plan, runs: int) -> None:
    fields = {
        name: value.tolist() if isinstance(value, np.ndarray) else value
        for name, value in asdict(plan).items()
    }
    fields["weight_dtype"] = plan.weight_dtype.name
    _write_json(
        work / "plan.json", {"described": described, "plan": fields, "runs": runs}
    )


def _load_plan(work: Path, described: dict[str, Any]) -> tuple[Plan, list[Path]]:
    kept = json.loads((work / "plan.json").read_text())
    before = kept["described"]
    if before != described:
        names = [n for n in before | described if before.get(n) != described.get(n)]
        what = ", ".join(f"{n} {before.get(n)}, not {described.get(n)}" for n in names)
        raise ConfigError(
            f"{work}: was left by a run with {what}. Give the same, or run it without "
            "--restart."
        )
    fields: dict[str, Any] = {
        name: np.array(value, np.int64) if isinstance(value, list) else value
        for name, value in kept["plan"].items()
    }
    fields["weight_dtype"] = np.dtype(fields["weight_dtype"])
    return Plan(**fields), [work / f"run-{rank}" for rank in range(kept["runs"])]


def _write_json(path: Path, value: Any) -> None:
    """Write a file that is whole or not there."""
    with writing(path):
        temporary = path.with_suffix(".tmp")
        temporary.write_text(json.dumps(value))
        temporary.rename(path)
