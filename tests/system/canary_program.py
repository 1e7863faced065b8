"""Run a command many times, killed or failing, among files that it must not touch.

    canary_program.py FOLDER KILLS FULL SEED ARGUMENTS...

The command runs in FOLDER. Every file that it opens to write, makes, renames or removes
there is an event. It runs once whole, then KILLS times, killed before a random event,
then FULL times with a random limit to the length of files, as on a full disk.
What every run has come to is printed as a line of JSON: how it ran, its status, its
events, what it said, and which canaries have changed.
"""

import json
import os
import resource
import shutil
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from mndmst.__main__ import main

NAMES = (
    *("lock", "manifest.json", "notes.json", "old-forest.h5", "x-00000.h5"),
    *("part-00000.h5.tmp", "index.h5.tmp", "0123456789ab-00000.h5", "run-0.npy"),
)
OUTPUTS = (
    *("forest.h5", "labels.h5", "clusters.h5", "clusters.png", "run.json", "a.html"),
    *("trace.json", "edges.gr", "edges.parquet", "points.npy", "shards"),
    "mndmst-checkpoint.json",
)
SHAPES = ("tmp-{}", "{}.tmp", ".{}.tmp", "{}.tmp-report", "{}.tmp-0123456789ab", "{}~")
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
CHANGES = ("os.rename", "os.remove", "os.mkdir", "os.truncate", "os.link", "os.rmdir")

Seen = dict[str, tuple[Any, ...]]


def plant(folder: Path, seed: int) -> None:
    """Put canaries in a directory: every other one is a link to a precious file."""
    names = [*NAMES, *(shape.format(name) for shape in SHAPES for name in OUTPUTS)]
    precious = folder / "precious"
    precious.write_text("precious")
    for number, name in enumerate(names, start=seed):
        if number % 2:
            (folder / name).symlink_to(precious)
        else:
            (folder / name).write_text(f"precious {name}")


def seen(folder: Path) -> Seen:
    """Return all that can be seen of the files in a folder."""
    found: Seen = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        facts = (status.st_ino, status.st_mode)
        if path.is_symlink():
            found[str(path)] = (*facts, str(path.readlink()))
        elif path.is_file():
            found[str(path)] = (*facts, status.st_mtime_ns, path.read_bytes())
        else:
            found[str(path)] = facts
    return found


def clean(folder: Path, before: Seen) -> None:
    """Remove what a run has left."""
    for name in sorted(seen(folder).keys() - before.keys()):
        path = Path(name)
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def watch(folder: Path, last: int, events: list[str]) -> None:
    """Note every change to the folder; kill the process before the last one."""

    def note(event: str, details: tuple[Any, ...]) -> None:
        if event == "open":
            name, _, flags = details
            if not isinstance(name, str | os.PathLike) or not flags & WRITING:
                return
        elif event in CHANGES:
            name = details[0]
        else:
            return
        if isinstance(name, int):
            name = Path(f"/proc/self/fd/{name}").readlink()
        if Path(os.fsdecode(name)).absolute().is_relative_to(folder):
            events.append(event)
            if len(events) == last:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(note)


def run(folder: Path, arguments: list[str], last: int, nbytes: int) -> dict[str, Any]:
    """Run the command in a process of its own; return what it has come to."""
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as count:
        child = os.fork()
        if child == 0:
            os.dup2(output.fileno(), 1)
            os.dup2(output.fileno(), 2)
            os.chdir(folder)
            events: list[str] = []
            watch(folder, last, events)
            if nbytes:
                resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
                _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
                resource.setrlimit(resource.RLIMIT_FSIZE, (nbytes, hard))
            sys.argv[1:] = arguments
            status = main(arguments)
            count.write(str(len(events)))
            count.flush()
            sys.exit(status)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        output.seek(0)
        count.seek(0)
        events_seen = int(count.read() or 0)
        return {"status": status, "events": events_seen, "text": output.read()[-3000:]}


def campaign(
    folder: Path, kills: int, full: int, seed: int, arguments: list[str]
) -> None:
    """Run the command whole, killed and without room."""
    before = seen(folder)
    generator = np.random.default_rng(seed)

    def attempt(kind: str, last: int = 0, nbytes: int = 0) -> dict[str, Any]:
        found = {"kind": kind} | run(folder, arguments, last, nbytes)
        after = seen(folder)
        found["harmed"] = [
            name
            for name, facts in before.items()
            if after.get(name, ())[: len(facts)] != facts
        ]
        clean(folder, before)
        print(json.dumps(found), flush=True)
        return found

    events = attempt("whole")["events"]
    for _ in range(kills):
        attempt("killed", last=int(generator.integers(1, events + 1)))
    for _ in range(full):
        attempt("full", nbytes=int(generator.integers(4096, 20_000)))


if __name__ == "__main__":
    where, *numbers = sys.argv[1:5]
    campaign(Path(where).resolve(), *map(int, numbers), sys.argv[5:])
