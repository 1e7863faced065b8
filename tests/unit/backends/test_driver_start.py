"""Which processes start a CUDA device before MPI, and which see the same devices."""

import ctypes
import threading
from pathlib import Path
from typing import Any

import pytest
from graphs import random, write_graph

from mndmst.backends import ACCELERATORS, cuda
from mndmst.cli.main import parse
from mndmst.cli.solve import _likely_accelerators as likely_accelerators


class FakeDriver:
    """The library of a driver that shows some devices, and its calls."""

    def __init__(self, count: int) -> None:
        self.count, self.calls = count, 0
        self.contexts: list[int] = []

    def cuInit(self, flags: int) -> int:  # noqa: N802
        self.calls += 1
        return 0

    def cuDeviceGetCount(self, count: Any) -> int:  # noqa: N802
        count._obj.value = self.count
        return 0

    def cuDevicePrimaryCtxRetain(self, context: Any, device: int) -> int:  # noqa: N802
        self.contexts.append(device)
        return 0


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory of devices, of which there are two; CuPy seems to be installed."""
    for name in ("nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm"):
        (tmp_path / name).touch()
    monkeypatch.setattr(cuda, "DEVICE_FILES", tmp_path)
    monkeypatch.setattr(cuda, "find_spec", lambda name: name)
    monkeypatch.setattr(cuda, "import_module", lambda name: name)
    monkeypatch.delenv(cuda.VISIBLE, raising=False)
    return tmp_path


@pytest.mark.parametrize(
    ("options", "starts"),
    [
        ([], False),
        (["--ratio", "auto"], False),
        (["--ratio", "0.5"], True),
        (["--ratio", "0.5", "--backend", "cpu"], False),
        (["--backend", "cuda"], True),
    ],
)
def test_a_small_graph_starts_devices_that_options_name(
    tmp_path: Path, options: list[str], starts: bool
) -> None:
    graph = write_graph(tmp_path / "graph", random(30, 60, 1))
    arguments = parse(["solve", str(graph), *options])
    assert likely_accelerators(arguments) == list(ACCELERATORS) * starts


def started(monkeypatch: pytest.MonkeyPatch, local_rank: int, count: int) -> FakeDriver:
    """Return the driver after a process has started its device, if it does."""
    driver = FakeDriver(count)
    monkeypatch.setattr(ctypes, "CDLL", lambda name: driver)
    cuda.start_driver(local_rank)
    for thread in threading.enumerate():
        if thread.name == "mndmst-driver":
            thread.join()
    return driver


@pytest.mark.parametrize("local_rank", range(4))
def test_each_device_is_started_by_one_process_of_a_host(
    files: Path, monkeypatch: pytest.MonkeyPatch, local_rank: int
) -> None:
    driver = started(monkeypatch, local_rank, 2)
    assert driver.contexts == [local_rank][: local_rank < 2]
    assert driver.calls == (local_rank < 2)


@pytest.mark.parametrize("shown", ["1", "0"])
@pytest.mark.parametrize("local_rank", range(3))
def test_a_device_that_all_processes_see_is_started_by_the_first(
    files: Path, monkeypatch: pytest.MonkeyPatch, shown: str, local_rank: int
) -> None:
    monkeypatch.setenv(cuda.VISIBLE, shown)
    driver = started(monkeypatch, local_rank, 1)
    assert driver.contexts == [0][: local_rank == 0]
    assert driver.calls == (local_rank == 0)


def test_where_no_files_list_devices_the_driver_counts_them(
    files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for file in files.iterdir():
        file.unlink()
    assert [started(monkeypatch, rank, 1).contexts for rank in (0, 1)] == [[0], []]


def test_processes_that_may_open_different_files_see_different_devices(
    files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(cuda.VISIBLE, "0")
    both = cuda.visibility()
    assert both == cuda.visibility()
    seen = set()
    for own in ("nvidia0", "nvidia1"):
        monkeypatch.setattr(
            cuda.os, "access", lambda path, mode, own=own: Path(path).name == own
        )
        seen.add(cuda.visibility())
    assert len(seen | {both}) == 3
