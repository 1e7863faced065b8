"""Points that clients know by a name: versions, batches, tables and answers.

Rank 0 holds the points and makes each version. Other ranks hold its number alone, and
take part in the jobs and in searches of all points.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...host.errors import ConfigError, InputError, MndmstError, optional
from ...host.formatting import counted
from ...host.progress import Progress
from ...points.point_files import LARGEST
from ..protocol import PROTOCOL, JsonObject, Request, ServiceAnswer
from ..served_versions import SentColumns, ServedVersions
from ..uploads import check_present, points_of_lists
from ..version_history import StaleVersionError, VersionHistory
from .clustered_points import ClusteredPoints, ClusterTable, VersionEvents
from .first_points import FirstPoints, hold_snapshot, snapshot_of
from .point_records import PointsChange, write_snapshot
from .shared_search import SharedSearch, hold_search

if TYPE_CHECKING:
    import pyarrow

arrow = optional("pyarrow", "serve", "The service needs")

# Bytes of an answer for each row: a label; a prediction, a neighbour
LABEL_BYTES, ANSWER_BYTES = 48, 64


class MadePoints(NamedTuple):
    """The version that a batch has made; its content on rank 0 alone."""

    version: int
    change: PointsChange | None = None
    points: ClusteredPoints | None = None
    events: VersionEvents | None = None


class ServedPoints(ServedVersions[PointsChange, MadePoints]):
    """The newest version of some points, the last labels and events, and the journal.

    `first` has the content on rank 0, and is None on other ranks; `start` is the number
    and the uuid of the first version.
    """

    def __init__(
        self,
        search: SharedSearch,
        name: str,
        start: tuple[int, str],
        first: FirstPoints | None,
    ) -> None:
        super().__init__(search.comm, name, *start)
        self._search, self._memory, number = search, search.memory, start[0]
        memory = search.memory
        # Rank 0 alone adds to them
        self.events: VersionHistory[VersionEvents] = VersionHistory.of(
            f"the events of {name}", number, memory, "Read the labels as a whole."
        )
        self.tables: VersionHistory[ClusterTable] = VersionHistory.of(
            f"the labels of {name}", number - 1, memory, "Read the newest ones."
        )
        points = None
        self.coordinates: tuple[str, ...] = ()  # The dimensions' names, on rank 0
        if first is not None:
            points, self.coordinates = first.points, first.coordinates
            self.journal = first.journal
            memory.add_index(points)
            self.tables.add(points.table)
        # The newest version: one reference, which `publish` replaces
        self._newest = number, points
        # The version of the last tickets for points or their forest, maybe an older one
        self._ticketed: ClusteredPoints | None = None

    @classmethod
    def first(
        cls,
        search: SharedSearch,
        name: str,
        begin: Callable[[], FirstPoints],
    ) -> "ServedPoints":
        """Return points with the first version, which rank 0 begins. Collective.

        Raises MndmstError on every rank if rank 0 does.
        """
        comm, first = search.comm, search.run(begin)
        start = None if first is None else (first.number, first.uuid)
        served = cls(search, name, comm.bcast(start), first)
        served.journaled = comm.bcast(served.journal is not None)
        return served

    # For every thread

    @property
    def version(self) -> int:
        """The number of the newest version."""
        return self._newest[0]

    @property
    def current(self) -> ClusteredPoints:
        """The newest version; on rank 0."""
        newest = self._newest[1]
        if newest is None:
            raise ConfigError(f"{self.name} are points, and rank 0 has them; ask there")
        return newest

    def check_sent(self, kind: str, version: int) -> None:
        """See `ServedVersions.check_sent`."""
        if version != (now := self.version):
            raise StaleVersionError(
                f"the {kind} sent belong to version {version} of {self.name}, and its "
                f"present version is {now}. Read the labels again."
            )

    def facts(self) -> ServiceAnswer:
        """Return the facts that the page and clients get."""
        now = self.current
        count, dimensions = now.points.points.shape
        return {
            "graph": self.name,
            "version": now.points.number,
            "points": count,
            "dimensions": dimensions,
            "clusters": now.num_clusters,
            "noise": now.noise,
        }

    def describe(self) -> ServiceAnswer:
        """Return all facts that a client asks for."""
        now = self.current
        return {
            **self.facts(),
            "uuid": self.uuid,
            "coordinates": list(self.coordinates),
            "metric": str(now.points.rule.metric),
            "min_samples": now.rule.samples,
            "rule": dict(now.rule.parameters),
            "next_id": now.points.next_id,
            "events_since": self.events.oldest,
            "labels_since": self.tables.oldest + 1,
        }

    def status(self) -> JsonObject:
        """Return the row of the operators' page."""
        return {**self.facts(), "journal_bytes": self.journal and self.journal.nbytes}

    def ticket(self, request: Request) -> "tuple[pyarrow.Schema, ServiceAnswer]":
        """Return the columns and facts of a table that a client gets a ticket for.

        The version of points or of a forest stays for the ticket. Raises errors as
        `table_schema`.
        """
        if request["table"] in WHOLE and "version" not in request:
            self._ticketed = now = self.current
            request["version"] = now.points.number
        schema = self.table_schema(request)
        facts: ServiceAnswer = {"version": request["version"]}
        if request["table"] == "forest":
            held = self._held(request["version"])
            facts |= {
                "metric": str(held.points.rule.metric),
                "min_samples": held.points.rule.min_samples,
                "graph_uuid": held.uuid,
            }
        return schema, facts

    def _held(self, version: int) -> ClusteredPoints:
        """Return the newest version, or that of the last tickets, if it is the one.

        Raises StaleVersionError for others.
        """
        for each in (self.current, self._ticketed):
            if each is not None and each.points.number == version:
                return each
        raise self.stale(version)

    def table_schema(self, request: Request) -> "pyarrow.Schema":
        """Return the columns of a table; the request gets its version.

        Raises ConfigError if there is no such table or version; StaleVersionError if it
        is no longer kept.
        """
        version = request.setdefault("version", self.version)
        self.check_reached(max(version, request.get("since", 0)))
        number, real = arrow.int64(), arrow.float64()
        if request["table"] == "labels":
            self._table(version)
            return arrow.schema(
                [("id", number), ("cluster", number), ("probability", real)]
            )
        if request["table"] in WHOLE:
            points = self._held(version).points.points
            if request["table"] == "forest":
                return arrow.schema(
                    [("src", number), ("dst", number), ("weight", real)]
                )
            kind = arrow.from_numpy_dtype(points.dtype)
            lists = arrow.list_(kind, points.shape[1])
            return arrow.schema([("id", number), ("point", lists)])
        if request["table"] != "events":
            raise ConfigError(
                f"no table of points is named {request['table']!r} in protocol "
                f"{PROTOCOL}; there are labels, events, {' and '.join(WHOLE)}"
            )
        if "since" not in request:
            raise ConfigError("events: since is missing (the version that is known)")
        self.events.between(request["since"], version)
        lists = [(name, arrow.list_(number)) for name in EVENT_LISTS]
        return arrow.schema([("version", number), ("event", arrow.string()), *lists])

    def held_table(self, request: Request) -> "AbstractContextManager[pyarrow.Table]":
        """Return a context with a table, whose bytes the memory counts.

        Raises errors as `table_schema`; ConfigError if the memory is too little.
        """
        schema = self.table_schema(request)
        version = request["version"]
        if request["table"] == "labels":
            table = self._table(version)
            nbytes, what = LABEL_BYTES * len(table.clusters), f"labels of {self.name}"

            def labels() -> "pyarrow.Table":
                given = [table.point_ids.ids, table.clusters, table.probabilities]
                return arrow.table(given, schema=schema)

            return self._memory.hold_table(nbytes, what, labels)
        if request["table"] in WHOLE:
            columns = _columns(self._held(version), request["table"])
            return self._memory.hold_table(
                2 * sum(column.nbytes for column in columns),
                f"{request['table']} of {self.name}",
                lambda: arrow.table(columns, schema=schema),
            )
        kept = self.events.between(request["since"], version)
        rows = [
            {"version": e.version, "event": e.kind}
            | {name: list(getattr(e, name)) for name in EVENT_LISTS}
            for each in kept
            for e in each.events
        ]
        return self._memory.hold_table(
            sum(each.nbytes for each in kept),
            f"events of {self.name}",
            lambda: arrow.Table.from_pylist(rows, schema=schema),
        )

    def _table(self, version: int) -> ClusterTable:
        """Return the labels of a version; StaleVersionError if they are not kept."""
        table = self.current.table
        if table.version == version:
            return table
        try:
            return self.tables.between(version - 1, version)[0]
        except StaleVersionError:
            raise self.stale(version) from None

    def answers(
        self, request: Request
    ) -> "tuple[int, Callable[[pyarrow.RecordBatch], Iterator[pyarrow.Table]]]":
        """Return the version of a query, and the function that answers a batch.

        Raises ConfigError if there is no such query or version.
        """
        query, now = request["query"], self.current
        version = request.get("version", now.points.number)
        self.check_reached(version)
        if query == "labels":
            return version, self._labels_of(self._table(version))
        if query not in ("predict", "neighbours"):
            raise ConfigError(
                f"no query of points is named {query!r} in protocol {PROTOCOL}; give "
                "labels, predict or neighbours"
            )
        if version != now.points.number:
            raise self.stale(version)
        count = request.get("count", 0)
        if query == "neighbours" and not count:
            raise ConfigError("neighbours: count is missing (how many of each point)")

        def answer(batch: "pyarrow.RecordBatch") -> "Iterator[pyarrow.Table]":
            points = _points_of(batch, now.points.points.shape[1])
            nbytes = (ANSWER_BYTES + 24 * count) * len(points)

            def table() -> "pyarrow.Table":
                if query == "predict":
                    return arrow.table(
                        dict(zip(PREDICTED, now.predicted(points), strict=True))
                    )
                found = now.neighbours(points, count)
                lists = [
                    arrow.FixedSizeListArray.from_arrays(each.ravel(), count)
                    for each in found
                ]
                return arrow.table(lists, names=["id", "distance"])

            what = f"the query {query} of {len(points):,} points"
            with self._memory.hold_table(nbytes, what, table) as held:
                yield held

        return version, answer

    def _labels_of(
        self, table: ClusterTable
    ) -> "Callable[[pyarrow.RecordBatch], Iterator[pyarrow.Table]]":
        def answer(batch: "pyarrow.RecordBatch") -> "Iterator[pyarrow.Table]":
            ids = _column(batch, "id").to_numpy(zero_copy_only=False)
            rows = table.point_ids.rows_of(ids, "ids")
            columns = table.clusters[rows], table.probabilities[rows]
            yield arrow.table(dict(zip(PREDICTED, columns, strict=True)))

        return answer

    # For the main thread of every rank

    def read(self, fields: Request, sent: SentColumns) -> PointsChange:
        """See `ServedVersions.read`."""
        given: dict[str, np.ndarray] = {}
        for field, upload in sent.items():
            self.check_upload("points", upload)
            columns = {} if upload is None else upload.columns
            allowed = {"insert": (["point"], ["id", "point"]), "remove": (["id"],)}
            if field not in allowed:
                raise InputError(
                    f"{self.name} are points, and {field} is for graphs; give insert "
                    "or remove"
                )
            if list(columns) not in allowed[field]:
                raise InputError(f"{field}: no upload of points or ids has come")
            for name, column in columns.items():
                given[f"{field} {name}"] = column
        rule, now = fields.get("rule"), self.current
        if not given and not rule:
            raise InputError("no changes: give insert, remove or rule, or some of them")
        batch = now.points.check(
            given.get("remove id"), given.get("insert point"), given.get("insert id")
        )
        return PointsChange(batch, now.rule.changed(rule) if rule else None)

    def check_replayed(self, change: PointsChange) -> None:
        """See `ServedVersions.check_replayed`."""
        batch = change.batch
        points = batch.points if len(batch.ids) else None
        self.current.points.check(batch.removed, points, batch.ids)

    def prepare(self, progress: Progress, proceed: Callable[[], None]) -> None:
        """Begin the stage: a version has all that a batch needs."""
        progress.stage("next version")

    def apply(self, batch: PointsChange | MndmstError | None) -> MadePoints:
        """See `ServedVersions.apply`. Collective."""
        made = self._search.run(lambda: self._made(batch))
        return made or MadePoints(self.version + 1)

    def _made(self, change: PointsChange | MndmstError | None) -> MadePoints:
        """Return the next version, on rank 0."""
        if isinstance(change, MndmstError):
            raise change
        assert change is not None
        now, (batch, rule) = self.current, change
        count = len(now.points.points) + len(batch.ids)
        with self._work_on(count, (rule or now.rule).samples):
            changed, events = now.changed(change)
        return MadePoints(self.version + 1, change, changed, events)

    @contextmanager
    def _work_on(self, count: int, min_samples: int) -> Iterator[None]:
        """Count the work on the next version, of `count` points, while a block runs.

        An older version that is held for tickets is dropped if there is no room else.
        """
        now = self.current

        def hold() -> AbstractContextManager[None]:
            dimensions = now.points.points.shape[1]
            return hold_search(self._memory, min_samples, count, dimensions)

        with ExitStack() as work:
            try:
                work.enter_context(hold())
            except ConfigError:
                if self._ticketed is None or self._ticketed is now:
                    raise
                self._ticketed = None
                work.enter_context(hold())
            yield

    def publish(self, made: MadePoints) -> None:
        """See `ServedVersions.publish`."""
        if made.points is not None and made.events is not None:
            self._memory.add_index(made.points)
            self.events.add(made.events)
            self.tables.add(made.points.table)
        self._newest = made.version, made.points
        self._announce()

    def answer_of(self, made: MadePoints) -> ServiceAnswer:
        """Return the version, the numbers of points, and the first new id."""
        if made.change is None:
            return {"version": made.version}
        batch = made.change.batch
        ids = batch.ids
        return {
            "version": made.version,
            "inserted": len(ids),
            "deleted": len(batch.removed),
            "first_id": int(ids[0]) if len(ids) else None,
        }

    def write_snapshot(self, path: Path) -> str:
        """Write points and numbers; see `ServedVersions.write_snapshot`. Collective."""
        named = self.uuid_of(self.version)
        with self.comm.raise_on_all():
            if self.comm.rank == 0:
                now = self.current
                with hold_snapshot(now, self._memory):
                    snapshot = snapshot_of(now, named, self.coordinates)
                    write_snapshot(path, self.version, snapshot)
        return named


