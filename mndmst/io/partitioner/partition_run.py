"""One run of `mndmst partition`: its options, its working directory, and its restart.

The working directory is beside the graph. It holds an empty file whose name is the
token of the run that made it; a directory without one is not ours. Only files with the
names we give are removed from it, so any other file stays, and the directory with it.

A restart continues a killed run, or finds a finished graph. The plan is in the working
directory as soon as all arcs are in buckets; each part that is done has a note there. A
run with `restart` also writes a record to the index of the graph, so that the same run
finds it finished when it is started again.
"""

import hashlib
import json
import os
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from enum import Enum
from pathlib import Path, PosixPath

import numpy as np

from ...comm.world import SingleProcess
from ...host.errors import ConfigError, InputError, OutputError
from ..atomic_output import whole_file
from ..edge_file import MAX_VERTICES, EntryFile
from ..file_access import MALFORMED, first_line, open_hdf5, read_attribute, writing
from ..output_kinds import INDEX_NAME
from ..shards.graph_directory import (
    GRAPH_FORMAT,
    MADE_FROM,
    Destination,
    new_token,
    no_new_folders,
)
from .arc_buckets import Plan
from .edge_survey import SIZES, BufferSizes
from .graph_lock import check_early, locked

PLAN, NAMING = "plan.json", "naming.json"
# The old number of each new one, and the other way
ORDER, NEW_IDS = "order.npy", "new-id.npy"
# Beginnings of the files of ids and of names, and the file of the names' kind
VERTICES, NAMES, NAMES_KIND = "vertices", "names", "names.json"
_MARK = re.compile(r"mndmst-work-([0-9a-f]{16})")
_FILES = re.compile(
    r"(plan|naming|names|part-\d+)\.json|run-\d+\.(arcs|npy)|spool-\d+"
    r"|(order|new-id)\.npy|input(\.[a-z0-9-]+)+"
    r"|(vertices|names)(-\d+-\d+)?-(integers|text|begins)\.bin"
)
STANDARD_INPUT = "standard input"
_INPUT_PIECE = 1 << 20
# First bytes of packed files
_PACKED = {b"\x1f\x8b": ".gz", b"\xfd7zXZ\0": ".xz", b"(\xb5/\xfd": ".zst"}
# Additions to a name, before or behind, while a file is written
_ON_THE_WAY = re.compile(r"^\.?(tmp-)?|[.-](tmp|[0-9a-f]{12,})(?=$|[.-])")


@dataclass(frozen=True)
class Options:
    """Options of `mndmst partition`."""

    out: Path  # directory to make
    parts: int = 1
    memory: int = 4 << 30  # bytes that each process may hold
    # Accept a file of a format with both directions that lists edges in one only
    symmetrize: bool = False
    reorder: str = "none"  # one of `vertex_numbering.ORDERS`
    # As in `Destination` and `ShardWriter`
    overwrite: bool = False
    compress: bool = False
    # Continue where a run that was killed has ended, if there is one; a graph that the
    # same run has finished stays
    restart: bool = False
    quiet: bool = False  # write nothing to standard error
    # How many vertices there are; by default as the file says, or one more than its
    # largest id
    num_vertices: int | None = None
    # Make a graph of the vertices that occur, in the order of their ids
    compact_ids: bool = False
    # Keep the heaviest of parallel edges: a graph for maximum forests
    maximum: bool = False
    sizes: BufferSizes = SIZES

    @property
    def resolved(self) -> Path:
        """The output without links in its path."""
        return Path(os.path.realpath(self.out))

    @property
    def work(self) -> Path:
        """The directory for intermediate files."""
        return self.resolved.with_name(f"{self.resolved.name}.partition-work")

    def check(self) -> None:
        """Raise ConfigError for an invalid option."""
        if self.parts < 1:
            raise ConfigError(f"--parts {self.parts}: give 1 or more")
        if not self.resolved.name:
            raise ConfigError(f"{self.out}: give a directory below it.")
        if not 0 <= (self.num_vertices or 0) <= MAX_VERTICES:
            raise ConfigError(
                f"--num-vertices {self.num_vertices}: give a number from 0 to 2^48."
            )


def part_note(work: Path, part: int) -> Path:
    """Return the path of the note that a part is complete, with the part's sums."""
    return work / f"part-{part}.json"


def mark_of(work: Path, token: str) -> Path:
    """Return the path of the empty file that marks a run's directory."""
    return work / f"mndmst-work-{token}"


