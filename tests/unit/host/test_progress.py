"""Progress: lines in a log, at a cadence; a bar on a terminal."""

import io

import pytest

from mndmst.host.progress import Progress


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


def test_details_are_for_those_who_ask() -> None:
    log = io.StringIO()
    Progress(True, log).detail("not heard")
    Progress(True, log, verbose=True).detail("heard")
    Progress(False, log, verbose=True).detail("not heard")
    assert log.getvalue().splitlines()[0].endswith("] heard")
    assert log.getvalue().count("\n") == 1
