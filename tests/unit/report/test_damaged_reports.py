"""A damaged report is refused in one sentence that names the entry."""

import copy
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mndmst.__main__ import main
from mndmst.report.record_form import fault_of
from mndmst.solver.run_report import SCHEMA

STAGE = {"stage": "read", "begin": 0.0, "seconds": 1.5, "seconds_waited": 0.5}
STAGE |= {"bytes_sent": 8, "work": [{"device": "cpu, 2", "begin": 0.1, "end": 0.9}]}
RANK = {"rank": 0, "host": "a", "peak_bytes": 1 << 20, "stages": [STAGE]}
RANK |= {"devices": ["cpu"], "threads": 2, "cores": "0-3,8", "strategy": {"name": "x"}}
RANK |= {"processor": "Zen 4", "memory_bytes": 1 << 34}
REPORT: dict[str, Any] = {
    "schema": SCHEMA, "command": ["mndmst", "solve"], "num_ranks": 1, "seconds": 2.0,
    "levels": [{"after": "read", "edges": 9}], "choices": [{"path": "x", "edges": 3}],
    "ranks": [RANK], "config": {"memory": 5, "ratio": None, "merge": "auto"},
    "num_vertices": 4, "num_edges": 9, "forest_edges": 3, "trees": 1, "weight": 2.5,
    "digest": "00", "date": "2026-11-28", "commit": "0a1b", "mpi": "MPICH 5",
    "system": "Linux 6", "versions": {"numpy": "2.4"},
}  # fmt: skip
VALUES = (None, 0, -1, 10**400, 1e308, float("nan"), "", "1-x", [], [[]], {}, True)


@pytest.mark.parametrize(
    ("path", "value", "fault"),
    [
        (("ranks", 0, "stages", 0, "seconds"), "x", "ranks[0].stages[0].seconds is "
         "'x', not a number"),
        (("ranks", 0, "peak_bytes"), -1, "ranks[0].peak_bytes is -1, not a count"),
        (("ranks", 0, "cores"), "1-x", "ranks[0].cores is '1-x', not a list of cores"),
        (("ranks",), [], "it has no rank"),
        (("ranks",), {}, "ranks is not a list"),
        (("levels", 0), 3, "levels[0] is not an object"),
        (("config", "memory"), "2G", "config.memory is '2G', not a number of bytes"),
        (("seconds",), 10**400, "seconds is 1000"),
    ],
)  # fmt: skip
def test_the_entry_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], path, value, fault: str
) -> None:
    record = copy.deepcopy(REPORT)
    inner = record
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    file = tmp_path / "r.json"
    file.write_text(json.dumps(record))
    assert main(["report", str(file)]) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"mndmst: error: {file}: is a damaged report: {fault}")
    assert error.endswith("Solve again.\n")


def test_what_comes_together_may_not_be_missing() -> None:
    assert fault_of(REPORT) == ""
    for key in ("trees", "weight", "seconds"):
        assert fault_of({k: v for k, v in REPORT.items() if k != key}) == (
            f"{key} is missing"
        )


def places(value: Any, path: tuple = ()) -> Iterator[tuple]:
    if path:
        yield path
    items = enumerate(value) if isinstance(value, list) else ()
    for key, inner in value.items() if isinstance(value, dict) else items:
        yield from places(inner, (*path, key))


def test_no_other_value_of_an_entry_is_a_bug(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each entry with three values of another kind: a page, a sentence, no more."""
    drawn = random.Random(1)
    for path in places(REPORT):
        for value in drawn.sample(VALUES, 3):
            record = copy.deepcopy(REPORT)
            inner = record
            for key in path[:-1]:
                inner = inner[key]
            inner[path[-1]] = value
            file = tmp_path / "r.json"
            file.write_text(json.dumps(record))
            status = main(["report", str(file)])
            error = capsys.readouterr().err
            assert status in (0, 1), (path, value)
            assert len(error.splitlines()) == status, (path, value, error)
            assert "bug in mndmst" not in error, (path, value, error)
