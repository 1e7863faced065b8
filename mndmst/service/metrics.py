"""Counters and times of the service, as text in Prometheus's format."""

from collections import defaultdict
from collections.abc import Mapping
from threading import Lock


class Metrics:
    """What the service counts."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._requests: dict[tuple[str, str], int] = defaultdict(int)
        self._seconds: dict[str, float] = defaultdict(float)

    def add(self, request: str, status: str, seconds: float) -> None:
        """Count a request that has ended."""
        with self._lock:
            self._requests[request, status] += 1
            self._seconds[request] += seconds

    def text(self, gauges: Mapping[str, int], versions: Mapping[str, int]) -> str:
        """Return all there is.

        Parameters
        ----------
        gauges : mapping of int
            Further numbers of now, by name.
        versions : mapping of int
            Of each graph.
        """
        with self._lock:
            requests, seconds = dict(self._requests), dict(self._seconds)
        lines = ["# TYPE mndmst_requests_total counter"]
        lines += [
            f'mndmst_requests_total{{request="{name}",status="{status}"}} {count}'
            for (name, status), count in sorted(requests.items())
        ]
        lines += ["# TYPE mndmst_request_seconds_total counter"]
        lines += [
            f'mndmst_request_seconds_total{{request="{name}"}} {spent:.6f}'
            for name, spent in sorted(seconds.items())
        ]
        lines += ["# TYPE mndmst_graph_version gauge"]
        lines += [
            f'mndmst_graph_version{{graph="{name}"}} {version}'
            for name, version in sorted(versions.items())
        ]
        for name, value in gauges.items():
            lines += [f"# TYPE mndmst_{name} gauge", f"mndmst_{name} {value}"]
        return "\n".join(lines) + "\n"
