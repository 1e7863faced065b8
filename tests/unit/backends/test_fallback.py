"""A device without memory hands its work to the host, whenever it runs out of it."""

from typing import Any

import numpy as np
import pytest
from shard_files import symmetric_rows

from mndmst.backends.base import Band, DeviceMemoryError
from mndmst.backends.cpu.backend import CpuBackend
from mndmst.backends.fallback import Fallback
from mndmst.graph.model import Rows
from mndmst.graph.order import weights_to_keys


class Small(CpuBackend):
    """A device that runs out of memory after some steps."""

    def __init__(self, steps: int) -> None:
        super().__init__(1)
        self.steps = steps

    def _count(self) -> None:
        self.steps -= 1
        if self.steps < 0:
            raise DeviceMemoryError("too small")

    def upload(self, rows: Rows) -> tuple[str, Any]:
        self._count()
        return "on_device", super().upload(rows)

    def band_forest(self, rows: Any, *arguments: Any) -> Any:
        self._count()
        assert rows[0] == "on_device"
        return super().band_forest(rows[1], *arguments)

    def msf(self, rows: Any) -> Any:
        self._count()
        return super().msf(rows[1])

    def forest(self, graph: Any) -> Any:
        self._count()
        return super().forest(graph)


@pytest.mark.parametrize("steps", range(4))
def test_the_host_takes_over(steps: int, capsys: pytest.CaptureFixture[str]) -> None:
    indptr, indices, weights = symmetric_rows()
    rows = Rows(0, 60, indptr, indices, weights_to_keys(weights))
    host = CpuBackend(1)
    device = Fallback(Small(steps), host)
    held = device.upload(rows)
    band = Band(None, int(np.median(rows.keys)))
    for _ in range(2):
        found = device.band_forest(held, band, None)
        expected = host.band_forest(host.upload(rows), band, None)
        for name in ("u", "v", "key"):
            np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    whole = host.msf(host.upload(rows)).edges.u
    np.testing.assert_array_equal(np.sort(device.msf(held).edges.u), np.sort(whole))
    assert device.failed
    said = "mndmst: going on with the CPU alone: too small\n"
    assert capsys.readouterr().err == said


def test_a_device_with_enough_memory_is_used(
    capsys: pytest.CaptureFixture[str],
) -> None:
    device = Fallback(Small(1), CpuBackend(1))
    rows = Rows(0, 1, np.zeros(2, np.int64), *np.empty((2, 0), np.uint32))
    device.upload(rows)
    assert not device.failed
    assert capsys.readouterr().err == ""
