"""The HTTP side of a service: metrics, health, the page, and attacks on them."""

import http.client
import json
import resource
import socket
import struct
import time
from base64 import b64encode
from contextlib import suppress
from itertools import product
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from graphs import simple_path, write_graph
from processes import finish, python, start
from services import served

import mndmst

pytest.importorskip("pyarrow.flight", reason="the service needs pyarrow")
pytest.importorskip("uvicorn", reason="serve --http needs uvicorn")
pytest.importorskip("starlette", reason="serve --http needs starlette")
parser = pytest.importorskip(
    "prometheus_client.parser", reason="serve --http needs prometheus_client"
)

pytestmark = [pytest.mark.mpi, pytest.mark.slow]

N = 30


class Page:
    """An HTTP client of a service."""

    def __init__(self, url: str, token: str) -> None:
        parts = urlsplit(url)
        self.host, self.port, self.token = parts.hostname, parts.port, token
        self.own = f"{self.host}:{self.port}"

    def ask(
        self, path: str, method: str = "GET", body: str | None = None, **headers: str
    ) -> tuple[int, dict[str, str], str]:
        """Return the status, the headers and the text of an answer."""
        link = http.client.HTTPConnection(self.host, self.port, timeout=20)
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        link.request(method, path, body, names)
        answer = link.getresponse()
        text = answer.read().decode()
        link.close()
        return answer.status, {k.lower(): v for k, v in answer.getheaders()}, text

    def bearer(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}

    def raw(self) -> socket.socket:
        return socket.create_connection((self.host, self.port), timeout=30)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory):
    folder = tmp_path_factory.mktemp("service")
    write_graph(folder / "g", simple_path(N))
    words = (folder / "g", "-q", "--timeout", "6", "--journal", folder / "journal")
    with served(folder, 2, *words, "--http", "127.0.0.1:0") as running:
        yield running


@pytest.fixture
def page(service) -> Page:
    url = json.loads(service.address.read_text())["http"]
    return Page(url, Path(service.token_file).read_text().strip())


def test_health_needs_no_token_and_tells_nothing(page: Page) -> None:
    assert page.ask("/healthz")[::2] == (200, "ok\n")
    assert page.ask("/readyz")[::2] == (200, "ready\n")


def test_metrics_are_those_of_prometheus_on_both_sides(service, page: Page) -> None:
    with mndmst.connect(service.address) as client:
        client["g"].insert([0], [7], [3])
        by_flight = client.metrics()
    status, headers, text = page.ask("/metrics", **page.bearer())
    assert status == 200 and headers["content-type"].startswith("text/plain")
    for exposition in (text, by_flight):
        families = {
            f.name: f for f in parser.text_string_to_metric_families(exposition)
        }
        assert families["mndmst_request_seconds"].type == "histogram"
        assert families["mndmst_graph_version"].samples[0].labels == {"graph": "g"}
        assert families["mndmst_rank_resident_bytes"].samples[0].value > 0
        assert families["mndmst_rank_gpu_free_bytes"].samples == []
        names = {sample.name for f in families.values() for sample in f.samples}
        assert {"mndmst_requests_total", "mndmst_stage_seconds_sum"} <= names


def test_the_page_shows_a_batch_of_changes(service, page: Page) -> None:
    with mndmst.connect(service.address) as client:
        version = client["g"].insert([0], [9], [3])
        with pytest.raises(mndmst.ServiceError):
            client["g"].insert([0], [9], [3])
    deadline = time.monotonic() + 20
    while True:
        status = json.loads(page.ask("/status", **page.bearer())[2])
        if all(rank["bytes"] for rank in status["memory"]):
            break
        assert time.monotonic() < deadline  # ranks report their memory
        time.sleep(0.5)
    (graph,) = status["graphs"]
    assert graph["version"] == version and graph["journal_bytes"] > 0
    assert graph["maximum"] is False
    assert [rank["rank"] for rank in status["memory"]] == [0, 1]
    assert "put" in {request["action"] for request in status["requests"]}
    assert "0" in status["errors"][0]["error"] and status["stages"]


def basic(user: str, password: str) -> str:
    """Return the header that a browser sends once it has asked for a password."""
    return "Basic " + b64encode(f"{user}:{password}".encode()).decode()


