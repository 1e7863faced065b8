"""The working directory beside a graph, and which run owns it.

It holds an empty file whose name is the token of the run that made it. A directory
without one is not ours. Only files with the names we give are removed from it, so any
other file stays, and the directory with it.
"""

import os
import re
from contextlib import suppress
from pathlib import Path

from ...host.errors import OutputError
from ..file_errors import writing

PLAN, NAMING = "plan.json", "naming.json"
# The old number of each new one, and the other way; the ids that occur, ascending
ORDER, NEW_IDS, VERTICES = "order.npy", "new-id.npy", "vertices.npy"
# What the files of the names that occur begin with, and their kind
NAMES, NAMES_KIND = "names", "names.json"
_MARK = re.compile(r"mndmst-work-([0-9a-f]{16})")
_FILES = re.compile(
    r"(plan|naming|names|part-\d+)\.json|run-\d+\.(arcs|npy)|spool-\d+"
    r"|(order|new-id|vertices|vertices-\d+-\d+)\.npy|input(\.[a-z0-9-]+)+"
    r"|names(-\d+-\d+)?-(integers|text|begins)\.bin"
)
# What is added to a name, before or behind, while a file is written
_ON_THE_WAY = re.compile(r"^\.?(tmp-)?|[.-](tmp|[0-9a-f]{12,})(?=$|[.-])")


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
    """Make a directory that belongs to a run.

    Raises
    ------
    OutputError
        If there is one already that holds anything, or it cannot be made.
    """
    with writing(work):
        if os.path.lexists(work) and not _is_empty(work):
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
        for path in work.glob(f"vertices-{rank}-*.npy"):
            path.unlink()
        if rank == 0:
            for name in (VERTICES, ORDER, NEW_IDS):
                (work / name).unlink(missing_ok=True)


def remove_work(work: Path, token: str) -> None:
    """Remove the files of the run with a token, and then the directory.

    The plan goes first, for a restart needs all that comes with it, and the mark last.
    """
    if read_token(work) != token:
        return
    with suppress(OSError):
        for path in sorted(work.iterdir(), key=lambda path: path.name != PLAN):
            if _FILES.fullmatch(_ON_THE_WAY.sub("", path.name)):
                path.unlink()
        mark_of(work, token).unlink()
        work.rmdir()


def _is_empty(work: Path) -> bool:
    return work.is_dir() and not work.is_symlink() and not any(work.iterdir())
