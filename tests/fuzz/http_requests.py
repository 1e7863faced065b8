"""Requests of the HTTP side: a line METHOD PATH, then lines NAME: VALUE."""

import asyncio
from base64 import b64decode

from mndmst.service.http_server import Guard, _application

from .one_rank_service import TOKEN, start_service

HOST = "127.0.0.1"
_loop = asyncio.new_event_loop()
_apps: list[Guard] = []


def one_input(data: bytes) -> None:
    """Ask for a page: an answer of the server, and its content for the token alone."""
    if not _apps:
        server, access = start_service()
        _apps.append(Guard(_application(access, server), HOST))
    line, *rest = data.split(b"\n")
    method, _, target = line.partition(b" ")
    path, _, query = target.partition(b"?")
    headers = [
        (name.strip().lower(), value.strip())
        for name, _, value in (each.partition(b":") for each in rest)
    ]
    scope = {
        "type": "http", "http_version": "1.1", "method": method.decode("latin-1"),
        "scheme": "http", "path": path.decode(errors="replace"), "raw_path": path,
        "query_string": query, "root_path": "", "headers": headers,
        "client": (HOST, 1), "server": (HOST, 80),
    }  # fmt: skip
    sent: list[dict] = []

    async def receive() -> dict:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: dict) -> None:
        sent.append(message)

    _loop.run_until_complete(_apps[0](scope, receive, send))
    status = sent[0]["status"]
    assert status in (200, 401, 404, 405, 421, 431), status
    if status == 200 and not path.endswith(b"z"):  # of a health check
        shown = [value for name, value in headers if name == b"authorization"]
        assert any(TOKEN in _decoded(value) for value in shown), shown


def _decoded(header: bytes) -> str:
    value = header.decode("latin-1")
    scheme, _, pair = value.partition(" ")
    return b64decode(pair).decode() if scheme.lower() == "basic" else value


def seeds() -> list[bytes]:
    """Return a request of each page."""
    bearer, basic = (
        f"Authorization: Bearer {TOKEN}",
        "Authorization: Basic OnNlY3JldA==",
    )
    requests = (
        f"GET /\nHost: {HOST}\n{bearer}\nAccept: text/html",
        f"GET /metrics\nHost: localhost:80\n{basic}\nAccept: text/plain",
        f"GET /status?x=1\nHost: [::1]:9\n{bearer}",
        f"GET /healthz\nHost: {HOST}", f"HEAD /readyz\nHost: {HOST}",
        f"POST /\nHost: {HOST}\n{bearer}\nContent-Length: 3",
        "GET /\nHost: evil.example",
    )  # fmt: skip
    return [request.encode() for request in requests]
