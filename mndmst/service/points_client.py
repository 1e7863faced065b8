"""The Python client of points that a service keeps, and of their clusters."""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..api.forest import Forest, labels_of
from ..api.inputs import as_column, as_count, as_path, as_points
from ..host.errors import ConfigError, InputError, optional, shown
from ..io.atomic_output import AtomicOutput, check_outputs
from ..io.names import names_of_values
from ..io.output_kinds import FOREST, POINTS
from .connection import READ_TRIES, Connection, OtherVersionError
from .protocol import NAME, Request, ServiceAnswer, batches_of
from .remote_versions import RemoteVersions, of_version

if TYPE_CHECKING:
    import pyarrow

arrow = optional("pyarrow", "serve", "The client of the service needs")


class PointsUpdate(NamedTuple):
    """The result of a batch: the new version, and the ids of inserted points."""

    version: int
    ids: np.ndarray


class NearestPoints(NamedTuple):
    """The present points nearest to others; both have the shape (points, count)."""

    ids: np.ndarray
    distances: np.ndarray  # ascending


@dataclass(frozen=True, eq=False)
class FetchedPoints:
    """The points of one version, and their forest.

    Attributes
    ----------
    ids : ndarray of int64
        The id of each point.
    points : ndarray, shape (points, dimensions)
    forest : Forest
        The minimum spanning forest of mutual reachability distances. A vertex is the
        position of a point in `points`.
    """

    version: int
    ids: np.ndarray
    points: np.ndarray
    forest: Forest
    metric: str
    min_samples: int
    uuid: str  # of the coordinates

    def write(
        self, forest: str | Path, points: str | Path, overwrite: bool = False
    ) -> None:
        """Write both to files, from which `mndmst verify` proves the forest.

        Parameters
        ----------
        forest : str or Path
            An .h5 file, as `mndmst hdbscan --forest` writes it, with the ids as names.
        points : str or Path
            An .npy file.
        overwrite : bool
            Replace any files of these names.

        Raises
        ------
        OutputError
            If a file cannot be written, or would replace something else.
        """
        forest_path, points_path = as_path(forest, "forest"), as_path(points, "points")
        check_fetched(forest_path, points_path, overwrite)
        found, names = self.forest, None
        config: dict[str, object] = {
            "metric": self.metric,
            "min_samples": self.min_samples,
            "approximate": False,
        }
        count, total = len(self.points), found.total_weight
        # Imported here: a client loads no HDF5 and no kernels
        from ..io.results.forest_file import ForestHeader, write_forest_in

        header = ForestHeader(self.uuid, count, total, found.digest, config)
        if not np.array_equal(self.ids, np.arange(count)):
            names = names_of_values(points_path, self.ids.tolist())
        with AtomicOutput(overwrite=overwrite) as files:
            edges = found.src, found.dst, found.weight
            write_forest_in(files, forest_path, edges, header, names=names)
            with files.file(points_path, POINTS) as new, new.open("wb") as file:
                np.save(file, self.points)


def check_fetched(forest: Path, points: Path, overwrite: bool) -> None:
    """Raise MndmstError if the files of `FetchedPoints` cannot have their names."""
    for path, suffix in ((forest, ".h5"), (points, ".npy")):
        if path.suffix != suffix:
            raise ConfigError(f"{path}: give a name that ends in {suffix}")
    check_outputs([], [(forest, FOREST), (points, POINTS)], overwrite=overwrite)


