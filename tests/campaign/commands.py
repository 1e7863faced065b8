"""Commands of the program under limits, and what each may end with."""

import json
import subprocess
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

from processes import environment, python

from .case import expect

SECONDS = 120  # of a command that has to compile kernels
MOST_BYTES = 1 << 30


class Ended(NamedTuple):
    """How a command has ended; a status below 0 is a signal, None too many seconds."""

    status: int | None
    out: str
    err: str
    seconds: float
    peak: int

    def errors(self) -> list[str]:
        """Return the lines that name an error."""
        return [line for line in self.err.splitlines() if "mndmst: error:" in line]

    def check(self, *names: str) -> None:
        """Check that it ended well, or with one clear line with one of the names.

        Raises
        ------
        CaseError
            If not.
        """
        expect(self.status is not None, f"still running after {SECONDS} s")
        expect(self.peak <= MOST_BYTES, f"{self.peak >> 20} MiB were held")
        if self.status == 0:
            return
        expect(self.status == 1, f"status {self.status}: {self.err[-2000:]}")
        expect("Traceback" not in self.err, self.err[-2000:])
        told = self.out.rpartition("VERDICT ")[2].startswith("refuted")
        expect(len(self.errors()) == (not told), f"not one line: {self.err[-2000:]}")
        named = any(name in line for line in self.errors() for name in names)
        expect(told or named, f"no file is named: {self.err[-2000:]}")


class Commands:
    """Runs commands, one after the other, in copies of a process (`server.py`)."""

    def __init__(self, folder: Path) -> None:
        self._files = folder / "out", folder / "err"
        self._server: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> "Commands":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._server is not None:
            self._server.stdin.close()
            self._server.wait()
            self._server.stdout.close()

    def run(
        self,
        *arguments: object,
        file_bytes: int | None = None,
        seconds: float = SECONDS,
    ) -> Ended:
        """Run a command; where files have a limit, let them be no longer.

        It is killed after `seconds`.
        """
        if self._server is None:
            command = python("-m", "tests.campaign.server")
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
            self._server = subprocess.Popen(command, env=environment(), **pipes)
        out, err = self._files
        asked = {"arguments": list(map(str, arguments)), "seconds": seconds}
        asked |= {"out": str(out), "err": str(err), "file_bytes": file_bytes}
        self._server.stdin.write(f"{json.dumps(asked)}\n".encode())
        self._server.stdin.flush()
        ended = json.loads(self._server.stdout.readline())
        texts = out.read_text(errors="replace"), err.read_text(errors="replace")
        return Ended(ended["status"], *texts, ended["seconds"], ended["peak"])
