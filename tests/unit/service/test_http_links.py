"""Links to the HTTP server of a service."""

import http.client
import os
import socket
from collections.abc import Iterator
from contextlib import suppress
from typing import cast
from urllib.parse import urlsplit

import pytest

pytest.importorskip("pyarrow.flight", reason="the service needs pyarrow")
pytest.importorskip("uvicorn", reason="the HTTP server needs uvicorn")
pytest.importorskip("starlette", reason="the HTTP server needs starlette")

from mndmst.service.access import Access
from mndmst.service.front_server import FrontServer
from mndmst.service.http_server import HttpServer, HttpSetting


def accepted_at(port: int) -> Iterator[socket.socket]:
    """Yield the links of this process that were accepted at a port."""
    for name in os.listdir("/dev/fd"):  # noqa: PTH208 (names alone, not links)
        with suppress(OSError), socket.socket(fileno=os.dup(int(name))) as link:
            listens = link.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
            named = link.getsockname()
            if not listens and isinstance(named, tuple) and named[1] == port:
                yield link


def test_an_answer_on_a_kept_link_does_not_wait_for_more() -> None:
    """Nagle's algorithm, which would hold its last part back, is off."""
    no_front = cast(FrontServer, None)  # healthz needs none
    server = HttpServer(HttpSetting("127.0.0.1", 0), Access(token="t"), no_front)
    try:
        parts = urlsplit(server.url)
        client = http.client.HTTPConnection(parts.hostname or "", parts.port)
        client.request("GET", "/healthz")
        assert client.getresponse().read() == b"ok\n"
        options = [
            link.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
            for link in accepted_at(parts.port or 0)
        ]
        client.close()
    finally:
        server.close()
    assert options and all(options)
