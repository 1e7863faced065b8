"""Journals of graphs and of points, and snapshots of points.

The first byte of an input says whether a whole file follows, or the content of a record
whose checksums are made right.
"""

import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from mndmst.changes.batch import Batch
from mndmst.host.errors import MndmstError
from mndmst.points.clusters.density_clusters import DensityRule
from mndmst.points.versions.point_batch import IdSet, PointBatch, PointIds, RowIds
from mndmst.service.live_points.point_records import (
    PointOptions,
    PointsChange,
    PointSnapshot,
    pack_change,
    read_snapshot,
    unpack_change,
    write_snapshot,
)
from mndmst.service.records import (
    MAGIC,
    RecordReader,
    header,
    pack,
    reader,
    record,
    unpack,
)

from .inputs import SCRATCH, check_refusal, scratch_file

UUID = "0a1b2c3d-0000-4000-8000-000000000001"
KINDS = FILE, SEALED, POINTS, SNAPSHOT = range(4)


def one_input(data: bytes) -> None:
    """Read batches up to the end, an unfinished write or damage."""
    kind, content = data[0] % len(KINDS) if data else FILE, data[1:]
    if kind == POINTS:
        _read_change(content)
        return
    if kind == SNAPSHOT:
        _read_snapshot(content)
        return
    if kind == SEALED:
        content = header(UUID) + record(1, content)
    path = Path("folder/journal-0")
    file = Path("scratch/journal-0")
    file.write_bytes(content)
    with file.open("rb") as opened:
        try:
            records = reader(path, opened, UUID, 0, "graph")
        except ValueError as error:  # of a header, or of another graph
            assert "\n" not in str(error)
            return
        try:
            while (body := records.next()) is not None:
                try:
                    batch = unpack(body.packed, body.where)
                except ValueError as error:
                    assert "\n" not in str(error)
                    continue
                columns = batch.op, batch.src, batch.dst, batch.weight
                assert len({len(column) for column in columns}) == 1
                zlib.crc32(b"".join(np.ascontiguousarray(c) for c in columns))
        except MndmstError as error:
            check_refusal(error, path.name)


def _read_change(body: bytes) -> None:
    try:
        change = unpack_change(body, "folder/journal-0")
    except MndmstError as error:
        raise AssertionError("it does not name the record") from error
    except ValueError as error:
        assert "\n" not in str(error)
        return
    batch = change.batch
    assert batch.removed.dtype == batch.ids.dtype == np.int64
    assert len(batch.ids) == len(batch.points) and batch.points.ndim == 2


def _read_snapshot(body: bytes) -> None:
    path = scratch_file("snapshot-0-x", header(UUID) + record(0, body))
    try:
        snapshot = read_snapshot(path, 0)
    except MndmstError as error:
        check_refusal(error, path.name)
        return
    assert len(snapshot.ids.ids) == len(snapshot.points) == len(snapshot.clusters)
    snapshot.numbers(np.zeros(len(snapshot.points), np.int64))


def _point_seeds() -> Iterator[bytes]:
    points, none = np.arange(8.0).reshape(4, 2), np.empty(0, np.int64)
    for rule in (None, DensityRule(7, 3)):
        batch = PointBatch(np.array([1]), np.arange(4, 8), points)
        yield bytes([POINTS]) + pack_change(PointsChange(batch, rule))
    options = PointOptions(DensityRule(2), "manhattan", ("x", "y"))
    for given in (None, options):
        path = SCRATCH / "seed"
        path.unlink(missing_ok=True)
        ids = PointIds(RowIds.of(np.arange(4)), IdSet.of(none), 4)
        clusters = np.array([0, 0, 1, -1])
        first = PointSnapshot(UUID, ids, points, clusters, 2, given)
        write_snapshot(path, 0, first)
        with path.open("rb") as file:
            body = RecordReader(path, file, -1).next()
        assert body is not None
        yield bytes([SNAPSHOT]) + body.packed


def seeds() -> list[bytes]:
    """Return a journal of two batches, one that was cut, batches, and snapshots."""
    batches = [
        Batch(np.array([1, 2, 3], np.uint8), *(np.array([1, 2, 3], kind) for kind in k))
        for k in (("i8", "i8", "f8"), ("u4", "u4", "i4"))
    ]
    assert MAGIC
    whole = header(UUID) + b"".join(
        record(1 + i, pack(batch)) for i, batch in enumerate(batches)
    )
    cut = whole[:-40] + bytes(40)
    sealed = [bytes([SEALED]) + pack(batch) for batch in batches]
    return [bytes([FILE]) + whole, bytes([FILE]) + cut, *sealed, *_point_seeds()]
