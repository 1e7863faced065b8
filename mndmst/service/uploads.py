"""Columns that clients have sent, and that a request will use."""

import time
from collections.abc import Iterable
from threading import Lock
from typing import Any

import numpy as np

from ..host.errors import ConfigError, InputError
from ..host.memory import MIB, free_bytes, held_bytes

# What each kind of upload has; the weights may be of any type.
COLUMNS = {
    "weights": ("weight",),
    "edges": ("src", "dst"),
    "changes": ("src", "dst", "weight"),
    "vertices": ("vertex",),
}
# Unused ones are forgotten after as many seconds.
KEPT_SECONDS = 600.0
# So much may come between two looks at what is free, which take a while.
UNCHECKED = 16 * MIB
# A request with a column needs as many times its bytes.
COPIES = 4

Columns = dict[str, np.ndarray]


class Uploads:
    """What clients have sent to this rank.

    Parameters
    ----------
    limit : int
        Bytes that this process may hold; 0 for what the host has.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.received_bytes = 0
        self._lock = Lock()
        self._held: dict[str, tuple[float, Columns]] = {}
        self._coming = 0

    def receive(self, name: str, kind: str, batches: Iterable[Any]) -> int:
        """Keep the columns of an upload under its name; return how many rows it has.

        Parameters
        ----------
        batches : iterable of pyarrow.RecordBatch

        Raises
        ------
        ConfigError
            If there is no room.
        InputError
            If the columns are not those of the kind.
        """
        if kind not in COLUMNS:
            raise InputError(
                f"no upload is of kind {kind!r}; give {', '.join(COLUMNS)}"
            )
        self._expire()
        parts: dict[str, list[np.ndarray]] = {column: [] for column in COLUMNS[kind]}
        nbytes = unchecked = 0
        try:
            for batch in batches:
                with self._lock:
                    self._coming += batch.nbytes
                nbytes += batch.nbytes
                if nbytes >= unchecked:
                    self._check_room(nbytes)
                    unchecked = nbytes + UNCHECKED
                for column, pieces in parts.items():
                    pieces.append(_values(batch, column))
            columns = {c: _joined(c, pieces) for c, pieces in parts.items()}
        finally:
            with self._lock:
                self._coming -= nbytes
        with self._lock:
            self._held[name] = time.monotonic(), columns
            self.received_bytes += nbytes
        return len(next(iter(columns.values())))

    def take(self, name: str) -> Columns | None:
        """Return an upload and forget it; None if there is none."""
        with self._lock:
            return self._held.pop(name, (0.0, None))[1]

    def _expire(self) -> None:
        with self._lock:
            oldest = time.monotonic() - KEPT_SECONDS
            for name in [n for n, (since, _) in self._held.items() if since < oldest]:
                del self._held[name]

    def _check_room(self, nbytes: int) -> None:
        with self._lock:
            sizes = [c.nbytes for _, held in self._held.values() for c in held.values()]
            needed = COPIES * (sum(sizes) + self._coming)
        if self.limit:
            enough = held_bytes() + needed
            if enough > self.limit:
                raise ConfigError(
                    f"--memory {self.limit:,} is too little for uploads of {nbytes:,} "
                    f"bytes; --memory {enough // MIB + 1}MiB would do"
                )
        elif needed > free_bytes():
            raise ConfigError(
                f"an upload of {nbytes:,} bytes needs {needed:,}, and the host has "
                f"{free_bytes():,}; send less, or use more hosts"
            )


def _values(batch: Any, name: str) -> np.ndarray:
    """Return a column of a batch, not copied if it need not be."""
    place = batch.schema.get_field_index(name)
    if place < 0:
        raise InputError(
            f"the upload has no column {name!r}, but {', '.join(batch.schema.names)}"
        )
    column = batch.column(place)
    if column.null_count:
        raise InputError(f"the column {name!r} has missing values. Leave them out.")
    try:
        values: np.ndarray = column.to_numpy(zero_copy_only=False)
    except Exception as error:  # Arrow has types that NumPy knows nothing of
        raise InputError(f"the column {name!r} has type {column.type}") from error
    wanted = "iuf" if name == "weight" else "iu"
    if values.dtype.kind not in wanted:
        what = "numbers" if name == "weight" else "integers"
        raise InputError(f"the column {name!r} has type {column.type}; give {what}.")
    return values if name == "weight" else values.astype(np.int64, copy=False)


def _joined(name: str, pieces: list[np.ndarray]) -> np.ndarray:
    if not pieces:
        raise InputError("the upload has no batch of rows. Send one, empty if need be.")
    return np.concatenate(pieces)  # one may be written to, unlike what Arrow holds
