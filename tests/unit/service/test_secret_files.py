"""One rule for tokens and keys: a regular file that only the user can read."""

import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pyarrow", reason="the service needs pyarrow")

from mndmst.host.errors import ConfigError, InputError
from mndmst.service.access import read_keys, read_pem, read_secret, read_token
from mndmst.service.client import connect

TOKEN = "0123456789abcdef0123456789abcdef"


@pytest.fixture
def token(tmp_path: Path) -> Path:
    path = tmp_path / "token"
    path.write_text(TOKEN + "\n")
    path.chmod(0o600)
    return path


@pytest.mark.parametrize("mode", [0o600, 0o400])
def test_a_file_of_ones_own(token: Path, mode: int) -> None:
    token.chmod(mode)
    assert read_token(token) == TOKEN


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o620, 0o602, 0o604, 0o666])
def test_a_file_that_others_may_read_or_write(token: Path, mode: int) -> None:
    token.chmod(mode)
    for read in (read_token, lambda path: read_secret(path, 100)):
        with pytest.raises(ConfigError, match=f"others may read .* chmod 600 {token}"):
            read(token)
    with pytest.raises(ConfigError, match="others may read"):
        connect("grpc+tcp://127.0.0.1:1", token_file=token)


def test_an_access_control_list(token: Path) -> None:
    """The mode of a file with a list has the list's mask for the group."""
    entries = [(1, 6, -1), (2, 4, 12345), (4, 0, -1), (16, 4, -1), (32, 0, -1)]
    value = struct.pack("<I", 2)
    value += b"".join(struct.pack("<HHi", *entry) for entry in entries)
    try:
        os.setxattr(token, "system.posix_acl_access", value)
    except OSError as error:
        pytest.skip(f"no access control lists here: {error}")
    with pytest.raises(ConfigError, match="others may read"):
        read_token(token)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_file_of_another_user(token: Path) -> None:
    os.chown(token, 12345, 12345)
    with pytest.raises(ConfigError, match="belongs to user 12345"):
        read_token(token)


def test_a_file_that_is_missing_or_no_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="none: no such file"):
        read_token(tmp_path / "none")
    with pytest.raises(InputError, match="none: no such file"):
        read_pem(tmp_path / "none")
    with pytest.raises(InputError, match="none: no such file"):
        connect("grpc+tcp://127.0.0.1:1", token_file=tmp_path / "none")
    with pytest.raises(InputError, match="is a directory"):
        read_token(tmp_path)


def certificate(folder: Path, name: str, *more: str) -> tuple[Path, Path]:
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("no openssl to make a certificate with")
    paths = folder / f"{name}.pem", folder / f"{name}.key"
    command = [openssl, "req", "-x509", "-newkey", "rsa:2048", "-days", "2"]
    command += ["-subj", "/CN=localhost", "-keyout", paths[1], "-out", paths[0]]
    options = more or ("-nodes",)
    subprocess.run([*command, *options], check=True, capture_output=True, timeout=60)
    return paths


def test_certificates_and_keys(tmp_path: Path) -> None:
    certificate_1, key_1 = certificate(tmp_path, "one")
    _, key_2 = certificate(tmp_path, "two")
    texts = read_keys(certificate_1, key_1)
    assert texts == (certificate_1.read_bytes(), key_1.read_bytes())
    with pytest.raises(ConfigError, match=r"two.key: is the key of another certif"):
        read_keys(certificate_1, key_2)
    with pytest.raises(InputError, match=r"none: no such file"):
        read_keys(tmp_path / "none", key_1)
    with pytest.raises(ConfigError, match="not a certificate and its key"):
        read_keys(key_1, key_1)
    key_1.chmod(0o644)
    with pytest.raises(ConfigError, match=r"one.key: others may read"):
        read_keys(certificate_1, key_1)
    certificate_1.chmod(0o644)  # a certificate is no secret
    key_1.chmod(0o600)
    assert read_keys(certificate_1, key_1) == texts
    (tmp_path / "text").write_text("no PEM")
    with pytest.raises(ConfigError, match="not a PEM file"):
        read_keys(tmp_path / "text", key_1)


def test_a_key_with_a_password(tmp_path: Path) -> None:
    paths = certificate(tmp_path, "locked", "-passout", "pass:secret")
    with pytest.raises(ConfigError, match="is encrypted"):
        read_keys(*paths)


HOLDER = """
import sys
from mndmst.service.access import find_token
print(find_token(None)[1], flush=True)
sys.stdin.read()
"""


def holder(folder: Path) -> tuple[subprocess.Popen[str], Path]:
    """Start a process with an automatic token; return the file, too."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER],
        env=os.environ | {"TMPDIR": str(folder)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def test_tokens_of_killed_services_are_swept(tmp_path: Path) -> None:
    (tmp_path / "mndmst-notes.txt").touch()
    (tmp_path / "other.token").touch()
    (tmp_path / "mndmst-folder.token").mkdir()
    (tmp_path / "mndmst-l.token").symlink_to(tmp_path / "other.token")
    theirs = {path.name for path in tmp_path.iterdir()}
    killed, left = holder(tmp_path)
    running, kept = holder(tmp_path)
    killed.kill()
    killed.communicate(timeout=30)
    assert left.exists() and kept.exists()
    last, own = holder(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {*theirs, kept.name, own.name}
    assert read_token(kept) != read_token(own)
    for process in (running, last):
        process.communicate(timeout=30)
    assert {path.name for path in tmp_path.iterdir()} == theirs


def test_services_that_start_at_once_keep_their_tokens(tmp_path: Path) -> None:
    holders = [holder(tmp_path) for _ in range(6)]
    assert len({read_token(path) for _, path in holders}) == 6
    for process, _ in holders:
        process.communicate(timeout=30)
    assert not list(tmp_path.iterdir())
