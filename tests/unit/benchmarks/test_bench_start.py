"""`bench start` tells where the seconds of a command go."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.benchmarks.__main__ import main
from tests.benchmarks.whole_commands import stages_and_rest

pytestmark = pytest.mark.slow


@pytest.mark.mpi
def test_a_table_for_people_and_one_for_programs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], mpirun: Callable
) -> None:
    file = tmp_path / "start.json"
    asked = ["start", "--ranks", "1,2", "--repeat", "1", "--json", str(file)]
    assert main([*asked, "--backend", "cpu"]) == 0
    printed = capsys.readouterr().out
    assert "1 rank:" in printed
    assert "with NumPy, h5py and MPI" in printed
    rows = json.loads(file.read_text())["rows"]
    assert [row["ranks"] for row in rows] == [1, 2]
    for row in rows:
        assert {"import", "read", "write", "launch and exit"} <= row["stages"].keys()
        assert row["resident_bytes"] > 1 << 20
        assert len(row["floors"]) == 3


def test_stages_are_those_of_the_slowest_rank() -> None:
    def rank(*seconds: float) -> dict:
        names = ("read", "read", "write")
        stages = [
            {"stage": name, "begin": float(at), "seconds": s}
            for at, (name, s) in enumerate(zip(names, seconds, strict=True))
        ]
        return {"stages": stages}

    record = {"seconds": 5.0, "ranks": [rank(1, 2, 4), rank(2, 2, 1)]}
    found = stages_and_rest(5.5, record)
    assert found == {"read": 4, "write": 4, "launch and exit": 0.5}
