"""The memory that ranks of a machine share while they verify."""

import os
from pathlib import Path

import pytest
from forests import COMM

from mndmst.host.errors import ConfigError
from mndmst.verify import shared


def test_too_little_shared_memory_is_a_config_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(ConfigError, match="point TMPDIR"):
        shared.claim(COMM, 1 << 60)
    handle = shared.claim(COMM, 100)
    assert os.fstat(handle).st_size == 100
    os.close(handle)


def test_shared_memory_has_no_name_when_it_gets_its_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    true = os.posix_fallocate
    rooms = []

    def allocate(handle: int, begin: int, length: int) -> None:
        place = str(Path(f"/proc/self/fd/{handle}").readlink())
        assert place.endswith(" (deleted)")
        rooms.append(place)
        if place.startswith("/dev/shm"):
            raise OSError("no room")
        true(handle, begin, length)

    monkeypatch.setattr(os, "posix_fallocate", allocate)
    os.close(shared.claim(COMM, 100))
    assert rooms[-1].startswith(str(tmp_path))
    assert list(tmp_path.iterdir()) == []