def read_token(work: Path) -> str | None:
    """Return the token of the run that has made a directory; None if none of ours."""
    if work.is_symlink() or not work.is_dir():
        return None
    with writing(work):
        marks = [m for path in work.iterdir() if (m := _MARK.fullmatch(path.name))]
    return marks[0][1] if len(marks) == 1 else None


def make_work(work: Path, token: str) -> None:
    """Make a directory that belongs to a run."""
    with writing(work):
        empty = work.is_dir() and not work.is_symlink() and not any(work.iterdir())
        if os.path.lexists(work) and not empty:
            raise OutputError(
                f"{work}: is the name of the working directory, but holds "
                "files that mndmst has not made. Move it away."
            )
        work.mkdir(exist_ok=True)
        mark_of(work, token).touch(exist_ok=False)


def remove_numbers(work: Path, rank: int) -> None:
    """Remove a rank's files of ids, which have proved to be names."""
    with writing(work):
        (work / f"spool-{rank}").unlink(missing_ok=True)
        for path in work.glob(f"{VERTICES}-{rank}-*.bin"):
            path.unlink()
        if rank == 0:
            for name in (f"{VERTICES}-integers.bin", ORDER, NEW_IDS):
                (work / name).unlink(missing_ok=True)


def remove_work(work: Path, token: str) -> None:
    """Remove the files of the run with a token, and then the directory."""
    if read_token(work) != token:
        return
    with suppress(OSError):
        # The plan first, for a restart needs all that comes with it, and the mark last
        for path in sorted(work.iterdir(), key=lambda path: path.name != PLAN):
            if _FILES.fullmatch(_ON_THE_WAY.sub("", path.name)):
                path.unlink()
        mark_of(work, token).unlink()
        work.rmdir()


class RunProgress(Enum):
    """The progress of an earlier, killed run."""

    NOTHING = "nothing"
    PLAN = "plan"
    GRAPH = "graph"


@dataclass(frozen=True)
class RunStart:
    """The point from which a run starts."""

    progress: RunProgress
    target: Destination  # the directory that the graph goes to
    described: dict[
        str, object
    ]  # the input and the options that the graph is made from


def describe(file: EntryFile, options: Options) -> dict[str, object]:
    """Return the input and the options; a restart must have the same."""
    described = file.identity() | {
        "parts": options.parts,
        "symmetrize": options.symmetrize,
        "reorder": options.reorder,
    }
    if options.num_vertices is not None:
        described["num_vertices"] = options.num_vertices
    if options.compact_ids:
        described["compact_ids"] = True
    if options.maximum:
        described["maximum"] = True
    return described


def check_direction(file: EntryFile, options: Options) -> None:
    """Refuse a graph for maximum forests as input of a graph for minimum forests."""
    if file.maximum and not options.maximum:
        raise ConfigError(
            f"{file.name}: was made with --maximum, and of parallel edges it has the "
            "heaviest. Give --maximum here, too, or make a graph for minimum forests "
            "from the file that it was made of."
        )
    if file.maximum is False and options.maximum:
        raise ConfigError(
            f"{file.name}: is a graph for minimum forests, and of parallel edges it "
            "has the lightest. Give --maximum with the file that it was made of."
        )


def record_of(described: dict[str, object]) -> str:
    """Return a digest of the input and the options of a graph."""
    text = json.dumps(described, sort_keys=True).encode()
    return hashlib.blake2b(text, digest_size=16).hexdigest()


def check_output(options: Options) -> None:
    """Refuse a directory that is in the way; `prepare` decides after a killed run."""
    if not options.restart and read_token(options.work) is None:
        check_early(Destination(options.out, options.overwrite), options.parts)


def prepare(
    options: Options, described: dict[str, object], has_locks: bool
) -> RunStart:
    """Prepare the directories, and return the point to start from."""
    token = read_token(options.work)
    record = _record_in(options.out) if options.restart else None
    if record == record_of(described):
        target = Destination(options.out, options.overwrite)
        if token is not None and has_locks:
            remove_work(options.work, token)
        return RunStart(RunProgress.GRAPH, target, described)
    if token is None:
        target = Destination(options.out, options.overwrite)
        if record is not None and not options.overwrite:
            by = "from another file or with other options"
            if not record:
                by = "by a run without --restart, which notes no input"
            raise OutputError(
                f"{options.out}: has a finished graph, made {by}, so --restart cannot "
                "tell that it is the one wanted. Keep that graph, give --overwrite to "
                "replace it, or give another directory."
            )
        target.claim(options.parts)
        make_work(options.work, target.token)
        return RunStart(RunProgress.NOTHING, target, described)
    before = Destination(options.out, options.overwrite, token, _naming(options.work))
    if options.restart and (options.work / PLAN).exists():
        load_plan(options.work, described)
        if before.is_finished(options.parts):
            remove_work(options.work, token)
            return RunStart(RunProgress.GRAPH, before, described)
        before.claim(options.parts)
        return RunStart(RunProgress.PLAN, before, described)
    if not has_locks:
        raise OutputError(
            f"{options.work}: is of a run that was killed, or is still at work; the "
            "file system has no locks to tell. If none is, remove the directory."
        )
    return RunStart(RunProgress.NOTHING, _begin_anew(options, before), described)


