"""Progress: lines in a log, at a cadence; a bar on a terminal."""

import io
import json
import time

import pytest

from mndmst.host.progress import Progress, notice, progress_text, use_json_lines


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_log_gets_lines_at_a_cadence() -> None:
    log = io.StringIO()
    progress = Progress(True, log, cadence=3600)
    progress.stage("read")
    progress.stage("ring", round=1)
    progress.edges("ring", 5)
    progress.say("heard at once")
    lines = log.getvalue().splitlines()
    assert [line.split("] ")[1] for line in lines] == ["read", "heard at once"]


def test_others_are_silent() -> None:
    log = Terminal()
    progress = Progress(False, log, cadence=0)
    progress.stage("read")
    progress.edges("read", 5)
    progress.say("not heard")
    progress.close()
    assert log.getvalue() == ""


def test_a_terminal_gets_a_bar() -> None:
    pytest.importorskip("tqdm")
    terminal = Terminal()
    progress = Progress(True, terminal)
    progress.stage("read")
    progress.edges("read", 2_000_000)
    progress.stage("ring", round=3)
    progress.edges("ring", 500_000)
    progress.edges("heavier", 900_000)  # the bar stays where it was
    assert progress.bar.n == 1_500_000
    progress.say("between")
    progress.close()
    shown = terminal.getvalue()
    assert "ring round 3" in shown
    assert "1.50M/2.00M" in shown
    assert "] between\n" in shown
    progress.say("after")
    assert terminal.getvalue().endswith("] after\n")


def test_a_bar_without_edges_counts_none() -> None:
    pytest.importorskip("tqdm")
    terminal = Terminal()
    progress = Progress(True, terminal)
    progress.stage("sorting: part 1 of 4")
    progress.close()
    shown = terminal.getvalue()
    assert "sorting: part 1 of 4" in shown and "edges" not in shown


def test_json_lines(capsys: pytest.CaptureFixture[str]) -> None:
    log = io.StringIO()
    use_json_lines(True)
    try:
        progress = Progress(True, log, cadence=3600)
        progress.stage("read")
        progress.stage("ring", round=1)
        progress.edges("ring", 5)
        progress.say("heard")
        Progress(False, log).say("not heard")
        notice("the columns are a, b")
    finally:
        use_json_lines(False)
    lines = [json.loads(line) for line in log.getvalue().splitlines()]
    facts = [
        {k: v for k, v in x.items() if k not in ("time", "seconds")} for x in lines
    ]
    assert facts == [
        {"event": "stage", "stage": "read"},
        {"event": "stage", "stage": "ring", "round": 1},
        {"event": "edges", "stage": "ring", "edges": 5},
        {"event": "message", "text": "heard"},
    ]
    told = json.loads(capsys.readouterr().err)
    assert (told["event"], told["text"]) == ("notice", "the columns are a, b")


def test_details_are_for_those_who_ask() -> None:
    log = io.StringIO()
    Progress(True, log).detail("not heard")
    Progress(True, log, verbose=True).detail("heard")
    Progress(False, log, verbose=True).detail("not heard")
    assert log.getvalue().splitlines()[0].endswith("] heard")
    assert log.getvalue().count("\n") == 1


def test_a_long_stage_tells_the_time_that_is_left() -> None:
    now = time.monotonic()
    assert progress_text(3, 4, now) == "75 %"  # too early to tell
    assert progress_text(1, 4, now - 30) == "25 %, about 90 s left"
    assert progress_text(1, 11, now - 60) == "9 %, about 10 min left"
    assert progress_text(0, 4, now - 30) == "0 %"
    assert progress_text(0, 0, now - 30) == "0 %"
