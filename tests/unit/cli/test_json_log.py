"""`--log-json`: progress, notices and errors are JSON lines on standard error."""

import json
from pathlib import Path

from processes import ROOT, Run, command

LIMIT = 300


def mndmst(*words: object) -> Run:
    return command(*words, timeout=LIMIT)


def events(stderr: str) -> list[dict]:
    return [json.loads(line) for line in stderr.splitlines()]


def test_a_run_logs_stages_and_notices() -> None:
    run = mndmst("solve", ROOT / "partitions/demo", "--log-json")
    assert run.returncode == 0
    found = events(run.stderr)
    stages = [event["stage"] for event in found if event["event"] == "stage"]
    assert {"read", "indComp", "digest"} <= set(stages)
    assert found[-1]["event"] == "notice" and "not kept" in found[-1]["text"]


def test_an_error_is_a_json_line(tmp_path: Path) -> None:
    run = mndmst("solve", tmp_path / "none", "--log-json")
    assert run.returncode == 1
    (error,) = (e for e in events(run.stderr) if e["event"] == "error")
    assert str(tmp_path / "none") in error["text"]


def test_a_mistake_in_the_options_is_a_json_line() -> None:
    run = mndmst("solve", "--no-such-option", "--log-json")
    assert run.returncode == 2
    (error,) = events(run.stderr)
    assert error["event"] == "error" and "--no-such-option" in error["text"]
