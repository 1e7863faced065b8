"""Finished requests of the service: log lines, and metrics in Prometheus's format."""

import json
import secrets
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from threading import Lock
from typing import TYPE_CHECKING

from ..host.errors import optional
from ..host.formatting import counted, one_line
from ..host.progress import json_line

if TYPE_CHECKING:
    from prometheus_client.core import GaugeMetricFamily


prometheus = optional("prometheus_client", "serve", "The service needs")
exposition = optional("prometheus_client.exposition", "serve")
core = optional("prometheus_client.core", "serve")

# Upper bounds of the histograms of seconds
BOUNDS = (0.001, 0.01, 0.1, 0.5, 1.0, 5.0, 10.0, 60.0, 600.0)
# Numbers of finished requests and of errors that the page shows
RECENT_REQUESTS, RECENT_ERRORS = 50, 20


@dataclass(frozen=True)
class FinishedRequest:
    """A request that has ended."""

    id: str  # The client's id of the request, or a random one
    action: str
    graph: str
    status: str  # ok, refused, stale, cancelled, left (by the client) or failed
    seconds: float
    error: str = ""  # The first line of the error; empty without one
    client: str = "-"  # See `limits.client_of`
    # The time of its end, in seconds since 1970.
    time: float = field(default_factory=time.time)


# Requests that look at the service, or are a part of another request: a table is asked
# for and then read, columns are sent and then used.
ROUTINE = {"list", "info", "metrics", "flight-info", "put", "wait"}


@dataclass(frozen=True)
class RequestLog:
    """Writes a line for each finished request to standard error."""

    quiet: bool = False  # Write slow requests only
    verbose: bool = False  # Also write requests of `ROUTINE` that went well
    as_json: bool = False  # Write JSON objects in place of text
    slow_seconds: float = 10.0  # A request of at least this time is slow

    def write(self, request: FinishedRequest, waiting: int) -> None:
        """Write the line of a request."""
        slow = request.action != "wait" and request.seconds >= self.slow_seconds
        routine = request.action in ROUTINE and request.status == "ok"
        if not slow and (self.quiet or (routine and not self.verbose)):
            return
        now = time.strftime("%Y-%m-%dT%H:%M:%S%z", time.localtime(request.time))
        if self.as_json:
            line = json_line("request", **asdict(request), waiting=waiting, slow=slow)
        else:
            line = (
                f"{now} mndmst {request.action} graph={request.graph} "
                f"status={request.status} seconds={request.seconds:.6f} "
                f"waiting={waiting} client={request.client} request={request.id}"
            )
            line += " slow" * slow
            line += f" error={json.dumps(request.error)}" if request.error else ""
        sys.stderr.write(one_line(line) + "\n")


# Meanings of the gauges, by name; the first word of a name is its label if it has one
GAUGES = {
    "jobs_waiting": "Requests that wait for the ranks",
    "received_bytes": "Bytes of all uploads so far",
    "forests_kept": "Forests of solves in memory",
    "answer_bytes": "Bytes of the answers that are being sent",
    "versions_in_memory": "Versions of all graphs in memory on rank 0",
    "version_bytes": "Bytes of these versions",
    "client_requests": "Open requests of a client",
    "client_upload_bytes": "Bytes of unused uploads of a client",
    "graph_version": "Newest version of a graph",
    "graph_changes_bytes": "Bytes of the kept changes of a graph's forest",
    "graph_maximum": "Whether the forests of a graph are maximum forests: 1 or 0",
    "points_version": "Newest version of points",
    "points_count": "Number of points",
    "points_clusters": "Clusters of points",
    "points_noise": "Points that are noise",
    "points_bytes": "Bytes of the newest version of points on rank 0",
    "rank_resident_bytes": "Resident bytes of a rank",
    "rank_gpu_bytes": "GPU memory that a rank may use",
    "rank_gpu_free_bytes": "GPU memory that a rank may take now",
}
# Values by label; the key of a gauge without a label is empty
Gauges = Mapping[str, Mapping[str, float]]


