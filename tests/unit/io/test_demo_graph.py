"""The demo graph is found from any directory."""

from pathlib import Path

import pytest
from processes import ROOT

from mndmst.host.errors import InputError
from mndmst.io.shards.sharded_graph import INSTALLED_DEMO, demo_graph


def test_a_checkout_has_it_wherever_the_command_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert demo_graph() == ROOT / "partitions/demo"


@pytest.mark.parametrize(
    "packages", ["", "lib/python3.12/site-packages", "local/lib/python3/dist-packages"]
)
def test_an_installation_has_it_below_its_prefix(
    packages: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of pip with `--target` (a flat directory), `--prefix`, and on Debian."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    module = tmp_path / "prefix" / packages / "mndmst/io/shards/sharded_graph.py"
    with pytest.raises(InputError, match="mndmst generate road grid/ --side 100"):
        demo_graph(module)
    graph = tmp_path / "prefix" / INSTALLED_DEMO
    graph.mkdir(parents=True)
    assert demo_graph(module) == graph
