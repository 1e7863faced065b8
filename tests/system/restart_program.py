"""Partitions that are killed at random moments, and go on until they are done.

    restart_program.py FOLDER KILLS SEED

Each is a fork of this process, so that one takes no longer than the work itself. It is
killed at one of the calls that it makes, or after a random time, its worker as likely
as itself; then it is started again, sometimes to be killed again. In between a graph is
whole or not there, files of others stay as they are, and in the end the graph is the
one that an undisturbed run makes, with nothing else left. Prints how many were killed.
"""

import os
import shutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import h5py
import numpy as np

from mndmst.host.errors import MndmstError
from mndmst.io.edge_file import Edges
from mndmst.io.formats import open_edges, write_edges
from mndmst.io.partitioner.forked_processes import run_forked
from mndmst.io.partitioner.partition import partition
from mndmst.io.partitioner.partition_run import Options
from mndmst.io.partitioner.random_graphs import open_random
from mndmst.io.partitioner.vertex_numbering import symmetric_rows
from mndmst.io.shards.graph_directory import MADE_FROM
from mndmst.io.shards.sharded_graph import open_graph

CANARIES = ("notes.txt", "part-00099.h5", "part-00001.h5.tmp", "graph.tmp")
CHAIN = 4  # kills of one run, one after the other
WATCHED = os.sep + "mndmst" + os.sep


class Case(NamedTuple):
    """A partition: what of, how, and what comes of it in how many calls and seconds."""

    open: Callable[[], Any]
    options: dict[str, Any]
    digest: dict[str, Any] | None = None
    calls: int = 0
    seconds: float = 0.0


def cases(folder: Path) -> list[Case]:
    rng = np.random.default_rng(4)
    ends = rng.integers(0, 900, (2, 4000)).astype(np.uint32)
    edges = Edges(900, *ends, rng.integers(0, 50, 4000).astype(np.int32), True)
    write_edges(edges, folder / "edges.gr")
    rows = symmetric_rows(edges)
    columns = (np.array([900, len(rows[1])]), *rows)
    content = b"".join(column.astype("<i4").tobytes() for column in columns)
    (folder / "rows.egr").write_bytes(content)
    rows_of_text = zip(*ends.tolist(), edges.weight.tolist(), strict=True)
    far = (f"{u * 10**7} {v * 10**7} {w}\n" for u, v, w in rows_of_text)
    (folder / "far.txt").write_text("".join(far))

    def opened(name: str) -> Callable[[], Any]:
        return lambda: open_edges(folder / name)

    return [
        Case(opened("edges.gr"), {}),
        Case(opened("edges.gr"), {"overwrite": True, "compress": True}),
        Case(opened("rows.egr"), {"overwrite": True}),
        Case(opened("edges.gr"), {"reorder": "degree"}),
        Case(opened("far.txt"), {"compact_ids": True, "overwrite": True}),
        Case(lambda: open_random("gnm", 3, n=900, m=4000), {}),
    ]


def held(path: Path) -> dict[str, Any]:
    """Return all that the files of a graph hold but who made them."""
    found: dict[str, Any] = {}

    def add(name: str, item: Any) -> None:
        attributes = {key: str(value) for key, value in item.attrs.items()}
        attributes.pop(MADE_FROM, None)
        content = item[:].tobytes() if isinstance(item, h5py.Dataset) else b""
        found[f"{file.filename[len(str(path)) :]} {name}"] = (attributes, content)

    for part in [*sorted(path.glob("part-0000?.h5")), path / "index.h5"]:
        with h5py.File(part) as file:
            add("/", file)
            file.visititems(add)
    return found


def canaries(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): path.read_text()
        for name in CANARIES
        for path in folder.rglob(name)
    }


def run(case: Case, out: Path, jobs: int, stop_at: int = 0, **options: Any) -> int:
    """Make the graph in a fork that ends at one of its calls; return its id."""
    child = os.fork()
    if child:
        return child
    calls = 0

    def count(frame: Any, event: str, _: Any) -> None:
        nonlocal calls
        if event != "return" and WATCHED in frame.f_code.co_filename:
            calls += 1
            if calls == stop_at:
                os.kill(os.getpid(), signal.SIGKILL)

    status = 1
    try:
        given = Options(out, **{"parts": 5, "quiet": True, **case.options, **options})
        sys.setprofile(count)
        run_forked(jobs, partition, case.open(), given)
        sys.setprofile(None)
        (out.parent / "calls").write_text(str(calls))
        status = 0
    except MndmstError as error:
        sys.stderr.write(f"{error}\n")
    finally:
        os._exit(status)


def measured(case: Case, folder: Path) -> Case:
    """Return a case with the graph of an undisturbed run, its calls and its time."""
    began = time.monotonic()
    assert os.waitpid(run(case, folder / "graph", 1), 0)[1] == 0
    seconds = time.monotonic() - began
    calls = int((folder / "calls").read_text())
    digest = held(folder / "graph")
    shutil.rmtree(folder / "graph")
    (folder / "calls").unlink()
    return case._replace(digest=digest, calls=calls, seconds=seconds)


def check_between(folder: Path, planted: dict[str, str]) -> None:
    """What holds whenever a run has been killed."""
    assert canaries(folder) == planted
    if (folder / "graph/index.h5").exists():
        open_graph(folder / "graph")


def campaign(case: Case, folder: Path, rng: np.random.Generator) -> int:
    """Kill a run, and runs that go on; let one end. Return how many were killed."""
    out = folder / "graph"
    if case.options.get("overwrite"):
        old = Case(lambda: open_random("gnm", 5, n=70, m=90), {"parts": 7})
        os.waitpid(run(old, out, 1), 0)
        (folder / "calls").unlink()
        for name in CANARIES:
            (out / name).write_text(name)
    for name in CANARIES:
        (folder / name).write_text(name)
    planted = canaries(folder)
    killed = 0
    for _ in range(int(rng.integers(1, CHAIN + 1))):
        jobs, stop_at = int(rng.integers(1, 3)), 0
        by_time = bool(rng.integers(2))
        if not by_time:
            stop_at = int(rng.integers(1, case.calls))
        child = run(case, out, jobs, stop_at, restart=True)
        if by_time:
            time.sleep(rng.random() * case.seconds)
            os.kill(child, signal.SIGKILL)
        killed += os.WIFSIGNALED(os.waitpid(child, 0)[1])
        check_between(folder, planted)
    status = os.waitpid(run(case, out, int(rng.integers(1, 3)), restart=True), 0)[1]
    assert status == 0, sorted(path.name for path in folder.rglob("*"))
    assert held(out) == case.digest
    assert canaries(folder) == planted
    left = {path.name for path in folder.iterdir()} - {"calls"}
    assert left == {*CANARIES, "graph"}, left
    parts = {path.name for path in out.iterdir()} - {*CANARIES}
    assert parts == {"index.h5", *(f"part-0000{part}.h5" for part in range(5))}, parts
    return killed


def main() -> None:
    folder, kills, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    (folder / "files").mkdir()
    (folder / "run").mkdir()
    known = [measured(case, folder / "run") for case in cases(folder / "files")]
    killed = turn = 0
    while killed < kills:
        rng = np.random.default_rng([seed, turn])
        place = folder / f"{seed}-{turn}"
        place.mkdir()
        killed += campaign(known[turn % len(known)], place, rng)
        shutil.rmtree(place)
        turn += 1
    print(f"{killed} kills of {turn} partitions")


if __name__ == "__main__":
    main()
