"""A backend costs its package and one line of the registry.

The test adds an accelerator that computes on the CPU, by such a line, and finds it in
the options, in the devices of a rank, in reports and behind arrays.
"""

from dataclasses import replace
from pathlib import Path
from types import ModuleType

import graphs
import numpy as np
import pytest
from fake_accelerator import register_accelerator

import mndmst
from mndmst.__main__ import main
from mndmst.backends import (
    backend_names,
    costs,
    find_accelerator,
    holder_of,
)
from mndmst.backends.base import Memory
from mndmst.backends.cpu.backend import CpuBackend
from mndmst.cli.info import describe_installation
from mndmst.comm.world import world
from mndmst.host.errors import ConfigError, MissingExtraError
from mndmst.host.progress import Progress
from mndmst.pipeline import Targets, solve
from mndmst.solver.config import CHOICES, Config


class TwinBackend(CpuBackend):
    """A device of the kind `twin`."""

    name = "twin"

    def memory(self) -> Memory:
        return Memory(100, 40)


@pytest.fixture
def twin(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Register a kind of accelerator; return its package."""
    package = register_accelerator(monkeypatch, "twin", lambda *_: TwinBackend())
    monkeypatch.setitem(CHOICES, "backend", backend_names())
    return package


def test_options_reports_and_arrays_follow_the_registry(twin: ModuleType) -> None:
    assert Config(backend="twin").backend == "twin"
    assert describe_installation()["twin"] == "Twin 1"
    assert find_accelerator("twin") == (twin, None)
    array = np.zeros(3).view(type("Array", (np.ndarray,), {"__twin_array__": 1}))
    assert holder_of(array) is twin
    assert holder_of(np.zeros(3)) is None


def test_arrays_that_dlpack_refuses_are_on_the_host(twin: ModuleType) -> None:
    arrow = pytest.importorskip("pyarrow")
    flags = arrow.array([True, False])
    assert holder_of(flags) is None
    forest = mndmst.minimum_spanning_forest([0, 1], [1, 2], flags)
    assert forest.total_weight == 1


def test_a_registered_device_solves(twin: ModuleType, tmp_path: Path) -> None:
    path = graphs.write_graph(tmp_path / "graph", graphs.path(5))
    config = Config(backend="twin")
    found = solve(world(), path, config, Targets(), Progress(False))
    assert found.forest_edges == 4
    assert found.report is not None
    work = [w["device"] for s in found.report["ranks"][0]["stages"]
            for w in s.get("work", ())]  # fmt: skip
    assert set(work) == {"twin"}


def test_an_unavailable_device_is_refused_with_its_reason(
    twin: ModuleType, tmp_path: Path
) -> None:
    twin.unavailable = lambda: "no twin; load its driver"
    path = graphs.write_graph(tmp_path / "graph", graphs.path(5))
    with pytest.raises(MissingExtraError, match="--backend twin: no twin; load its"):
        solve(world(), path, Config(backend="twin"), Targets(), Progress(False))


def test_an_unregistered_device_is_no_option() -> None:
    with pytest.raises(ConfigError, match=", ".join(backend_names())):
        Config(backend="twin")


def test_the_command_starts_the_device_that_it_will_likely_use(
    twin: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    graph = graphs.write_graph(tmp_path / "graph", graphs.random(50, 90, 1))
    started: list[int] = []
    twin.start_driver = started.append

    def run(*options: str) -> int:
        started.clear()
        assert main(["solve", str(graph), "-q", *options]) == 0
        return len(started)

    assert run() == 0  # a few arcs are faster on the CPU
    assert run("--backend", "twin") == 1
    monkeypatch.setattr(
        costs, "COSTS", replace(costs.COSTS, gpu_start=0.0, gpu_arc=0.0)
    )
    assert run() == 1
    assert run("--backend", "cpu") == 0


def test_a_service_reports_the_memory_of_a_registered_device(
    twin: ModuleType, tmp_path: Path
) -> None:
    pytest.importorskip("pyarrow", reason="the service needs pyarrow")
    from mndmst.service.executor import Executor
    from mndmst.service.limits import ServiceMemory
    from mndmst.service.served_graph import ServedGraph
    from mndmst.service.uploads import Uploads

    path = graphs.write_graph(tmp_path / "graph", graphs.path(5))
    progress, none = Progress(False), Uploads(ServiceMemory(0))
    executor = Executor(world(), {}, none)
    assert executor.memory()[1:] == (0, 0)
    for backend, found in (("cpu", (0, 0)), ("twin", (100, 40))):
        config = Config(backend=backend)
        graph = ServedGraph.load(world(), "g", path, config, progress, none.memory)
        executor = Executor(world(), {"g": graph}, none)
        assert executor.memory()[1:] == found
        assert executor.memory().resident > 0
