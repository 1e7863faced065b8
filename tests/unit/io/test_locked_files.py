"""HDF5 files that cannot be locked are not called damaged."""

import errno
import fcntl
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import h5py
import pytest

import mndmst
from mndmst.host.errors import InputError, OutputError
from mndmst.io.file_access import LockedFileError, open_hdf5, reading
from mndmst.io.output_kinds import FOREST, check_replaceable

NAME = "HDF5_USE_FILE_LOCKING"


@pytest.fixture
def forest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv(NAME, raising=False)
    mndmst.minimum_spanning_forest([0, 1], [1, 2], [2.0, 3.0]).write(tmp_path / "f.h5")
    return tmp_path / "f.h5"


@pytest.fixture
def locked(forest: Path) -> Iterator[Path]:
    """Yield a file that this process has locked as a writer does."""
    with forest.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield forest


def attributes(path: Path) -> dict[str, Any]:
    with reading(path), open_hdf5(path) as file:
        return dict(file.attrs)


def test_a_file_that_is_open_elsewhere(locked: Path) -> None:
    with pytest.raises(LockedFileError, match=f"another program .*{NAME}=FALSE"):
        attributes(locked)
    with pytest.raises(InputError, match="another program has it open for writing"):
        mndmst.Forest.read(locked)


def test_an_output_that_is_open_elsewhere(locked: Path) -> None:
    with pytest.raises(LockedFileError, match="another program has it open"):
        check_replaceable(locked, FOREST, overwrite=False)
    check_replaceable(locked, FOREST, overwrite=True)


def test_a_file_that_a_killed_program_has_left_open(forest: Path) -> None:
    code = f"import h5py, os; file = h5py.File({str(forest)!r}, 'r+'); os._exit(0)"
    subprocess.run([sys.executable, "-c", code], check=True)
    with pytest.raises(
        LockedFileError, match=r"marked as open for writing.*h5clear -s"
    ):
        attributes(forest)


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP])
def test_a_file_system_without_locks(
    forest: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    expected = attributes(forest)
    monkeypatch.setattr(h5py, "File", without_locks(h5py.File, number, insists=False))
    assert attributes(forest).keys() == expected.keys()
    assert mndmst.Forest.read(forest).total_weight == 5.0


def test_locks_that_the_environment_asks_for_and_the_system_lacks(
    forest: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lacking = without_locks(h5py.File, errno.ENOLCK, insists=True)
    monkeypatch.setattr(h5py, "File", lacking)
    with pytest.raises(LockedFileError, match=f"No locks available.*{NAME}=FALSE"):
        attributes(forest)


def without_locks(
    opened: Callable[..., h5py.File], number: int, insists: bool
) -> Callable[..., h5py.File]:
    """Return a `h5py.File` of a file system without locks, with HDF5's message."""
    text = f"unable to lock file, errno = {number}, error message = "

    def file(path: Path, mode: str, locking: bool | None = None) -> h5py.File:
        if locking is None or insists:
            reason = f"Unable to open file ({text}'{os.strerror(number)}')"
            raise OSError(number, reason)
        return opened(path, mode, locking=locking)

    return file


def test_a_damaged_file_is_still_called_damaged(forest: Path) -> None:
    forest.write_bytes(forest.read_bytes()[:100])
    with pytest.raises(InputError, match="damaged or cut short"):
        attributes(forest)
    with pytest.raises(OutputError, match="not a forest that mndmst has written"):
        check_replaceable(forest, FOREST, overwrite=False)
