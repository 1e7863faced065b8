"""`bench points` times forests and HDBSCAN* of points beside other packages."""

import json
from pathlib import Path

import pytest

from mndmst.__main__ import main
from mndmst.bench import points


def test_a_table_a_picture_and_a_record(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    record, plot = tmp_path / "points.json", tmp_path / "points.png"
    asked = ["bench", "points", "--sizes", "300x2,600x3", "--repeat", "2"]
    asked += ["--peers", "mndmst,approximate", "--kinds", "blobs"]
    assert main([*asked, "--json", str(record), "--plot", str(plot)]) == 0
    printed = capsys.readouterr().out
    assert "blobs, 600 points, 3 dimensions, forest" in printed
    rows = json.loads(record.read_text())["rows"]
    assert [(row["points"], row["task"], row["contender"]) for row in rows] == [
        (points, task, contender)
        for points in (300, 600)
        for task in ("forest", "labels")
        for contender in ("mndmst", "approximate")
    ]
    assert all(len(row["seconds"]) == 2 for row in rows)
    assert plot.stat().st_size > 1000


def test_a_forest_of_another_weight_is_an_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    peer = points.PointsContender("numpy", {"forest": lambda given: given[:, 0]})
    monkeypatch.setitem(points.CONTENDERS, "wrong", peer)
    asked = ["bench", "points", "--sizes", "300x2", "--kinds", "blobs"]
    assert main([*asked, "--peers", "mndmst,wrong", "--repeat", "1"]) == 1
    printed = capsys.readouterr().out
    assert printed.count("DIFFERS") == 1
    assert "labels" in printed


def test_a_package_that_is_missing_is_left_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    peer = points.PointsContender("not_installed_anywhere", {})
    monkeypatch.setitem(points.CONTENDERS, "absent", peer)
    asked = ["bench", "points", "--sizes", "300x2", "--tasks", "forest"]
    assert main([*asked, "--peers", "mndmst,absent", "--repeat", "1"]) == 0
    assert "absent is left out" in capsys.readouterr().out


def test_what_is_no_size_or_peer_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["bench", "points", "--sizes", "many"])
    assert main(["bench", "points", "--peers", "nobody"]) == 1
    assert "nobody" in capsys.readouterr().err
