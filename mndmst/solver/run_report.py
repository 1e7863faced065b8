"""The record of a run: seconds, edges and bytes for each stage and rank, as JSON."""

import json
import platform
import resource
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from ..backends import accelerators
from ..comm import mpi_library
from ..comm.communicator import Comm
from ..host import PACKAGE_PARENT, __version__
from ..host.cores import processor_name
from ..host.formatting import to_json
from ..host.memory import machine_bytes
from ..host.progress import Progress
from ..io.atomic_output import AtomicOutput
from ..io.file_access import writing
from ..io.output_kinds import REPORT, json_mark

SCHEMA = 1
GIT_SECONDS = 5.0
_NOTHING_SENT = dict.fromkeys(
    ("bytes_sent", "messages", "edges_sent", "seconds_waited"), 0
)


class Report:
    """The record of one rank, and of all once `gather` has been called.

    `progress` shows every stage that begins.
    """

    def __init__(self, comm: Comm, progress: Progress) -> None:
        self.comm = comm
        self.progress = progress
        # Seconds in which Python and MPI started and modules were imported
        passed = time.monotonic() - progress.started
        self.started = time.perf_counter() - passed
        self.stages: list[dict[str, object]] = [
            {"stage": "import", "begin": 0.0, "seconds": passed, **_NOTHING_SENT}
        ]
        self.levels: list[dict[str, object]] = []
        self.choices: list[dict[str, object]] = []
        self.facts: dict[str, object] = {}
        self.edges_sent = 0
        self.phase = ""  # Title of the present phase, such as "band 0"
        self._open: list[dict[str, object]] = []

    @contextmanager
    def stage(self, name: str, **details: object) -> Iterator[dict[str, object]]:
        """Time a stage; the block may add numbers to the entry."""
        entry = {"stage": name, **details}
        self.progress.stage(name, **details)
        sent, messages = self.comm.bytes_sent, self.comm.messages_sent
        shipped, waited = self.edges_sent, self.comm.seconds_waited
        begin = time.perf_counter()
        entry["begin"] = begin - self.started
        self._open.append(entry)
        try:
            yield entry
        finally:
            self._open.remove(entry)
            entry["seconds"] = time.perf_counter() - begin
            entry["bytes_sent"] = self.comm.bytes_sent - sent
            entry["messages"] = self.comm.messages_sent - messages
            entry["edges_sent"] = self.edges_sent - shipped
            entry["seconds_waited"] = self.comm.seconds_waited - waited
            self.stages.append(entry)

    @contextmanager
    def work(self, device: str) -> Iterator[None]:
        """Record in the open stage when a device works; two may at the same time."""
        entry = {"device": device, "begin": self.seconds}
        try:
            yield
        finally:
            entry["end"] = self.seconds
            if self._open:
                work = self._open[-1].setdefault("work", [])
                assert isinstance(work, list)
                work.append(entry)

    def ship(self, edges: int) -> None:
        """Count edges that leave this rank, in graphs or as proposals."""
        self.edges_sent += int(edges)

    def level(self, name: str, edges: int, **details: object) -> None:
        """Record the remaining edges of all ranks after a step; equal on every rank."""
        phase = {"portion": self.phase} if self.phase else {}
        self.levels.append({"after": name, "edges": edges, **phase, **details})
        self.progress.edges(name, edges)

    def choice(self, path: str, edges: int) -> None:
        """Record the path that ranks take with the remaining edges."""
        self.choices.append({"path": path, "edges": edges})

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self.started

    def gather(self, **results: object) -> dict[str, object] | None:
        """Return the record of all ranks on rank 0, None elsewhere. Collective."""
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        mine = {
            "rank": self.comm.rank,
            "host": platform.node(),
            "processor": processor_name(),
            "memory_bytes": machine_bytes(),
            "peak_bytes": peak,
            "bytes_sent": self.comm.bytes_sent,
            "messages": self.comm.messages_sent,
            "edges_sent": self.edges_sent,
            "stages": self.stages,
            **self.facts,
        }
        ranks = self.comm.gather(mine)
        if ranks is None:
            return None
        return {
            "schema": SCHEMA,
            "command": sys.argv,
            "num_ranks": self.comm.size,
            "seconds": self.seconds,
            "levels": self.levels,
            "choices": self.choices,
            "ranks": ranks,
            **results,
        }


@cache
def versions() -> dict[str, str]:
    """Return the versions of everything a result depends on."""
    from importlib.metadata import PackageNotFoundError, version  # takes 10 ms

    installed = {"mndmst": __version__, "python": platform.python_version()}
    devices = [name for kind in accelerators() for name in kind.DISTRIBUTIONS]
    for name in ("numpy", "numba", "h5py", "mpi4py", *devices):
        try:
            installed[name] = version(name)
        except PackageNotFoundError:
            continue
    return installed


def provenance() -> dict[str, object]:
    """Return the date, and the software of this process.

    The date is in UTC. `mpi` is the loaded library, "none" without one; `commit` is
    empty if it is unknown.
    """
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit(PACKAGE_PARENT),
        "system": f"{platform.system()} {platform.release()}",
        "mpi": mpi_library.version() if "mpi4py.MPI" in sys.modules else "none",
        "versions": versions(),
    }


def commit(folder: Path) -> str:
    """Return the commit of a checkout, or of the package that pip has installed.

    It ends in -dirty if files of the checkout have changed, and is empty if neither Git
    nor pip knows one.
    """
    import subprocess  # only runs with a report
    from importlib.metadata import PackageNotFoundError, distribution

    if (folder / ".git").exists():
        command = ["git", "-C", str(folder), "describe", "--always", "--dirty"]
        command += ["--exclude=*", "--abbrev=40"]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=GIT_SECONDS
            )
        except (OSError, subprocess.SubprocessError):
            return ""
        return done.stdout.strip()
    try:
        origin = distribution("mndmst").read_text("direct_url.json")
        return str(json.loads(origin or "")["vcs_info"]["commit_id"])
    except (PackageNotFoundError, ValueError, KeyError, TypeError):
        return ""


def write_report(
    outputs: AtomicOutput, path: Path, record: dict[str, object] | None
) -> None:
    """Write a record that rank 0 has gathered, as JSON. Collective.

    Raises OutputError on every rank if it cannot be written.
    """
    temporary = outputs.begin(path, REPORT)
    with outputs.ranks.raise_on_all(), writing(path):
        if record is not None:
            whole = json_mark(REPORT) | provenance() | record
            temporary.write_text(to_json(whole, indent=1))
