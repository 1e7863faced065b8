"""Which devices a rank takes: a GPU only where the run ends sooner with it."""

import pytest

from mndmst.backends.cpu.backend import CpuBackend
from mndmst.comm.communicator import world
from mndmst.host.errors import MissingExtraError
from mndmst.host.progress import Progress
from mndmst.run.config import Config
from mndmst.run.report import Report
from mndmst.steps import devices as module


@pytest.fixture(autouse=True)
def one_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "unavailable", lambda: None)
    monkeypatch.setattr(module, "device_ids", lambda: ["GPU at 0"])
    monkeypatch.setattr(module, "cuda_device", lambda *_: CpuBackend(1))


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
    monkeypatch.setattr(module, "unavailable", lambda: "no driver")
    assert devices(10) == devices(1 << 40) == 1
    with pytest.raises(MissingExtraError, match="--backend cuda: no driver"):
        devices(10, backend="cuda")
