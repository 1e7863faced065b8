"""Requests that never end do not keep a connection of the HTTP server."""

import http.client
import socket
from collections.abc import Iterator
from contextlib import suppress
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import pytest

from mndmst.service.http_server import HttpServer, HttpSetting

pytest.importorskip("uvicorn", reason="serve --http needs uvicorn")
pytest.importorskip("starlette", reason="serve --http needs starlette")

SLOW_REQUESTS = {
    "headers that stop": b"GET /healthz HTTP/1.1\r\nHost:",
    "headers byte by byte": b"GET /healthz HTTP/1.1\r\nX-Long: ",
    "a body that stops": b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    b"Content-Length: 100\r\n\r\ntoken=",
}


SECONDS = 0.3  # of a connection without a request


@pytest.fixture(scope="module")
def address() -> Iterator[tuple[str, int]]:
    """The address of a server that ends slow requests soon."""
    unused: Any = SimpleNamespace()  # by these requests
    setting = HttpSetting("127.0.0.1", 0, request_seconds=SECONDS)
    server = HttpServer(setting, unused, unused)
    parts = urlsplit(server.url)
    assert parts.hostname and parts.port
    yield parts.hostname, parts.port
    server.close()


@pytest.mark.parametrize("kind", SLOW_REQUESTS)
def test_a_slow_request_is_cut_off(address: tuple[str, int], kind: str) -> None:
    with socket.create_connection(address, timeout=60) as link:
        link.sendall(SLOW_REQUESTS[kind])
        if kind == "headers byte by byte":
            link.settimeout(SECONDS / 10)
        with suppress(ConnectionError):
            answer = b"none yet"
            while answer:
                with suppress(TimeoutError):
                    answer = link.recv(1000)
                if kind == "headers byte by byte":
                    link.sendall(b"x")
    client = http.client.HTTPConnection(*address, timeout=60)
    client.request("GET", "/healthz")
    assert client.getresponse().status == 200
    client.close()
