"""The differences of the last versions of a graph's forest, kept on rank 0."""

from collections import deque
from itertools import islice
from threading import Lock

from ..changes.forest_difference import ForestDifference
from ..host.errors import ConfigError
from ..host.memory_costs import DIFFERENCE_BYTES, MIB
from .graph_version import StaleVersionError
from .limits import ServiceMemory

# Bytes of the differences of one graph: at most this, and this part of `--memory`
MOST_BYTES, SHARE_OF_LIMIT = 64 * MIB, 16


class ForestHistory:
    """The differences of the last versions of a graph's forest; thread-safe.

    They have at most `most_bytes`: the oldest ones are dropped.
    """

    def __init__(self, graph: str, version: int, most_bytes: int) -> None:
        self._graph, self._most_bytes, self._lock = graph, most_bytes, Lock()
        self.oldest = version  # The version before the first kept difference
        self._kept: deque[ForestDifference] = deque()
        self.nbytes = 0

    @classmethod
    def of(cls, graph: str, version: int, memory: ServiceMemory) -> "ForestHistory":
        """Return an empty history, which the memory of the service counts."""
        most_bytes = MOST_BYTES
        if memory.limit:
            most_bytes = min(most_bytes, memory.limit // SHARE_OF_LIMIT)
        history = cls(graph, version, most_bytes)
        memory.add_index(history)
        return history

    def add(self, difference: ForestDifference) -> None:
        """Keep the difference of the next version from the one before."""
        with self._lock:
            self._kept.append(difference)
            self.nbytes += _bytes_of(difference)
            while self.nbytes > self._most_bytes:
                self.nbytes -= _bytes_of(self._kept.popleft())
                self.oldest += 1

    def between(self, since: int, until: int) -> list[ForestDifference]:
        """Return the differences of the versions after `since`, up to `until`.

        The graph has reached both versions. Raises ConfigError if `since` is after
        `until`; StaleVersionError if the changes since then are no longer kept.
        """
        with self._lock:
            oldest = self.oldest
            if oldest <= since <= until:
                return list(islice(self._kept, since - oldest, until - oldest))
        if since > until:
            raise ConfigError(
                f"there are no changes since version {since} up to version {until}; "
                "give an earlier version as since"
            )
        raise StaleVersionError(
            f"the changes of {self._graph} since version {since} are no longer kept: "
            f"the oldest version to compare with is {oldest}. Read the forest as a "
            "whole."
        )


def _bytes_of(difference: ForestDifference) -> int:
    """Return the bytes that a kept difference takes."""
    arrays = sum(array.nbytes for edges in difference for array in edges)
    return DIFFERENCE_BYTES + arrays
