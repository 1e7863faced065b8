"""A process that has loaded the program, and forks for each command that a test runs.

To start Python and to load the program takes most of a short command's time. A request
of `processes.CommandServer` has the working directory, the arguments, and two files for
the output. The answers are the number of the process, and then its exit status.
"""

import json
import os
import socket
import sys
from importlib import import_module

from mndmst import __main__ as program
from mndmst.host.launcher import prepare_environment

# Modules that commands load when they run
MODULES = (
    "cli.main", "cli.partition", "cli.convert", "cli.info", "cli.cluster",
    "io.partitioner.graph_recipe", "io.partitioner.partition", "io.file_info",
    "pipeline", "solver.merging.choose", "solver.part_graph", "certificate.certificate",
    "api.programs", "points.functions",
)  # fmt: skip


def serve(channel: socket.socket) -> None:
    """Run one command after the other, until the other end of the channel is closed."""
    while True:
        request, files, _, _ = socket.recv_fds(channel, 1 << 20, 2)
        if not request:
            return
        process = os.fork()
        if not process:
            channel.close()
            run(*json.loads(request), *files)
        for file in files:
            os.close(file)
        channel.send(str(process).encode())
        _, status = os.waitpid(process, 0)
        channel.send(str(os.waitstatus_to_exitcode(status)).encode())


def run(folder: str, arguments: list[str], out: int, error: int) -> None:
    """Run a command in this process, as `python -m mndmst` does."""
    os.setsid()
    os.dup2(out, 1)
    os.dup2(error, 2)
    os.chdir(folder)
    sys.argv = [program.__file__, *arguments]
    program.command()


if __name__ == "__main__":
    prepare_environment(matrices=False)
    for name in MODULES:
        import_module(f"mndmst.{name}")
    serve(socket.socket(fileno=int(sys.argv[1])))
