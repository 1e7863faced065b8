"""Sockets, certificates and token files: each mistake has its own sentence."""

import shutil
import subprocess
from pathlib import Path

import pytest
from graphs import simple_path, write_graph
from services import Served, served

pytest.importorskip("pyarrow.flight", reason="the service needs pyarrow")

from mndmst.host.errors import ConfigError, InputError
from mndmst.service.client import connect
from mndmst.service.connection import ServiceError

pytestmark = [pytest.mark.mpi, pytest.mark.slow]

N = 30


def refusal(folder: Path, *words: object) -> str:
    """Return the output of a service that does not start."""
    with pytest.raises(pytest.fail.Exception) as told:
        Served(folder, 2, *words)
    assert "Traceback" not in str(told.value)
    return str(told.value)


def test_two_services_on_one_socket(tmp_path: Path) -> None:
    write_graph(tmp_path / "g", simple_path(N), 2)
    (tmp_path / "two").mkdir()
    place = tmp_path / "s"
    words = (tmp_path / "g", "-q", "--socket", place)
    with served(tmp_path, 2, *words) as service:
        said = refusal(tmp_path / "two", *words)
        assert f"--socket {place}: another process listens there" in said
        with service.connect() as client:
            assert len(client["g"].forest) == N - 1
            assert len(client["g"].edges()) == N - 1
    assert not list(tmp_path.glob("s*"))


def test_a_killed_service_leaves_its_sockets_to_the_next(tmp_path: Path) -> None:
    write_graph(tmp_path / "g", simple_path(N), 2)
    words = (tmp_path / "g", "-q", "--socket", tmp_path / "s")
    Served(tmp_path, 2, *words).kill()
    assert len(list(tmp_path.glob("s*"))) == 2
    with served(tmp_path, 2, *words) as service, service.connect() as client:
        assert len(client["g"].edges()) == N - 1
    (tmp_path / "s").write_text("theirs")
    assert "is not a socket" in refusal(tmp_path, *words)
    assert (tmp_path / "s").read_text() == "theirs"


def test_a_host_without_a_scheme_is_told_the_schemes() -> None:
    with pytest.raises(InputError, match=r"give grpc\+tcp://localhost:1 or grpc\+tls"):
        connect("localhost:1")


def test_a_relative_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_graph(tmp_path / "g", simple_path(N), 2)
    monkeypatch.chdir(tmp_path)
    with served(tmp_path, 2, "g", "-q", "--socket", "rel.sock") as service:
        assert service.url == f"grpc+unix://{tmp_path}/rel.sock"
        with service.connect() as client:
            assert len(client["g"].edges()) == N - 1


@pytest.mark.parametrize("character", ["%", "?", "#", " "])
def test_a_name_that_no_address_has(tmp_path: Path, character: str) -> None:
    write_graph(tmp_path / "g", simple_path(N))
    place = tmp_path / f"a{character}b"
    said = refusal(tmp_path, tmp_path / "g", "-q", "--socket", place)
    assert f"an address cannot have {character!r}" in said


def certificate(folder: Path, name: str, address: str) -> tuple[Path, Path]:
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("no openssl to make a certificate with")
    paths = folder / f"{name}.pem", folder / f"{name}.key"
    command = [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    command += ["-subj", "/CN=localhost", "-addext", f"subjectAltName=IP:{address}"]
    command += ["-keyout", paths[1], "-out", paths[0]]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    return paths


def test_certificates(tmp_path: Path) -> None:
    write_graph(tmp_path / "g", simple_path(N), 2)
    own, key = certificate(tmp_path, "own", "127.0.0.1")
    other, other_key = certificate(tmp_path, "other", "10.9.9.9")
    base = (tmp_path / "g", "-q", "--tls-cert", own, "--tls-key")
    missing = ("--tls-cert", tmp_path / "none", "--tls-key", key)
    for words, text in (
        ((*base, other_key), f"{other_key}: is the key of another certificate"),
        ((*base, tmp_path / "none"), "none: no such file"),
        ((tmp_path / "g", *missing), "none: no such file"),
    ):
        assert text in refusal(tmp_path, *words)
    key.chmod(0o644)
    assert "others may read the secret in it; chmod 600" in refusal(
        tmp_path, *base, key
    )
    key.chmod(0o600)
    with served(tmp_path, 2, *base, key) as service:
        token = {"token_file": service.token_file}
        for root in (None, other):
            with pytest.raises(ServiceError, match="certificate is not trusted"):
                connect(service.url, tls_root=root, **token)
        assert connect(service.url, tls_root=own, **token)["g"].num_vertices == N
        Path(service.token_file).chmod(0o644)
        with pytest.raises(ConfigError, match="others may read the secret"):
            connect(service.url, tls_root=own, **token)
        Path(service.token_file).chmod(0o600)
    words = (tmp_path / "g", "-q", "--tls-cert", other, "--tls-key", other_key)
    with (
        served(tmp_path, 2, *words) as service,
        pytest.raises(ServiceError, match="names other hosts than this address"),
    ):
        connect(service.url, tls_root=other, token_file=service.token_file)