def _record_in(out: Path) -> str | None:
    """Return a finished graph's record, maybe empty; None if there is no graph."""
    with suppress(*MALFORMED, InputError), open_hdf5(out / INDEX_NAME) as file:
        if read_attribute(file, "format") == GRAPH_FORMAT:
            return str(read_attribute(file, MADE_FROM) or "")
    return None


def _begin_anew(options: Options, before: Destination) -> Destination:
    """Claim the directories of a killed run, and remove its files."""
    target = Destination(options.out, options.overwrite)
    if options.overwrite:
        before.abandon()
    target.claim(options.parts)
    give_up(options.work, before)
    make_work(options.work, target.token)
    return target


def give_up(work: Path, target: Destination) -> None:
    """Remove all that a run which has ended has made."""
    replace(target, uuid=_naming(work)).abandon()
    remove_work(work, target.token)


def _naming(work: Path) -> str | None:
    """Return the uuid of the graph whose files a run was giving their names."""
    with suppress(OSError, ValueError):
        return str(json.loads((work / NAMING).read_text()))
    return None


def save_plan(work: Path, described: dict[str, object], plan: Plan) -> None:
    """Save the plan of a graph that is made of the described input."""
    fields = {
        name: value.tolist() if isinstance(value, np.ndarray) else value
        for name, value in asdict(plan).items()
    }
    fields["weight_dtype"] = plan.weight_dtype.name
    write_json(work / PLAN, {"described": described, "plan": fields})


def load_plan(work: Path, described: dict[str, object]) -> Plan:
    """Return a plan that was saved."""
    try:
        saved = json.loads((work / PLAN).read_text())
        before, plan = saved["described"], _plan_of(saved["plan"])
    except MALFORMED as error:
        raise ConfigError(
            f"{work / PLAN}: is damaged ({first_line(error)}). Run without --restart."
        ) from error
    if before != described:
        names = [n for n in before | described if before.get(n) != described.get(n)]
        what = ", ".join(f"{n} {before.get(n)}, not {described.get(n)}" for n in names)
        raise ConfigError(
            f"{work}: was left by a run with {what}. Give the same, or run it without "
            "--restart."
        )
    return plan


def _plan_of(saved: dict[str, object]) -> Plan:
    fields: dict[str, object] = {
        name: np.array(value, np.int64) if isinstance(value, list) else value
        for name, value in saved.items()
    }
    fields["weight_dtype"] = np.dtype(str(fields["weight_dtype"]))
    return Plan(**fields)  # type: ignore[arg-type]


def write_json(path: Path, value: object) -> None:
    """Write a file that is whole or not there."""
    with whole_file(path) as temporary:
        temporary.write_text(json.dumps(value))


class InputCopy(PosixPath):
    """The path of a copy of standard input, which messages name instead."""

    def __str__(self) -> str:
        return STANDARD_INPUT

    def __fspath__(self) -> str:
        return super().__str__()


@contextmanager
def stored_input(out: Path, format: str | None) -> Iterator[Path]:
    """Copy standard input to a file beside an output, and remove it after the block."""
    # Edges are read twice, and by several processes. The run holds a lock on the
    # copy's directory, so a directory that is there before is of a killed run. Packed
    # input is known by its first bytes.
    source = sys.stdin.buffer
    first = source.read(_INPUT_PIECE)
    packed = (suffix for mark, suffix in _PACKED.items() if first.startswith(mark))
    resolved = Path(os.path.realpath(out))
    work, token = resolved.with_name(f"{resolved.name}.input-work"), new_token()
    path = work / f"input.{format or 'txt'}{next(packed, '')}"
    with no_new_folders(resolved), locked(SingleProcess(), work, out):
        before = read_token(work)
        if before is not None:
            remove_work(work, before)
        make_work(work, token)
        try:
            with writing(work), path.open("xb") as copy:
                copy.write(first)
                shutil.copyfileobj(source, copy, _INPUT_PIECE)
            yield InputCopy(path)
        finally:
            remove_work(work, token)
