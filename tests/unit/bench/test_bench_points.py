"""`bench points` times HDBSCAN* beside other packages."""

import json
from pathlib import Path

import pytest

from mndmst.__main__ import main


def test_a_table_a_picture_and_a_record(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    record, plot = tmp_path / "points.json", tmp_path / "points.png"
    asked = ["bench", "points", "--sizes", "300x2,600x3", "--repeat", "2"]
    asked += ["--peers", "mndmst,approximate", "--kinds", "blobs"]
    assert main([*asked, "--json", str(record), "--plot", str(plot)]) == 0
    printed = capsys.readouterr().out
    assert "blobs, 600 points, 3 dimensions" in printed
    rows = json.loads(record.read_text())["rows"]
    assert [(row["points"], row["contender"]) for row in rows] == [
        (300, "mndmst"), (300, "approximate"), (600, "mndmst"), (600, "approximate"),
    ]  # fmt: skip
    assert all(len(row["seconds"]) == 2 for row in rows)
    assert plot.stat().st_size > 1000


def test_what_is_no_size_or_peer_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["bench", "points", "--sizes", "many"])
    assert main(["bench", "points", "--peers", "nobody"]) == 1
    assert "nobody" in capsys.readouterr().err
