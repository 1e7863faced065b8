"""Columns that clients have sent for a later request, with the versions they name.

A refused upload keeps no memory.
"""

import time
from collections import Counter
from collections.abc import Iterable
from threading import Lock, Timer
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..changes.batch import OPERATIONS, Batch
from ..host.errors import ConfigError, InputError, optional
from ..host.formatting import size_text
from ..host.memory import give_back_freed
from ..host.memory_costs import MIB, UPLOAD_COPIES
from .limits import ClientLimitError, ServiceMemory

if TYPE_CHECKING:
    import pyarrow

# The columns of each kind of upload; weights may be of any type, a point is a list of
# floats.
COLUMNS = {
    "weights": ("weight",),
    "edges": ("src", "dst"),
    "changes": ("src", "dst", "weight"),
    "vertices": ("vertex",),
    "points": ("point",),
    "points-with-ids": ("id", "point"),
    "ids": ("id",),
}
# Unused uploads are dropped after this time.
KEPT_SECONDS = 600.0
# To ask for the free memory of the host takes a while; it is done once for these bytes.
UNCHECKED = 16 * MIB
# gRPC lets the messages of an upload go some time after it has been refused.
GIVE_BACK_SECONDS = 2.0

MOST_SIGNED = (1 << 63) - 1

Columns = dict[str, np.ndarray]


class UploadVersion(NamedTuple):
    """The version of a graph that an upload belongs to."""

    graph: str
    number: int


class HeldUpload(NamedTuple):
    """An upload that no request has used yet."""

    since: float  # On the monotonic clock
    client: str
    columns: Columns
    version: UploadVersion | None  # None if the upload names no version

    @property
    def nbytes(self) -> int:
        """The bytes of its columns."""
        return sum(column.nbytes for column in self.columns.values())


class Uploads:
    """The columns that clients have sent to this rank.

    They must fit the `memory` of the rank. The uploads of one client may hold
    `client_limit` bytes (0: no limit).
    """

    def __init__(self, memory: ServiceMemory, client_limit: int = 0) -> None:
        self.memory, self.client_limit = memory, client_limit
        self.received_bytes = 0  # Of all uploads so far
        self._lock = Lock()
        self._held: dict[str, HeldUpload] = {}
        self._coming: Counter[str] = Counter()

    def receive(
        self,
        name: str,
        kind: str,
        batches: Iterable["pyarrow.RecordBatch"],
        client: str = "",
        version: UploadVersion | None = None,
    ) -> int:
        """Keep the columns of an upload under its name; return how many rows it has.

        `batches` are RecordBatches of PyArrow. The uploads of one client count
        together. Raises ConfigError if there is no room, or the client has sent too
        much; InputError if the upload lacks a column of its kind.
        """
        if kind not in COLUMNS:
            raise InputError(
                f"no upload is of kind {kind!r}; give {', '.join(COLUMNS)}"
            )
        with self._lock:
            oldest = time.monotonic() - KEPT_SECONDS
            for unused in [n for n, h in self._held.items() if h.since < oldest]:
                del self._held[unused]
        parts: dict[str, list[np.ndarray]] = {column: [] for column in COLUMNS[kind]}
        nbytes = unchecked = rows = 0
        try:
            for batch in batches:
                with self._lock:
                    self._coming[client] += batch.nbytes
                nbytes += batch.nbytes
                if self.client_limit:
                    self._check_client(client)
                if self.memory.limit or nbytes >= unchecked:
                    self._check_room()
                    unchecked = nbytes + UNCHECKED
                for column, pieces in parts.items():
                    pieces.append(_values(batch, column, rows))
                rows += batch.num_rows
            columns = {c: _joined(c, pieces) for c, pieces in parts.items()}
        except ConfigError:
            timer = Timer(GIVE_BACK_SECONDS, give_back_freed)
            timer.daemon = True
            timer.start()
            raise
        finally:
            with self._lock:
                self._coming[client] -= nbytes
                self._coming += Counter()  # drops clients without uploads
        with self._lock:
            self._held[name] = HeldUpload(time.monotonic(), client, columns, version)
            self.received_bytes += nbytes
        return len(next(iter(columns.values())))

    def take(self, name: str) -> HeldUpload | None:
        """Return an upload and forget it; None if there is none."""
        with self._lock:
            return self._held.pop(name, None)

    def bytes_by_client(self) -> dict[str, int]:
        """Return the bytes that uploads of each client hold."""
        with self._lock:
            total = Counter(self._coming)
            for upload in self._held.values():
                total[upload.client] += upload.nbytes
        return dict(+total)

    def _check_client(self, client: str) -> None:
        held = self.bytes_by_client().get(client, 0)
        if held > self.client_limit:
            raise ClientLimitError(
                f"the unused uploads of client {client} have {size_text(held)}, and "
                f"the limit of this service is {size_text(self.client_limit)} "
                "(--client-bytes); use the columns that were sent, or send less"
            )

    def _check_room(self) -> None:
        with self._lock:
            held = sum(upload.nbytes for upload in self._held.values())
            needed = UPLOAD_COPIES * (held + self._coming.total())
        self.memory.check(needed, "uploads and the work on them")


