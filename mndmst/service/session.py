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

from ..host.errors import ConfigError, ConfigTypeError, shown
from ..host.launcher import child_environment, find_mpirun
from .client import Graph, Service, connect
from .connection import ServiceError

ENDING_SECONDS = 20.0
LOOK_SECONDS = 0.02


class Session:
    """Starts ranks that serve a graph, and ends them.

    As a context manager it gives the graph. The ranks are started by `mpirun`, or by
    `srun` inside an allocation of Slurm, on this host, and listen there only.

    Parameters
    ----------
    graph : str or Path
        A directory of shards, or its index.
    ranks : int
    timeout : float
        Seconds until the graph must be there.
    **options
        Options of `mndmst serve`, by their names: ``memory="8GiB"``; True for one
        without a value.

    Examples
    --------
    >>> with Session("city", ranks=4) as graph:      # doctest: +SKIP
    ...     graph.solve("length / speed").total_weight
    """

    def __init__(
        self,
        graph: str | Path,
        ranks: int = 1,
        timeout: float = 600.0,
        **options: object,
    ) -> None:
        if not isinstance(graph, str | os.PathLike):
            raise ConfigTypeError(f"graph is {shown(graph)}; give the path of a graph")
        if not isinstance(ranks, int) or isinstance(ranks, bool):
            raise ConfigTypeError(f"ranks is {shown(ranks)}; give an integer")
        if ranks < 1:
            raise ConfigError(f"ranks is {ranks}; give at least 1")
        self.path, self.ranks, self.timeout = Path(graph), ranks, timeout
        self.options = options
        self.service: Service | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._folder = Path()

    def __repr__(self) -> str:
        state = "ended" if self.service is None else "running"
        return f"Session({str(self.path)!r}, ranks={self.ranks}, {state})"

    def start(self) -> Graph:
        """Start the ranks, and return the graph once they have it.

        Raises ConfigError without a launcher; ServiceError if the ranks end, with their
        reason.
        """
        self._folder = Path(tempfile.mkdtemp(prefix="mndmst-session-"))  # mode 0700
        address, log = self._folder / "address", self._folder / "log"
        files = ["--address-file", address, "--token-file", self._folder / "token"]
        command = [*launcher(self.ranks), sys.executable, "-m", "mndmst", "serve"]
        command += [f"graph={self.path.resolve()}", "-q", "--attached"]
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
            return self.service["graph"]
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

    def __enter__(self) -> Graph:
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
