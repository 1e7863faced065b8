"""Four hosts in namespaces on this machine, which `tests/hosts.sh` sets up."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from processes import ROOT, Run, finish, start

SCRIPT = ROOT / "tests/hosts.sh"


def missing() -> str:
    """Return why there can be no hosts here, or nothing."""
    if os.geteuid() != 0:
        return "hosts in namespaces need root"
    tools = ("/usr/sbin/sshd", "ssh", "ssh-keygen", "ip", "tc", "unshare", "nsenter")
    lacking = [tool for tool in tools if shutil.which(tool) is None]
    if lacking:
        return f"not installed: {', '.join(lacking)} (openssh-server, iproute2)"
    trial = ["unshare", "--net", "--uts", "--mount", "--pid", "--fork", "--mount-proc"]
    probe = [*trial, "ip", "link", "add", "bridge0", "type", "bridge"]
    allowed = subprocess.run(probe, capture_output=True, text=True, check=False)
    return f"no namespaces: {allowed.stderr.strip()}" if allowed.returncode else ""


class Network:
    """Hosts that are up; `hosts` is the file that lists them."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.hosts = directory / "hosts"

    def control(self, action: str, *arguments: object) -> None:
        """Run an action of the script, such as `cut` with a host."""
        command = ["bash", SCRIPT, action, self.directory, *arguments]
        subprocess.run(list(map(str, command)), check=True, timeout=60)

    def start(self, *command: object, **env: str) -> subprocess.Popen[bytes]:
        """Start a command on the first host."""
        words = ["bash", SCRIPT, "on", self.directory, "node1", *command]
        return start(list(map(str, words)), MNDMST_VENV=sys.prefix, **env)

    def run(self, *command: object, timeout: float, **env: str) -> Run:
        """Run a command on the first host."""
        return finish(self.start(*command, **env), timeout)

    def mndmst(self, ranks: int, *arguments: object) -> list[object]:
        """Return the command that runs mndmst on ranks of each host."""
        return ["bash", ROOT / "launch/hosts.sh", self.hosts, ranks, *arguments]


@contextmanager
def network(directory: Path, hosts: int = 4) -> Iterator[Network]:
    """Start hosts; they end with the block."""
    net = Network(directory)
    try:
        net.control("up", hosts)
        yield net
    finally:
        net.control("down")
