"""The operators' page in a real browser: changes, sizes, colours, its token."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from graphs import simple_path, write_graph
from processes import finish
from services import Served, served

import mndmst

pytest.importorskip("pyarrow.flight", reason="the service needs pyarrow")
pytest.importorskip("uvicorn", reason="serve --http needs uvicorn")
pytest.importorskip("prometheus_client", reason="serve --http needs it")
playwright = pytest.importorskip(
    "playwright.sync_api", reason="Playwright is in the extra 'dev'"
)

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium-headless-shell", "chromium"))), None
)
GRAPHS = "section:has(h2:text-is('Graphs'))"
pytestmark = [
    pytest.mark.mpi,
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium on the PATH"),
]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("service")
    write_graph(folder / "streets", simple_path(30))
    words = (folder / "streets", "-q", "--timeout", "6", "--journal", folder / "j")
    with served(folder, 2, *words, "--http", "127.0.0.1:0") as running:
        yield running


@pytest.fixture(scope="module")
def browser() -> Iterator[object]:
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(
            executable_path=CHROMIUM,
            args=["--no-sandbox"],  # the tests of a container run as root
        )
        yield chromium
        chromium.close()


class OpenPage:
    """The page of a service, opened with its token, and everything that went wrong."""

    def __init__(self, browser, service: Served, width: int, scheme: str) -> None:
        self.complaints: list[str] = []
        self.hosts: set[str] = set()
        address = json.loads(service.address.read_text())["http"]
        self.own = urlsplit(address).netloc
        size = {"width": width, "height": 900}
        token = Path(service.token_file).read_text().strip()
        self.context = browser.new_context(
            viewport=size,
            color_scheme=scheme,
            http_credentials={"username": "operator", "password": token},
        )
        self.page = self.context.new_page()
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda r: self.hosts.add(urlsplit(r.url).netloc))
        self.page.goto(address)
        self.page.wait_for_selector("text=Memory of ranks")

    def row(self, graph: str) -> list[str]:
        """Return the cells of a graph's row."""
        cells = f"{GRAPHS} tr:has(td:text-is('{graph}')) td"
        return self.page.locator(cells).all_inner_texts()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1600])
def test_a_batch_of_changes_appears_by_itself(
    browser, service: Served, tmp_path: Path, width: int, scheme: str
) -> None:
    shown = OpenPage(browser, service, width, scheme)
    with mndmst.connect(service.address) as client:
        graph = client["streets"]
        edges = graph.info()["num_edges"]
        version = graph.insert([0, 1], [7, 9], [3, 4])
        with pytest.raises(mndmst.ServiceError):
            graph.insert([0], [7], [3])
        shown.page.wait_for_selector(f"{GRAPHS} td:text-is('{version}')")
        shown.page.wait_for_selector("td:text('the edge (0, 7) is there already')")
        row = shown.row("streets")
        graph.delete([0, 1], [7, 9])
    assert row[:4] == ["streets", str(version), "30", str(edges + 2)]
    assert row[4].endswith("KiB")  # the journal has the batch
    text = shown.page.inner_text("body")
    assert "serving" in text and "refused" in text and "Time by stage" in text
    assert shown.page.evaluate("document.documentElement.scrollWidth") == width
    background = shown.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (background == "rgb(255, 255, 255)") == (scheme == "light")
    assert shown.complaints == [] and shown.hosts == {shown.own}
    file = tmp_path / "page.png"
    shown.page.screenshot(path=file, full_page=True)
    assert file.stat().st_size > 10_000
    shown.context.close()


def test_the_page_keeps_no_token_and_no_cookie(browser, service: Served) -> None:
    shown = OpenPage(browser, service, 800, "light")
    assert shown.context.cookies() == []
    token = Path(service.token_file).read_text().strip()
    assert token not in shown.page.content() and token not in shown.page.url
    shown.context.close()


def test_a_wrong_token_shows_nothing(browser, service: Served) -> None:
    wrong = {"username": "operator", "password": "x" * 43}
    context = browser.new_context(http_credentials=wrong)
    page = context.new_page()
    answer = page.goto(json.loads(service.address.read_text())["http"])
    assert answer.status == 401 and "no valid token" in page.inner_text("body")
    context.close()


def test_an_end_of_the_service_is_told(browser, tmp_path: Path) -> None:
    write_graph(tmp_path / "g", simple_path(30))
    with served(tmp_path, 1, tmp_path / "g", "-q", "--http", "127.0.0.1:0") as ending:
        shown = OpenPage(browser, ending, 800, "light")
        with mndmst.connect(ending.address) as client:
            client.shutdown()
        finish(ending.process, 60)
        shown.page.wait_for_selector("text=no answer since")
        shown.context.close()
