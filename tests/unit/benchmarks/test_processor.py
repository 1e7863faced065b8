"""What the system tells of the processors, and what is said where it tells nothing."""

from pathlib import Path

import pytest

from tests.benchmarks import machine
from tests.benchmarks.machine import UNKNOWN, processor_facts


def test_sockets_caches_and_pages_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(name: str, text: str) -> None:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")

    for cpu, package in enumerate((0, 0, 1, 1)):
        write(f"cpu/cpu{cpu}/topology/physical_package_id", str(package))
    for index, (kind, size) in enumerate((("Data", "48K"), ("Instruction", "64K"))):
        write(f"cpu/cpu0/cache/index{index}/type", kind)
        write(f"cpu/cpu0/cache/index{index}/size", size)
    (tmp_path / "node/node0").mkdir(parents=True)
    (tmp_path / "node/node1").mkdir()
    write("pages/enabled", "always [madvise] never")
    for name, folder in (("_CPU", "cpu"), ("_NODES", "node"), ("_HUGE_PAGES", "pages")):
        monkeypatch.setattr(machine, name, tmp_path / folder)
    assert processor_facts() == {
        "sockets": 2,
        "numa_nodes": 2,
        "caches": ["48K"],
        "huge_pages": f"madvise / {UNKNOWN}",
    }


def test_a_system_that_tells_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("_CPU", "_NODES", "_HUGE_PAGES"):
        monkeypatch.setattr(machine, name, tmp_path)
    assert processor_facts() == {
        "sockets": 1,
        "numa_nodes": 1,
        "caches": [],
        "huge_pages": f"{UNKNOWN} / {UNKNOWN}",
    }
