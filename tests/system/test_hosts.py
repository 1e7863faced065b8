"""Ranks on four hosts, started over ssh, whose network may break."""

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import network
import numpy as np
import pytest
from graphs import random, write_graph
from network import Network
from processes import ROOT, Run, finish

from mndmst.io.output_kinds import INDEX_NAME
from mndmst.solver.checkpoint.manifest import MANIFEST

LIMIT = 200  # the first run of all compiles the kernels
TIMEOUT = 5
# Until the ranks end; until they have told each other; until mpirun is ended.
BOUND = TIMEOUT + 10 + 30

pytestmark = [
    pytest.mark.mpi,
    pytest.mark.skipif(bool(network.missing()), reason=network.missing()),
]


class Case(NamedTuple):
    """A graph whose ranks have much to tell each other, and its forest's digest."""

    graph: Path
    digest: str


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory, mpirun: Callable[..., Run]) -> Case:
    # One rank first: four hosts would compile the kernels four times.
    edges = random(100_000, 400_000, seed=6)
    weight = np.random.default_rng(7).permutation(400_000).astype(np.int32)
    edges = edges._replace(weight=weight)
    graph = write_graph(tmp_path_factory.mktemp("graphs") / "graph", edges, parts=4)
    run = mpirun(1, "-m", "mndmst", "solve", graph, "--backend", "cpu", timeout=LIMIT)
    return Case(graph, run.result["digest"])


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Network]:
    with network.network(tmp_path_factory.mktemp("hosts")) as running:
        yield running


def test_a_forest(hosts: Network, case: Case, tmp_path: Path) -> None:
    forest = tmp_path / "forest.h5"
    command = hosts.mndmst(2, "solve", case.graph, "-o", forest, "--backend", "cpu")
    run = hosts.run(*command, timeout=LIMIT)
    assert run.returncode == 0, run
    assert run.result["digest"] == case.digest
    assert forest.exists()


def test_the_first_rank_of_each_host_drives_its_device(
    hosts: Network, demo_digest: str, emulated_cuda: dict[str, str]
) -> None:
    graph = ROOT / "partitions/demo"
    command = hosts.mndmst(2, "solve", graph, "--backend", "cuda", "-v")
    run = hosts.run(*command, timeout=LIMIT, **emulated_cuda)
    assert run.returncode == 0, run
    assert run.result["digest"] == demo_digest
    assert "4 of 8 ranks work: 4 with a device" in run.stderr


def test_info_names_the_hosts(hosts: Network) -> None:
    run = hosts.run(*hosts.mndmst(1, "info"), timeout=LIMIT)
    found = re.findall(r"^rank \d+ +host (\w+) +local rank 0 of 1", run.stdout, re.M)
    assert found == ["node1", "node2", "node3", "node4"], run


def test_a_link_that_is_cut_ends_the_job_and_it_resumes(
    hosts: Network, case: Case, tmp_path: Path
) -> None:
    forest, kept = tmp_path / "forest.h5", tmp_path / "kept"
    options = ("-o", forest, "--backend", "cpu", "--checkpoint", kept, "--resume")
    command = hosts.mndmst(1, "solve", case.graph, *options)
    # On a slow network, so that there is something left to do after a checkpoint.
    hosts.control("rate", "20mbit")
    job = hosts.start(*command, "--checkpoint-interval", 0, "--timeout", TIMEOUT)
    while not (kept / MANIFEST).exists() and job.poll() is None:
        time.sleep(0.02)
    hosts.control("cut", "node3")
    run = finish(job, timeout=BOUND)
    assert run.returncode != 0
    assert "no sign of node3" in run.stderr
    assert not forest.exists()

    hosts.control("mend", "node3")
    hosts.control("rate", "1gbit")
    run = hosts.run(*command, timeout=LIMIT)
    assert run.returncode == 0, run
    assert "] resumed from" in run.stderr
    assert run.result["digest"] == case.digest


def test_a_link_that_is_cut_ends_a_partition(
    hosts: Network, case: Case, tmp_path: Path
) -> None:
    out = tmp_path / "graph"
    options = ("--parts", 4, "--timeout", TIMEOUT)
    # On a slow network, so that it is under way when the link is cut.
    hosts.control("rate", "20mbit")
    job = hosts.start(*hosts.mndmst(1, "partition", case.graph, out, *options))
    while not out.exists() and job.poll() is None:
        time.sleep(0.02)
    hosts.control("cut", "node3")
    run = finish(job, timeout=BOUND)
    hosts.control("mend", "node3")
    hosts.control("rate", "1gbit")
    assert run.returncode != 0
    assert "no sign of node3" in run.stderr
    assert not (out / INDEX_NAME).exists()