class Points(RemoteVersions):
    """Points that a service keeps, whose clusters (HDBSCAN*) follow all changes.

    Every point has an id, which is given once and never again, and every cluster a
    number, which it keeps while its points change. After every batch forest and
    clusters are those of a fresh fit of the present points.
    """

    @cached_property
    def coordinates(self) -> tuple[str, ...]:
        """The names of the coordinates; empty if they have none."""
        return tuple(self.info()["coordinates"])

    def insert(
        self, points: object, ids: object = None, *, version: int | None = None
    ) -> np.ndarray:
        """Insert points, and return their ids.

        Parameters
        ----------
        points : table or array-like of numbers, shape (points, dimensions)
            A table has the columns of `coordinates`; others are ignored.
        ids : array-like of integers, optional
            Ids that no point had before; by default the next free ones.
        version : int, optional
            The version that the points are for: the service refuses them if there is
            another.

        Raises
        ------
        OtherVersionError
            If there is another version than the one given.
        MndmstError
            If a point or id is refused; then nothing has changed.
        """
        return self.update(insert=points, ids=ids, version=version).ids

    def remove(self, ids: object, *, version: int | None = None) -> int:
        """Remove points by id; return the new version. See `insert`."""
        return self.update(remove=ids, version=version).version

    def update(
        self,
        *,
        insert: object = None,
        ids: object = None,
        remove: object = None,
        version: int | None = None,
    ) -> PointsUpdate:
        """Remove points and then insert points, as one batch; see `insert`."""
        then: Request = {"action": "update", "graph": self.name}
        uploads: list[tuple[str, str, pyarrow.Table]] = []
        new = np.empty(0, np.int64)
        if remove is not None:
            then["remove"] = secrets.token_hex(16)
            table = arrow.table({"id": _as_ids(remove, "remove")})
            uploads.append(("ids", then["remove"], table))
        if insert is not None:
            then["insert"] = secrets.token_hex(16)
            points = self._points(insert, "insert")
            given = None if ids is None else _as_ids(ids, "ids")
            kind, table = _with_ids(points, given)
            uploads.append((kind, then["insert"], table))
            new = new if given is None else given
        elif ids is not None:
            raise InputError("ids are for points to insert; give insert, too")
        if not uploads:
            raise InputError("no changes; give insert or remove")
        result: ServiceAnswer = {}
        for kind, name, table in uploads:
            last = then if name == uploads[-1][1] else None
            result = self._put(kind, name, of_version(table, version), None, last)
        if insert is not None and ids is None and result["inserted"]:
            first = result["first_id"]
            assert first is not None
            new = np.arange(first, first + result["inserted"])
        return PointsUpdate(int(result["version"]), new)

    def set_params(self, **parameters: object) -> int:
        """Change parameters of clusters from now on; return the new version.

        Clusters become those of a fresh fit with these parameters, and numbers and
        events follow as after a batch. A change of `min_samples`, or of
        `min_cluster_size` where `min_samples` was not given and follows it, needs a new
        search of all points; other changes need none.

        Parameters
        ----------
        **parameters
            Those of `HDBSCAN`: min_cluster_size, min_samples,
            cluster_selection_method, cluster_selection_epsilon,
            cluster_selection_epsilon_max, cluster_selection_persistence,
            allow_single_cluster and max_cluster_size.

        Raises
        ------
        MndmstError
            If there is no such parameter, or a value is refused; then nothing has
            changed.
        """
        answer = self.connection.ask("update", graph=self.name, rule=parameters)
        return int(answer["version"])

    def labels(self, ids: object = None, version: int | None = None) -> "pyarrow.Table":
        """Return the clusters of points as an Arrow table: id, cluster, probability.

        Parameters
        ----------
        ids : array-like of integers, optional
            The points, in the order of the rows; by default all.
        version : int, optional
            The newest one by default. The service keeps the labels of the last
            versions; ``info()["labels_since"]`` is the oldest.

        Returns
        -------
        pyarrow.Table
            `cluster` is the number of the cluster, -1 for noise. The metadata of the
            schema has the version.

        Raises
        ------
        OtherVersionError
            If the labels of the version are no longer kept.
        """
        given: Request = (
            {} if version is None else {"version": as_count(version, "version")}
        )
        if ids is None:
            return self.connection.read(
                {"graph": self.name, "table": "labels", **given}
            )
        wanted = arrow.table({"id": _as_ids(ids, "ids")})
        request: Request = {"graph": self.name, "query": "labels", **given}
        found = self.connection.exchange(request, wanted)
        return found.add_column(0, "id", wanted["id"])

    def events(self, since: int) -> "pyarrow.Table":
        """Return what became of clusters after a version, as an Arrow table.

        A row has the `version`, the `event` ("split", "merged", "born" or "died"), the
        numbers of the `old` and `new` clusters, and their numbers of points,
        `old_sizes` and `new_sizes`. A cluster that keeps its number has no event. The
        service keeps the events of the last versions; ``info()["events_since"]`` is
        the oldest version to begin with.

        Raises
        ------
        OtherVersionError
            If the events since that version are no longer kept. Read `labels`.
        """
        request: Request = {
            "graph": self.name,
            "table": "events",
            "since": as_count(since, "since"),
        }
        return self.connection.read(request)

    def fetch(self) -> FetchedPoints:
        """Return all points of the present version, and their forest."""
        for _ in range(READ_TRIES):
            try:
                return self._fetch_once()
            except OtherVersionError as error:
                stale = error
        raise stale

    def _fetch_once(self) -> FetchedPoints:
        """Fetch both; raise OtherVersionError if tickets of others end ours."""
        whole: Request = {"graph": self.name, "table": "points"}
        version = self.connection.metadata(self.connection.info(whole))["version"]
        points = self.connection.read({**whole, "version": version})
        edges: Request = {"graph": self.name, "table": "forest", "version": version}
        facts = self.connection.metadata(self.connection.info(edges))
        src, dst, weight = (
            np.require(column.to_numpy(), requirements="A")
            for column in self.connection.read(edges).columns
        )
        lists, count = points["point"].combine_chunks(), points.num_rows
        rows = np.require(lists.flatten().to_numpy(), requirements="A")
        return FetchedPoints(
            version,
            points["id"].to_numpy(),
            rows.reshape(count, lists.type.list_size),
            Forest(src, dst, weight, labels_of(count, src, dst)),
            facts["metric"],
            facts["min_samples"],
            facts["graph_uuid"],
        )

    def predict(self, points: object) -> "pyarrow.Table":
        """Return the clusters that points would join, and probabilities.

        The points are not inserted, and clusters stay as they are. The Arrow table has
        a row for each point, with `cluster` and `probability`.
        """
        return self._query("predict", points)

    def neighbours(self, points: object, count: int) -> NearestPoints:
        """Return the ids of the `count` present points nearest to each of some points.

        A present point is its own nearest one.
        """
        found = self._query("neighbours", points, count=as_count(count, "count"))
        ids, distances = (
            found[name].combine_chunks().flatten().to_numpy().reshape(-1, count)
            for name in ("id", "distance")
        )
        return NearestPoints(ids, distances)

    def _query(self, query: str, points: object, **fields: int) -> "pyarrow.Table":
        table = arrow.table({"point": self._points(points, "points")})
        request: Request = {"graph": self.name, "query": query, **fields}  # type: ignore[typeddict-item]
        return self.connection.exchange(request, table)

    def _points(self, values: object, name: str) -> "pyarrow.Array":
        """Return points of a table or an array as lists of a fixed size."""
        if isinstance(values, list) and not values:  # an array has their dimensions
            values = np.empty((0, self.info()["dimensions"]))
        columns = _columns_of(values)
        if columns is not None and self.coordinates:
            missing = [each for each in self.coordinates if each not in columns]
            if missing:
                raise InputError(
                    f"{name}: there is no column {missing[0]!r}; the points of "
                    f"{self.name} have {', '.join(self.coordinates)}"
                )
            values = _chosen(values, self.coordinates)
        return _as_lists(values, name)


