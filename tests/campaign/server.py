"""A process that runs commands of the program in copies of itself.

    python -m tests.campaign.server

Python and the program are loaded once, so that a command takes tenths of
a second. A line of JSON asks for a command (see `main`), another tells how it ended.
"""

import json
import os
import resource
import signal
import sys
import time
from typing import Any

import mndmst.pipeline  # noqa: F401
from mndmst.__main__ import main as run_command
from mndmst.cli import main as cli  # noqa: F401

# What a command that loses all measure may take of the machine.
MOST_BYTES = 6 << 30


def main() -> int:
    """Run commands until there are no more; in a copy, return a command's status.

    A command has `arguments`, `out` and `err`, files that it prints to, `seconds` that
    it may take, and `file_bytes`, how long the files may be that it writes.
    """
    for line in sys.stdin:
        command = json.loads(line)
        begin = time.monotonic()
        child = os.fork()
        if child == 0:
            become(command)
            return run_command(command["arguments"])
        status, usage = wait(child, begin + command["seconds"])
        ended = {"status": status, "seconds": time.monotonic() - begin}
        print(json.dumps(ended | {"peak": usage.ru_maxrss << 10}), flush=True)
    return 0


def become(command: dict[str, Any]) -> None:
    """Make this process one that was started for the command alone."""
    os.setsid()
    files = os.devnull, command["out"], command["err"]
    for number, name in enumerate(files):
        how = os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        os.dup2(os.open(name, how), number)
    sys.argv = ["mndmst", *command["arguments"]]
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_BYTES, MOST_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if command["file_bytes"] is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (command["file_bytes"],) * 2)


def wait(child: int, end: float) -> tuple[int | None, Any]:
    """Return a child's status, None past its time, and what it has used."""
    while time.monotonic() < end:
        found, status, usage = os.wait4(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status), usage
        time.sleep(0.005)
    os.killpg(child, signal.SIGKILL)
    _, _, usage = os.wait4(child, 0)
    return None, usage


if __name__ == "__main__":
    sys.exit(main())
