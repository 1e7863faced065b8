"""Which devices a rank takes, and what they look at while rows are read."""

from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, NoReturn

import numpy as np
import pytest
from fake_accelerator import register_accelerator
from graphs import NASTY, random, write_graph
from oracle import kruskal

import mndmst
from mndmst.backends.base import DeviceMemoryError
from mndmst.backends.costs import COSTS, SERVED_SOLVES, DeviceCosts
from mndmst.backends.cpu.backend import CpuBackend
from mndmst.comm.world import world
from mndmst.graph.model import Rows
from mndmst.graph.order import key_rule
from mndmst.graph.tuning import Tuning
from mndmst.host.errors import MissingExtraError
from mndmst.host.progress import Progress
from mndmst.io.shards.sharded_graph import ShardedGraph
from mndmst.kernels.arc_inspection import ArcFacts, inspect_rows
from mndmst.solver import devices as module
from mndmst.solver.config import Config
from mndmst.solver.part_graph import part_graph
from mndmst.solver.run_report import Report


class Gpu(CpuBackend):
    """A device with another name."""

    name = "gpu"


@pytest.fixture(autouse=True)
def gpus(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Let the kind `cuda` have one device; return its package."""
    return register_accelerator(monkeypatch, "cuda", lambda *_: Gpu(1))


class Arcs(NamedTuple):
    """The size of a graph, as the choice of devices sees it."""

    num_arcs: int
    num_vertices: int = 1
    weight_dtype: np.dtype = np.dtype(np.int32)
    has_few_arcs = ShardedGraph.has_few_arcs


def devices(num_arcs: float, threads: int = 4, **options: Any) -> list[str]:
    """Return the names of the devices of a run on some cores."""
    return recorded(num_arcs, threads, **options)[0]


def recorded(
    num_arcs: float, threads: int = 4, **options: Any
) -> tuple[list[str], dict[str, Any]]:
    """Return the names of the devices of a run, and the facts of its report."""
    comm = world()
    report = Report(comm, Progress(False))
    config = Config(threads=threads, **options)
    assigned = module.assign_devices(comm, config, Arcs(int(num_arcs)), report.progress)
    backends, _ = module.make_backends(comm, config, assigned, report)
    return [backend.name for backend in backends], report.facts


def break_even() -> float:
    """Return the arcs for which four cores and a GPU take the same time."""
    return COSTS.gpu_start / (COSTS.core_arc / 4 - COSTS.gpu_arc)


def test_few_arcs_are_left_to_the_cores() -> None:
    assert devices(0.9 * break_even()) == ["cpu"]
    assert devices(1.1 * break_even()) == ["gpu"]


def test_a_gpu_starts_once_for_all_solves_of_a_served_graph(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    costs = replace(COSTS, core_arc=0.0, host_arc=0.0, gpu_arc=0.0, gpu_start=1.0)
    monkeypatch.setattr(module, "COSTS", costs)
    path = write_graph(tmp_path / "graph", random(50, 400, seed=1))
    config = Config(threads=1, tuning=Tuning(few_arcs=0))

    def device(seconds: float, host_rows: bool) -> str:
        monkeypatch.setattr(DeviceCosts, "cpu_seconds", lambda *_: seconds)
        report = Report(world(), Progress(True))
        run = part_graph(world(), path, config, report, host_rows)
        return run.workers[0].backend.name

    assert device(0.5, host_rows=False) == "cpu"
    assert device(0.5 / SERVED_SOLVES, host_rows=True) == "cpu"
    assert "the GPU solves" not in capsys.readouterr().err
    assert device(0.5, host_rows=True) == "gpu"
    assert "the GPU solves this graph: predicted 0.10 s" in capsys.readouterr().err


def test_the_report_predicts_the_seconds_of_devices_that_are_there(
    gpus: ModuleType,
) -> None:
    names, facts = recorded(1.1 * break_even())
    assert names == ["gpu"]
    assert facts["device_seconds"].keys() == {"cpu", "gpu"}
    gpus.unavailable = lambda: "no driver"
    names, facts = recorded(1.1 * break_even())
    assert names == ["cpu"]
    assert "device_seconds" not in facts


def test_a_gpu_that_its_memory_makes_slow_is_left_idle() -> None:
    """Its rows pass the bus."""
    arcs, few = 1e9, 4 << 30
    assert devices(arcs, threads=32) == ["gpu"]
    assert devices(arcs, threads=32, gpu_memory=few) == ["cpu"]
    assert devices(arcs, threads=4, gpu_memory=few) == ["gpu"]


def test_both_devices_share_long_runs_by_measured_speeds() -> None:
    arcs = 2 * break_even()
    tuning = Tuning(measured_seconds=0.99 * COSTS.gpu_seconds(arcs))
    assert devices(arcs, tuning=tuning) == ["gpu", "cpu"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [({"backend": "cuda"}, ["gpu"]), ({"ratio": 0.5}, ["gpu", "cpu"])],
)
def test_a_gpu_that_is_asked_for_is_used(options: dict, expected: list[str]) -> None:
    assert devices(10, **options) == expected


def test_warnings_of_the_placement_are_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(module, "warnings", lambda places: [f"{len(places)} place"])
    report = Report(world(), Progress(True))
    config = Config(threads=1)
    assigned = module.assign_devices(world(), config, Arcs(10), report.progress)
    module.make_backends(world(), config, assigned, report)
    assert "1 place" in capsys.readouterr().err


def test_memory_bounds_many_cores() -> None:
    few, many = (COSTS.cpu_seconds(1e9, cores, 1) for cores in (4, 1 << 10))
    assert few == pytest.approx(1e9 * COSTS.core_arc / 4)
    assert many == pytest.approx(1e9 * COSTS.host_arc)
    assert COSTS.cpu_seconds(1e9, 1 << 10, 2) == 2 * many


def test_without_a_gpu_that_is_asked_for_there_is_an_error(gpus: ModuleType) -> None:
    gpus.unavailable = lambda: "no driver"
    assert devices(10) == devices(1 << 40) == ["cpu"]
    with pytest.raises(MissingExtraError, match="--backend cuda: no driver"):
        devices(10, backend="cuda")


class Looking(CpuBackend):
    """A device that looks at arcs, or does not get to it."""

    inspects_arcs = True
    looked: list[ArcFacts | None]

    def upload(self, rows: Rows) -> Rows:
        if rows.progress is not None:
            rows.progress.wait(rows.num_arcs)
        return super().upload(rows)

    def inspect_arcs(self, rows: Rows, num_vertices: int) -> ArcFacts | None:
        if self.looked:
            self.looked.append(None)
            return None
        rule = key_rule(rows.keys.dtype)
        found = inspect_rows(rows.csr, (0, rows.num_arcs), num_vertices, rule)
        self.looked.append(ArcFacts(int(found[3]), int(found[4])))
        return self.looked[-1]


def test_a_device_looks_at_the_arcs_that_it_gets(
    gpus: ModuleType, tmp_path: Path
) -> None:
    device = Looking(2)
    device.looked = []
    gpus.make_device = lambda *_: device
    graph = write_graph(tmp_path / "graph", random(2000, 9000, 4), parts=3)
    expected = mndmst.solve(graph, backend="cpu")
    for turn in (1, 2):  # then the host looks
        found = mndmst.solve(graph, backend="cuda")
        assert (found.digest, found.num_edges) == (expected.digest, expected.num_edges)
        assert len(device.looked) == turn
    assert device.looked[0] is not None
    assert device.looked[0].edges == expected.num_edges


class Full(Gpu):
    """A device whose memory another program takes once it has its rows."""

    def row_hooks(self, *_: Any) -> NoReturn:
        raise DeviceMemoryError("another program has the memory")


HUBS = random(300, 2000, 5)
HUBS = HUBS._replace(src=np.where(np.arange(2000) % 3, HUBS.src, 7))
GRAPHS = NASTY | {"hub": HUBS, "ties at a hub": HUBS.with_weights([2, 1], "int32")}


@pytest.mark.parametrize("device", [Gpu, Full])
@pytest.mark.parametrize("ratio", [0.01, 0.6])
@pytest.mark.parametrize("name", GRAPHS)
def test_both_devices_of_a_rank_find_the_forest(
    gpus: ModuleType, tmp_path: Path, name: str, ratio: float, device: type[Gpu],
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """Also if the first one fails: the second has its rows then."""
    gpus.make_device = lambda *_: device(1)
    path = write_graph(tmp_path / "graph", GRAPHS[name])
    both = mndmst.solve(path, ratio=ratio, threads=2)
    failed = "the CPU alone: another program has" in capsys.readouterr().err
    if name == "hub":  # some parts of other graphs are empty
        assert failed == (device is Full)
    alone = mndmst.solve(path, backend="cpu", threads=2)
    assert both.digest == alone.digest
    assert both.forest_edges == len(kruskal(*GRAPHS[name]).src)
