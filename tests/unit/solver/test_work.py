"""Workers of a rank compute at once, and the report shows it."""

from threading import Barrier
from types import SimpleNamespace

import pytest

from mndmst.host.progress import Progress
from mndmst.solver.run import Run
from mndmst.solver.run_report import Report


def run_of(*devices: str) -> SimpleNamespace:
    comm = SimpleNamespace(bytes_sent=0, messages_sent=0, seconds_waited=0.0)
    workers = [SimpleNamespace(backend=SimpleNamespace(name=name)) for name in devices]
    return SimpleNamespace(workers=workers, report=Report(comm, Progress(False)))


def test_both_are_at_work_at_the_same_time() -> None:
    run, meeting = run_of("cuda", "cpu"), Barrier(2)
    with run.report.stage("indComp"):
        Run.at_once(run, [lambda: meeting.wait(60), lambda: meeting.wait(60)])
    *_, stage = run.report.stages
    one, other = stage["work"]
    assert {one["device"], other["device"]} == {"cuda", "cpu"}
    assert max(one["begin"], other["begin"]) <= min(one["end"], other["end"])
    assert stage["begin"] <= one["begin"] <= one["end"]


def test_results_come_in_the_order_of_the_workers() -> None:
    run = run_of("cuda", "cpu")
    assert Run.at_once(run, [lambda: 1, lambda: 2]) == [1, 2]


def test_the_error_of_a_worker_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        Run.at_once(run_of("cuda", "cpu"), [lambda: 1, lambda: 1 // 0])


def test_one_worker_alone() -> None:
    run = run_of("cpu")
    with run.report.stage("place"):
        assert Run.at_once(run, [lambda: 3]) == [3]
    assert [entry["device"] for entry in run.report.stages[-1]["work"]] == ["cpu"]
