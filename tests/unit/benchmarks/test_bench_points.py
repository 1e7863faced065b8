"""`bench points` times forests and HDBSCAN* of points beside other packages."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.benchmarks import points
from tests.benchmarks.__main__ import main


def test_a_table_a_picture_and_a_record(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    record, plot = tmp_path / "points.json", tmp_path / "points.png"
    asked = ["points", "--sizes", "300x2,600x3", "--repeat", "2"]
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


@pytest.mark.parametrize(("exact", "status"), [(range(1, 4), 1), (range(3, 4), 0)])
def test_an_exact_forest_of_another_weight_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    exact: range,
    status: int,
) -> None:
    tasks: dict[str, points.Task] = {"forest": lambda given: given[:, 0]}
    peer = points.PointsContender("numpy", tasks, exact)
    monkeypatch.setitem(points.CONTENDERS, "wrong", peer)
    asked = ["points", "--sizes", "300x2", "--kinds", "blobs"]
    assert main([*asked, "--peers", "mndmst,wrong", "--repeat", "1"]) == status
    printed = capsys.readouterr().out
    assert printed.count("DIFFERS") == status
    assert printed.count("approximate") == 1 - status
    assert "labels" in printed


def test_a_slow_package_has_no_turn_on_larger_points(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    peer = points.PointsContender("numpy", {"forest": lambda given: given[:, 0]})
    monkeypatch.setitem(points.CONTENDERS, "slow", peer)
    file = tmp_path / "vectors.npy"
    np.save(file, np.random.default_rng(1).random((200, 2), np.float32))
    asked = ["points", "--sizes", "300x2,300x1", "--kinds", "blobs"]
    asked += ["--data", str(file), "--peers", "slow", "--tasks", "forest"]
    assert main([*asked, "--repeat", "2", "--most", "0"]) == 0
    printed = capsys.readouterr().out
    assert printed.count("  slow ") == 2 and "vectors, 200" not in printed
    assert main([*asked, "--most", "9", "--repeat", "1"]) == 0
    assert "vectors, 200 points" in capsys.readouterr().out


def test_a_package_that_cannot_be_loaded_is_left_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(given: np.ndarray) -> np.ndarray:
        raise ImportError("it wants another one")

    peer = points.PointsContender("numpy", {"forest": fail})
    monkeypatch.setitem(points.CONTENDERS, "half", peer)
    asked = ["points", "--sizes", "300x2", "--kinds", "blobs"]
    assert main([*asked, "--peers", "mndmst,half", "--repeat", "1"]) == 0
    expected = "half is left out in 2 dimensions: it wants another one"
    assert expected in capsys.readouterr().out


def test_a_package_that_is_missing_is_left_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    peer = points.PointsContender("not_installed_anywhere", {})
    monkeypatch.setitem(points.CONTENDERS, "absent", peer)
    asked = ["points", "--sizes", "300x2", "--tasks", "forest"]
    assert main([*asked, "--peers", "mndmst,absent", "--repeat", "1"]) == 0
    assert "absent is left out" in capsys.readouterr().out


def test_what_is_no_size_or_peer_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["points", "--sizes", "many"])
    assert main(["points", "--peers", "nobody"]) == 1
    assert "nobody" in capsys.readouterr().err
