"""Files of the cache that no run has used for long are removed, and no others."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from mndmst.host import caches
from mndmst.native import cache_cleaning, code_store
from mndmst.native.code_store import Code

OLD = time.time() - 31 * caches.DAY
NAME = "mndmst.kernels.hooks.count_roots"


@pytest.fixture
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a cache with a file of each kind, all of them old."""
    monkeypatch.setattr(
        cache_cleaning, "user_cache_bases", lambda: iter([tmp_path / "cache"])
    )
    base = tmp_path / "cache"
    code = base / "x86-64-v3-0123456789abcdef"
    gpu = base / "cuda13-0123456789abcdef"
    for folder in (code, gpu):
        folder.mkdir(parents=True)
    code_store.save(NAME, "i8[]", Code("symbol", "i8", b"\x7fELF"), code)
    (code / "lock").touch()
    (code / ".part-abc_defg").write_bytes(b"cut")
    for name in ("rounds-32-sm_90.cubin", "point_tree-float-3-2-1-12-compute_80.ptx"):
        (gpu / name).write_bytes(code_store.with_digest(b"code"))
    (base / "sources-0123456789abcdef").write_bytes(bytes(32))
    for path in [*base.rglob("*"), base]:
        os.utime(path, (OLD, OLD))
    return base


def names(base: Path) -> set[str]:
    return {path.name for path in base.iterdir()}


def test_old_files_are_removed_and_told(base: Path) -> None:
    before = names(base)
    removed = cache_cleaning.remove_unused()
    assert {found.path.name for found in removed} == before
    assert len(before) == 3 and names(base) == set()
    assert all(abs(found.last_used - OLD) < 1 for found in removed)
    assert sum(found.nbytes for found in removed) > 32


def used(path: Path) -> None:
    caches.mark_used(path)


def read(path: Path) -> None:
    """Set the time of access alone, as a file system that records it does."""
    os.utime(path, (time.time(), OLD))


@pytest.mark.parametrize(
    ("path", "use"),
    [
        ("x86-64-v3-0123456789abcdef", used),
        ("x86-64-v3-0123456789abcdef/lock", read),
        ("sources-0123456789abcdef", used),
    ],
)
def test_used_files_stay(base: Path, path: str, use: Callable[[Path], None]) -> None:
    use(base / path)
    cache_cleaning.remove_unused()
    assert names(base) == {Path(path).parts[0]}


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("x86-64-v3-0123456789abcdef/notes.txt", b"mine"),
        ("x86-64-v3-0123456789abcdef/hooks-0123456789abcdef.o", b"mine"),
        ("cuda13-0123456789abcdef/rounds-64-sm_90.cubin", b"mine" * 9),
        ("sources-1123456789abcdef", b"mine"),
        ("mine-0123456789abcdef/lock", b""),
        ("mine.txt", b"mine"),
    ],
)
def test_files_of_others_stay(base: Path, path: str, content: bytes) -> None:
    file = base / path
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(content)
    for changed in (file, file.parent):
        os.utime(changed, (OLD, OLD))
    cache_cleaning.remove_unused()
    assert names(base) == {Path(path).parts[0]}
    assert file.read_bytes() == content


def test_links_and_caches_that_others_can_change_stay(base: Path) -> None:
    target = base.with_name("x86-64-v3-1123456789abcdef")
    (base / "x86-64-v3-0123456789abcdef").rename(target)
    (base / target.name).symlink_to(target)
    cache_cleaning.remove_unused()
    assert names(base) == {target.name} and len(list(target.iterdir())) == 3
    base.chmod(0o777)
    (base / "sources-0123456789abcdef").write_bytes(bytes(32))
    os.utime(base / "sources-0123456789abcdef", (OLD, OLD))
    assert cache_cleaning.remove_unused() == []


def test_a_use_is_noted_once_a_day(tmp_path: Path) -> None:
    os.utime(tmp_path, (OLD, OLD))
    caches.mark_used(tmp_path)
    noted = tmp_path.stat().st_mtime
    assert noted > OLD + caches.DAY
    os.utime(tmp_path, (noted - 60, noted - 60))
    caches.mark_used(tmp_path)
    assert tmp_path.stat().st_mtime == noted - 60
