"""Batches and snapshots of points as bytes: columns of an Arrow stream.

A column is one list, because columns have several lengths. A snapshot is a file as a
journal is, with its checksums and one record, whose version is that of the points.
"""

import io
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...host.errors import ConfigError, InputError, optional
from ...io.file_access import flush_to_disk, opened, reading, writing
from ...io.names import escaped
from ...points.clusters.cluster_numbers import ClusterNumbers
from ...points.clusters.density_clusters import DensityRule
from ...points.metrics import METRICS
from ...points.point_files import LARGEST
from ...points.versions.point_batch import IdSet, PointBatch, PointIds, RowIds
from ..journal import JournalKind
from ..records import (
    HEADER_BYTES,
    MAGIC,
    UUID_BYTES,
    RecordReader,
    check_version,
    header,
    record,
)

if TYPE_CHECKING:
    import pyarrow

arrow = optional("pyarrow", "serve", "The service needs")

Columns = dict[str, np.ndarray]
FACTS = "mndmst"  # the name of facts in the metadata of a schema


def pack_columns(
    columns: Mapping[str, np.ndarray], facts: Mapping[str, object] | None = None
) -> bytes:
    """Return columns as an Arrow stream; they have one dimension or two.

    `facts` go into the metadata of the schema, as JSON.
    """
    table = arrow.table({name: _as_list(array) for name, array in columns.items()})
    if facts is not None:
        table = table.replace_schema_metadata({FACTS: json.dumps(facts)})
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
            names = escaped(", ".join(table.column_names))
            raise ValueError(f"has the columns {names}")
        # Before any column is read: Arrow makes no array of some types
        widths = [_width(table.schema.field(n).type, kinds[n]) for n in kinds]
        return {
            name: _as_array(table[name].combine_chunks(), width)
            for name, width in zip(kinds, widths, strict=True)
        }
    except (arrow.ArrowException, OSError, MemoryError, AttributeError) as error:
        raise ValueError(str(error).splitlines()[0]) from error


def unpack_facts(body: bytes) -> dict[str, object]:
    """Return the facts of `pack_columns`; raise ValueError if they are damaged."""
    try:
        metadata = arrow.ipc.open_stream(body).schema.metadata or {}
    except (arrow.ArrowException, OSError) as error:
        raise ValueError(str(error).splitlines()[0]) from error
    try:
        facts = json.loads(metadata.get(FACTS.encode(), b"{}"))
    except RecursionError as error:
        raise ValueError("has facts that are nested too deeply") from error
    if not isinstance(facts, dict):
        raise ValueError("has facts of another kind")
    return facts


def _width(found: "pyarrow.DataType", kind: str) -> int:
    """Return the values in a row of a column of `pack_columns`; 0 of one dimension.

    Raises ValueError if the column's type is not one of a `kind`, see `unpack_columns`.
    """
    other = ValueError("has columns of other types")
    if not arrow.types.is_large_list(found):
        raise other
    values, width = found.value_type, 0
    if kind == "float64":
        if not arrow.types.is_fixed_size_list(values) or values.list_size == 0:
            raise other
        values, width = values.value_type, values.list_size
    if values != arrow.from_numpy_dtype(np.dtype(kind)):
        raise other
    return width


def _as_array(lists: "pyarrow.LargeListArray", width: int) -> np.ndarray:
    array = lists.flatten()
    if width:
        array = array.flatten()
    if array.null_count:
        raise ValueError("has missing values")
    # Arrow's buffer may lie anywhere in the record
    found = np.require(array.to_numpy(zero_copy_only=False), requirements="A")
    return found.reshape(-1, width) if width else found


BATCH = {"removed": "int64", "ids": "int64", "points": "float64"}


class PointsChange(NamedTuple):
    """A batch of points that come and go, and the rule of clusters from then on."""

    batch: PointBatch
    rule: DensityRule | None = None  # None if it is as before


def pack_change(change: PointsChange) -> bytes:
    """Return a change as bytes."""
    batch, rule = change
    points = np.asarray(batch.points, np.float64)
    columns = {"removed": batch.removed, "ids": batch.ids, "points": points}
    return pack_columns(columns, None if rule is None else {"rule": rule.differing})


