"""Batches and snapshots of points as bytes: columns of an Arrow stream.

A column is one list, because columns have several lengths. A snapshot is a file as a
journal is, with its checksums and one record, whose version is that of the points.
"""

import io
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...host.errors import InputError, optional
from ...io.file_access import flush_to_disk, writing
from ...points.clusters.cluster_numbers import ClusterNumbers
from ...points.versions.point_batch import PointBatch, PointIds
from ..journal import JournalKind
from ..records import HEADER_BYTES, MAGIC, UUID_BYTES, RecordReader, header, record

if TYPE_CHECKING:
    import pyarrow

arrow = optional("pyarrow", "serve", "The service needs")

Columns = dict[str, np.ndarray]


def pack_columns(columns: Mapping[str, np.ndarray]) -> bytes:
    """Return columns as an Arrow stream; they have one dimension or two."""
    table = arrow.table({name: _as_list(array) for name, array in columns.items()})
    sink = io.BytesIO()
    with arrow.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def _as_list(array: np.ndarray) -> "pyarrow.LargeListArray":
    values = arrow.array(np.ascontiguousarray(array).ravel())
    if array.ndim == 2:
        values = arrow.FixedSizeListArray.from_arrays(values, array.shape[1])
    offsets = arrow.array([0, len(array)], arrow.int64())
    return arrow.LargeListArray.from_arrays(offsets, values)


def unpack_columns(body: bytes, kinds: Mapping[str, str]) -> Columns:
    """Return the columns of `pack_columns`; raise ValueError if these are others.

    `kinds` has the type of each column; those of float64 have two dimensions.
    """
    try:
        table = arrow.ipc.open_stream(body).read_all()
        table.validate(full=True)  # of as many values as it says
        if table.column_names != list(kinds) or table.num_rows != 1:
            raise ValueError(f"has the columns {', '.join(table.column_names)}")
        lists = [table[name].combine_chunks() for name in kinds]
        return {
            name: _as_array(values, kinds[name])
            for name, values in zip(kinds, lists, strict=True)
        }
    except (arrow.ArrowException, OSError, MemoryError, AttributeError) as error:
        raise ValueError(str(error).splitlines()[0]) from error


def _as_array(lists: "pyarrow.LargeListArray", kind: str) -> np.ndarray:
    values = lists.flatten()
    width = values.type.list_size if kind == "float64" else 0
    array = values.flatten() if width else values
    if array.type != arrow.from_numpy_dtype(np.dtype(kind)):
        raise ValueError("has columns of other types")
    # Arrow's buffer may lie anywhere in the record
    found = np.require(array.to_numpy(zero_copy_only=False), requirements="A")
    return found.reshape(-1, width) if width else found


BATCH = {"removed": "int64", "ids": "int64", "points": "float64"}


def pack_batch(batch: PointBatch) -> bytes:
    """Return a batch as bytes."""
    points = np.asarray(batch.points, np.float64)
    return pack_columns({"removed": batch.removed, "ids": batch.ids, "points": points})


def unpack_batch(body: bytes, where: str) -> PointBatch:
    """Return the batch in the body of a record; raise ValueError if it is not one."""
    batch = PointBatch(**unpack_columns(body, BATCH))
    if len(batch.ids) != len(batch.points):
        raise ValueError("has another number of ids than of points")
    return batch


POINT_JOURNAL = JournalKind(
    "other points, or of points with other options. Give another --journal, or the "
    "points, --columns, --metric and options of clusters that it began with.",
    pack_batch,
    unpack_batch,
    Path.unlink,
)


class PointSnapshot(NamedTuple):
    """Points of one version, and the numbers of their clusters."""

    uuid: str
    ids: PointIds
    points: np.ndarray
    clusters: np.ndarray  # int64, by point: the number of its cluster; -1 is noise
    next_number: int

    def numbers(self, labels: np.ndarray) -> ClusterNumbers:
        """Return the number of each label; the labels are those of the same points."""
        found = np.full(int(labels.max(initial=-1)) + 1, -1)
        inside = labels >= 0
        found[labels[inside]] = self.clusters[inside]
        return ClusterNumbers(found, self.next_number)


SNAPSHOT = {
    "ids": "int64", "points": "float64", "clusters": "int64", "retired": "int64",
    "next": "int64",
}  # fmt: skip


def write_snapshot(path: Path, version: int, snapshot: PointSnapshot) -> None:
    """Write a snapshot; raise OutputError, and leave nothing, if that fails."""
    ids = snapshot.ids
    body = pack_columns(
        {
            "ids": ids.ids,
            "points": np.asarray(snapshot.points, np.float64),
            "clusters": snapshot.clusters,
            "retired": ids.retired,
            "next": np.array([ids.next_id, snapshot.next_number]),
        }
    )
    try:
        with writing(path):
            with path.open("xb") as file:
                file.write(header(snapshot.uuid))
                file.write(record(version, body))
                file.flush()
                os.fsync(file.fileno())
            flush_to_disk(path.parent)
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def read_snapshot(path: Path, version: int) -> PointSnapshot:
    """Return the snapshot of a version; raise InputError if the file is damaged."""
    with path.open("rb") as file:
        line = file.read(HEADER_BYTES)
        uuid = line[len(MAGIC) :][:UUID_BYTES].decode(errors="replace").strip()
        try:
            body = RecordReader(path, file, version - 1).next()
            if line != header(uuid) or body is None:
                raise ValueError("it does not match its checksums")
            columns = unpack_columns(body.packed, SNAPSHOT)
            next_id, next_number = columns["next"].tolist()
        except InputError as error:  # of a record, with the remedy of journals
            raise _damaged(path, "its record does not match its checksums") from error
        except ValueError as error:
            raise _damaged(path, str(error)) from error
    ids = PointIds(columns["ids"], columns["retired"], next_id)
    return PointSnapshot(uuid, ids, columns["points"], columns["clusters"], next_number)


def _damaged(path: Path, why: str) -> InputError:
    return InputError(f"{path}: is damaged: {why}. Restore the file from a copy.")
