"""What a rank may take of its host: control groups, and rows that do not fit."""

import sys
from pathlib import Path

import graphs
import numpy as np
import pytest

import mndmst
from mndmst.host import memory
from mndmst.host.errors import ConfigError
from mndmst.host.memory import allowed_bytes, machine_bytes
from mndmst.solver import read

GIB = 1 << 30


def group(path: Path, **files: object) -> None:
    """Write the files of a control group."""
    path.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (path / name.replace("__", ".")).write_text(f"{text}\n")


def second(path: Path, limit: object, usage: int, cache: int = 0) -> None:
    stat = f"anon 1\ninactive_file {cache}"
    group(path, memory__max=limit, memory__current=usage, memory__stat=stat)


def first(path: Path, limit: int, usage: int, cache: int = 0) -> None:
    group(
        path, memory__limit_in_bytes=limit, memory__usage_in_bytes=usage,
        memory__stat=f"inactive_file 7\ntotal_inactive_file {cache}",
    )  # fmt: skip


@pytest.fixture
def own(tmp_path: Path) -> Path:
    return tmp_path / "cgroup"


@pytest.fixture
def mounted(tmp_path: Path) -> Path:
    return tmp_path / "mounted"


def test_the_tightest_of_nested_groups_counts(own: Path, mounted: Path) -> None:
    own.write_text("0::/slurm/job_7/step_0\n")
    second(mounted / "slurm/job_7/step_0", "max", GIB)
    second(mounted / "slurm/job_7", 4 * GIB, 3 * GIB, cache=GIB)
    second(mounted / "slurm", 64 * GIB, GIB)
    assert allowed_bytes(own, mounted) == 2 * GIB
    second(mounted / "slurm/job_7", 1 << 20, GIB)
    assert machine_bytes(own, mounted) == min(1 << 20, machine_bytes())


def test_groups_of_the_first_version(own: Path, mounted: Path) -> None:
    own.write_text("9:name=systemd:/a\n4:cpuset,memory:/job\n0::/\n")
    first(mounted / "memory/job", 2 * GIB, GIB, cache=5)
    first(mounted / "memory", (1 << 63) - 4096, 3 * GIB)
    assert allowed_bytes(own, mounted) == GIB + 5


def test_a_container_sees_its_group_at_the_top(own: Path, mounted: Path) -> None:
    own.write_text("4:memory:/docker/0123\n")
    first(mounted / "memory", GIB, GIB // 2)
    assert allowed_bytes(own, mounted) == GIB // 2


def test_a_group_that_is_full_allows_nothing(own: Path, mounted: Path) -> None:
    own.write_text("0::/job\n")
    second(mounted / "job", GIB, GIB + 4096)
    assert allowed_bytes(own, mounted) == 0


@pytest.mark.parametrize("text", ["", "0::/job\n", "no groups\n", "x:memory\n"])
def test_without_a_bound_all_is_allowed(own: Path, mounted: Path, text: str) -> None:
    own.write_text(text)
    assert allowed_bytes(own, mounted) == sys.maxsize


def test_without_control_groups_all_is_allowed(own: Path, mounted: Path) -> None:
    assert allowed_bytes(own, mounted) == sys.maxsize


def test_free_bytes_are_those_that_the_groups_allow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert memory.free_bytes() > 12345
    monkeypatch.setattr(memory, "allowed_bytes", lambda: 12345)
    assert memory.free_bytes() == 12345


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Return a graph of 40 MiB of rows, and the digest of its forest."""
    n, reach = 1 << 16, 40
    src = np.repeat(np.arange(n - reach), reach)
    dst = src + np.tile(np.arange(1, reach + 1), n - reach)
    weight = np.random.default_rng(1).integers(0, 1 << 30, len(src)).astype(np.int32)
    graph = graphs.Graph(n, src, dst, weight)
    path = graphs.write_graph(tmp_path_factory.mktemp("wide") / "graph", graph)
    return path, mndmst.solve(path, backend="cpu").digest


def let_be_free(monkeypatch: pytest.MonkeyPatch, nbytes: int) -> None:
    for module in (memory, read):
        monkeypatch.setattr(module, "free_bytes", lambda: nbytes)


def test_rows_that_do_not_fit_the_host_pass_in_pieces(
    wide: tuple[Path, str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path, digest = wide
    let_be_free(monkeypatch, 36 << 20)
    assert mndmst.solve(path, quiet=False, backend="cpu").digest == digest
    assert "may not fit the memory of the hosts" in capsys.readouterr().err


def test_a_host_with_no_room_at_all_is_told_of(
    wide: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, _ = wide
    let_be_free(monkeypatch, 1 << 20)
    with pytest.raises(ConfigError, match=r"of its host.* \d+MiB each suffice"):
        mndmst.solve(path, backend="cpu")


def test_more_is_kept_where_the_host_has_more(
    wide: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: list[int] = []
    monkeypatch.setattr(read, "keep_freed", kept.append)
    for free in (1 << 32, 1 << 36):
        let_be_free(monkeypatch, free)
        mndmst.solve(wide[0], backend="cpu")
    assert (1 << 29) < kept[0] < (1 << 30)
    assert kept[1] - kept[0] == ((1 << 36) - (1 << 32)) // read.KEPT_SHARE
