"""Print the coverage of each room, and the lines that no test executes.

`python tests/coverage_by_room.py FILE.json` reads the report of `coverage json`. A room
is a folder or module directly below the package.
"""

import json
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path


def ranges(lines: Sequence[int]) -> Iterator[str]:
    """Yield ascending lines as ranges, such as 3 or 7-9."""
    begin = end = None
    for line in (*lines, None):
        if end is not None and line == end + 1:
            end = line
            continue
        if begin is not None:
            yield str(begin) if begin == end else f"{begin}-{end}"
        begin = end = line


def main(path: Path) -> None:
    """Print the table, and then the missing lines, files with most of them first."""
    files = json.loads(path.read_text())["files"]
    rooms: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for name, file in files.items():
        room = rooms[Path(name).parts[1]]
        room[0] += file["summary"]["num_statements"]
        room[1] += file["summary"]["missing_lines"]
    print(f"{'room':24}{'statements':>12}{'missing':>9}{'covered':>9}")
    for room, (count, missing) in sorted(rooms.items()):
        print(f"{room:24}{count:12}{missing:9}{1 - missing / max(1, count):9.1%}")
    for name, file in sorted(files.items(), key=lambda f: -len(f[1]["missing_lines"])):
        if file["missing_lines"]:
            print(f"{name}: {', '.join(ranges(file['missing_lines']))}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
