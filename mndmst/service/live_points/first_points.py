"""The first version of served points: from a file, from a client or from a journal."""

from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple
from uuid import NAMESPACE_OID, uuid5

import numpy as np

from ...host.errors import ConfigError, InputError
from ...host.progress import Progress
from ...points.clusters.density_clusters import DensityRule
from ...points.metrics import METRICS, prepared
from ...points.point_files import PointTable, read_point_table, uuid_of
from ...points.versions.cluster_version import ClusterVersion
from ...points.versions.point_batch import PointIds, checked_points
from ...points.versions.point_version import PointVersion
from ..journal import Journal
from ..limits import ServiceMemory
from ..protocol import Request
from ..uploads import HeldUpload
from .clustered_points import ClusteredPoints
from .point_records import (
    POINT_JOURNAL,
    PointOptions,
    PointsChange,
    PointSnapshot,
    read_snapshot,
    write_snapshot,
)
from .shared_search import SharedSearch, hold_search


@dataclass(frozen=True)
class PointSource:
    """A file of points, and the rule of their clusters."""

    path: Path
    rule: DensityRule
    columns: str | None = None
    key: str | None = None
    metric: str = "euclidean"


class FirstPoints(NamedTuple):
    """The version with which a service begins, on rank 0, and its journal."""

    number: int
    uuid: str
    points: ClusteredPoints
    coordinates: tuple[str, ...]  # the names of the dimensions, if they have names
    journal: Journal[PointsChange] | None = None


def check_metric(metric: str, subject: str) -> None:
    """Raise ConfigError, which begins with `subject`, for a metric without service."""
    if metric not in METRICS:
        raise ConfigError(
            f"{subject} {metric}: points in a service have one of {', '.join(METRICS)}"
        )


def points_of_file(
    name: str,
    source: PointSource,
    journals: Path | None,
    until: int | None,
    search: SharedSearch,
    progress: Progress,
) -> FirstPoints:
    """Return the points of a file, or of the newest snapshot in their journal."""
    table = read_point_table(
        source.path, columns=source.columns, key=source.key, metric=source.metric
    )
    options = PointOptions(source.rule, source.metric, table.names)
    for note in table.notes:
        progress.say(note)
    ids, note = ids_of(table, source.path)
    if note:
        progress.say(note)
    uuid = _uuid_of(options, table.points, ids)
    if journals is not None:
        journal = Journal(journals / name, POINT_JOURNAL, until)
        start = journal.begin(source.path, uuid)
        if start.version > 0:
            snapshot = read_snapshot(start.path, start.version)
            first = _of_snapshot(start.version, snapshot, options, search)
            return first._replace(journal=journal)
    else:
        journal = None
    points = _first(options, search, table.points, ids)
    return FirstPoints(0, uuid, points, options.coordinates, journal)


def points_of_client(
    request: Request, upload: HeldUpload | None, search: SharedSearch
) -> FirstPoints:
    """Return the points that a client has sent to be kept under a name.

    Raises MndmstError if there is no upload of them, or they or the rule are refused.
    """
    columns = {} if upload is None else upload.columns
    if list(columns) not in (["point"], ["id", "point"]):
        raise InputError("load: no upload of points has come under that name")
    if not len(columns["point"]):
        raise InputError("load: the upload has no points; send at least one")
    metric = request.get("metric", "euclidean")
    check_metric(metric, "metric")
    rule = DensityRule().changed(request.get("rule", {}))
    points = columns["point"]
    names = tuple(request.get("coordinates", ()))
    if names and (len(names) != points.shape[1] or len(set(names)) < len(names)):
        raise InputError(
            f"coordinates: {', '.join(names)} are not the names of {points.shape[1]} "
            "dimensions; name each once"
        )
    options = PointOptions(rule, metric, names)
    # A snapshot has float64, of which the clusters are after a restart
    points = checked_points(points, points.shape[1]).astype(np.float64, copy=False)
    prepared(points, metric)
    ids = columns.get("id")
    first = _first(options, search, points, ids)
    return FirstPoints(0, _uuid_of(options, points, ids), first, names)


