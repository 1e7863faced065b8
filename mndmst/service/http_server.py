"""The HTTP server of rank 0: metrics, health and a page for operators.

Every path but the health checks needs the token in the header `Authorization`: `Bearer
TOKEN`, or `Basic` with the token as password, which browsers ask for. No address holds
the token. No request changes anything, and no body is read. The page loads nothing from
elsewhere.
"""

import ipaddress
import secrets
import socket
from base64 import b64decode
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ..host.errors import ConfigError, optional
from .access import Access, bracketed
from .front_server import FrontServer

if TYPE_CHECKING:
    from asyncio import Transport

    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route
    from starlette.types import ASGIApp, Receive, Scope, Send
    from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

MOST_HEADER_BYTES = 16384
MOST_CONNECTIONS = 200
ENDING_SECONDS = 5.0

HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Resource-Policy": "same-origin",
}


@dataclass(frozen=True)
class HttpSetting:
    """The address of the HTTP server, and its certificate."""

    host: str
    port: int  # 0 takes a free one
    # PEM; None without TLS.
    certificate: Path | None = None
    key: Path | None = None
    # A connection without a complete request is closed after this time.
    request_seconds: float = 10.0


class HttpServer:
    """A running HTTP server of a front server, on a thread of its own."""

    def __init__(
        self, setting: HttpSetting, access: Access, front: FrontServer
    ) -> None:
        uvicorn = optional("uvicorn", "http", "The HTTP server needs")
        app = _application(access, front)
        try:
            family = socket.AF_INET6 if ":" in setting.host else socket.AF_INET
            listener = socket.create_server(
                (setting.host, setting.port), family=family, backlog=128
            )
        except OSError as error:
            raise ConfigError(
                f"--http {setting.host}:{setting.port}: cannot listen there "
                f"({error.strerror or error}). Give another address or port."
            ) from error
        # Links inherit it. asyncio sets it on sockets of a named protocol alone, and a
        # client that keeps its link would wait 40 ms for each answer.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        port = listener.getsockname()[1]
        scheme = "https" if setting.certificate else "http"
        self.url = f"{scheme}://{bracketed(setting.host)}:{port}"
        config = uvicorn.Config(
            Guard(app, setting.host),
            http=_limited_protocol(setting.request_seconds),
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="error",  # `TokenRefusals` bounds the lines of strangers
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=5,
            timeout_graceful_shutdown=1,
            h11_max_incomplete_event_size=MOST_HEADER_BYTES,
            ssl_certfile=setting.certificate,
            ssl_keyfile=setting.key,
        )
        self._server = uvicorn.Server(config)
        self._thread = Thread(
            target=self._server.run,
            kwargs={"sockets": [listener]},
            name="mndmst-http",
            daemon=True,
        )
        self._thread.start()

    def close(self) -> None:
        """End the server and its connections."""
        self._server.should_exit = True
        self._thread.join(ENDING_SECONDS)


def _limited_protocol(idle_seconds: float) -> "type[H11Protocol]":
    """Return uvicorn's protocol with limits of connections and of their idle time."""
    base = optional("uvicorn.protocols.http.h11_impl", "http").H11Protocol

    class LimitedProtocol(base):  # type: ignore[misc, valid-type]
        """Closes connections beyond a number, and connections without a request."""

        def connection_made(self, transport: "Transport") -> None:
            if len(self.connections) >= MOST_CONNECTIONS:
                transport.abort()
                return
            super().connection_made(transport)
            self.loop.call_later(idle_seconds, self._close_if_idle, None)

        def connection_lost(self, reason: Exception | None) -> None:
            if self.transport is not None:
                super().connection_lost(reason)

        def _close_if_idle(self, last_cycle: "RequestResponseCycle | None") -> None:
            """Close the connection if no request has begun since the last look."""
            if self.transport.is_closing():
                return
            is_idle = self.cycle is None or self.cycle.response_complete
            if is_idle and self.cycle is last_cycle:
                self.transport.abort()
            else:
                self.loop.call_later(idle_seconds, self._close_if_idle, self.cycle)

    return LimitedProtocol