# Tables of one version as a whole
WHOLE = ("points", "forest")
EVENT_LISTS = ("old", "new", "old_sizes", "new_sizes")
PREDICTED = ("cluster", "probability")


def _columns(of: ClusteredPoints, table: str) -> "list[pyarrow.Array]":
    """Return the columns of points, or of their forest, whose vertices are rows."""
    if table == "forest":
        forest = of.points.forest
        return [arrow.array(each) for each in (forest.src, forest.dst, forest.weight)]
    points = np.ascontiguousarray(of.points.points)
    values = arrow.array(points.ravel())
    lists = arrow.FixedSizeListArray.from_arrays(values, points.shape[1])
    return [arrow.array(of.points.ids), lists]


def _column(batch: "pyarrow.RecordBatch", name: str) -> "pyarrow.Array":
    if batch.schema.names != [name]:
        raise ConfigError(
            f"a query has the column {name}, not {', '.join(batch.schema.names)}"
        )
    column = batch.column(0)
    check_present(column, name)
    return column


def _points_of(batch: "pyarrow.RecordBatch", dimensions: int) -> np.ndarray:
    """Return the points of a query as float64; raise MndmstError if they do not fit."""
    points = points_of_lists(_column(batch, "point"))
    if points.shape[1] != dimensions:
        raise InputError(
            f"the points asked about have {counted(points.shape[1], 'dimension')}, and "
            f"the present points {dimensions}"
        )
    bad = ~(np.abs(points, dtype=np.float64) <= LARGEST).all(axis=1)
    if bad.any():
        raise InputError(
            f"point {int(bad.argmax())} of those asked about has a coordinate that is "
            f"NaN, or beyond {LARGEST:g}"
        )
    # Flight does not align its buffers
    return np.require(points, np.float64, "A")
