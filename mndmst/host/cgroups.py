"""How much memory the control groups of a process leave it.

Batch systems and containers limit a job by control groups. The system still reports the
free memory of the whole machine, and ends a process that exceeds its group's limit.
"""

import sys
from collections.abc import Iterator
from functools import cache
from itertools import starmap
from pathlib import Path, PurePosixPath
from typing import NamedTuple


class _Files(NamedTuple):
    """What a version of control groups calls its files."""

    limit: str
    usage: str
    cache: str


# The first version writes the largest number there is, in whole pages.
_NO_BOUND = 1 << 62
_ONE = _Files("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
_TWO = _Files("memory.max", "memory.current", "inactive_file")


def allowed_bytes(
    own: Path = Path("/proc/self/cgroup"), mounted: Path = Path("/sys/fs/cgroup")
) -> int:
    """Return how many more bytes the groups allow; sys.maxsize without a bound.

    Parameters
    ----------
    own : Path
        Lists the groups of this process.
    mounted : Path
        Where groups are told of. In a container it may begin at the process's own.
    """
    try:
        return min(starmap(_left, _bounded(own, mounted)), default=sys.maxsize)
    except (OSError, ValueError):  # no such system, or not as we know it
        return sys.maxsize


@cache
def _bounded(own: Path, mounted: Path) -> list[tuple[Path, _Files]]:
    """Return the groups of this process that bound memory: most often there is none."""
    return [
        (root / path.relative_to("/"), files)
        for root, group, files in _hierarchies(own, mounted)
        for path in (group, *group.parents)
        if _limit(root / path.relative_to("/"), files) < _NO_BOUND
    ]


def _hierarchies(
    own: Path, mounted: Path
) -> Iterator[tuple[Path, PurePosixPath, _Files]]:
    """Yield the roots of the groups that bound memory, and this process's below."""
    for line in own.read_text().splitlines():
        number, controllers, group = line.split(":", 2)
        if "memory" in controllers.split(","):
            yield mounted / "memory", PurePosixPath(group), _ONE
        elif number == "0":
            yield mounted, PurePosixPath(group), _TWO


def _limit(group: Path, files: _Files) -> int:
    """Return the bound of a group; _NO_BOUND if it has none, or is not there."""
    try:
        limit = (group / files.limit).read_text().strip()
    except OSError:
        return _NO_BOUND
    return _NO_BOUND if limit == "max" else int(limit)


def _left(group: Path, files: _Files) -> int:
    """Return what a group allows."""
    used = int((group / files.usage).read_text())
    counts = dict(map(str.split, (group / "memory.stat").read_text().splitlines()))
    # Pages of files that nobody needs go before a process does.
    return max(0, _limit(group, files) - used + int(counts.get(files.cache, 0)))
