"""Clients of a rank: their names, their limits, and their requests at once.

A client is a host: all connections from one address. All processes that reach the
service by the loopback interface are one client, and so are those by a Unix socket.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from urllib.parse import unquote

from ..host.errors import ConfigError

# Actions that a client may call at its limit, because they free resources
UNLIMITED_ACTIONS = {"cancel", "release", "shutdown"}


class ClientLimitError(ConfigError):
    """A client exceeds its limit of requests or of uploaded bytes."""


@dataclass(frozen=True)
class ClientLimits:
    """Limits of each client on each rank; 0 for no limit."""

    requests: int = 0  # Requests at once, including waiting ones
    upload_bytes: int = 0  # Bytes of uploads that no request has used yet


def client_of(peer: str) -> str:
    """Return the client at the other end of a connection, which gRPC names by a URI."""
    kind, _, address = unquote(peer).partition(":")
    if kind in ("ipv4", "ipv6"):
        return address.rpartition(":")[0].strip("[]").removeprefix("::ffff:")
    return "socket"


class OpenRequests:
    """Number of open requests of each client; thread-safe.

    A client may have at most `most` at once; 0 for no limit.
    """

    def __init__(self, most: int) -> None:
        self._most, self._lock = most, Lock()
        self._open: Counter[str] = Counter()

    @contextmanager
    def request(self, client: str) -> Iterator[None]:
        """Count a request while the block runs.

        Raises ClientLimitError if the client has too many already.
        """
        with self._lock:
            if self._most and self._open[client] >= self._most:
                raise ClientLimitError(
                    f"client {client} has {self._most} requests at once, the limit of "
                    "this service (--client-requests); wait for one to end"
                )
            self._open[client] += 1
        try:
            yield
        finally:
            with self._lock:
                self._open[client] -= 1
                self._open += Counter()  # drops clients without requests

    def counts(self) -> dict[str, int]:
        """Return the number of open requests by client."""
        with self._lock:
            return dict(self._open)
