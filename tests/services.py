"""A service on ranks, started and ended by tests, with a time limit."""

import csv
import io
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from processes import Run, command, finish, on_ranks, start

# A limit for what hangs: with an empty cache on a busy machine a start takes minutes.
SECONDS = 240


# In the services of tests a thread that calls MPI, and is not the main one, ends all.
GUARD = {"MNDMST_GUARD_MPI": "1"}


class Served:
    """A service that runs.

    Parameters
    ----------
    program : tuple
        Python's arguments before the command `serve`.

    Attributes
    ----------
    process : Popen
        The launcher.
    url, token_file : str
    """

    def __init__(
        self,
        folder: Path,
        ranks: int,
        *words: object,
        program: tuple[object, ...] = ("-m", "mndmst"),
    ) -> None:
        self.address = folder / "address"
        self.address.unlink(missing_ok=True)
        files = ("--address-file", self.address, "--token-file", folder / "token")
        serve = (*program, "serve", *words, *files)
        self.process = start(on_ranks(ranks, *serve), **GUARD)
        deadline = time.monotonic() + SECONDS
        while not self.address.exists():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.process.kill()
                pytest.fail(f"not served: {finish(self.process, 10)}")
            time.sleep(0.02)
        found = json.loads(self.address.read_text())
        self.url, self.token_file = found["url"], found["token_file"]

    def connect(self) -> Any:
        """Return a client."""
        from mndmst.service.client import connect

        return connect(self.url, token_file=self.token_file)

    def ranks(self) -> dict[int, int]:
        """Return the processes of the ranks."""
        found = {}
        for entry in Path("/proc").iterdir():
            if not entry.name.isdecimal():
                continue
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
                environment = (entry / "environ").read_bytes().split(b"\0")
            except OSError:
                continue
            rank = [word[9:] for word in environment if word.startswith(b"PMI_RANK=")]
            if str(self.address).encode() in words and rank:
                found[int(rank[0])] = int(entry.name)
        return found

    def wait_for_ranks_to_end(self) -> None:
        """Wait until no process of a rank is left; the launcher may end before them."""
        wait_until(lambda: not self.ranks(), "the ranks outlive the launcher")

    def kill(self) -> None:
        """End everything at once, as a machine that fails."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        for process in self.ranks().values():
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        with suppress(ValueError):  # its output has been read
            self.process.communicate()


def peak(service: Served, rank: int = 0) -> int:
    """Return the most bytes that a rank has had in memory so far."""
    status = Path(f"/proc/{service.ranks()[rank]}/status").read_text()
    (line,) = (line for line in status.splitlines() if line.startswith("VmHWM"))
    return 1024 * int(line.split()[1])


def wait_until(condition: Callable[[], object], otherwise: str) -> None:
    """Wait until a condition holds; fail after a long time."""
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline, otherwise
        time.sleep(0.02)


def client(service: Served, *words: object) -> Run:
    """Run `mndmst client`, as a user of the shell does."""
    return command("client", service.address, *words, timeout=60)


def rows(service: Served, *words: object) -> list[dict[str, str]]:
    """Return the table that `mndmst client` prints."""
    done = client(service, *words)
    assert done.returncode == 0, done
    return list(csv.DictReader(io.StringIO(done.stdout)))


def raw(service: Served, token: str | None = None) -> tuple[Any, Any]:
    """Return a bare client of Flight, and the options of its calls."""
    from pyarrow import flight

    if token is None:
        token = Path(service.token_file).read_text().strip()
    header = (b"authorization", f"Bearer {token}".encode())
    options = flight.FlightCallOptions(headers=[header], timeout=SECONDS)
    return flight.connect(service.url), options


@contextmanager
def served(folder: Path, ranks: int, *words: object) -> Iterator[Served]:
    """Serve graphs; end the service after the block, if nobody has."""
    service = Served(folder, ranks, *words)
    try:
        yield service
        if service.process.poll() is None:
            service.process.send_signal(signal.SIGTERM)
            done = finish(service.process, 30)
            assert done.returncode == 75, done
    finally:
        if service.process.poll() is None:
            service.process.send_signal(signal.SIGTERM)
            try:
                service.process.communicate(timeout=5)
            except subprocess.TimeoutExpired:
                service.kill()
