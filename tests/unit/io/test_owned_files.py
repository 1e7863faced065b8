"""A lock belongs to an open file; its name is checked after the lock is taken."""

import fcntl
import os
import threading
from pathlib import Path

import pytest

from mndmst.host.errors import OutputError
from mndmst.io import owned_files
from mndmst.io.owned_files import BusyError, LockFile, OwnFile


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(owned_files, "PATIENCE_SECONDS", 0.1)


def test_the_second_is_told_the_content_of_the_first(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with LockFile.take(path, text=b"held by the first"):
        with pytest.raises(BusyError) as error:
            LockFile.take(path)
        assert error.value.content == b"held by the first"
    with LockFile.take(path, text=b"another") as file:
        assert file.content() == b"held by the first"


def test_a_lock_can_be_shared(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with LockFile.take(path) as first:
        first.lock(fcntl.LOCK_SH)
        with LockFile.take(path, fcntl.LOCK_SH, text=None), pytest.raises(BusyError):
            LockFile.take(path)


def test_a_lock_that_its_holder_removes_is_taken_on_a_new_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The waiting process has opened the file that is removed before it is locked."""
    monkeypatch.setattr(owned_files, "PATIENCE_SECONDS", 60)
    path, true = tmp_path / "lock", fcntl.flock
    first = LockFile.take(path)
    waits = threading.Event()

    def flock(handle: int, kind: int) -> None:
        waits.set()
        true(handle, kind)

    monkeypatch.setattr(fcntl, "flock", flock)
    taken: list[LockFile] = []
    second = threading.Thread(target=lambda: taken.append(LockFile.take(path)))
    second.start()
    assert waits.wait(60)
    removed = first.removable
    removed.remove()
    first.close()
    second.join(60)
    assert taken[0].is_named()
    assert path.exists()
    assert not removed.is_there() or taken[0].removable == removed
    taken[0].close()


def test_a_forked_child_keeps_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    file = LockFile.take(path)
    ready, end = os.pipe()
    child = os.fork()
    if not child:
        os.close(end)
        os.read(ready, 1)
        os._exit(0)
    file.close()
    with pytest.raises(BusyError):
        LockFile.take(path)
    os.close(end)
    os.waitpid(child, 0)
    os.close(ready)
    LockFile.take(path).close()


def test_a_rank_that_does_not_see_the_file_is_told_so(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="not every rank sees the file"):
        LockFile.take(tmp_path / "lock", text=None)


def test_a_name_that_is_always_replaced_is_busy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LockFile, "is_named", lambda file: False)
    with pytest.raises(BusyError):
        LockFile.take(tmp_path / "lock")


def test_a_file_that_has_taken_the_name_is_not_removed(tmp_path: Path) -> None:
    own = OwnFile.make(tmp_path / "file")
    with LockFile.take(tmp_path / "lock") as held:
        for name in ("file", "lock"):
            (tmp_path / name).rename(tmp_path / f"{name}-moved")
            (tmp_path / name).write_text("another")
        own.remove()
        held.removable.remove()
    assert {path.name for path in tmp_path.iterdir()} == {
        *("file", "lock", "file-moved", "lock-moved"),
    }