def _values(batch: "pyarrow.RecordBatch", name: str, first: int) -> np.ndarray:
    """Return a column of a batch, whose rows begin at `first`; not copied if possible.

    Raises InputError if it is missing, or has missing values or another type.
    """
    index = batch.schema.get_field_index(name)
    if index < 0:
        raise InputError(
            f"the upload has no column {name!r}, but {', '.join(batch.schema.names)}"
        )
    column = batch.column(index)
    check_present(column, name, first)
    # Other types may unpack to far more bytes than the batch has
    types = optional("pyarrow", "serve").types
    if name == "point":
        return points_of_lists(column)
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
            f"the column {name!r} has the id {values.max()}; ids are below 2^63"
        )
    return values.astype(np.int64, copy=False)


def check_present(column: "pyarrow.Array", name: str, first: int = 0) -> None:
    """Raise InputError if a value is missing; the rows begin at `first`."""
    if column.null_count:
        missing = column.is_null().to_numpy(zero_copy_only=False).argmax()
        raise InputError(
            f"the column {name!r} has no value in row {first + missing} (the first is "
            "0); fill missing values in or leave them out"
        )


def points_of_lists(column: "pyarrow.Array") -> np.ndarray:
    """Return points, shape (points, dimensions); InputError for another type.

    No list of the column is missing.
    """
    types = optional("pyarrow", "serve").types
    fine = types.is_fixed_size_list(column.type) and column.type.list_size
    if not (fine and types.is_floating(column.type.value_type)):
        raise InputError(
            f"the column 'point' has type {column.type}; give lists of floats, of a "
            "fixed size of 1 or more"
        )
    values = column.flatten()
    if values.null_count:
        raise InputError("the column 'point' has a missing coordinate; leave it out")
    points: np.ndarray = values.to_numpy(zero_copy_only=False)
    return points.reshape(len(column), column.type.list_size)


def _joined(name: str, pieces: list[np.ndarray]) -> np.ndarray:
    if not pieces:
        raise InputError("the upload has no batch of rows. Send one, empty if need be.")
    return np.concatenate(pieces)  # one may be written to, unlike what Arrow holds


# The fields of a request, in the order in which their changes are made
KINDS = {"delete": "delete", "set_weights": "set", "insert": "insert"}


def read_batch(sent: dict[str, HeldUpload | None]) -> Batch:
    """Return the changes that a client has sent to this rank.

    `sent` has uploads by the kind of change; None for one that has not come. Raises
    InputError if some have not come, or there are none.
    """
    if "remove" in sent:
        raise InputError("remove is for points; give delete to remove edges")
    parts: list[tuple[int, Columns]] = []
    for field, operation in KINDS.items():
        if field not in sent:
            continue
        upload = sent[field]
        columns = {} if upload is None else upload.columns
        wanted = ["src", "dst"] + ["weight"] * (operation != "delete")
        if list(columns) != wanted:
            raise InputError(
                f"{field}: no upload of {', '.join(wanted)} has come under that name"
            )
        parts.append((OPERATIONS[operation], columns))
    if not parts:
        raise InputError(f"no changes: give {', '.join(KINDS)} or some of them")
    kinds = {c["weight"].dtype for _, c in parts if "weight" in c}
    if len(kinds) > 1:
        names = " and ".join(sorted(kind.name for kind in kinds))
        raise InputError(f"the weights have types {names}; give one for all")
    dtype = kinds.pop() if kinds else np.dtype(np.int32)
    op = [np.full(len(c["src"]), number, np.uint8) for number, c in parts]
    src, dst = ([c[end] for _, c in parts] for end in ("src", "dst"))
    weight = [c.get("weight", np.zeros(len(c["src"]), dtype)) for _, c in parts]
    joined = np.concatenate
    return Batch(joined(op), joined(src), joined(dst), joined(weight))
