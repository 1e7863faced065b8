"""The images, built and run by buildah without an engine of containers.

    MNDMST_ROOTS=/var/tmp/roots python -m pytest tests/system/test_image.py

The base, a small Debian, is made there if need be, and stays. A build takes minutes.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from processes import ROOT
from services import wait_until

FOLDER = os.environ.get("MNDMST_ROOTS", "")
MOST_BYTES = 600_000_000
BASE, IMAGE = "localhost/mndmst-test-base", "localhost/mndmst-test"
ISOLATION = ("--isolation", "chroot")

pytestmark = [
    pytest.mark.skipif(not FOLDER, reason="MNDMST_ROOTS names no directory for roots"),
    pytest.mark.skipif(os.geteuid() != 0, reason="only root makes such systems"),
    pytest.mark.skipif(not shutil.which("buildah"), reason="needs buildah"),
    pytest.mark.skipif(not shutil.which("debootstrap"), reason="needs debootstrap"),
    pytest.mark.timeout(3600),
]


def do(*words: object) -> str:
    """Run a command; return its output."""
    run = subprocess.run(list(map(str, words)), capture_output=True, text=True)
    assert run.returncode == 0, f"{run.stdout[-4000:]}\n{run.stderr[-4000:]}"
    return run.stdout.strip()


@pytest.fixture(scope="module")
def base() -> str:
    """Import a Debian; it trusts the certificate that pip trusts here."""
    root = Path(FOLDER) / "image-base"
    if not root.exists():
        making = root.with_name("image-base.part")
        shutil.rmtree(making, ignore_errors=True)
        do("debootstrap", "--variant=minbase", "bookworm", making)
        for unused in ("var/cache/apt/archives", "var/lib/apt/lists", "usr/share/doc"):
            shutil.rmtree(making / unused)
            (making / unused).mkdir()
        making.rename(root)
    container = do("buildah", "from", "scratch")
    do("buildah", "add", container, root, "/")
    certificate = os.environ.get("PIP_CERT")
    if certificate:
        do("buildah", "add", container, certificate, "/etc/pip-cert.pem")
        do("buildah", "config", "--env", "PIP_CERT=/etc/pip-cert.pem", container)
    do("buildah", "commit", "--rm", container, BASE)
    return BASE


@pytest.fixture(scope="module")
def image(base: str) -> str:
    """Build the image of the service, which is that of the runs and a command."""
    do(
        "buildah", "bud", *ISOLATION, "--network", "host", "--layers", "--build-arg",
        f"BASE={base}", "--target", "service", "--tag", IMAGE, "--file",
        ROOT / "docker/Dockerfile", ROOT,
    )  # fmt: skip
    return IMAGE


@pytest.fixture
def container(image: str) -> Iterator[str]:
    name = do("buildah", "from", image)
    yield name
    do("buildah", "rm", name)


def command(container: str, *words: str) -> list[str]:
    return ["buildah", "run", *ISOLATION, container, "--", *words]


def inside(container: str, line: str) -> str:
    """Run a command line in a container; return its output."""
    return do(*command(container, *line.split()))


def test_the_image_is_small(image: str) -> None:
    (found,) = json.loads(do("buildah", "images", "--json", image))
    number, unit = found["size"].split()
    assert float(number) * {"KB": 1e3, "MB": 1e6, "GB": 1e9}[unit] < MOST_BYTES


def test_four_ranks_solve_and_the_forest_verifies(container: str) -> None:
    solve = "mpirun -n 4 python3 -m mndmst solve partitions/demo -o /data/forest.h5"
    out = inside(container, solve)
    assert "edges=5094 trees=90" in out
    inside(container, "mndmst verify partitions/demo /data/forest.h5")


@pytest.mark.parametrize("weights", ["int32", "uint64", "float32", "float64"])
def test_every_type_of_weights_needs_no_compiler(container: str, weights: str) -> None:
    words = f"mndmst generate road /data/g --side 30 --weights {weights}"
    inside(container, words)
    inside(container, "mndmst solve /data/g -o /data/f.h5 -q")
    inside(container, "mndmst verify /data/g /data/f.h5")
    program = "import importlib.util as u; assert u.find_spec('numba') is None"
    do(*command(container, "python3", "-c", program))


def test_packages_work_after_their_tests_are_removed(container: str) -> None:
    program = """
