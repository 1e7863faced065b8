"""Where a host has more ranks than devices, ranks with a device work alone."""

import threading
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

import graphs
import numpy as np
import pytest
from fake_accelerator import register_accelerator
from oracle import kruskal
from thread_ranks import on_ranks

from mndmst.backends.costs import COSTS
from mndmst.backends.cpu.backend import CpuBackend
from mndmst.comm.communicator import Comm
from mndmst.graph.tuning import Tuning
from mndmst.host.errors import ConfigError
from mndmst.host.progress import Progress
from mndmst.io.shards.sharded_graph import open_graph
from mndmst.label_components import connected_components
from mndmst.native.kernel import Kernel
from mndmst.pipeline import Targets, solve
from mndmst.solver import devices, part_graph
from mndmst.solver.config import Config
from mndmst.solver.devices import (
    DeviceAssignment,
    assign_devices,
    on_working_ranks,
)
from mndmst.solver.run_report import Report
from mndmst.solver.write import Summary

GRAPH = graphs.random(200, 900, seed=7)
NO_EDGES = (np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int32))


class Gpu(CpuBackend):
    """A device with another name."""

    name = "gpu"


def rank() -> int:
    """Return the rank whose thread calls."""
    return int(threading.current_thread().name)


class Driver:
    """The devices of hosts, and which ranks have asked for or made one."""

    def __init__(self) -> None:
        self.hosts = [0] * 5  # by rank
        self.devices = [["GPU at 0", "GPU at 1"]]  # by host
        self.asked: list[int] = []
        self.made: dict[tuple[int, int], int] = {}  # the rank, by host and device

    def unavailable(self) -> str | None:
        return None if self.devices[self.hosts[rank()]] else "no CUDA device is visible"

    def device_ids(self) -> list[str]:
        self.asked.append(rank())
        return self.devices[self.hosts[rank()]]

    def make_device(self, device: int, *_: Any) -> Gpu:
        place = self.hosts[rank()], device
        assert place not in self.made
        self.made[place] = rank()
        return Gpu(1)


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The package of the kind `cuda`, whose devices are those of `driver`."""
    return register_accelerator(monkeypatch, "cuda", lambda *_: Gpu(1))


@pytest.fixture
def driver(package: ModuleType) -> Driver:
    made = Driver()
    for name in ("unavailable", "device_ids", "make_device"):
        setattr(package, name, getattr(made, name))
    return made


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return graphs.write_graph(tmp_path / "graph", GRAPH)


def solved(
    path: Path, ranks: int, hosts: list[int] | None = None, **options: Any
) -> list[Summary]:
    def program(comm: Comm) -> Summary:
        config = Config(threads=1, **options)
        return solve(comm, path, config, Targets(), Progress(False))

    return on_ranks(ranks, program, hosts)


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


@dataclass
class Dealt:
    """The arcs of a rank that works; see `on_working_ranks`."""

    arcs: list[int]
    report: Report | None


def dealt(path: Path, hosts: list[int], **options: Any) -> list[int]:
    """Return the arcs of each rank that works on a graph."""

    def program(comm: Comm) -> Dealt:
        config = Config(threads=1, **options)
        report = Report(comm, Progress(False))

        def read(workers: Comm, assigned: DeviceAssignment | None) -> Dealt:
            run = part_graph.part_graph(workers, path, config, report, False, assigned)
            arcs = sum(worker.rows.num_arcs for worker in run.workers)
            return Dealt(workers.allgather(arcs).tolist(), report)

        return on_working_ranks(comm, path, config, report, read)

    return on_ranks(len(hosts), program, hosts)[0].arcs


@pytest.mark.parametrize("hosts", [[0, 0, 0, 1, 1], [0, 1, 0, 1, 0], [0, 1, 1, 2, 2]])
def test_the_first_rank_of_each_host_drives_its_device(
    driver: Driver, path: Path, hosts: list[int]
) -> None:
    driver.hosts, driver.devices = hosts, [["GPU at 0"]] * 3  # of equal names
    found = solved(path, 5, hosts, backend="cuda", merge="messages")
    assert {summary.weight for summary in found} == {int(kruskal(*GRAPH).weight.sum())}
    first = {(host, 0): hosts.index(host) for host in hosts}
    assert driver.made == first
    assert sorted(set(driver.asked)) == sorted(first.values())
    report = found[0].report
    assert report is not None and len(report["ranks"]) == len(first)


def test_devices_that_tasks_see_under_one_number_are_different(
    driver: Driver, package: ModuleType, path: Path
) -> None:
    """Slurm lets each task open the file of its own device, as number 0."""
    package.visibility = lambda: ("0", f"/dev/nvidia{rank()}")
    package.device_ids = lambda: [f"GPU at {rank()}"]
    package.make_device = lambda device, *_: driver.made.setdefault(
        (rank(), device), Gpu(1)
    )
    assert len(dealt(path, [0] * 4, backend="cuda")) == 4
    assert sorted(driver.made) == [(0, 0), (1, 0), (2, 0), (3, 0)]


def test_a_host_without_devices_works_and_gets_few_rows(
    driver: Driver, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(devices, "COSTS", replace(COSTS, gpu_start=0.0))
    driver.hosts, driver.devices = [0, 0, 1, 1], [["GPU at 0"], []]
    arcs = dealt(path, driver.hosts, tuning=Tuning(few_arcs=0))
    assert len(arcs) == 3  # the second rank of the first host waits
    assert arcs[0] > 10 * max(arcs[1:])
    assert driver.made == {(0, 0): 0}


@pytest.mark.parametrize(
    ("memory", "shares"),
    [
        ([1 << 40, 1 << 40], [0.5, 0.5]),
        ([1 << 40, 1 << 12], [1, 0]),  # the second has room for few arcs
        ([10 << 10, 6 << 10], [10 / 16, 6 / 16]),
        ([3 << 10, 2 << 10], [0.5, 0.5]),  # both have too little: rows pass through
    ],
)
def test_devices_get_rows_by_their_memory_if_equal_shares_do_not_fit(
    driver: Driver, package: ModuleType, path: Path, memory: list[int],
    shares: list[float],
) -> None:  # fmt: skip
    package.device_bytes = lambda device: memory[device]
    arcs = dealt(path, [0, 0, 0], backend="cuda")
    assert arcs == pytest.approx([share * sum(arcs) for share in shares], abs=40)


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


@pytest.mark.parametrize(("ranks", "kind"), [(1, "cuda"), (2, "cuda"), (3, None)])
def test_many_solves_are_worth_the_start_of_devices_that_all_ranks_have(
    driver: Driver, path: Path, monkeypatch: pytest.MonkeyPatch, ranks: int,
    kind: str | None,
) -> None:  # fmt: skip
    costs = replace(COSTS, core_arc=1e-4, host_arc=0.0, gpu_arc=0.0, gpu_start=1.0)
    monkeypatch.setattr(devices, "COSTS", costs)  # 0.18 s for all ranks on CPUs

    def program(comm: Comm) -> list[str | None]:
        graph, config = open_graph(path), Config(threads=1, tuning=Tuning(few_arcs=0))
        once, often = (
            assign_devices(comm, config, graph, Progress(False), solves)
            for solves in (1, 50)
        )
        assert once.kind is None
        return [often.kind]

    assert on_ranks(ranks, program) == [[kind]] * ranks


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
