"""Jobs end once, whether several clients end them at once or a failing service does."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

pytest.importorskip("pyarrow", reason="the service needs pyarrow")

from mndmst.host.errors import ConfigError, MndmstError
from mndmst.service.jobs import CancelledError, JobQueue, QueuedJob


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


def test_a_job_that_has_been_committed_is_not_cancelled() -> None:
    """A client that reads true knows that nothing happens."""
    jobs = JobQueue()
    early = jobs.submit({"action": "update", "request": "1"})
    late = jobs.submit({"action": "update", "request": "2"})
    assert jobs.next() is early
    assert jobs.cancel("1") and not early.commit()
    assert jobs.cancel("1")  # it still has no effect
    jobs.forget(early)
    assert jobs.next() is late
    assert late.commit() and not jobs.cancel("2") and not late.cancelled
    jobs.forget(late)
    assert not jobs.cancel("2")


def test_cancel_and_commit_at_once_agree() -> None:
    with ThreadPoolExecutor(2) as pool:
        for _ in range(2000):
            jobs = JobQueue()
            job = jobs.submit({"action": "update", "request": "1"})
            assert jobs.next() is job
            start = Barrier(2)

            def cancel(jobs: JobQueue = jobs, start: Barrier = start) -> bool:
                start.wait()
                return jobs.cancel("1")

            def commit(job: QueuedJob = job, start: Barrier = start) -> bool:
                start.wait()
                return job.commit()

            cancelled, made = pool.submit(cancel), pool.submit(commit)
            assert cancelled.result() != made.result()


def test_an_id_names_one_job() -> None:
    """Else the end of one would keep the other from being cancelled."""
    jobs = JobQueue()
    jobs.submit({"action": "solve", "request": "1"})
    with pytest.raises(ConfigError, match="request 1 is there already"):
        jobs.submit({"action": "solve", "request": "1"})
