"""Where a host has more ranks than devices, ranks with a device work alone."""

import threading
from pathlib import Path
from typing import Any, NoReturn

import graphs
import numpy as np
import pytest
from fake_accelerator import register_accelerator
from oracle import kruskal
from thread_ranks import on_ranks

from mndmst.backends.cpu.backend import CpuBackend
from mndmst.comm.communicator import Comm
from mndmst.graph.tuning import Tuning
from mndmst.host.errors import ConfigError
from mndmst.host.progress import Progress
from mndmst.io.shards.sharded_graph import open_graph
from mndmst.label_components import connected_components
from mndmst.native.kernel import Kernel
from mndmst.pipeline import Targets, solve
from mndmst.solver import part_graph
from mndmst.solver.config import Config
from mndmst.solver.devices import assign_devices
from mndmst.solver.write import Summary

GRAPH = graphs.random(200, 900, seed=7)
NO_EDGES = (np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int32))


class Gpu(CpuBackend):
    """A device with another name."""

    name = "gpu"


class Driver:
    """Two devices of a host, and which ranks (threads) have asked for or made one."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.made: dict[int, str] = {}

    def device_ids(self) -> list[str]:
        self.asked.append(threading.current_thread().name)
        return ["GPU at 0", "GPU at 1"]

    def make_device(self, device: int, *_: Any) -> Gpu:
        assert device not in self.made
        self.made[device] = threading.current_thread().name
        return Gpu(1)


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Driver:
    made = Driver()
    package = register_accelerator(monkeypatch, "cuda", made.make_device)
    package.device_ids = made.device_ids
    return made


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return graphs.write_graph(tmp_path / "graph", GRAPH)


def solved(path: Path, ranks: int, **options: Any) -> list[Summary]:
    def program(comm: Comm) -> Summary:
        config = Config(threads=1, **options)
        return solve(comm, path, config, Targets(), Progress(False))

    return on_ranks(ranks, program)


@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
@pytest.mark.parametrize("options", [{}, {"ratio": 0.5}, {"merge": "ring"}])
def test_each_device_has_one_rank_and_every_rank_the_result(
    driver: Driver, path: Path, ranks: int, options: dict[str, Any]
) -> None:
    found = solved(path, ranks, backend="auto" if options.get("ratio") else "cuda",
                   **options)  # fmt: skip
    assert {summary.weight for summary in found} == {int(kruskal(*GRAPH).weight.sum())}
    assert len({summary.digest for summary in found}) == 1
    assert len(driver.made) == len(set(driver.made.values())) == min(ranks, 2)
    assert len(driver.asked) <= 2  # once for the assignment, once by a rank alone
    report = found[0].report
    assert report is not None
    assert len(report["ranks"]) == min(ranks, 2)
    assert all(summary.report is None for summary in found[1:])


def test_ranks_without_a_device_work_where_few_arcs_suit_the_cpu(
    driver: Driver, path: Path
) -> None:
    found = solved(path, 4, tuning=Tuning(few_arcs=0))
    (report, *_) = [summary.report for summary in found]
    assert report is not None
    assert len(report["ranks"]) == 4
    assert driver.made == {}


def call_no_kernel(kernel: Kernel, *_: object) -> NoReturn:
    raise AssertionError(f"{kernel.name} would be compiled")


@pytest.mark.parametrize("ranks", [1, 4])
@pytest.mark.parametrize("graph", [GRAPH, graphs.path(9), graphs.Graph(3, *NO_EDGES)])
def test_one_rank_solves_few_arcs_without_kernels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, graph: graphs.Graph, ranks: int
) -> None:
    path = graphs.write_graph(tmp_path / "graph", graph, parts=2)
    kernels = solved(path, ranks, tuning=Tuning(few_arcs=0))
    monkeypatch.setattr(Kernel, "code", call_no_kernel)
    found = solved(path, ranks)
    assert len({(one.line().split(" seconds")[0]) for one in kernels + found}) == 1
    report = found[0].report
    assert report is not None and len(report["ranks"]) == 1


def test_a_strategy_that_is_asked_for_has_all_ranks(path: Path) -> None:
    report = solved(path, 3, merge="ring")[0].report
    assert report is not None and len(report["ranks"]) == 3


def test_components_are_found_by_the_ranks_with_devices(
    driver: Driver, path: Path
) -> None:
    def program(comm: Comm) -> int:
        config = Config(threads=1, backend="cuda")
        return connected_components(comm, path, config, Progress(False)).components

    alone = on_ranks(1, program)
    driver.made.clear()
    assert on_ranks(4, program) == 4 * alone
    assert len(driver.made) == 2


def test_a_limit_that_few_ranks_exceed_keeps_all_ranks_at_work(
    driver: Driver, path: Path
) -> None:
    def program(comm: Comm) -> tuple[bool, bool]:
        graph = open_graph(path)
        limits = (1 << 20, 1 << 40)
        configs = [Config(threads=1, backend="cuda", memory=limit) for limit in limits]
        few, many = (assign_devices(comm, c, graph, Progress(False)) for c in configs)
        return few.works, many.works

    assert on_ranks(3, program) == [(True, True), (True, True), (True, False)]


def test_an_error_of_ranks_at_work_is_one_of_all_ranks(
    driver: Driver, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(comm: Comm, *_: Any) -> None:
        with comm.raise_on_all():
            raise ConfigError(f"{comm.size} devices are broken")

    monkeypatch.setattr(part_graph, "make_backends", refuse)

    def program(comm: Comm) -> tuple[str, int]:
        config = Config(threads=1, backend="cuda")
        with pytest.raises(ConfigError) as caught:
            solve(comm, path, config, Targets(), Progress(False))
        return str(caught.value), caught.value.ranks

    assert on_ranks(4, program) == [("2 devices are broken", 4)] * 4
