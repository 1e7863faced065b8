"""The cores of a process, on systems with and without a call to ask for them."""

import os
from pathlib import Path

import pytest

from mndmst.host import memory
from mndmst.host.cores import core_count, processor_name, usable_cores


def test_a_bound_process_has_its_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {2, 5}, raising=False)
    assert usable_cores() == {2, 5}
    assert core_count() == 2


def test_a_system_without_binding_gives_all_cores(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    assert usable_cores() == {0, 1, 2}
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert core_count() == 1


def test_the_processor_has_the_name_of_its_listing(tmp_path: Path) -> None:
    listing = tmp_path / "cpuinfo"
    listing.write_text("processor\t: 0\nmodel name\t: Zen: 4\n" * 2)
    assert processor_name(listing) == "Zen: 4"


def test_a_processor_without_a_name_has_its_architecture(tmp_path: Path) -> None:
    listing = tmp_path / "cpuinfo"
    listing.write_text("processor\t: 0\nBogoMIPS\t: 50\n")
    assert processor_name(listing) == processor_name(tmp_path / "none") != ""


def test_memory_is_counted_without_proc(monkeypatch: pytest.MonkeyPatch) -> None:
    known = memory.resident_bytes(), memory.data_bytes(), memory.free_bytes()

    def missing(*_: object) -> str:
        raise FileNotFoundError

    monkeypatch.setattr(memory.Path, "read_text", missing)
    monkeypatch.setattr(memory, "allowed_bytes", lambda: 0)  # of control groups
    assert memory.resident_bytes() >= known[0] // 2
    assert memory.data_bytes() > 1 << 20
    assert memory.free_bytes() >= known[2]
