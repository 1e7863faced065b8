"""Limits of the service: the memory of a rank; requests and uploads of a client.

`--memory` limits the bytes that graphs, indexes of forests, names, uploads and answers
hold, and not the size of the process, in which libraries keep freed memory.

A client is a host: all connections from one address. All processes that reach the
service by the loopback interface are one client, and so are those by a Unix socket.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock, RLock
from typing import Protocol, TypeVar
from urllib.parse import unquote
from weakref import WeakSet

from ..host.errors import ConfigError
from ..host.formatting import option_size, size_text, sufficient_size
from ..host.memory import free_bytes
from ..host.memory_costs import MIB

LEAST = 16 * MIB
# Without a limit fewer bytes are not compared with the free memory of the host, which
# takes 0.1 ms to read.
UNCHECKED = 1 * MIB


class Sized(Protocol):
    """An object that knows its size."""

    @property
    def nbytes(self) -> int:
        """Bytes of its arrays."""


T = TypeVar("T", bound=Sized)


class ServiceMemory:
    """Bytes that a rank holds for graphs and requests; thread-safe.

    A `limit` of 0 stands for the free memory of the host. Requests may hold `least`
    bytes beside graphs of any size.
    """

    def __init__(self, limit: int, least: int = LEAST) -> None:
        self.limit, self.least = limit, least
        self._lock, self._of_graphs, self._of_requests = RLock(), 0, 0
        self._indexes: WeakSet[Sized] = WeakSet()

    @property
    def of_requests(self) -> int:
        """Bytes that requests hold now, their uploads excepted."""
        return self._of_requests

    def add_graph(self, nbytes: int) -> None:
        """Count bytes that a graph holds as long as the service runs."""
        with self._lock:
            self._of_graphs += nbytes

    def add_index(self, index: Sized) -> None:
        """Count an index of a forest, as large as it is at the time, while it lives."""
        with self._lock:
            self._indexes.add(index)

    @property
    def of_graphs(self) -> int:
        """Bytes that graphs, their names and the indexes of forests hold now."""
        with self._lock:  # no thread may add an index meanwhile
            return self._of_graphs + sum(index.nbytes for index in self._indexes)

    def check(self, nbytes: int, what: str) -> None:
        """Raise ConfigError, with a limit that suffices, if bytes do not fit."""
        if not self.limit:
            free = nbytes if nbytes < UNCHECKED else free_bytes()
            if nbytes > free:
                raise ConfigError(
                    f"{what} of {size_text(nbytes)} do not fit the {size_text(free)} "
                    "that the host has free; ask for less, send less, or use a larger "
                    "host"
                )
            return
        needed, graphs = self._of_requests + nbytes, self.of_graphs
        if needed > max(self.least, self.limit - graphs):
            raise ConfigError(
                f"--memory {option_size(self.limit)} is too little for {what} of "
                f"{size_text(nbytes)} beside {size_text(graphs)} of graphs and "
                f"{size_text(self._of_requests)} of other requests; --memory "
                f"{sufficient_size(graphs + needed)} suffices"
            )

    @contextmanager
    def hold(self, nbytes: int, what: str) -> Iterator[None]:
        """Count the bytes of a request while the block runs; see `check`."""
        with self._lock:
            self.check(nbytes, what)
            self._of_requests += nbytes
        try:
            yield
        finally:
            with self._lock:
                self._of_requests -= nbytes

    @contextmanager
    def hold_table(self, nbytes: int, what: str, make: Callable[[], T]) -> Iterator[T]:
        """Give a table to a block; count the work on it, and then its own bytes."""
        with self.hold(nbytes, what):
            table = make()
        with self.hold(table.nbytes, what):
            yield table


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