@pytest.mark.parametrize("user", ["", "operator", "Müller"])
def test_a_browser_opens_the_page_with_the_token_as_password(
    page: Page, user: str
) -> None:
    status, headers, _ = page.ask("/")
    assert status == 401 and headers["www-authenticate"].startswith("Basic realm=")
    authorization = basic(user, page.token)
    status, headers, text = page.ask("/", Authorization=authorization)
    assert status == 200 and "Time by stage" in text
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "//" not in text  # nothing is loaded from elsewhere
    assert "set-cookie" not in headers and page.token not in text
    assert page.ask("/status", Authorization=authorization)[0] == 200


@pytest.mark.parametrize("path", ["/", "/metrics", "/status"])
def test_no_token_and_a_wrong_token(page: Page, path: str) -> None:
    assert page.ask(path)[0] == 401
    assert page.ask(path, Authorization="Bearer " + "x" * 43)[0] == 401
    for header in (
        page.token,
        f"Basic {page.token}",
        basic(page.token, ""),
        basic("", page.token[:-1]),
        "Basic \xff",
        "Basic",
    ):
        assert page.ask(path, Authorization=header)[0] == 401
    assert page.ask(f"{path}?token={page.token}")[0] == 401


FOREIGN_HOSTS = (
    "attacker.example", "attacker.example:80", "127.0.0.1.example", "", "[::1", "[]",
    "127.0.0.1@attacker.example", "localhost.attacker.example",
)  # fmt: skip


def test_a_foreign_host_is_refused(page: Page) -> None:
    for host in FOREIGN_HOSTS:
        assert page.ask("/healthz", Host=host)[0] == 421, host
    for host in ("127.0.0.1", "[::1]:80", "LOCALHOST:1", "192.0.2.7:8080"):
        assert page.ask("/healthz", Host=host)[0] == 200, host


def test_pages_of_other_sites_read_nothing(page: Page) -> None:
    for path in ("/", "/status", "/metrics"):
        origin = "http://attacker.example"
        _, headers, _ = page.ask(path, Origin=origin, **page.bearer())
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert "access-control-allow-origin" not in headers
        assert page.ask(path, "OPTIONS", Origin=origin)[0] == 405


@pytest.mark.parametrize(
    "path", ["/../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/./", "//"]
)
def test_paths_with_dots_lead_nowhere(page: Page, path: str) -> None:
    status, _, text = page.ask(path, **page.bearer())
    assert status in (404, 405) and "root:" not in text


def test_a_thousand_paths_with_dots_find_no_file(page: Page) -> None:
    steps = (
        "..",
        "%2e%2e",
        ".%2e",
        "..%2f..",
        "..%5c",
        "%252e%252e",
        "....",
        ".",
        "..;",
    )
    paths = ["/".join(("", *way, "etc/passwd")) for way in product(steps, repeat=3)]
    paths += ["/".join(("", *way, "metrics")) for way in product(steps, repeat=3)]
    assert len(paths) > 1000
    link = http.client.HTTPConnection(page.host, page.port, timeout=20)
    for path in paths:
        link.request("GET", path)
        answer = link.getresponse()
        text = answer.read()
        assert answer.status in (400, 401, 404) and b"root:" not in text, path
    link.close()


