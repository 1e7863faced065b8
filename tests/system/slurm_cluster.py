"""A Slurm of two nodes on this machine, and jobs given to it."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from processes import LAUNCHER_PREFIXES, ROOT

NODES = 2
LIMIT = 200  # the first run of all compiles the kernels


def missing() -> str:
    """Return why there can be no cluster here, or nothing."""
    if os.geteuid() != 0:
        return "a Slurm of our own needs root"
    tools = ("munged", "slurmctld", "slurmd", "sbatch", "setpriv")
    lacking = [tool for tool in tools if shutil.which(tool) is None]
    if lacking:
        return f"Slurm is not installed ({', '.join(lacking)}): see slurm/README.md"
    return ""


class Cluster:
    """Commands of a Slurm that is running."""

    def __init__(self, directory: Path) -> None:
        clean = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(LAUNCHER_PREFIXES)
        }
        self.environment = clean | {
            "SLURM_CONF": str(directory / "slurm.conf"),
            "MNDMST_VENV": sys.prefix,
            "PYTHONPATH": str(ROOT),
        }

    def ask(self, *command: object, timeout: float = 30, **env: str) -> str:
        """Run a command of Slurm at the top of the checkout; return its output."""
        return subprocess.run(
            list(map(str, command)),
            env=self.environment | env,
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
            timeout=timeout,
        ).stdout

    def submit(self, script: str, output: Path, *arguments: object) -> "Job":
        """Submit a script of slurm/; options of sbatch come before `--`."""
        divider = arguments.index("--")
        options, rest = arguments[:divider], arguments[divider + 1 :]
        shape = ("--cpus-per-task=1", "--ntasks-per-node=1", f"--output={output}")
        command = ("sbatch", "--parsable", *shape, *options, f"slurm/{script}", *rest)
        return Job(self, self.ask(*command).strip(), output)


class Job:
    """A job that has been submitted."""

    def __init__(self, cluster: Cluster, number: str, output: Path) -> None:
        self.cluster = cluster
        self.number = number
        self.output = output

    def text(self) -> str:
        """Return what the job has printed."""
        return self.output.read_text() if self.output.exists() else ""

    def fields(self) -> dict[str, str]:
        """Return what Slurm knows of the job, or of the first task of an array."""
        shown = self.cluster.ask("scontrol", "show", "job", self.number)
        pairs = shown.split("\n\n")[0].split()
        return dict(pair.split("=", 1) for pair in pairs if "=" in pair)

    def wait_for(
        self, what: str, done: Callable[[], bool], limit: float, pause: float = 0.2
    ) -> None:
        """Wait for something; fail with the job's output if it does not come."""
        deadline = time.monotonic() + limit
        while not done():
            if time.monotonic() > deadline:
                self.cluster.ask("scancel", self.number)
                state = self.cluster.ask("squeue")
                pytest.fail(f"no {what} in {limit} s\n{state}\n{self.text()}")
            time.sleep(pause)

    def finish(self, limit: float = LIMIT) -> str:
        """Wait for the end of the job and return its state, such as COMPLETED."""
        number = self.number
        self.wait_for(
            "end", lambda: not self.cluster.ask("squeue", "-h", "-j", number), limit
        )
        return self.fields()["JobState"]


@contextmanager
def cluster(directory: Path) -> Iterator[Cluster]:
    """Start a cluster; it ends with the block, or with this process."""
    script = ROOT / "slurm/test-cluster.sh"
    process = subprocess.Popen(
        ["bash", script, directory, str(NODES), "sh", "-c", "echo ready; exec cat"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        assert line == b"ready\n", (directory / "log/start.log").read_text()
        yield Cluster(directory)
    finally:
        process.stdin.close()
        process.stdout.close()
        process.wait(timeout=60)
