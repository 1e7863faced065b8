"""A name in the file system has one service, and no other file is removed."""

import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mndmst.host.errors import ConfigError
from mndmst.service.access import check_name, own_socket


@contextmanager
def listening(path: Path) -> Iterator[None]:
    with socket.socket(socket.AF_UNIX) as link:
        link.bind(str(path))
        link.listen()
        yield


def test_a_name_that_is_free(tmp_path: Path) -> None:
    with own_socket(tmp_path / "s") as own, listening(tmp_path / "s"):
        pass
    assert (tmp_path / "s").stat().st_mode & 0o777 == 0o600
    own.remove()
    own.remove()
    assert not list(tmp_path.iterdir())


def test_a_folder_that_another_process_keeps_locked(tmp_path: Path) -> None:
    """Any user may lock a folder such as /tmp; the service does not wait for ever."""
    file = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(file, fcntl.LOCK_EX)
    try:
        with (
            pytest.raises(ConfigError, match=f"{tmp_path}: another process keeps this"),
            own_socket(tmp_path / "s"),
        ):
            pytest.fail("it was given")
    finally:
        os.close(file)
    with own_socket(tmp_path / "s"), listening(tmp_path / "s"):
        pass


def test_a_name_where_a_process_listens(tmp_path: Path) -> None:
    place = tmp_path / "s"
    with (
        listening(place),
        pytest.raises(ConfigError, match=f"--socket {place}: another process listens"),
        own_socket(place),
    ):
        pytest.fail("it was given")
    assert place.exists()


def test_a_socket_that_a_killed_process_has_left(tmp_path: Path) -> None:
    place = tmp_path / "s"
    with listening(place):
        pass
    assert place.exists()
    with own_socket(place):
        place.unlink()
        with listening(place):
            pass


def test_the_socket_of_another_process_stays(tmp_path: Path) -> None:
    place = tmp_path / "s"
    with own_socket(place) as own, listening(place):
        pass
    place.rename(tmp_path / "before")
    with listening(place):
        own.remove()
        assert place.exists()


@pytest.mark.parametrize("kind", ["file", "folder", "link"])
def test_a_name_of_something_else(tmp_path: Path, kind: str) -> None:
    place = tmp_path / "s"
    if kind == "file":
        place.write_text("theirs")
    elif kind == "folder":
        place.mkdir()
    else:
        place.symlink_to(tmp_path / "else")
    with (
        pytest.raises(ConfigError, match="is there already, and is not a socket"),
        own_socket(place),
    ):
        pytest.fail("it was given")
    assert os.path.lexists(place)


def test_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert check_name(Path("rel.sock")) == tmp_path / "rel.sock"
    for character in '% ?#:\n"é':
        with pytest.raises(ConfigError, match="an address cannot have"):
            check_name(tmp_path / f"a{character}b")
    with pytest.raises(ConfigError, match="at most 100 bytes"):
        check_name(tmp_path / ("a" * 100))
    with pytest.raises(ConfigError, match="directory is not there"):
        check_name(tmp_path / "none" / "s")
