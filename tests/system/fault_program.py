"""The program with a fault at one moment of a run.

    fault_program.py FAULT RANK EVENT ARGUMENTS...

Every message between ranks, every file that is put on disk and every file that gets
its final name is an event. RANK suffers FAULT at its event number EVENT, or, where
that is the name of a function, when this is called, or, for some of those a run begins
with, after it; the fault `count` prints how many events every rank had, as JSON on
standard error.
"""

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import h5py

from mndmst import pipeline
from mndmst.__main__ import main
from mndmst.cli import main as cli
from mndmst.cli import ranks
from mndmst.comm import mpi_library, watchdog
from mndmst.comm.communicator import Comm
from mndmst.host.launcher import launched_rank
from mndmst.solver import part_graph
from mndmst.solver.merging.hosts import HostComponents
from mndmst.solver.merging.messages import MergeByMessages

FAULT, RANK, EVENT = sys.argv[1], int(sys.argv[2]), sys.argv[3]
events = 0


def kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def term() -> None:
    signal.pthread_kill(threading.main_thread().ident, signal.SIGTERM)


def usr1() -> None:
    signal.pthread_kill(threading.main_thread().ident, signal.SIGUSR1)


def stop() -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


def pause() -> None:
    """Stop, and be continued by another process when all have been told of it."""
    script = f"sleep 4; kill -CONT {os.getpid()}"
    subprocess.Popen(["sh", "-c", script], start_new_session=True)
    stop()


def fail() -> None:
    raise RuntimeError("unforeseen")


def starve() -> None:
    """Leave little memory but what the process has; compiled code needs some."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * 4096 + (8 << 20),) * 2)


def part() -> Path:
    return Path(sys.argv[2]) / "part-00002.h5"


def lose_a_part() -> None:
    part().unlink(missing_ok=True)


def cut_a_part() -> None:
    os.truncate(part(), part().stat().st_size // 2)


def replace_a_part() -> None:
    copy = Path(shutil.copy(part(), part().with_name("copy")))
    copy.rename(part())


def flip_a_byte() -> None:
    """Change a byte of the weights: one of an attribute may name another graph."""
    path = part()
    with h5py.File(path) as shard:
        weights = shard["graph/data"].id.get_chunk_info(0)
    with path.open("r+b") as file:
        place = file.seek(weights.byte_offset + weights.size // 2)
        byte = file.read(1)[0]
        file.seek(place)
        file.write(bytes([byte ^ 0x10]))


def count() -> None:
    pass


FAULTS = (
    *(kill, term, usr1, stop, pause, fail, starve, count),
    *(lose_a_part, cut_a_part, replace_a_part, flip_a_byte),
)


def count_calls(place: Any, name: str, rank: int) -> None:
    """Make every call of a function an event."""
    function = getattr(place, name)

    def call(*arguments: Any, **options: Any) -> Any:
        global events
        events += 1
        if rank == RANK and EVENT in (str(events), name):
            befall()
        return function(*arguments, **options)

    setattr(place, name, call)


def befall() -> None:
    """Let the rank suffer the fault."""
    next(fault for fault in FAULTS if fault.__name__ == FAULT)()


def after_call(place: Any, name: str) -> None:
    """Let the fault come at the end of a function that is called once."""
    function = getattr(place, name)

    def call(*arguments: Any, **options: Any) -> Any:
        result = function(*arguments, **options)
        befall()
        return result

    setattr(place, name, call)


def run() -> int:
    rank = launched_rank()
    for name, function in list(vars(Comm).items()):
        if callable(function) and not name.startswith("_") and name != "raise_on_all":
            count_calls(Comm, name, rank)
    count_calls(os, "fsync", rank)
    count_calls(Path, "replace", rank)
    count_calls(part_graph, "begin_read", rank)
    count_calls(MergeByMessages, "ind_comp", rank)
    count_calls(HostComponents, "hook_rows", rank)
    count_calls(pipeline, "write_forest", rank)
    begin = {
        "parse": cli,
        "Init_thread": mpi_library.load(),
        "watch": ranks,
        "part_graph": pipeline,
    }
    if rank == RANK and EVENT in begin:
        after_call(begin[EVENT], EVENT)
    if FAULT in ("stop", "pause"):
        watchdog.PACE = watchdog.Pace(beat=0.2, quiet=1.0)
    sys.argv[1:4] = []
    status = main()
    if FAULT == "count":
        sys.stderr.write(f"\n{json.dumps({'rank': rank, 'events': events})}\n")
    return status


if __name__ == "__main__":
    sys.exit(run())
