"""The memory that a rank of the service may take: one account for all its uses.

`--memory` limits the bytes that graphs, names, uploads and answers hold, and not the
size of the process, in which libraries keep freed memory.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from ..host.errors import ConfigError
from ..host.memory import MIB, free_bytes

# Requests may hold this much beside graphs of any size.
LEAST = 16 * MIB


class ServiceMemory:
    """Bytes that a rank holds for graphs and requests; thread-safe.

    A `limit` of 0 stands for the free memory of the host.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._lock, self._of_graphs, self._of_requests = Lock(), 0, 0

    @property
    def of_requests(self) -> int:
        """Bytes that requests hold now, their uploads excepted."""
        return self._of_requests

    def add_graph(self, nbytes: int) -> None:
        """Count bytes that a graph holds as long as the service runs."""
        with self._lock:
            self._of_graphs += nbytes

    def check(self, nbytes: int, what: str) -> None:
        """Raise ConfigError, with a limit that suffices, if bytes do not fit."""
        if not self.limit:
            free = free_bytes()
            if nbytes > free:
                raise ConfigError(
                    f"{what} of {nbytes:,} bytes do not fit the {free:,} bytes that "
                    "the host has free; ask for less, send less, or use a larger host"
                )
            return
        needed = self._of_requests + nbytes
        if needed > max(LEAST, self.limit - self._of_graphs):
            raise ConfigError(
                f"--memory {self.limit:,} is too little for {what} of {nbytes:,} bytes "
                f"beside {self._of_graphs:,} bytes of graphs and {self._of_requests:,} "
                f"of other requests; --memory {(self._of_graphs + needed) // MIB + 1}"
                "MiB suffices"
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
