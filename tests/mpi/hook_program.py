"""The command with another command line, whose ranks fail as the arguments say.

    hook_program.py KIND [RANK]

The chosen rank, or every rank, fails; the others wait for it in a barrier.
"""

import os
import signal
import sys
import time
from types import ModuleType

from mndmst.__main__ import command
from mndmst.comm.world import world
from mndmst.host.errors import InputError
from mndmst.host.launcher import launched_rank

ARGUMENTS = sys.argv[1:]


def fail(argv: list[str] | None) -> int:
    """Take the place of `mndmst.cli.main`."""
    kind, *rank = ARGUMENTS
    if kind == "early":
        raise InputError("graph: missing")
    if kind == "early-interrupt" and launched_rank() == int(rank[0]):
        raise KeyboardInterrupt
    comm = world()
    sys.stdout.write("working\n")  # in one piece, unlike print
    sys.stdout.flush()
    culprit = int(rank[0]) if rank else comm.rank
    if kind == "together":
        with comm.raise_on_all():
            if comm.rank == culprit:
                raise InputError("part 2: damaged")
    elif comm.rank == culprit:
        stop(kind)
    comm.barrier()
    return 0


def stop(kind: str) -> None:
    """End this rank in the way named."""
    if kind == "alone":
        raise InputError("part 2: damaged")
    if kind == "bug":
        raise ValueError("unforeseen")
    if kind == "interrupt":
        raise KeyboardInterrupt
    if kind == "interrupt-twice":
        time.sleep = lambda seconds: os.kill(os.getpid(), signal.SIGINT)
        raise KeyboardInterrupt
    if kind == "kill":
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    sys.modules["mndmst.cli.main"] = ModuleType("mndmst.cli.main")
    sys.modules["mndmst.cli.main"].main = fail  # type: ignore[attr-defined]
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may ignore it
    del sys.argv[1:]
    command()
