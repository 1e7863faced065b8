"""What all tests share: starting MPI jobs and commands, and the real graphs.

Directories: `unit` needs no MPI, `mpi` and `system` start mpirun themselves, `gpu`
needs a device. Every process that is started here has a time limit.
"""

import csv
import gc
import os
import time
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from processes import (
    BEFORE,
    ROOT,
    Run,
    command,
    finish,
    no_emulated_cuda,
    on_ranks,
    start,
    with_emulated_cuda,
)

from mndmst.comm.mpi_library import remove_leftovers

try:
    from hypothesis import settings
except ImportError:  # of the extra 'test'
    pass
else:  # a busy machine may take longer than its deadline for any example
    settings.register_profile("mndmst", deadline=None)
    settings.load_profile("mndmst")


class RealGraph(NamedTuple):
    """A real graph and its known answer."""

    name: str
    path: Path
    n: int
    m: int
    trees: int
    weight: int


@pytest.fixture(autouse=True)
def environment_of_before() -> Iterator[None]:
    """Undo what commands that were called here have set in the environment."""
    yield
    for name in set(os.environ) - {*BEFORE, "PYTEST_CURRENT_TEST"}:
        del os.environ[name]
    os.environ.update(BEFORE)


@pytest.fixture(scope="session")
def mpirun() -> Callable[..., Run]:
    """Run Python on some ranks: `mpirun(4, "-m", "mndmst", ...)`."""

    def run(ranks: int, *arguments: object, timeout: float = 150, **env: str) -> Run:
        return finish(start(on_ranks(ranks, *arguments), **env), timeout)

    return run


@pytest.fixture(scope="session")
def emulated_cuda(mpirun: Callable[..., Run]) -> dict[str, str]:
    """Return the variables of processes that find an emulated device.

    One process has compiled its kernels. Skips where CUDA cannot be emulated.
    """
    lacking, env = no_emulated_cuda(), with_emulated_cuda()
    if lacking:
        pytest.skip(lacking)
    graph = ROOT / "partitions/demo"
    command = ("-m", "mndmst", "solve", graph, "--backend", "cuda")
    run = mpirun(1, *command, timeout=280, **env)
    assert run.returncode == 0, run
    return env


@pytest.fixture(scope="session")
def mndmst() -> Callable[..., Run]:
    """Run a command of the program without mpirun: `mndmst("info", path)`."""
    return command


def read_real_graphs() -> Iterator[RealGraph]:
    """Yield the graphs in INDEX.tsv, smallest first; none where there is no data."""
    folder = os.environ.get("MNDMST_TEST_DATA")
    index = (Path(folder) if folder else ROOT.parent / "shared/data") / "INDEX.tsv"
    if not index.exists():
        return
    with index.open(newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    for row in sorted(rows, key=lambda row: int(row["undirected_m"])):
        yield RealGraph(
            row["name"],
            index.parent / row["file"],
            *(int(row[k]) for k in ("n", "undirected_m", "components", "msf_weight")),
        )


@pytest.fixture(scope="session")
def real_graphs() -> list[RealGraph]:
    """The real graphs with known answers."""
    return list(read_real_graphs()) or pytest.skip(
        "no real graphs: set MNDMST_TEST_DATA to a directory with INDEX.tsv"
    )


@pytest.fixture(scope="session")
def demo_digest() -> str:
    """The digest of the forest of partitions/demo, by an independent Kruskal."""
    answer = tomllib.loads((ROOT / "partitions/demo.toml").read_text())["answer"]
    return str(answer["digest"])


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Exclude thousands of collected tests from each garbage collection."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test that would begin after MNDMST_TESTS_UNTIL, in seconds since 1970."""
    until = os.environ.get("MNDMST_TESTS_UNTIL")
    if until is not None and time.time() > float(until):
        pytest.skip("the time for slow tests was over before this one began")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that takes `real_graph` once for each of the real graphs."""
    if "real_graph" in metafunc.fixturenames:
        graphs = list(read_real_graphs())
        metafunc.parametrize("real_graph", graphs, ids=[graph.name for graph in graphs])


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Remove the shared memory that MPICH leaves behind when a job is aborted.

    It has megabytes a job, and in a container there is little of it. The one that
    waits for all workers does it.
    """
    if hasattr(session.config, "workerinput"):
        return
    remove_leftovers(age=0)
