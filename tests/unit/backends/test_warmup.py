"""The machine remembers for which types all kernels have been compiled."""

from pathlib import Path

import numpy as np
import pytest

from mndmst.backends import warmup
from mndmst.backends.cpu.backend import CpuBackend

IDS, KEYS = np.dtype(np.uint32), np.dtype(np.uint32)


def test_compiling_is_announced_until_it_has_been_done(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    backend = CpuBackend(1)
    said: list[str] = []
    runs: list[int] = []
    monkeypatch.setattr(warmup, "_run_all", lambda *_: runs.append(1))
    monkeypatch.setattr(warmup, "_stamp", lambda *_: tmp_path / "complete")
    for process in (1, 2):
        monkeypatch.setattr(warmup, "_warm", set())
        for _ in range(2):
            warmup.warm_up_kernels(backend, IDS, KEYS, said.append)
        assert len(runs) == process
        assert len(said) == 1
        assert warmup.kernels_cached(backend, IDS, KEYS)


def test_types_and_compilers_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = CpuBackend(1)
    stamps = {
        warmup._stamp(backend, ids, keys)
        for ids in (IDS, np.dtype(np.int64))
        for keys in (KEYS, np.dtype(np.uint64))
    }
    monkeypatch.setattr(warmup.numba, "__version__", "0")
    assert len(stamps | {warmup._stamp(backend, IDS, KEYS)}) == 5


def test_a_cache_that_cannot_be_written_is_no_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(warmup, "_run_all", lambda *_: None)
    monkeypatch.setattr(warmup, "_warm", set())
    monkeypatch.setattr(warmup, "_stamp", lambda *_: tmp_path / "missing" / "complete")
    warmup.warm_up_kernels(CpuBackend(1), IDS, KEYS, lambda _: None)
    assert not warmup.kernels_cached(CpuBackend(1), IDS, KEYS)