def unpack_change(body: bytes, where: str) -> PointsChange:
    """Return the change in the body of a record; raise ValueError if it is not one."""
    batch = PointBatch(**unpack_columns(body, BATCH))
    if len(batch.ids) != len(batch.points):
        raise ValueError("has another number of ids than of points")
    facts = unpack_facts(body)
    return PointsChange(batch, _rule_of(facts) if facts else None)


def _rule_of(facts: Mapping[str, object]) -> DensityRule:
    """Return the rule of some facts; raise ValueError if they have none."""
    rule = facts.get("rule")
    if not isinstance(rule, dict):
        raise ValueError("has no rule of clusters")
    try:
        return DensityRule().changed(rule)
    except ConfigError as error:  # of the file, and not of a command
        raise ValueError(str(error)) from error


POINT_JOURNAL = JournalKind(
    "other points, or of points with other options. Give another --journal, or the "
    "points, --columns, --metric and options of clusters that it began with.",
    pack_change,
    unpack_change,
    Path.unlink,
)


@dataclass(frozen=True)
class PointOptions:
    """What clusters of points depend on, and the names of the dimensions."""

    rule: DensityRule
    metric: str = "euclidean"
    coordinates: tuple[str, ...] = ()  # empty if they have no names

    @property
    def facts(self) -> dict[str, object]:
        """The options as JSON has them."""
        return {
            "metric": self.metric,
            "coordinates": list(self.coordinates),
            "rule": self.rule.differing,
        }

    @classmethod
    def of_facts(cls, facts: Mapping[str, object]) -> "PointOptions":
        """Return the options that have some facts; raise ValueError if none have."""
        metric, names = facts.get("metric"), facts.get("coordinates")
        if (
            not isinstance(metric, str)
            or metric not in METRICS
            or not isinstance(names, list)
            or not all(isinstance(name, str) for name in names)
        ):
            raise ValueError("has no options of points")
        return cls(_rule_of(facts), metric, tuple(names))


class PointSnapshot(NamedTuple):
    """Points of one version, and the numbers of their clusters."""

    uuid: str
    ids: PointIds
    points: np.ndarray
    clusters: np.ndarray  # int64, by point: the number of its cluster; -1 is noise
    next_number: int
    options: PointOptions | None  # None in a file of an earlier program

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
            "retired": ids.retired.all(),
            "next": np.array([ids.next_id, snapshot.next_number]),
        },
        None if snapshot.options is None else snapshot.options.facts,
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
    with reading(path, "restore it from a copy"), opened(path) as file:
        line = file.readline(2 * HEADER_BYTES)
        check_version(path, line)
        uuid = line[len(MAGIC) :][:UUID_BYTES].decode(errors="replace").strip()
        try:
            body = RecordReader(path, file, version - 1).next()
            if line != header(uuid) or body is None:
                raise ValueError("it does not match its checksums")
            columns = unpack_columns(body.packed, SNAPSHOT)
            next_id, next_number = columns["next"].tolist()
            facts = unpack_facts(body.packed)
            options = PointOptions.of_facts(facts) if facts else None
        except InputError as error:  # of a record, with the remedy of journals
            raise _damaged(path, "its record does not match its checksums") from error
        except ValueError as error:
            raise _damaged(path, str(error)) from error
    retired = columns["retired"]
    ids = PointIds(RowIds.of(columns["ids"]), IdSet.of(retired), next_id)
    snapshot = PointSnapshot(
        uuid, ids, columns["points"], columns["clusters"], next_number, options
    )
    if not _is_consistent(snapshot, retired):
        raise _damaged(path, "its columns contradict each other")
    return snapshot


def _is_consistent(snapshot: PointSnapshot, retired: np.ndarray) -> bool:
    """Return whether a snapshot can be one of `write_snapshot`."""
    ids, points, clusters = snapshot.ids, snapshot.points, snapshot.clusters
    present = ids.ids
    used = np.sort(np.append(present, retired))
    return bool(
        points.size
        and len(present) == len(clusters) == len(points)
        and (np.diff(used, prepend=-1) > 0).all()  # from 0 on, each given once
        and used[-1] < ids.next_id
        and (np.diff(retired) > 0).all()
        and (np.abs(points) <= LARGEST).all()
        and ((clusters >= -1) & (clusters < snapshot.next_number)).all()
    )


def _damaged(path: Path, why: str) -> InputError:
    return InputError(f"{path}: is damaged: {why}. Restore the file from a copy.")
