"""What shows before the edges of a forest are read, or loaded."""

from pathlib import Path

import pytest
from forests import judge
from test_verify import FOREST, GRAPH

from mndmst.certificate import candidate, certificate
from mndmst.host.errors import ConfigError


@pytest.mark.parametrize("change", [{"graph_uuid": "other"}, {"n": 11}])
def test_a_forest_of_another_graph_is_refuted_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: dict
) -> None:
    monkeypatch.setattr(certificate, "examine", None)
    monkeypatch.setattr(certificate, "load_on_machine", None)
    verdict = judge(tmp_path, GRAPH, FOREST, **change)
    assert not verdict.ok
    line = verdict.text().splitlines()[-1]
    assert line.startswith("VERDICT refuted n=10 m=unknown ")
    assert "weight=unknown digest=unknown" in line


def test_a_forest_that_does_not_fit_is_refused_before_it_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(candidate, "room", lambda budget: 100)
    monkeypatch.setattr(candidate, "load", None)
    with pytest.raises(ConfigError, match=r"no room for .* more of the forest"):
        judge(tmp_path, GRAPH, FOREST)
