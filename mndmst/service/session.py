"""A service for one script or notebook: its ranks start and end with a block."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Generic, TypeVar, cast, overload

from ..host.errors import ConfigError, ConfigTypeError, shown
from ..host.launcher import child_environment, find_mpirun
from .client import Graph, Service, connect
from .connection import ServiceError
from .points_client import Points

ENDING_SECONDS = 20.0
LOOK_SECONDS = 0.02


Subject = TypeVar("Subject", Graph, Points)


class Session(Generic[Subject]):
    """Starts ranks that serve a graph, or points, and ends them.

    As a context manager it gives the graph or the points. The ranks are started by
    `mpirun`, or by `srun` inside an allocation of Slurm, on this host, and listen there
    only.

    Parameters
    ----------
    graph : str or Path
        A directory of shards, or its index.
    ranks : int
    timeout : float
        Seconds until the graph or the points must be there.
    points : str or Path
        In place of a graph, a file of points, whose clusters follow their changes.
    **options
        Options of `mndmst serve`, by their names: ``memory="8GiB"``; True for one
        without a value.

    Examples
    --------
    >>> with Session("city", ranks=4) as graph:      # doctest: +SKIP
    ...     graph.solve("length / speed").total_weight
    >>> with Session(points="pings.csv", min_samples=3) as pings:  # doctest: +SKIP
    ...     pings.insert([[8.7, 50.1]])
    """

    @overload
    def __init__(
        self: "Session[Graph]",
        graph: str | Path,
        ranks: int = 1,
        timeout: float = 600.0,
        *,
        points: None = None,
        **options: object,
    ) -> None: ...

    @overload
    def __init__(
        self: "Session[Points]",
        graph: None = None,
        ranks: int = 1,
        timeout: float = 600.0,
        *,
        points: str | Path,
        **options: object,
    ) -> None: ...

    def __init__(
        self,
        graph: str | Path | None = None,
        ranks: int = 1,
        timeout: float = 600.0,
        *,
        points: str | Path | None = None,
        **options: object,
    ) -> None:
        if (graph is None) == (points is None):
            raise ConfigTypeError("give either the path of a graph, or points=FILE")
        self._kind = "graph" if points is None else "points"
        given = graph if points is None else points
        if not isinstance(given, str | os.PathLike):
            raise ConfigTypeError(
                f"{self._kind} is {shown(given)}; give the path of "
                + ("a graph" if points is None else "a file of points")
            )
        if not isinstance(ranks, int) or isinstance(ranks, bool):
            raise ConfigTypeError(f"ranks is {shown(ranks)}; give an integer")
        if ranks < 1:
            raise ConfigError(f"ranks is {ranks}; give at least 1")
        self.path, self.ranks, self.timeout = Path(given), ranks, timeout
        self.options = options
        self.service: Service | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._folder = Path()

    def __repr__(self) -> str:
        state = "ended" if self.service is None else "running"
        name = "points=" * (self._kind == "points")
        return f"Session({name}{str(self.path)!r}, ranks={self.ranks}, {state})"

    def start(self) -> Subject:
        """Start the ranks, and return the graph or the points once they have it.

        Raises ConfigError without a launcher; ServiceError if the ranks end, with their
        reason.
        """
        self._folder = Path(tempfile.mkdtemp(prefix="mndmst-session-"))  # mode 0700
        address, log = self._folder / "address", self._folder / "log"
        token = self._folder / "token"
        files: list[object] = ["--address-file", address, "--token-file", token]
        command = [*launcher(self.ranks), sys.executable, "-m", "mndmst", "serve"]
        command += ["--points"] * (self._kind == "points")
        command += [f"{self._kind}={self.path.resolve()}", "-q", "--attached"]
        command += map(str, [*files, *words_of(self.options)])
        try:
            with log.open("wb") as output:
                self._process = subprocess.Popen(
                    command,
                    env=child_environment(),
                    # The ranks end with this process, however it ends
                    stdin=subprocess.PIPE,
                    stdout=output,
                    stderr=output,
                    start_new_session=True,
                )
            self._wait_for(address, log)
            self.service = connect(address)
            if self._kind == "points":
                return cast(Subject, self.service.points("points"))
            return cast(Subject, self.service["graph"])
        except BaseException:
            self.close()
            raise

    def _wait_for(self, address: Path, log: Path) -> None:
        assert self._process is not None
        deadline = time.monotonic() + self.timeout
        while not address.exists():
            if self._process.poll() is not None:
                text = log.read_text(errors="replace").strip()
                raise ServiceError(f"{self.path}: the ranks have ended. {text[-2000:]}")
            if time.monotonic() > deadline:
                raise ServiceError(
                    f"{self.path}: not served after {self.timeout:g} s; give a longer "
                    "timeout"
                )
            time.sleep(LOOK_SECONDS)

    def close(self) -> None:
        """End the ranks, including ranks that no longer answer."""
        if self.service is not None:
            with suppress(ServiceError):
                self.service.connection.ask("shutdown", timeout=ENDING_SECONDS)
            self.service.close()
            self.service = None
        process, self._process = self._process, None
        if process is not None:
            assert process.stdin is not None
            process.stdin.close()
            try:
                process.wait(ENDING_SECONDS if process.poll() is None else 0)
            except subprocess.TimeoutExpired:
                process.terminate()  # the launcher takes its ranks with it
                with suppress(subprocess.TimeoutExpired):
                    process.wait(ENDING_SECONDS)
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        if self._folder.name:
            shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> Subject:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()


def words_of(options: dict[str, object]) -> list[str]:
    """Return options as words of a command line; True is one without a value."""
    words = []
    for name, value in options.items():
        if value is not False:
            words.append(f"--{name.replace('_', '-')}")
        if not isinstance(value, bool):
            words.append(str(value))
    return words


def launcher(ranks: int) -> list[str]:
    """Return the command that starts some ranks here.

    Raises ConfigError if there is none.
    """
    if "SLURM_JOB_ID" in os.environ and shutil.which("srun"):
        kind = os.environ.get("MNDMST_SRUN_MPI", "pmi2")
        here = os.environ.get("SLURMD_NODENAME")
        host = ["-w", here] if here else []
        node = ["-K1", "-N1", *host]
        return ["srun", f"--mpi={kind}", *node, "--overlap", f"-n{ranks}"]
    if ranks == 1:
        return []
    return [find_mpirun(), "-n", str(ranks)]
