"""What each of the last versions has changed, kept on rank 0."""

from collections import deque
from itertools import islice
from threading import Lock
from typing import Generic

from ..host.errors import ConfigError
from ..host.memory_costs import MIB
from .limits import ServiceMemory, T

# Bytes of one history: at most this, and this part of `--memory`
MOST_BYTES, SHARE_OF_LIMIT = 64 * MIB, 16


class StaleVersionError(ConfigError):
    """A ticket or upload that belongs to another version than the service has."""


class VersionHistory(Generic[T]):
    """The changes that made each of the last versions; thread-safe.

    They have at most `most_bytes`: the oldest ones are dropped. A refusal names the
    changes by `what` and ends with `advice`.
    """

    def __init__(self, what: str, version: int, most_bytes: int, advice: str) -> None:
        self._what, self._most_bytes, self._advice = what, most_bytes, advice
        self._lock = Lock()
        self.oldest = version  # The version before the first kept changes
        self._kept: deque[T] = deque()
        self.nbytes = 0

    @classmethod
    def of(
        cls, what: str, version: int, memory: ServiceMemory, advice: str
    ) -> "VersionHistory[T]":
        """Return an empty history, which the memory of the service counts."""
        most_bytes = MOST_BYTES
        if memory.limit:
            most_bytes = min(most_bytes, memory.limit // SHARE_OF_LIMIT)
        history = cls(what, version, most_bytes, advice)
        memory.add_index(history)
        return history

    def add(self, changes: T) -> None:
        """Keep the changes from the last version to the next one."""
        with self._lock:
            self._kept.append(changes)
            self.nbytes += changes.nbytes
            while self.nbytes > self._most_bytes:
                self.nbytes -= self._kept.popleft().nbytes
                self.oldest += 1

    def between(self, since: int, until: int) -> list[T]:
        """Return the changes of the versions after `since`, up to `until`.

        Both versions have been reached. Raises ConfigError if `since` is after `until`;
        StaleVersionError if the changes since then are no longer kept.
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
            f"{self._what} since version {since} are no longer kept: the oldest "
            f"version to compare with is {oldest}. {self._advice}"
        )
