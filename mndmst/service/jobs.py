"""Requests that all ranks execute, one after the other, in the order they came."""

import queue
import time
from collections.abc import Iterator
from threading import Lock

from ..host.errors import ConfigError, MndmstError
from ..host.progress import Progress
from .protocol import Request, ServiceAnswer

MOST_WAITING = 1000


ENDING = "the service is ending; start it again, and ask then"


class CancelledError(MndmstError):
    """A request that a client has cancelled."""

    def __init__(self) -> None:
        super().__init__("the request was cancelled")


class FatalError(MndmstError):
    """All ranks raise it together, and the service ends."""


class QueuedJob:
    """A request that all ranks execute, and the answers to its client."""

    def __init__(self, fields: Request) -> None:
        self.fields = fields  # The request, with its `action`
        self.cancelled = False  # Whether it must not take effect
        self._committed = False  # Whether it may take effect
        self._lock = Lock()
        self.begun = False  # Whether the ranks execute it, or have done so
        # The time on the monotonic clock when they began.
        self.asked = self.began = time.monotonic()
        # The stages that have ended, and their times.
        self.stage_seconds: list[tuple[str, float]] = []
        self._stage: tuple[str, float] | None = None
        self._events: queue.SimpleQueue[ServiceAnswer | Exception] = queue.SimpleQueue()

    def cancel(self) -> bool:
        """Cancel the job, unless it has been committed; return whether it has not."""
        with self._lock:
            self.cancelled = not self._committed
            return self.cancelled

    def commit(self) -> bool:
        """Commit the job, unless it has been cancelled; return whether it has not.

        The ranks call it before the first effect of a job that clients can cancel.
        """
        with self._lock:
            self._committed = not self.cancelled
            return self._committed

    def report(self, text: str) -> None:
        """Send the client its progress, if it has asked for progress."""
        if not self.fields.get("progress"):
            return
        seconds = round(time.monotonic() - self.asked, 6)
        self._events.put({"progress": text, "seconds": seconds})

    def begin_stage(self, name: str) -> None:
        """End the stage before, and begin a stage."""
        self._end_stage()
        self._stage = name, time.monotonic()
        self.report(name)

    @property
    def stage(self) -> str:
        """The stage that has begun and not ended; empty without one."""
        stage = self._stage
        return stage[0] if stage else ""

    def _end_stage(self) -> None:
        if self._stage is not None:
            name, begin = self._stage
            self.stage_seconds.append((name, time.monotonic() - begin))
            self._stage = None

    def end(self, result: ServiceAnswer | Exception) -> None:
        """End with a result, or an error."""
        self._end_stage()
        self._events.put(result)

    def events(self) -> Iterator[ServiceAnswer]:
        """Yield the progress and at last the result; wait meanwhile.

        Raises MndmstError if that is the answer.
        """
        while True:
            event = self._events.get()
            if isinstance(event, Exception):
                raise event
            yield event
            if "progress" not in event:
                return

    def result(self) -> ServiceAnswer:
        """Wait for the result, and return it."""
        return list(self.events())[-1]


class JobQueue:
    """The jobs that wait, and the one that the ranks execute."""

    def __init__(self) -> None:
        self._waiting: queue.SimpleQueue[QueuedJob] = queue.SimpleQueue()
        self._lock = Lock()
        self._known: dict[str, QueuedJob] = {}
        self._endings: list[QueuedJob] = []
        self._closed = self._ended = False
        self.running: QueuedJob | None = None

    @property
    def closed(self) -> bool:
        """Whether the queue takes no more jobs."""
        return self._closed

    def __len__(self) -> int:
        return self._waiting.qsize()

    def submit(self, fields: Request) -> QueuedJob:
        """Queue a request, and return its job.

        Raises ConfigError if too many wait, another has the same id, or the service
        ends.
        """
        job, request = QueuedJob(fields), fields.get("request")
        with self._lock:
            if self._closed:
                raise ConfigError(ENDING)
            if len(self) >= MOST_WAITING:
                raise ConfigError(f"{MOST_WAITING} requests wait; ask again later")
            if request in self._known:
                raise ConfigError(f"request {request} is there already; draw an id")
            if request is not None:
                self._known[request] = job
            self._waiting.put(job)
        return job

    def close(self) -> QueuedJob:
        """Refuse further jobs; return a job that ends after all others.

        Any number of clients and signals may close the jobs.
        """
        job = QueuedJob({"action": "shutdown"})
        with self._lock:
            if self._ended:
                job.end({"ended": True})
                return job
            self._endings.append(job)
            if not self._closed:
                self._closed = True
                self._waiting.put(job)
        return job

    def end(self, error: MndmstError | None = None) -> None:
        """End all jobs that have not been answered, as the service ends.

        `error` is the reason, if the service cannot go on.
        """
        with self._lock:
            self._closed = self._ended = True
            waiting: list[QueuedJob] = []
            while not self._waiting.empty():
                waiting.append(self._waiting.get())
            for job in waiting:
                if job not in self._endings and not job.cancelled:
                    job.end(error or ConfigError("the service has ended"))
            for job in self._endings:
                job.end(error or {"ended": True})
            self._endings.clear()

    def cancel(self, request: str) -> bool:
        """Cancel a job; return whether it will have no effect.

        It is too late for a job that has been committed, and for one that has ended. A
        job that waits is answered at once, a job that the ranks execute at its next
        step.
        """
        with self._lock:
            job = self._known.get(request)
            if job is None or not job.cancel():
                return False
            if not job.begun:
                del self._known[request]
                job.end(CancelledError())
        return True

    def next(self) -> QueuedJob:
        """Wait for a job that has not been cancelled, without using the processor."""
        while True:
            job = self._waiting.get()
            with self._lock:
                if not job.cancelled:
                    job.begun, job.began = True, time.monotonic()
                    self.running = job
                    return job

    def forget(self, job: QueuedJob) -> None:
        """Forget a job that has been executed."""
        with self._lock:
            self.running = None
            self._known.pop(job.fields.get("request", ""), None)


class JobProgress(Progress):
    """The progress of a job, sent to the client that waits for it.

    `job` is None if no client waits, as on ranks other than 0.
    """

    def __init__(self, job: QueuedJob | None) -> None:
        super().__init__(False)
        self.job = job

    def stage(self, name: str, **details: object) -> None:
        """Say that a stage begins."""
        if self.job is not None:
            self.job.begin_stage(name)

    def edges(self, name: str, edges: int) -> None:
        """Report the number of edges after a step."""
        if self.job is not None:
            self.job.report(f"{name}: {edges} edges left")
