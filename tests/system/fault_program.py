"""The program with a fault at one moment of a run.

    fault_program.py FAULT RANK EVENT ARGUMENTS...

Every message between ranks, every file that is put on disk and every file that gets
its final name is an event. RANK suffers FAULT at its event number EVENT, or, where
that is the name of a function, when this is called; the fault `count` prints how many
events every rank had, as JSON on standard error.
"""

import json
import os
import resource
import signal
import sys
from pathlib import Path
from typing import Any

from mndmst import pipeline
from mndmst.__main__ import main
from mndmst.comm.communicator import Comm
from mndmst.comm.launcher import launched_rank
from mndmst.merging.messages import Messages
from mndmst.merging.shared import Together
from mndmst.steps import part_graph

FAULT, RANK, EVENT = sys.argv[1], int(sys.argv[2]), sys.argv[3]
events = 0


def kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def term() -> None:
    os.kill(os.getpid(), signal.SIGTERM)


def usr1() -> None:
    os.kill(os.getpid(), signal.SIGUSR1)


def fail() -> None:
    raise RuntimeError("unforeseen")


def starve() -> None:
    """Leave little memory but what the process has; compiled code needs some."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * 4096 + (8 << 20),) * 2)


def lose_a_part() -> None:
    (Path(sys.argv[2]) / "part-00002.h5").unlink()


def flip_a_byte() -> None:
    path = Path(sys.argv[2]) / "part-00002.h5"
    content = bytearray(path.read_bytes())
    for place in range(len(content) // 4, len(content), 997):
        content[place] ^= 0x10
    with path.open("r+b") as file:
        file.write(content)


def count() -> None:
    pass


FAULTS = (kill, term, usr1, fail, starve, lose_a_part, flip_a_byte, count)


def count_calls(place: Any, name: str, rank: int) -> None:
    """Make every call of a function an event."""
    function = getattr(place, name)

    def call(*arguments: Any, **options: Any) -> Any:
        global events
        events += 1
        if rank == RANK and EVENT in (str(events), name):
            next(fault for fault in FAULTS if fault.__name__ == FAULT)()
        return function(*arguments, **options)

    setattr(place, name, call)


def run() -> int:
    rank = launched_rank()
    for name, function in list(vars(Comm).items()):
        if callable(function) and not name.startswith("_") and name != "together":
            count_calls(Comm, name, rank)
    count_calls(os, "fsync", rank)
    count_calls(Path, "replace", rank)
    count_calls(part_graph, "read_rows", rank)
    count_calls(Messages, "ind_comp", rank)
    count_calls(Together, "hook_rows", rank)
    count_calls(pipeline, "write_forest", rank)
    sys.argv[1:4] = []
    status = main()
    if FAULT == "count":
        sys.stderr.write(f"\n{json.dumps({'rank': rank, 'events': events})}\n")
    return status


if __name__ == "__main__":
    sys.exit(run())
