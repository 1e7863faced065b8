"""Finished requests of the service: log lines, and metrics in Prometheus's format."""

import sys
import time
from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from threading import Lock

from ..host.progress import json_line

# Upper bounds of the histograms of seconds
BOUNDS = (0.001, 0.01, 0.1, 0.5, 1.0, 5.0, 10.0, 60.0, 600.0)
# Numbers of finished requests and of errors that the page shows
RECENT_REQUESTS, RECENT_ERRORS = 50, 20


@dataclass(frozen=True)
class FinishedRequest:
    """A request that has ended.

    Attributes
    ----------
    id : str
        The client's id of the request, or a random one.
    action, graph : str
    status : str
        ok, refused, stale, cancelled, left (by the client) or failed.
    seconds : float
    error : str
        The first line of the error; empty without one.
    time : float
        The time of its end, in seconds since 1970.
    """

    id: str
    action: str
    graph: str
    status: str
    seconds: float
    error: str = ""
    time: float = field(default_factory=time.time)


@dataclass(frozen=True)
class RequestLog:
    """Writes a line for each finished request to standard error.

    Attributes
    ----------
    quiet : bool
        Write slow requests only.
    as_json : bool
        Write JSON objects in place of text.
    slow_seconds : float
        A request of at least this time is slow.
    """

    quiet: bool = False
    as_json: bool = False
    slow_seconds: float = 10.0

    def write(self, request: FinishedRequest, waiting: int) -> None:
        """Write the line of a request."""
        slow = request.seconds >= self.slow_seconds
        if self.quiet and not slow:
            return
        now = time.strftime("%Y-%m-%dT%H:%M:%S%z", time.localtime(request.time))
        if self.as_json:
            line = json_line("request", **asdict(request), waiting=waiting, slow=slow)
        else:
            line = (
                f"{now} mndmst {request.action} graph={request.graph} "
                f"status={request.status} seconds={request.seconds:.6f} "
                f"waiting={waiting} request={request.id}" + " slow" * slow
            )
        sys.stderr.write(line + "\n")


@dataclass(frozen=True)
class MetricSample:
    """A value of a metric, with its labels and the suffix of its name."""

    suffix: str
    labels: Mapping[str, str]
    value: float


@dataclass(frozen=True)
class MetricFamily:
    """A metric: its name, its type in Prometheus's format, and its samples."""

    name: str
    kind: str
    samples: list[MetricSample]


class Histogram:
    """Counts of seconds by upper bound."""

    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS) + 1)
        self.total = 0.0

    def add(self, seconds: float) -> None:
        """Count a time."""
        self.counts[bisect_left(BOUNDS, seconds)] += 1
        self.total += seconds

    def samples(self, labels: Mapping[str, str]) -> Iterator[MetricSample]:
        """Yield the cumulative counts, their number and the sum."""
        below = 0
        for bound, count in zip((*BOUNDS, "+Inf"), self.counts, strict=True):
            below += count
            yield MetricSample("_bucket", {**labels, "le": str(bound)}, below)
        yield MetricSample("_count", labels, below)
        yield MetricSample("_sum", labels, round(self.total, 6))


class Metrics:
    """Counters and times since the start of the service; thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._requests: dict[tuple[str, str], int] = defaultdict(int)
        self._seconds: dict[str, Histogram] = defaultdict(Histogram)
        self._stages: dict[str, Histogram] = defaultdict(Histogram)
        self._recent: deque[FinishedRequest] = deque(maxlen=RECENT_REQUESTS)
        self._errors: deque[FinishedRequest] = deque(maxlen=RECENT_ERRORS)

    def add(self, request: FinishedRequest) -> None:
        """Count a request that has ended."""
        with self._lock:
            self._requests[request.action, request.status] += 1
            self._seconds[request.action].add(request.seconds)
            self._recent.append(request)
            if request.error:
                self._errors.append(request)

    def add_stage(self, stage: str, seconds: float) -> None:
        """Count a stage of a job that has ended."""
        with self._lock:
            self._stages[stage].add(seconds)

    def recent(self) -> list[FinishedRequest]:
        """Return the last requests, the newest first."""
        with self._lock:
            return list(self._recent)[::-1]

    def errors(self) -> list[FinishedRequest]:
        """Return the last requests with an error, the newest first."""
        with self._lock:
            return list(self._errors)[::-1]

    def stage_seconds(self) -> dict[str, float]:
        """Return the seconds of each stage so far."""
        with self._lock:
            return {name: times.total for name, times in self._stages.items()}

    def families(self, gauges: Mapping[str, Mapping[str, float]]) -> list[MetricFamily]:
        """Return all metrics.

        Parameters
        ----------
        gauges : mapping of mapping of number
            Present values by metric, and by label: ``{"graph_version": {"city": 3}}``
            has the label `graph`, the part of the name before the first underscore. The
            label of a metric with one value is empty.
        """
        with self._lock:
            requests = [
                MetricSample("_total", {"request": name, "status": status}, count)
                for (name, status), count in sorted(self._requests.items())
            ]
            seconds = [
                sample
                for name, times in sorted(self._seconds.items())
                for sample in times.samples({"request": name})
            ]
            stages = [
                sample
                for name, times in sorted(self._stages.items())
                for sample in times.samples({"stage": name})
            ]
        families = [
            MetricFamily("mndmst_requests", "counter", requests),
            MetricFamily("mndmst_request_seconds", "histogram", seconds),
            MetricFamily("mndmst_stage_seconds", "histogram", stages),
        ]
        for name, values in gauges.items():
            label = name.partition("_")[0]
            samples = [
                MetricSample("", {label: key} if key else {}, value)
                for key, value in sorted(values.items())
            ]
            families.append(MetricFamily(f"mndmst_{name}", "gauge", samples))
        return families


def to_text(families: list[MetricFamily]) -> str:
    """Return metrics as text in Prometheus's format."""
    lines = []
    for family in families:
        total = "_total" if family.kind == "counter" else ""
        lines.append(f"# TYPE {family.name}{total} {family.kind}")
        for sample in family.samples:
            labels = ",".join(f'{key}="{text}"' for key, text in sample.labels.items())
            labels = f"{{{labels}}}" if labels else ""
            lines.append(f"{family.name}{sample.suffix}{labels} {sample.value}")
    return "\n".join(lines) + "\n"
