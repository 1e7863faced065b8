"""The demo graph is found from any directory."""

from pathlib import Path

import pytest
from processes import ROOT

from mndmst.io.shards.sharded_graph import demo_graph


def test_a_checkout_has_it_wherever_the_command_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert demo_graph() == ROOT / "partitions/demo"