def keep_first(first: FirstPoints, folder: Path, memory: ServiceMemory) -> FirstPoints:
    """Return points of a client with a journal, in a folder that is made.

    Raises MndmstError if the folder has another journal, or cannot be written.
    """
    journal = Journal(folder, POINT_JOURNAL)
    try:
        with hold_snapshot(first.points, memory):
            snapshot = snapshot_of(first.points, first.uuid, first.coordinates)
            journal.begin_with(
                first.uuid, lambda path: write_snapshot(path, first.number, snapshot)
            )
    except BaseException:
        journal.close()
        raise
    return first._replace(journal=journal)


def points_of_journal(
    folder: Path, origin: str, until: int | None, search: SharedSearch
) -> FirstPoints:
    """Return points that a client has sent to an earlier service, by their journal."""
    journal = Journal(folder, POINT_JOURNAL, until)
    start = journal.begin(folder, origin)
    if start.path == folder:
        raise InputError(
            f"{folder}: has no snapshot of points. Restore it from a copy."
        )
    snapshot = read_snapshot(start.path, start.version)
    if snapshot.options is None:
        raise InputError(f"{start.path}: has no options. Restore it from a copy.")
    first = _of_snapshot(start.version, snapshot, snapshot.options, search)
    return first._replace(journal=journal)


def snapshot_of(
    points: ClusteredPoints, uuid: str, coordinates: tuple[str, ...]
) -> PointSnapshot:
    """Return the snapshot of a version."""
    version = points.points
    options = PointOptions(points.rule, str(version.rule.metric), coordinates)
    return PointSnapshot(
        uuid, version.point_ids, version.points, points.table.clusters,
        points.numbers.next_number, options,
    )  # fmt: skip


def hold_snapshot(
    points: ClusteredPoints, memory: ServiceMemory
) -> AbstractContextManager[None]:
    """Count a snapshot while a block writes it."""
    return memory.hold(2 * points.points.points.nbytes, "a snapshot")


def ids_of(table: PointTable, path: Path) -> tuple[np.ndarray | None, str]:
    """Return the ids that a file gives its points, None for 0, 1, ..., and a note.

    Raises InputError if two points have one id.
    """
    if table.ids is None:
        return None, ""
    if table.ids.dtype.kind not in "iu":
        return None, (
            f"{path}: the column {table.id_name} has texts, so each point gets the "
            "next free id"
        )
    try:
        ids = PointIds.first(len(table.points), table.ids).ids
    except InputError as error:
        error.source = f"{path}: column {table.id_name}"
        raise
    return ids, f"{path}: the column {table.id_name} has the ids of points"


def _uuid_of(options: PointOptions, points: np.ndarray, ids: np.ndarray | None) -> str:
    """Return a uuid of points, ids and everything that clusters depend on."""
    rule, select = options.rule, options.rule.selection
    facts = (
        uuid_of(points), None if ids is None else sha256(ids.data).hexdigest(),
        options.metric, rule.samples, rule.min_cluster_size, rule.persistence,
        select.method, select.epsilon, select.epsilon_max,
        select.allow_single_cluster, select.max_cluster_size,
    )  # fmt: skip
    return str(uuid5(NAMESPACE_OID, " ".join(map(str, facts))))


def _first(
    options: PointOptions,
    search: SharedSearch,
    points: np.ndarray,
    ids: np.ndarray | None,
) -> ClusteredPoints:
    """Return version 0."""
    options.rule.check_points(len(points))
    forest_rule = search.rule(options.metric, options.rule.samples)
    with hold_search(search.memory, forest_rule.min_samples, *points.shape):
        version = PointVersion.first(points, forest_rule, ids=ids)
        return ClusteredPoints(ClusterVersion.first(version, options.rule))


def _of_snapshot(
    number: int,
    snapshot: PointSnapshot,
    given: PointOptions,
    search: SharedSearch,
) -> FirstPoints:
    """Return the version of a snapshot; options are `given` if it has none."""
    options, points = snapshot.options or given, snapshot.points
    forest_rule = search.rule(options.metric, options.rule.samples)
    with hold_search(search.memory, forest_rule.min_samples, *points.shape):
        version = PointVersion.first(points, forest_rule)
        version = replace(version, number=number, point_ids=snapshot.ids)
        found = ClusterVersion.first(version, options.rule)
        found = replace(found, numbers=snapshot.numbers(found.flat.labels))
        return FirstPoints(
            number, snapshot.uuid, ClusteredPoints(found), options.coordinates
        )