class Guard:
    """Refuses long heads and foreign Host headers before the application runs.

    A foreign Host shows DNS rebinding. An IP address cannot be rebound, so the guard
    admits every address as Host.
    """

    def __init__(self, app: "ASGIApp", host: str) -> None:
        self._app, self._responses = app, optional("starlette.responses", "http")
        self._hosts = {host, "localhost", socket.gethostname(), socket.getfqdn()}

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Pass a request on, or refuse it."""
        app, headers = self._app, scope["headers"]
        hosts = [value.decode("latin-1") for name, value in headers if name == b"host"]
        size = len(scope["raw_path"]) + len(scope["query_string"])
        size += sum(len(name) + len(value) + len(": \r\n") for name, value in headers)
        if size > MOST_HEADER_BYTES:
            app = self._refusal(f"the head has over {MOST_HEADER_BYTES:,} bytes", 431)
        elif len(hosts) != 1 or not self._is_own(hosts[0]):
            app = self._refusal("the Host header names another host", 421)
        await app(scope, receive, send)

    def _refusal(self, text: str, status: int) -> "Response":
        return self._responses.PlainTextResponse(f"{text}\n", status, HEADERS)

    def _is_own(self, header: str) -> bool:
        try:
            name = urlsplit(f"//{header}").hostname or ""
            return name in self._hosts or bool(ipaddress.ip_address(name))
        except ValueError:
            return False


def _bearer(header: str) -> str:
    """Return a header `Authorization` with the password of `Basic` as bearer token."""
    scheme, _, value = header.partition(" ")
    if scheme.lower() != "basic":
        return header
    try:
        pair = b64decode(value, validate=True).decode()
    except ValueError:
        return ""
    return f"Bearer {pair.partition(':')[2]}"


def _application(access: Access, front: FrontServer) -> "Starlette":
    """Return the application of Starlette."""
    starlette = optional("starlette.applications", "http", "The HTTP server needs")
    routing = optional("starlette.routing", "http")
    responses = optional("starlette.responses", "http")
    operators_page = Path(__file__).with_name("operators_page.html").read_text()

    def plain(text: str, status: int = 200, **headers: str) -> "Response":
        return responses.PlainTextResponse(f"{text}\n", status, {**HEADERS, **headers})

    def route(path: str, answer: "Callable[[Request], Response]") -> "Route":
        """Return a path that needs the token."""

        async def respond(request: "Request") -> "Response":
            header = request.headers.get("authorization", "")
            if access.admits(_bearer(header)):
                return answer(request)
            client = "-" if request.client is None else request.client.host
            front.refusals.add(bool(header), client)
            text = "no valid token: give it as Authorization: Bearer TOKEN, or as the "
            challenge = {"WWW-Authenticate": 'Basic realm="mndmst", charset="UTF-8"'}
            return plain(f"{text}password of any user", 401, **challenge)

        return routing.Route(path, respond)

    def page(request: "Request") -> "Response":
        nonce = secrets.token_urlsafe(16)
        policy = (
            f"default-src 'none'; style-src 'nonce-{nonce}'; script-src "
            f"'nonce-{nonce}'; connect-src 'self'; img-src data:; form-action 'none'; "
            "frame-ancestors 'none'; base-uri 'none'"
        )
        headers = {**HEADERS, "Content-Security-Policy": policy}
        text = operators_page.replace("NONCE", nonce)
        return responses.HTMLResponse(text, 200, headers)

    def metrics(request: "Request") -> "Response":
        content, kind = front.metrics.text(request.headers.get("accept", ""))
        return responses.Response(content, 200, {**HEADERS, "Content-Type": kind})

    def status(request: "Request") -> "Response":
        return responses.JSONResponse(front.status(), 200, HEADERS)

    async def healthz(request: "Request") -> "Response":
        return plain("ok")

    async def readyz(request: "Request") -> "Response":
        return plain("ending", 503) if front.jobs.closed else plain("ready")

    routes = [
        route("/", page),
        route("/metrics", metrics),
        route("/status", status),
        routing.Route("/healthz", healthz),
        routing.Route("/readyz", readyz),
    ]
    app = starlette.Starlette(routes=routes)
    app.router.redirect_slashes = False
    return app
