"""The memory that answers of queries hold, counted against `--memory`."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from ..host.errors import ConfigError
from ..host.memory import MIB, free_bytes


class AnswerMemory:
    """Bytes that answers may hold together on one rank; thread-safe.

    Parameters
    ----------
    limit : int
        0 for the memory that the host has free.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._lock, self._held = Lock(), 0

    @property
    def held(self) -> int:
        """Bytes that answers hold now."""
        return self._held

    @contextmanager
    def hold(self, nbytes: int, what: str) -> Iterator[None]:
        """Count bytes as held while the block runs.

        Raises
        ------
        ConfigError
            If they do not fit; the message names a limit that suffices.
        """
        with self._lock:
            held = self._held + nbytes
            if self.limit and held > self.limit:
                raise ConfigError(
                    f"--memory {self.limit:,} is too little for {what} of {nbytes:,} "
                    f"bytes beside {self._held:,} bytes of other answers; --memory "
                    f"{held // MIB + 1}MiB suffices"
                )
            if not self.limit and nbytes > (free := free_bytes()):
                raise ConfigError(
                    f"{what} of {nbytes:,} bytes do not fit the {free:,} bytes that "
                    "the host has free; ask for fewer, or use a larger host"
                )
            self._held = held
        try:
            yield
        finally:
            with self._lock:
                self._held -= nbytes
