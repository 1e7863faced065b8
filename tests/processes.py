"""Starting processes with a time limit, alone and on MPI ranks."""

import atexit
import json
import os
import platform
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from contextlib import closing
from functools import cache
from pathlib import Path
from tempfile import TemporaryFile
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parent.parent
EMULATED_CUDA = str(ROOT / "tests" / "emulated_cuda")
# Open MPI needs to be told that root and more ranks than cores are welcome.
OVERSUBSCRIBE = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}
# What outer launchers leave would confuse the launchers of the tests, and what
# workers of pytest-xdist have would make one of a pytest that a test starts.
LAUNCHER_PREFIXES = (
    "PMI", "PMIX_", "HYDRA_", "OMPI_COMM_", "OMPI_UNIVERSE_", "SLURM_", "PYTEST_XDIST_",
)  # fmt: skip


# The environment in which the tests began
BEFORE = dict(os.environ)


class Run(NamedTuple):
    """How a process has ended."""

    returncode: int
    stdout: str
    stderr: str

    @property
    def result(self) -> dict[str, str]:
        """The fields of the RESULT line that ends the output of `solve`."""
        kind, *fields = self.stdout.strip().splitlines()[-1].split()
        assert kind == "RESULT", self
        return dict(field.split("=", 1) for field in fields)


def environment(variables: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment of a process that is started, by default from this one."""
    inherited = {
        name: value
        for name, value in (os.environ if variables is None else variables).items()
        if not name.startswith(LAUNCHER_PREFIXES)
    }
    emulated = [EMULATED_CUDA] if EMULATED_CUDA in sys.path else []
    paths = os.pathsep.join([str(ROOT), *emulated])
    return inherited | OVERSUBSCRIBE | {"PYTHONPATH": paths}


def no_emulated_cuda() -> str:
    """Return why CUDA cannot be emulated on this machine, or nothing."""
    if shutil.which("g++") is None:
        return "no g++ compiles kernels"
    if platform.machine() != "x86_64" or sys.platform != "linux":
        return "the emulator switches between threads on x86-64 Linux"
    return ""


def with_emulated_cuda() -> dict[str, str]:
    """Return the variables of processes that find CUDA's emulation."""
    return {"PYTHONPATH": os.pathsep.join((EMULATED_CUDA, str(ROOT)))}


def start(command: list[str], **more: str) -> subprocess.Popen[bytes]:
    """Start a command in a process group of its own."""
    return subprocess.Popen(
        command,
        env=environment() | more,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def python(*arguments: object) -> list[str]:
    """Return the command that runs Python with the arguments."""
    return [sys.executable, *map(str, arguments)]


def finish(process: subprocess.Popen[bytes], timeout: float) -> Run:
    """Wait for a process; past the time limit end its whole group and fail."""
    try:
        streams = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        # A launcher that is asked first takes its ranks with it.
        os.killpg(process.pid, signal.SIGTERM)
        try:
            streams = process.communicate(timeout=3)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            streams = process.communicate()
        text = b"\n".join(streams).decode(errors="replace")
        pytest.fail(f"still running after {timeout} s: {process.args}\n{text}")
    except KeyboardInterrupt:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    return ended(process.returncode, *streams)


def ended(status: int, *streams: bytes) -> Run:
    """Return how a process has ended."""
    # Some launchers put NUL bytes between the lines of the ranks, or end with a code
    # that resets the terminal's colours.
    out, err = (re.sub(rb"\0|\x1b\[0m", b"", s).decode() for s in streams)
    return Run(status, out, err)


def on_ranks(ranks: int, *arguments: object) -> list[str]:
    """Return the command that runs Python with the arguments on some ranks."""
    beside = Path(sys.executable).with_name("mpirun")
    launcher = str(beside) if beside.exists() else shutil.which("mpirun")
    if launcher is None:
        pytest.fail("no mpirun: install the extra 'mpi', or load the site's MPI")
    return [launcher, "-n", str(ranks), *python(*arguments)]


class CommandServer:
    """A process that has loaded the program, and forks for each command."""

    def __init__(self) -> None:
        # That of the test at hand may differ, and would keep others from the server.
        self.environment = comparable(environment(BEFORE))
        self._channel, other = socket.socketpair(type=socket.SOCK_SEQPACKET)
        program = python(ROOT / "tests" / "command_server.py", other.fileno())
        with closing(other):
            self._process = subprocess.Popen(
                program,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[other.fileno()],
            )

    def run(self, words: list[str], timeout: float) -> Run:
        """Run a command; past the time limit end it and fail."""
        with TemporaryFile() as out, TemporaryFile() as error:
            request = json.dumps([str(Path.cwd()), words]).encode()
            files = [out.fileno(), error.fileno()]
            socket.send_fds(self._channel, [request], files)
            process = self._answer()
            try:
                status = self._answer(timeout)
            except BaseException as late:
                os.killpg(process, signal.SIGKILL)
                self._answer()
                if isinstance(late, TimeoutError):
                    pytest.fail(f"still running after {timeout} s: {words}")
                raise
            for file in (out, error):
                file.seek(0)
            return ended(status, out.read(), error.read())

    def _answer(self, timeout: float | None = None) -> int:
        self._channel.settimeout(timeout)
        return int(self._channel.recv(64))

    def close(self) -> None:
        """End the process."""
        self._channel.close()
        self._process.wait()


@cache
def command_server() -> CommandServer:
    """Return the one server of this process."""
    server = CommandServer()
    atexit.register(server.close)
    return server


def command(*arguments: object, timeout: float = 150, **more: str) -> Run:
    """Run a command of the program without mpirun: `command("info", path)`.

    It runs in a fork, whose BLAS has one thread; if `more` or the test changes the
    environment, in a new process.
    """
    words = list(map(str, arguments))
    server = command_server()
    if comparable(environment() | more) != server.environment:
        return finish(start(python("-m", "mndmst", *words), **more), timeout)
    return server.run(words, timeout)


def comparable(variables: dict[str, str]) -> dict[str, str]:
    """Return an environment without the name of the test that runs."""
    return {k: v for k, v in variables.items() if k != "PYTEST_CURRENT_TEST"}


# What the first process of a user writes to stderr if it takes seconds
FIRST_USES = (
    "mndmst: compiling kernels, once on this machine\n",
    "Matplotlib is building the font cache; this may take a moment.\n",
)


def without_first_uses(stderr: str) -> str:
    """Return the text of stderr without the lines on caches that are filled."""
    for line in FIRST_USES:
        stderr = stderr.replace(line, "")
    return stderr
