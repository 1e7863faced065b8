"""How a service begins to listen, with what access, and how it ends."""

import os
import shutil
import signal
import stat
import subprocess
from pathlib import Path

import numpy as np
import pytest
from graphs import simple_path, write_graph
from processes import finish, on_ranks, python, start
from services import Served, served

pytest.importorskip("pyarrow.flight", reason="the service needs pyarrow")

from mndmst.service.client import connect
from mndmst.service.connection import ServiceError

pytestmark = [pytest.mark.mpi, pytest.mark.slow]

N = 30


def test_a_network_needs_a_token_and_tls(tmp_path: Path) -> None:
    write_graph(tmp_path / "g", simple_path(N))
    serve = ("-m", "mndmst", "serve", tmp_path / "g", "--listen")
    for words, reason in (
        (("0.0.0.0:0",), "give --token-file and --tls-cert and --tls-key, or --insec"),
        (("192.0.2.1:0", "--insecure"), "cannot listen at"),
        (("nonsense",), "is not HOST:PORT"),
    ):
        done = finish(start(on_ranks(2, *serve, *words)), 60)
        assert done.returncode == 1, done
        assert reason in done.stderr
        assert done.stderr.count("mndmst: error:") == 1
        assert "Traceback" not in done.stderr
    (tmp_path / "token").write_text("a token that others may read")
    (tmp_path / "token").chmod(0o644)
    words = (tmp_path / "g", "--token-file", tmp_path / "token")
    done = finish(start(python("-m", "mndmst", "serve", *words)), 60)
    assert "others may read the secret" in done.stderr


def test_a_socket_in_the_file_system(tmp_path: Path) -> None:
    write_graph(tmp_path / "g", simple_path(N))
    words = (tmp_path / "g", "-q", "--socket", tmp_path / "s")
    with served(tmp_path, 2, *words) as service:
        assert service.url == f"grpc+unix://{tmp_path / 's'}"
        for path in (tmp_path / "s", tmp_path / "s.1"):
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
        with service.connect() as client:
            assert len(client["g"].forest.src) == N - 1
    assert not (tmp_path / "s").exists()


@pytest.mark.parametrize("rank", (0, 1))
def test_a_rank_that_dies_ends_the_service(tmp_path: Path, rank: int) -> None:
    write_graph(tmp_path / "g", simple_path(N))
    service = Served(tmp_path, 2, tmp_path / "g", "-q")
    try:
        client = service.connect()
        os.kill(service.ranks()[rank], signal.SIGKILL)
        assert service.process.wait(60) != 0
        service.wait_for_ranks_to_end()
        with pytest.raises(ServiceError, match="no service answers"):
            client.list()
    finally:
        service.kill()


@pytest.mark.parametrize("rank", (0, 1))
def test_a_signal_to_a_rank_ends_the_service(tmp_path: Path, rank: int) -> None:
    write_graph(tmp_path / "g", simple_path(N))
    service = Served(tmp_path, 2, tmp_path / "g", "-q")
    try:
        os.kill(service.ranks()[rank], signal.SIGTERM)
        done = finish(service.process, 60)
        assert done.returncode == 75
        assert "all requests were answered" in done.stderr
    finally:
        service.kill()


@pytest.fixture
def heard_interrupts():
    """Programs that are started do not ignore SIGINT, as a shell may have it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heard_interrupts")
@pytest.mark.parametrize("rank", (0, 1))
def test_an_interrupt_of_a_rank_ends_the_service_at_once(
    tmp_path: Path, rank: int
) -> None:
    write_graph(tmp_path / "g", simple_path(N))
    service = Served(tmp_path, 2, tmp_path / "g", "-q")
    try:
        os.kill(service.ranks()[rank], signal.SIGINT)
        done = finish(service.process, 60)
        assert done.returncode == 128 + signal.SIGINT
        assert "Traceback" not in done.stderr
    finally:
        service.kill()


def test_tls(tmp_path: Path) -> None:
    """Every rank shows the certificate, and clients must trust it."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("no openssl to make a certificate with")
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    subprocess.run(
        [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
         "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1",
         "-keyout", key, "-out", certificate],
        check=True, capture_output=True, timeout=60,
    )  # fmt: skip
    write_graph(tmp_path / "g", simple_path(N))
    serve = (tmp_path / "g", "-q", "--tls-cert", certificate, "--tls-key", key)
    with served(tmp_path, 2, *serve) as service:
        assert service.url.startswith("grpc+tls://")
        options = {"token_file": service.token_file, "tls_root": certificate}
        with connect(service.url, **options) as client:
            assert len(client["g"].forest.src) == N - 1
            sent = client["g"].solve(np.arange(N - 1, 0, -1))
            assert sent.weight.tolist() == list(range(N - 1, 0, -1))
        with pytest.raises(ServiceError, match=r"certificate is not trusted.*tls_root"):
            connect(service.url, token_file=service.token_file)
        words = ("-m", "mndmst", "client", service.address, "list")
        done = finish(start(python(*words)), 60)
        assert "--tls-root" in done.stderr
        assert len(done.stderr.splitlines()) == 1  # no lines of gRPC's own
        plain = service.url.replace("grpc+tls", "grpc+tcp")
        with pytest.raises(ServiceError):
            connect(plain, token_file=service.token_file)
    done = finish(start(python("-m", "mndmst", "serve", *serve[:4])), 60)
    assert "--tls-cert and --tls-key belong together" in done.stderr
