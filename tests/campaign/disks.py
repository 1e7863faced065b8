"""Outputs on disks that are full at a random moment: whole, or one clear line."""

import subprocess
import tempfile
from pathlib import Path

from .case import Case, CaseError, contents, expect
from .commands import Commands
from .results import Results
from .stock import copied, mounted, writings


def run_one(results: Results, case: Case, commands: Commands, stock: Path) -> None:
    """Write an output of a command to a small disk."""
    draw = case.draw()
    name, arguments = draw.choice(writings())
    kilobytes = int(2 ** draw.uniform(3, 8.5))
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        copied(stock, folder)
        disk = mounted(folder / "made", kilobytes)
        try:
            limit = None if disk else kilobytes << 10
            count = write(folder, name, arguments, commands, limit)
            results.add(case, f"{arguments[0]}: {count}")
        except CaseError as error:
            text = f"{' '.join(arguments)} with {kilobytes} KiB\n{error}"
            results.add(case, "failed", CaseError(text))
        finally:
            if disk:
                command = ["umount", str(folder / "made")]
                subprocess.run(command, capture_output=True, check=True)


def write(
    folder: Path,
    name: str,
    arguments: tuple[str, ...],
    commands: Commands,
    limit: int | None,
) -> str:
    """Run a command; return whether its output fits."""
    made = folder / "made"
    (made / "notes.json").write_text("a canary")
    before = contents(folder)
    command = [word.format(folder) for word in arguments]
    ended = commands.run(*command, file_bytes=limit)
    ended.check(str(made), str(made / name))
    after = contents(folder)
    lost = [path for path in before if after.get(path) != before[path]]
    expect(not lost, f"changed or removed: {lost}")
    if ended.status == 0:
        check_whole(made / name, folder, commands)
        return "it fits"
    expect(not (made / name).is_file(), f"{name} is there after an error")
    expect(not (made / name / "index.h5").exists(), "the graph has an index")
    left = [path for path in after if path not in before and "graph" not in path]
    expect(not left, f"left behind: {left}")
    return "a clear line"


def check_whole(path: Path, folder: Path, commands: Commands) -> None:
    """Check that the program can read what it has written."""
    if path.suffix == ".html":
        expect(path.read_text().rstrip().endswith("</html>"), "the page is cut short")
        return
    reading: tuple[object, ...] = ("info", path)
    if path.suffix == ".json":
        reading = ("report", path, "-o", folder / "page.html", "--overwrite")
    elif path.suffix not in ("", ".h5"):
        reading = ("partition", path, folder / "again", "-q")
    ended = commands.run(*reading)
    expect(ended.status == 0, f"{path.name} is not whole: {ended.err}")
