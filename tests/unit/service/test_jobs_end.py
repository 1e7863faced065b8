"""Jobs end once, whether several clients end them at once or a failing service does."""

import pytest

pytest.importorskip("pyarrow", reason="the service needs pyarrow")

from mndmst.host.errors import ConfigError, MndmstError
from mndmst.service.jobs import CancelledError, JobQueue


def test_all_who_close_are_answered() -> None:
    jobs = JobQueue()
    waiting = jobs.submit({"action": "solve"})
    closers = [jobs.close() for _ in range(3)]
    assert jobs.next() is waiting
    assert jobs.next().fields == {"action": "shutdown"}
    jobs.end()
    late = jobs.close()
    for closer in (*closers, late):
        assert closer.result() == {"ended": True}


def test_jobs_that_wait_when_the_service_fails_are_answered() -> None:
    jobs = JobQueue()
    running = jobs.submit({"action": "solve"})
    assert jobs.next() is running
    waiting, closer = jobs.submit({"action": "update"}), jobs.close()
    jobs.end(MndmstError("it has failed"))
    for job in (waiting, closer):
        with pytest.raises(MndmstError, match="it has failed"):
            job.result()
    with pytest.raises(ConfigError, match="is ending"):
        jobs.submit({"action": "solve"})


def test_a_cancelled_job_is_answered_before_its_turn() -> None:
    jobs = JobQueue()
    assert jobs.submit({"action": "solve"}) is jobs.next()
    waiting = jobs.submit({"action": "solve", "request": "1"})
    assert jobs.cancel("1")
    with pytest.raises(CancelledError):
        waiting.result()  # the one before still computes
    again = jobs.submit({"action": "solve", "request": "1"})
    assert jobs.next() is again


def test_an_id_names_one_job() -> None:
    """Else the end of one would keep the other from being cancelled."""
    jobs = JobQueue()
    jobs.submit({"action": "solve", "request": "1"})
    with pytest.raises(ConfigError, match="request 1 is there already"):
        jobs.submit({"action": "solve", "request": "1"})
