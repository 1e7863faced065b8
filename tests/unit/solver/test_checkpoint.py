"""Checkpoints on disk: whole or refused, whatever has happened to them."""

import errno
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from checkpoints import COMM, keep, part, read, same, state

from mndmst.host.errors import ConfigError, OutputError
from mndmst.io import owned_files
from mndmst.solver import checkpoint
from mndmst.solver.checkpoint import Checkpoint
from mndmst.solver.checkpoint.folder import LOCK, Folder
from mndmst.solver.checkpoint.manifest import MANIFEST


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    keep(tmp_path, state())
    return tmp_path


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.mark.parametrize("edges", [0, 200])
@pytest.mark.parametrize("done", [None, 0, (1 << 32) - 1])
def test_what_is_saved_is_loaded(tmp_path: Path, edges: int, done: int | None) -> None:
    saved = state(edges, done)
    nbytes = keep(tmp_path, saved)
    assert nbytes == part(tmp_path).stat().st_size
    assert same(read(tmp_path), saved)


def killed(folder: Path) -> Path:
    """Leave a file of a checkpoint that was killed."""
    kept = Folder(COMM, folder)
    path = folder / f"{kept.new_token()}-00003.h5"
    path.touch()
    kept.close()
    return path


def test_the_next_one_replaces_it(folder: Path) -> None:
    before, left = part(folder), killed(folder)
    assert same(read(folder), state())
    keep(folder, state(100))
    assert not before.exists()
    assert not left.exists()
    assert names(folder) == {MANIFEST, LOCK, part(folder).name}
    assert same(read(folder), state(100))
    Checkpoint(COMM, folder).remove()
    assert names(folder) == {LOCK}
    assert (folder / LOCK).read_text().count("\n") == 0


STRANGERS = (
    *("lock", "manifest.json", "notes.json", "old-forest.h5", "x-00000.h5"),
    *("0123456789ab-00000.h5", "0123456789ab.json", f"{MANIFEST}.tmp"),
)


def test_files_of_others_stay(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("precious")
    folder = tmp_path / "kept"
    folder.mkdir()
    for name in STRANGERS:
        (folder / name).write_text(name)
        (folder / f"link-{name}").symlink_to(precious)
    before = names(folder)
    keep(folder, state())
    killed(folder)
    keep(folder, state(100))
    assert same(read(folder), state(100))
    Checkpoint(COMM, folder).remove()
    assert names(folder) == before | {LOCK}
    assert all((folder / name).read_text() == name for name in STRANGERS)
    assert precious.read_text() == "precious"


def test_a_manifest_knows_its_files_without_the_lock(folder: Path) -> None:
    before = part(folder)
    (folder / LOCK).unlink()
    keep(folder, state(100))
    assert not before.exists()


@pytest.mark.parametrize("name", [LOCK, MANIFEST])
@pytest.mark.parametrize("content", ["{}", "mine", '["mndmst-checkpoint"]', "\0"])
def test_files_of_others_with_our_names_are_refused(
    tmp_path: Path, name: str, content: str
) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(ConfigError, match=rf"{name}: is not .*Rename it.*--checkpoint"):
        Checkpoint(COMM, tmp_path)
    assert (tmp_path / name).read_text() == content


@pytest.mark.parametrize("name", [LOCK, MANIFEST])
def test_links_with_our_names_are_refused(tmp_path: Path, name: str) -> None:
    precious, folder = tmp_path / "precious", tmp_path / "kept"
    precious.touch()
    folder.mkdir()
    (folder / name).symlink_to(precious)
    with pytest.raises(OutputError, match=rf"{name}: is (a symbolic link|not a reg)"):
        Checkpoint(COMM, folder)
    assert (folder / name).is_symlink()
    assert precious.stat().st_size == 0


@pytest.mark.parametrize("length", [0, 10])
def test_a_lock_whose_maker_was_killed_is_made_whole(folder: Path, length: int) -> None:
    os.truncate(folder / LOCK, length)
    keep(folder, state(100))
    assert names(folder) == {MANIFEST, LOCK, part(folder).name}


@pytest.mark.parametrize(
    "failing", ["_write", "flush_to_disk", "file_digest", "Manifest"]
)
def test_one_that_fails_leaves_the_one_before(
    folder: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    before = names(folder)
    monkeypatch.setattr(checkpoint, failing, full)
    with pytest.raises(OutputError, match="No space left"):
        keep(folder, state(100))
    monkeypatch.undo()
    assert names(folder) == before
    assert same(read(folder), state())


def on_directories(monkeypatch: pytest.MonkeyPatch, error: int) -> None:
    """Let fsync fail for directories."""
    fsync = os.fsync

    def picky(handle: int) -> None:
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(error, os.strerror(error))
        fsync(handle)

    monkeypatch.setattr(os, "fsync", picky)


def test_a_file_system_that_cannot_settle_directories(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_directories(monkeypatch, errno.EINVAL)
    keep(folder, state(100))
    assert same(read(folder), state(100))


def test_a_directory_that_fails_last_leaves_the_new_one(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_directories(monkeypatch, errno.EIO)
    with pytest.raises(OutputError, match="cannot be written"):
        keep(folder, state(100))
    assert same(read(folder), state(100))


def test_one_run_for_each_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owned_files, "PATIENCE_SECONDS", 0.1)
    kept = tmp_path / "new" / "kept"
    with (
        Checkpoint(COMM, kept),
        pytest.raises(ConfigError, match=r"another run.*--checkpoint"),
    ):
        Checkpoint(COMM, kept)
    with pytest.raises(KeyError), Checkpoint(COMM, kept):
        raise KeyError  # however it ends
    Checkpoint(COMM, kept).close()


def test_a_folder_that_cannot_be_made() -> None:
    with pytest.raises(OutputError, match="/proc/kept"):
        Checkpoint(COMM, Path("/proc/kept"))


def test_resume_needs_a_folder() -> None:
    with pytest.raises(ConfigError, match="--checkpoint DIR"):
        Checkpoint(COMM, resume=True)
