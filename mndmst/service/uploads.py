"""Columns that clients have sent, and that a request will use.

`--memory` limits the bytes that uploads hold beside the graphs, and not the size of the
process, in which libraries keep freed memory. A refused upload holds nothing.
"""

import time
from collections.abc import Iterable
from threading import Lock, Timer
from typing import Any

import numpy as np

from ..host.errors import ConfigError, InputError, optional
from ..host.memory import MIB, free_bytes, give_back_freed

# What each kind of upload has; the weights may be of any type.
COLUMNS = {
    "weights": ("weight",),
    "edges": ("src", "dst"),
    "changes": ("src", "dst", "weight"),
    "vertices": ("vertex",),
}
# Unused ones are forgotten after as many seconds.
KEPT_SECONDS = 600.0
# To ask for the free memory of the host takes a while; it is done once for these bytes.
UNCHECKED = 16 * MIB
# Uploads may hold this much beside a graph of any size.
LEAST = 16 * MIB
# gRPC lets the messages of an upload go some time after it has been refused.
GIVE_BACK_SECONDS = 2.0
# A request with a column needs as many times its bytes.
COPIES = 4

MOST_SIGNED = (1 << 63) - 1

Columns = dict[str, np.ndarray]


class Uploads:
    """What clients have sent to this rank.

    Parameters
    ----------
    limit : int
        Bytes that graphs and uploads may hold; 0 for the memory of the host.

    Attributes
    ----------
    graph_bytes : int
        Bytes that the rows of the graphs hold.
    received_bytes : int
        Of all uploads so far.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.graph_bytes = 0
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
                if self.limit or nbytes >= unchecked:
                    self._check_room(nbytes)
                    unchecked = nbytes + UNCHECKED
                for column, pieces in parts.items():
                    pieces.append(_values(batch, column))
            columns = {c: _joined(c, pieces) for c, pieces in parts.items()}
        except ConfigError:
            timer = Timer(GIVE_BACK_SECONDS, give_back_freed)
            timer.daemon = True
            timer.start()
            raise
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
            if needed > max(LEAST, self.limit - self.graph_bytes):
                enough = (self.graph_bytes + needed) // MIB + 1
                raise ConfigError(
                    f"--memory {self.limit:,} is too little for uploads of {nbytes:,} "
                    f"bytes; --memory {enough}MiB would do"
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
    # Other types may unpack to far more bytes than the batch has
    types = optional("pyarrow", "serve").types
    fine = types.is_integer(column.type)
    fine |= name == "weight" and types.is_floating(column.type)
    if not fine:
        what = "numbers" if name == "weight" else "integers"
        raise InputError(f"the column {name!r} has type {column.type}; give {what}.")
    values: np.ndarray = column.to_numpy(zero_copy_only=False)
    if name == "weight":
        return values
    if values.dtype == np.uint64 and len(values) and values.max() > MOST_SIGNED:
        raise InputError(
            f"the column {name!r} names vertex {values.max()}; ids are below 2^63"
        )
    return values.astype(np.int64, copy=False)


def _joined(name: str, pieces: list[np.ndarray]) -> np.ndarray:
    if not pieces:
        raise InputError("the upload has no batch of rows. Send one, empty if need be.")
    return np.concatenate(pieces)  # one may be written to, unlike what Arrow holds
