"""Which devices a rank takes, and what they look at while rows are read."""

from pathlib import Path

import pytest
from graphs import random, write_graph

import mndmst
from mndmst.backends import cuda
from mndmst.backends.cpu.backend import CpuBackend
from mndmst.comm.communicator import world
from mndmst.graph.model import Rows
from mndmst.graph.order import key_rule
from mndmst.host.errors import MissingExtraError
from mndmst.host.progress import Progress
from mndmst.kernels.arc_inspection import ArcFacts, inspect_rows
from mndmst.run.config import Config
from mndmst.run.report import Report
from mndmst.steps import devices as module


@pytest.fixture(autouse=True)
def one_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda, "unavailable", lambda: None)
    monkeypatch.setattr(cuda, "device_ids", lambda: ["GPU at 0"])
    monkeypatch.setattr(cuda, "make_device", lambda *_: CpuBackend(1))


def devices(num_arcs: int, **options: object) -> int:
    """Return how many devices a run on four cores has."""
    comm = world()
    report = Report(comm, Progress(False))
    config = Config(threads=4, **options)
    backends, _ = module.make_backends(comm, config, num_arcs, report)
    return len(backends)


def test_few_arcs_are_left_to_the_cores() -> None:
    done = int(4 * module.GPU_SECONDS / module.ARC_SECONDS)
    assert devices(int(0.9 * done)) == 1
    assert devices(int(1.1 * done)) == 2


@pytest.mark.parametrize("options", [{"backend": "cuda"}, {"ratio": 0.5}])
def test_a_gpu_that_is_asked_for_is_used(options: dict) -> None:
    assert devices(10, **options) == (1 if "backend" in options else 2)


def test_without_a_gpu_that_is_asked_for_there_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cuda, "unavailable", lambda: "no driver")
    assert devices(10) == devices(1 << 40) == 1
    with pytest.raises(MissingExtraError, match="--backend cuda: no driver"):
        devices(10, backend="cuda")


class Looking(CpuBackend):
    """A device that looks at arcs, or does not get to it."""

    inspects_arcs = True
    looked: list[ArcFacts | None]

    def place(self, rows: Rows) -> Rows:
        if rows.progress is not None:
            rows.progress.wait(rows.num_arcs)
        return super().place(rows)

    def inspect_arcs(self, rows: Rows, num_vertices: int) -> ArcFacts | None:
        if self.looked:
            self.looked.append(None)
            return None
        rule = key_rule(rows.keys.dtype)
        found = inspect_rows(rows.csr, (0, rows.num_arcs), num_vertices, rule)
        self.looked.append(ArcFacts(int(found[3]), int(found[4])))
        return self.looked[-1]


def test_a_device_looks_at_the_arcs_that_it_gets(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    device = Looking(2)
    device.looked = []
    monkeypatch.setattr(cuda, "make_device", lambda *_: device)
    graph = write_graph(tmp_path / "graph", random(2000, 9000, 4), parts=3)
    expected = mndmst.solve(graph, backend="cpu")
    for turn in (1, 2):  # then the host looks
        found = mndmst.solve(graph, backend="cuda")
        assert (found.digest, found.num_edges) == (expected.digest, expected.num_edges)
        assert len(device.looked) == turn
    assert device.looked[0] is not None
    assert device.looked[0].edges == expected.num_edges
