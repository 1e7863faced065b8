"""What the control groups of a process leave it of the memory.

Batch systems and containers bound a job so. The system tells how much of the whole
machine is free all the same, and ends a process that goes beyond its group's bound.
"""

import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple


class _Files(NamedTuple):
    """What a version of control groups calls its files."""

    limit: str
    usage: str
    cache: str


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
    left = sys.maxsize
    try:
        for root, group, files in _hierarchies(own, mounted):
            for path in (group, *group.parents):
                left = min(left, _left(root / path.relative_to("/"), files))
    except (OSError, ValueError):  # no such system, or not as we know it
        return left
    return left


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


def _left(group: Path, files: _Files) -> int:
    """Return what a group allows; sys.maxsize if it is not there, or has no bound."""
    try:
        limit, usage = ((group / name).read_text().strip() for name in files[:2])
        if limit == "max":
            return sys.maxsize
        counts = dict(map(str.split, (group / "memory.stat").read_text().splitlines()))
    except OSError:
        return sys.maxsize
    # Pages of files that nobody needs go before a process does.
    return max(0, int(limit) - int(usage) + int(counts.get(files.cache, 0)))