@pytest.mark.parametrize("size", [16_500, 30_000, 60_000, 65_000, 200_000])
@pytest.mark.parametrize("where", ["a header", "many headers", "the path", "a query"])
def test_a_head_of_over_16_kib_is_refused(page: Page, size: int, where: str) -> None:
    """Also if all of it arrives at once."""
    many = "".join(f"X-{k}: {'x' * 91}\r\n" for k in range(size // 100))
    path = {"the path": "/" + "x" * size, "a query": "/healthz?" + "x" * size}
    more = {"a header": f"X-Long: {'x' * size}\r\n", "many headers": many}
    head = f"GET {path.get(where, '/healthz')} HTTP/1.1\r\nHost: {page.own}\r\n"
    head += f"{more.get(where, '')}Authorization: Bearer {page.token}\r\n\r\n"
    with page.raw() as link, suppress(ConnectionError):
        link.sendall(head.encode())
        status = link.recv(100).split(b" ")[1:2]
        assert status in ([], [b"400"], [b"431"])
    assert page.ask("/healthz", X_Long="x" * 15_000)[0] == 200


def test_a_body_is_not_read(page: Page) -> None:
    with suppress(ConnectionError):
        assert page.ask("/status", "POST", "x" * 200_000)[0] == 405
    assert page.ask("/healthz")[0] == 200


# The beginning of a request whose client then hangs up
HANG_UPS = {
    "nothing": b"",
    "a line": b"GET / HTTP/1.1\r\n",
    "a head": b"GET /status HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    "many heads": 20 * b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    "a body": b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\nto",
    "a form": b"POST /login HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99\r\n"
    b"Content-Type: application/x-www-form-urlencoded\r\n\r\ntoken=",
    "chunks": b"POST /status HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n5\r\nab",
    "noise": bytes(range(256)),
    "an upgrade": b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\n"
    b"Upgrade: websocket\r\n\r\n",
}


def test_a_client_that_hangs_up_leaves_no_traceback(tmp_path: Path) -> None:
    write_graph(tmp_path / "g", simple_path(N))
    with served(tmp_path, 1, tmp_path / "g", "-q", "--http", "127.0.0.1:0") as service:
        url = urlsplit(json.loads(service.address.read_text())["http"])
        token = Path(service.token_file).read_text().strip()
        signed = f"\r\nAuthorization: Bearer {token}\r\n\r\n".encode()
        for begin, reset, pause, own in product(
            HANG_UPS.values(), (False, True), (0, 0.05), (False, True)
        ):
            with socket.create_connection((url.hostname, url.port)) as link:
                if reset:  # end with RST in place of FIN
                    linger = struct.pack("ii", 1, 0)
                    link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                link.sendall(begin.replace(b"\r\n\r\n", signed, 1) if own else begin)
                time.sleep(pause)
        assert Page(url.geturl(), token).ask("/healthz")[0] == 200
        service.process.terminate()
        done = finish(service.process, 60)
    said = [line for line in done.stderr.splitlines() if "stopped by" not in line]
    assert said == []


def test_ten_thousand_connections_neither_stop_nor_outlast_the_service(
    service, page: Page
) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    links, most = [], min(10_000, hard - 200)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most + 200, hard))
    try:
        for _ in range(most):
            with suppress(OSError):
                links.append(page.raw())
        with mndmst.connect(service.address) as client:  # the graphs are still served
            assert client["g"].info()["num_vertices"] == N
        deadline = time.monotonic() + 60
        answered = False
        while not answered:  # once idle connections have ended
            assert time.monotonic() < deadline
            with suppress(OSError, http.client.HTTPException):
                answered = page.ask("/healthz")[0] == 200
            time.sleep(0.5)
        assert len(links) > most // 2
    finally:
        for link in links:
            link.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_http_is_off_without_its_option(tmp_path: Path) -> None:
    write_graph(tmp_path / "g", simple_path(N))
    words = (tmp_path / "g", "--log-json", "--slow-request", "0")
    with served(tmp_path, 1, *words) as service:
        assert "http" not in json.loads(service.address.read_text())
        with mndmst.connect(service.address) as client:
            client["g"].solve()
        service.process.terminate()
        done = finish(service.process, 60)
    lines = [json.loads(t) for t in done.stderr.splitlines() if t.startswith("{")]
    lines = [line for line in lines if line["event"] == "request"]
    assert {"list", "info", "solve"} <= {line["action"] for line in lines}
    assert all(line["id"] and line["slow"] for line in lines)


def test_an_address_that_is_taken_or_public_is_refused(tmp_path: Path) -> None:
    write_graph(tmp_path / "g", simple_path(N))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        for address, reason in (
            (f"127.0.0.1:{port}", "cannot listen there"),
            ("0.0.0.0:0", "--http 0.0.0.0 can be reached from other hosts"),
            ("nonsense", "--http nonsense: is not HOST:PORT"),
        ):
            words = ("serve", tmp_path / "g", "--http", address)
            done = finish(start(python("-m", "mndmst", *words)), 60)
            assert done.returncode == 1 and reason in done.stderr, done
            assert "Traceback" not in done.stderr
