"""The HTTP server of rank 0: metrics, health and a page for operators.

Every path but the health checks and the sign-in needs the token: in the header
`Authorization: Bearer TOKEN`, or by a cookie that the sign-in form sets. No address
holds the token. The page loads nothing from elsewhere.
"""

import asyncio
import ipaddress
import secrets
import socket
import time
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs

from ..host.errors import ConfigError, optional
from .access import Access, bracketed
from .front_server import FrontServer

COOKIE = "mndmst_session"
SESSION_SECONDS, MOST_SESSIONS = 12 * 3600.0, 100
MOST_BODY_BYTES, MOST_HEADER_BYTES = 4096, 16384
# A connection without a complete request is closed after this time.
REQUEST_SECONDS = 10.0
MOST_CONNECTIONS = 200
# Delay of the answer to a wrong token
WRONG_TOKEN_SECONDS = 0.5
ENDING_SECONDS = 5.0

HEADERS = {
    "Cache-Control": "no-store",
    # With no-referrer browsers send `Origin: null` with the form
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


@dataclass(frozen=True)
class HttpSetting:
    """The address of the HTTP server, and its certificate."""

    host: str
    port: int  # 0 takes a free one
    # PEM; None without TLS.
    certificate: Path | None = None
    key: Path | None = None


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
        port = listener.getsockname()[1]
        scheme = "https" if setting.certificate else "http"
        self.url = f"{scheme}://{bracketed(setting.host)}:{port}"
        config = uvicorn.Config(
            Guard(app, scheme, setting.host),
            http=_limited_protocol(),
            ws="none",
            lifespan="off",
            log_config=None,
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


def _limited_protocol() -> Any:
    """Return uvicorn's protocol with limits of connections and of their idle time."""
    base = optional("uvicorn.protocols.http.h11_impl", "http").H11Protocol

    class LimitedProtocol(base):  # type: ignore[misc, valid-type]
        """Closes connections beyond a number, and connections without a request."""

        def connection_made(self, transport: Any) -> None:
            if len(self.connections) >= MOST_CONNECTIONS:
                transport.abort()
                return
            super().connection_made(transport)
            self.loop.call_later(REQUEST_SECONDS, self._close_if_idle, None)

        def connection_lost(self, reason: Exception | None) -> None:
            if self.transport is not None:
                super().connection_lost(reason)

        def _close_if_idle(self, last_cycle: Any) -> None:
            """Close the connection if no request has begun since the last look."""
            if self.transport.is_closing():
                return
            is_idle = self.cycle is None or self.cycle.response_complete
            if is_idle and self.cycle is last_cycle:
                self.transport.abort()
            else:
                self.loop.call_later(REQUEST_SECONDS, self._close_if_idle, self.cycle)

    return LimitedProtocol


class Guard:
    """Refuses foreign Host and Origin headers, before the application sees a request.

    A foreign Host shows DNS rebinding, a foreign Origin the page of another site. An IP
    address cannot be rebound, so the guard admits every address as Host.
    """

    def __init__(self, app: Any, scheme: str, host: str) -> None:
        self._app, self._scheme = app, scheme
        self._responses = optional("starlette.responses", "http")
        self._hosts = {host, "localhost", socket.gethostname(), socket.getfqdn()}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass a request on, or refuse it."""
        headers = [(name, value.decode("latin-1")) for name, value in scope["headers"]]
        hosts = [value for name, value in headers if name == b"host"]
        origins = [value for name, value in headers if name == b"origin"]
        app = self._app
        if len(hosts) != 1 or not self._is_own(hosts[0]):
            text = "the Host header names another host; use the service's address\n"
            app = self._responses.PlainTextResponse(text, 421, HEADERS)
        elif any(origin != f"{self._scheme}://{hosts[0]}" for origin in origins):
            text = "the request comes from the page of another site\n"
            app = self._responses.PlainTextResponse(text, 403, HEADERS)
        await app(scope, receive, send)

    def _is_own(self, header: str) -> bool:
        name = header.rpartition(":")[0] if not header.endswith("]") else header
        name = name or header
        if name in self._hosts:
            return True
        try:
            ipaddress.ip_address(name.removeprefix("[").removesuffix("]"))
        except ValueError:
            return False
        return True


class Sessions:
    """The cookies of signed-in browsers."""

    def __init__(self) -> None:
        self._ends: dict[str, float] = {}

    def begin(self) -> str:
        """Return the cookie of a new session; the oldest ends beyond a number."""
        now = time.monotonic()
        self._ends = {name: end for name, end in self._ends.items() if end > now}
        while len(self._ends) >= MOST_SESSIONS:
            del self._ends[next(iter(self._ends))]
        cookie = secrets.token_urlsafe(32)
        self._ends[cookie] = now + SESSION_SECONDS
        return cookie

    def has(self, cookie: str) -> bool:
        """Return whether a cookie belongs to a session."""
        return self._ends.get(cookie, 0.0) > time.monotonic()


def _application(access: Access, front: FrontServer) -> Any:
    """Return the application of Starlette."""
    starlette = optional("starlette.applications", "http", "The HTTP server needs")
    routing = optional("starlette.routing", "http")
    responses = optional("starlette.responses", "http")
    sessions = Sessions()
    text = Path(__file__).with_name("operators_page.html").read_text()
    head, _, rest = text.partition("<!-- sign-in -->\n")
    sign_in, _, operators_page = rest.partition("<!-- page -->\n")

    def plain(text: str, status: int = 200) -> Any:
        return responses.PlainTextResponse(text, status, HEADERS)

    def refused() -> Any:
        return plain("no valid token: Authorization: Bearer TOKEN\n", 401)

    def admitted(request: Any) -> bool:
        header = request.headers.get("authorization", "")
        cookie = request.cookies.get(COOKIE, "")
        return access.admits(header) or sessions.has(cookie)

    def page(text: str, status: int = 200) -> Any:
        nonce = secrets.token_urlsafe(16)
        policy = (
            f"default-src 'none'; style-src 'nonce-{nonce}'; script-src "
            f"'nonce-{nonce}'; connect-src 'self'; img-src data:; form-action 'self'; "
            "frame-ancestors 'none'; base-uri 'none'"
        )
        headers = {**HEADERS, "Content-Security-Policy": policy}
        text = (head + text).replace("NONCE", nonce)
        return responses.HTMLResponse(text, status, headers)

    async def home(request: Any) -> Any:
        if admitted(request):
            return page(operators_page)
        return page(sign_in, 401)

    async def login(request: Any) -> Any:
        body = b""
        try:
            async with asyncio.timeout(REQUEST_SECONDS):
                async for chunk in request.stream():
                    body += chunk
                    if len(body) > MOST_BODY_BYTES:
                        return plain("the form is too long\n", 413)
        except TimeoutError:
            return plain("the form did not arrive in time\n", 408)
        fields = parse_qs(body.decode("latin-1"))
        token = fields.get("token", [""])[0].strip()
        if not access.admits(f"Bearer {token}"):
            await asyncio.sleep(WRONG_TOKEN_SECONDS)
            return page(sign_in.replace("<!-- said -->", "The token is wrong."), 401)
        answer = responses.RedirectResponse("/", 303, HEADERS)
        answer.set_cookie(
            COOKIE, sessions.begin(), max_age=int(SESSION_SECONDS), httponly=True,
            samesite="strict", secure=bool(access.certificate),
        )  # fmt: skip
        return answer

    async def metrics(request: Any) -> Any:
        if not admitted(request):
            return refused()
        content, kind = front.metrics.text(request.headers.get("accept", ""))
        return responses.Response(content, 200, {**HEADERS, "Content-Type": kind})

    async def status(request: Any) -> Any:
        if not admitted(request):
            return refused()
        return responses.JSONResponse(front.status(), 200, HEADERS)

    async def healthz(request: Any) -> Any:
        return plain("ok\n")

    async def readyz(request: Any) -> Any:
        return plain("ending\n", 503) if front.jobs.closed else plain("ready\n")

    routes = [
        routing.Route("/", home),
        routing.Route("/login", login, methods=["POST"]),
        routing.Route("/metrics", metrics),
        routing.Route("/status", status),
        routing.Route("/healthz", healthz),
        routing.Route("/readyz", readyz),
    ]
    app = starlette.Starlette(routes=routes)
    app.router.redirect_slashes = False
    return app
