"""The address file of a running service stays; that of a dead one is replaced."""

import fcntl
import json
import os
import re
import socket
from pathlib import Path

import pytest

pytest.importorskip("pyarrow", reason="the service needs pyarrow")

from mndmst.host.errors import OutputError
from mndmst.io import owned_files
from mndmst.service.address_file import published_address, remove_left_over

URL = "grpc+tcp://127.0.0.1:1"


def publish(path: Path, overwrite: bool = False):
    return published_address(path, {"url": URL, "token_file": None}, overwrite)


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(owned_files, "PATIENCE_SECONDS", 0.0)


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_second_service_is_refused(tmp_path: Path, overwrite: bool) -> None:
    path = tmp_path / "address"
    process = re.escape(f"{URL}, process {os.getpid()} on {socket.gethostname()}")
    with publish(path):
        kept = path.read_bytes()
        with pytest.raises(OutputError, match=process) as error:
            remove_left_over(path)
        assert f"mndmst client {path} shutdown" in str(error.value)
        with pytest.raises(OutputError, match=process), publish(path, overwrite):
            pass
        assert path.read_bytes() == kept
    assert list(tmp_path.iterdir()) == []


def test_the_file_of_a_dead_service_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "address"
    with publish(path):
        kept = path.read_bytes()
    path.write_bytes(kept)
    with publish(path):
        assert json.loads(path.read_bytes())["url"] == URL
    path.write_bytes(kept)
    remove_left_over(path)
    assert not path.exists()


def test_the_end_keeps_the_file_of_another_service(tmp_path: Path) -> None:
    path = tmp_path / "address"
    with publish(path):
        path.unlink()
        path.write_text("another")
    assert path.read_text() == "another"


def test_without_locks_an_address_file_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    path = tmp_path / "address"
    monkeypatch.setattr(fcntl, "flock", fail)
    with publish(path):
        with pytest.raises(OutputError, match="may use this address file"):
            remove_left_over(path)
        assert path.exists()