def load_points(
    connection: Connection,
    name: str,
    points: object,
    ids: object,
    coordinates: Sequence[str],
    metric: str,
    rule: Mapping[str, object],
) -> Points:
    """Send points that the service keeps under a new name; see `Service.load_points`.

    `rule` has the parameters of clusters.
    """
    if not isinstance(name, str) or NAME.fullmatch(name) is None:
        raise InputError(
            f"{shown(name)} is not a valid name of points; give letters, digits, dots, "
            "dashes and underscores"
        )
    columns, names = _columns_of(points), list(coordinates)
    if columns is not None:
        missing = [each for each in names if each not in columns]
        if missing or not names:
            problem = f"there is no column {missing[0]!r}" if missing else "none given"
            raise InputError(
                f"coordinates: {problem}; give the columns of the table that are "
                f"coordinates, of {', '.join(map(str, columns))}"
            )
        points = _chosen(points, names)
    given = None if ids is None else _as_ids(ids, "ids")
    kind, table = _with_ids(_as_lists(points, "points"), given)
    upload = secrets.token_hex(16)
    then: Request = {
        "action": "load", "graph": name, "upload": upload, "coordinates": names,
        "metric": metric, "rule": dict(rule),
    }  # fmt: skip
    command: Request = {"upload": upload, "kind": kind, "then": then}
    connection.put(command, batches_of(table), None)
    return Points(connection, name)


def _columns_of(values: object) -> list[object] | None:
    """Return the names of a table's columns; None for an array."""
    columns = getattr(values, "column_names", getattr(values, "columns", None))
    return None if columns is None else list(columns)


def _chosen(table: object, names: Sequence[str]) -> np.ndarray:
    """Return some columns of a table as an array."""
    return np.column_stack([as_column(table[each], each) for each in names])  # type: ignore[index]


def _as_lists(values: object, name: str) -> "pyarrow.Array":
    """Return points as lists of a fixed size."""
    points = as_points(values, name)
    flat = arrow.array(np.ascontiguousarray(points).ravel())
    return arrow.FixedSizeListArray.from_arrays(flat, points.shape[1])


def _with_ids(
    points: "pyarrow.Array", ids: np.ndarray | None
) -> tuple[str, "pyarrow.Table"]:
    """Return the kind of an upload of points, maybe with ids, and its table."""
    if ids is None:
        return "points", arrow.table({"point": points})
    if len(ids) != len(points):
        raise InputError(
            f"ids: there are {len(ids):,}, and {len(points):,} points; give each point "
            "one"
        )
    return "points-with-ids", arrow.table({"id": arrow.array(ids), "point": points})


def _as_ids(values: object, name: str) -> np.ndarray:
    """Return ids as an array of integers; raise InputError for others."""
    ids = as_column(values, name)
    if len(ids) and ids.dtype.kind not in "iu":
        raise InputError(f"{name} has type {ids.dtype}; give ids, which are integers")
    return ids.astype(np.int64)