class TokenRefusals:
    """Notes requests without the token; thread-safe.

    Anybody who reaches the service can send such requests. So at most one line in
    `SECONDS` is written, with the number of requests refused since the last line.
    """

    SECONDS = 10.0

    def __init__(
        self,
        note: Callable[[FinishedRequest], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._note, self._clock, self._lock = note, clock, Lock()
        self._next, self._others = clock(), 0

    def add(self, shown: bool, client: str = "-") -> None:
        """Count a refused request, which has `shown` another token or none.

        Flight does not say which client it refuses.
        """
        with self._lock:
            now, others = self._clock(), self._others
            if now < self._next:
                self._others += 1
                return
            self._next, self._others = now + self.SECONDS, 0
        reason = "a wrong token" if shown else "no token"
        if others:
            reason += f"; {counted(others, 'more request')} refused since the last line"
        request = FinishedRequest(
            secrets.token_hex(8), "token", "-", "refused", 0.0, reason, client
        )
        self._note(request)


class Metrics:
    """Counters, times and gauges of the service; thread-safe.

    `gauges` returns the present value of each of `GAUGES`; any thread may call it.
    """

    def __init__(self, gauges: Callable[[], Gauges]) -> None:
        prometheus.disable_created_metrics()  # the time of each label's first use
        self._gauges = gauges
        self._registry = prometheus.CollectorRegistry()
        self._requests = prometheus.Counter(
            "mndmst_requests", "Finished requests", ("request", "status"),
            registry=self._registry,
        )  # fmt: skip
        self._seconds = prometheus.Histogram(
            "mndmst_request_seconds", "Seconds of a request", ("request",),
            buckets=BOUNDS, registry=self._registry,
        )  # fmt: skip
        self._stages = prometheus.Histogram(
            "mndmst_stage_seconds", "Seconds of a stage of a job", ("stage",),
            buckets=BOUNDS, registry=self._registry,
        )  # fmt: skip
        self._registry.register(self)
        self._recent: deque[FinishedRequest] = deque(maxlen=RECENT_REQUESTS)
        self._errors: deque[FinishedRequest] = deque(maxlen=RECENT_ERRORS)

    def add(self, request: FinishedRequest) -> None:
        """Count a request that has ended."""
        self._requests.labels(request.action, request.status).inc()
        self._seconds.labels(request.action).observe(request.seconds)
        self._recent.append(request)
        if request.error:
            self._errors.append(request)

    def add_stage(self, stage: str, seconds: float) -> None:
        """Count a stage of a job that has ended."""
        self._stages.labels(stage).observe(seconds)

    def recent(self) -> list[FinishedRequest]:
        """Return the last requests, the newest first."""
        return list(self._recent.copy())[::-1]

    def errors(self) -> list[FinishedRequest]:
        """Return the last requests with an error, the newest first."""
        return list(self._errors.copy())[::-1]

    def stage_seconds(self) -> dict[str, float]:
        """Return the seconds of each stage so far."""
        (family,) = self._stages.collect()
        sums = [each for each in family.samples if each.name.endswith("_sum")]
        return {each.labels["stage"]: each.value for each in sums}

    def collect(self) -> Iterator["GaugeMetricFamily"]:
        """Yield the gauges, as prometheus_client asks for them."""
        for name, values in self._gauges().items():
            label = name.partition("_")[0]
            labelled = [label] * ("" not in values)
            family = core.GaugeMetricFamily(
                f"mndmst_{name}", GAUGES[name], labels=labelled
            )
            for key, value in sorted(values.items()):
                family.add_metric([key] if labelled else [], value)
            yield family

    def text(self, accepted: str = "") -> tuple[bytes, str]:
        """Return all metrics in a format that a client accepts, and its media type."""
        encode, media_type = exposition.choose_encoder(accepted)
        return encode(self._registry), media_type
