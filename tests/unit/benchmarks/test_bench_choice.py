"""`bench choice` runs every way in turn and prints how far `auto` is from the best."""

import json
from pathlib import Path

import pytest
from processes import ROOT

from tests.benchmarks.__main__ import main
from tests.benchmarks.whole_commands import Turn, Way, medians, ratios, way_table, ways

CPU, GPU, AUTO = (Way(1, backend) for backend in ("cpu", "cuda", "auto"))
TWO = Way(2, "auto")


def test_the_ratio_is_that_of_auto_and_the_best_with_as_many_ranks() -> None:
    seconds = {CPU: 2.0, GPU: 4.0, AUTO: 3.0, Way(2, "cpu"): 1.0, TWO: 1.0}
    assert ratios(seconds) == {1: 1.5, 2: 1.0}


def test_medians_are_of_all_turns_of_a_way() -> None:
    turns = [Turn(CPU, value, "x") for value in (3.0, 1.0, 2.0)]
    assert medians([*turns, Turn(AUTO, 5.0, "x")]) == {CPU: 2.0, AUTO: 5.0}


def test_a_line_has_all_backends_and_the_ratio() -> None:
    lines = way_table({CPU: 2.0, GPU: 4.0, AUTO: 3.0}).splitlines()
    assert lines[0].split() == ["ranks", "cpu", "cuda", "auto", "auto", "/", "best"]
    assert lines[1].split() == ["1", "2.000", "4.000", "3.000", "1.50"]


def test_every_number_of_ranks_has_auto() -> None:
    every = ways([1, 2])
    assert {Way(1, "cpu"), AUTO, Way(2, "cpu"), TWO} <= set(every)


def test_the_command_writes_every_way(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "choice.json"
    asked = ["--ranks", "1", "--repeat", "1", "--json", str(file)]
    assert main(["choice", str(ROOT / "partitions" / "demo"), *asked]) == 0
    assert "auto / best" in capsys.readouterr().out
    record = json.loads(file.read_text())
    assert {turn["backend"] for turn in record["turns"]} >= {"cpu", "auto"}
    assert record["ratios"]["1"] >= 1
