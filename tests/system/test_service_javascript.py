"""The client in JavaScript of the page of examples: list, solve, read the forest."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from graphs import simple_path, write_graph
from oracle import kruskal
from processes import ROOT
from services import served

pytest.importorskip("pyarrow.flight", reason="the service needs pyarrow")

from mndmst.service.protocol import PROTOCOL

NODE, NPM = shutil.which("node"), shutil.which("npm")
pytestmark = [
    pytest.mark.mpi,
    pytest.mark.skipif(NODE is None, reason="the client needs Node"),
]
PAGE = (ROOT / "mndmst/docs/service-examples.md").read_text()


def run(folder: Path, *words: str | Path | None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(word) for word in words], cwd=folder, capture_output=True, text=True,
        timeout=120, check=False, env=os.environ | {"npm_config_audit": "false"},
    )  # fmt: skip


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the client in a folder where Node finds its packages."""
    folder = tmp_path_factory.mktemp("client")
    (script,) = re.findall(r"^```js\n(.*?)^```", PAGE, re.S | re.M)
    (folder / "client.js").write_text(script)
    (install,) = re.findall(r"^npm install (.*)$", PAGE, re.M)
    packages = install.split()
    found = run(folder, NODE, "-e", "".join(f"require('{name}');" for name in packages))
    if found.returncode:
        done = NPM and run(folder, NPM, "install", "--ignore-scripts", *packages)
        if not done or done.returncode:
            pytest.skip(f"Node has no {', '.join(packages)}, and npm cannot get them")
    return folder / "client.js"


@pytest.mark.parametrize("ranks", [1, 2])
def test_the_client_gets_the_right_forest(
    client: Path, tmp_path: Path, ranks: int
) -> None:
    graph = simple_path(50)
    write_graph(tmp_path / "city", graph, 2)
    with served(tmp_path, ranks, tmp_path / "city", "-q") as service:
        done = run(client.parent, NODE, client, service.address, "city")
    assert done.returncode == 0, done.stderr
    graphs, answer = map(json.loads, done.stdout.splitlines())
    assert graphs == {
        "graphs": [{"graph": "city", "version": 0, "maximum": False}],
        "points_served": [],
        "ranks": ranks,
        "protocol": PROTOCOL,
    }
    forest = kruskal(*graph)
    assert (answer["edges"], answer["weight"]) == (49, forest.total)


def test_the_client_of_another_graph_gets_a_refusal(
    client: Path, tmp_path: Path
) -> None:
    write_graph(tmp_path / "city", simple_path(50))
    with served(tmp_path, 1, tmp_path / "city", "-q") as service:
        done = run(client.parent, NODE, client, service.address, "country")
    assert done.returncode != 0
    assert "no graph or points are named 'country'; there are city" in done.stderr