import numpy, scipy.sparse, scipy.sparse.csgraph, pyarrow.parquet, pyarrow.flight
import zstandard, h5py, kagen, uvicorn, starlette, prometheus_client, mndmst
table = pyarrow.table({"src": [0, 1], "dst": [1, 2], "weight": [2.5, 1.5]})
pyarrow.parquet.write_table(table, "/data/e.parquet", compression="zstd")
table = pyarrow.parquet.read_table("/data/e.parquet")
assert mndmst.minimum_spanning_forest(table).total_weight == 4
"""
    do(*command(container, "python3", "-c", program))


def test_the_health_check_follows_the_service(container: str) -> None:
    config = json.loads(do("buildah", "inspect", "--type", "image", IMAGE))["OCIv1"]
    # An image in the format of OCI has no health check, so the Dockerfile tells it.
    stage = (ROOT / "docker/Dockerfile").read_text().split(" AS service\n")[1]
    check = json.loads(re.findall(r"HEALTHCHECK.*?CMD (\[.*?\])\n", stage, re.S)[0])
    healthy = command(container, *check)
    run = subprocess.run(healthy, capture_output=True)
    assert run.returncode != 0  # nothing listens yet
    serving = subprocess.Popen(
        command(container, *config["config"]["Cmd"]), stdout=subprocess.DEVNULL
    )
    deadline = time.monotonic() + 120
    try:
        while subprocess.run(healthy, capture_output=True).returncode:
            assert serving.poll() is None and time.monotonic() < deadline
            time.sleep(1)
        client = "mndmst client /data/serve.address"
        assert "trees=90" in inside(container, f"{client} solve demo")
        inside(container, f"{client} shutdown")
        assert serving.wait(60) == 0
    finally:
        serving.kill()
        serving.wait()


HOSTS = {"node1": "10.78.0.1", "node2": "10.78.0.2"}


@pytest.mark.skipif(not shutil.which("ip"), reason="needs ip (iproute2)")
def test_two_containers_are_two_hosts(image: str, tmp_path: Path) -> None:
    """Each has a network of its own; ranks start over ssh, as in the compose file."""
    trial = subprocess.run(["unshare", "--net", "true"], capture_output=True, text=True)
    if trial.returncode:
        pytest.skip(f"no network namespaces: {trial.stderr.strip()}")
    volumes = {name: tmp_path / name for name in ("cluster", "data")}
    for folder in volumes.values():
        folder.mkdir()
        folder.chmod(0o777)
    (volumes["cluster"] / "hosts").write_text("\n".join(HOSTS))
    options = [f"--add-host={name}:{address}" for name, address in HOSTS.items()]
    options += [f"--volume={folder}:/{name}" for name, folder in volumes.items()]
    with ExitStack() as stack:
        nodes: dict[str, int] = {}
        for name in HOSTS:
            do("buildah", "from", "--name", name, *options, image)
            stack.callback(do, "buildah", "rm", name)
            run = ["buildah", "run", *ISOLATION, "--hostname", name, name, "--"]
            node = subprocess.Popen(
                ["unshare", "--net", *run, "bash", "docker/node.sh"],
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            stack.callback(node.wait)
            stack.callback(os.killpg, node.pid, signal.SIGKILL)
            nodes[name] = node.pid
        on = {
            name: ["nsenter", f"--net=/proc/{pid}/ns/net"]
            for name, pid in nodes.items()
        }
        wait_until(lambda: all(map(has_own_network, nodes.values())), "no networks")
        peer = ("type", "veth", "peer", "name", "eth0", "netns", nodes["node2"])
        do(*on["node1"], "ip", "link", "add", "eth0", *peer)
        for name, address in HOSTS.items():
            do(*on[name], "ip", "address", "add", f"{address}/24", "dev", "eth0")
            do(*on[name], "ip", "link", "set", "eth0", "up")
            do(*on[name], "ip", "link", "set", "lo", "up")

        def job(*words: object) -> subprocess.CompletedProcess:
            start = [*on["node1"], "buildah", "run", *ISOLATION, "--hostname", "node1"]
            command = [*start, "node1", "--", "ssh", *map(str, words)]
            return subprocess.run(command, capture_output=True, text=True, timeout=600)

        for name in HOSTS:
            wait_until(lambda: job(name, "true").returncode == 0, f"no sshd on {name}")  # noqa: B023
        mndmst = ("node1", "bash", "launch/hosts.sh", "/cluster/hosts", 2)
        found = job(*mndmst, "solve", "partitions/demo", "-o", "/data/forest.h5")
        assert found.returncode == 0 and "edges=5094 trees=90" in found.stdout, found
        info = job(*mndmst, "info").stdout
        ranks = re.findall(r"^rank \d+ +host (\w+) +local rank \d of 2", info, re.M)
        assert ranks == ["node1", "node1", "node2", "node2"], info


def has_own_network(process: int) -> bool:
    links = [Path(f"/proc/{p}/ns/net").readlink() for p in (process, "self")]
    return links[0] != links[1]
