"""A graph that clients know by a name: its versions, and the batches that make them.

The main thread of each rank makes versions and publishes each by replacing one
reference. Other threads call `current` or `held` once and read the value they get.
All ranks hold the same versions, because every rank publishes and drops them at the
same points of the same sequence of jobs.
"""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from threading import Lock
from types import MappingProxyType
from weakref import WeakSet

import numpy as np

from ..changes.batch import Batch
from ..changes.changing import Applied, ChangingForest
from ..changes.current_forest import CurrentForest
from ..changes.forest_difference import ForestDifference
from ..changes.rows import ChangingRows
from ..comm.communicator import Comm
from ..graph.order import keys_to_weights
from ..host.errors import ConfigError, InputError, MndmstError
from ..host.progress import Progress
from ..io.partitioner.write_parts import write_rows
from ..io.results.graph_names import names_of_graph, vertex_ids
from ..io.shards.graph_directory import remove_shards
from ..io.shards.weight_columns import OWN, WeightColumn, find_columns
from ..solver.config import Config
from ..solver.part_graph import part_graph
from ..solver.run_report import Report
from ..tree.index import ForestIndex
from .edge_order import EdgeOrder
from .graph_version import ForestView, GraphVersion, hold_index
from .journal import JournalKind
from .limits import ServiceMemory
from .loaded_graph import EdgeChoice, LoadedGraph, WeightedRows
from .protocol import Request, ServiceAnswer
from .records import pack, unpack
from .served_versions import SentColumns, ServedVersions
from .solved_forest import SolvedForest
from .uploads import read_batch
from .version_history import VersionHistory

GRAPH_JOURNAL = JournalKind(
    "another graph. Give another --journal, or the graph that it belongs to.",
    pack,
    unpack,
    remove_shards,
)


class ServedGraph(ServedVersions[Batch, Applied]):
    """The held versions of one graph, and its journal.

    The newest version is always held. One older version is held beside it: the last one
    that clients got tickets for. A read that has begun holds its version by itself.
    """

    def __init__(
        self,
        name: str,
        loaded: LoadedGraph,
        version: GraphVersion,
        memory: ServiceMemory,
    ) -> None:
        super().__init__(loaded.comm, name, version.number, loaded.run.graph.uuid)
        self.loaded, self._memory = loaded, memory
        memory.add_graph(version.nbytes)
        # The differences of its forests; rank 0 alone adds them
        self.history: VersionHistory[ForestDifference] = VersionHistory.of(
            f"the changes of {name}", version.number, memory,
            "Read the forest as a whole.",
        )  # fmt: skip
        self._alive: WeakSet[GraphVersion] = WeakSet()
        self._alive_lock = Lock()
        self._changing: ChangingForest | None = None
        # The order of edges, also of versions whose rows are not written yet
        self._order: EdgeOrder | None = None
        self._held: tuple[GraphVersion, ...] = ()
        self._publish(version)

    @classmethod
    def load(
        cls,
        comm: Comm,
        name: str,
        path: Path,
        config: Config,
        progress: Progress,
        memory: ServiceMemory,
        version: int = 0,
    ) -> "ServedGraph":
        """Read a graph that has some version. Collective; raises as `part_graph`.

        The `memory` of this rank counts it.
        """
        report = Report(comm, progress)
        run = part_graph(comm, path, config, report, host_rows=True)
        loaded, weighed = (
            LoadedGraph(run),
            WeightedRows(run.workers, run.graph.weight_dtype),
        )
        files: dict[str, WeightColumn] = {}
        with comm.raise_on_all():
            if comm.rank == 0:
                files = find_columns(loaded.run.graph)
        first = GraphVersion(
            number=version,
            edges_since=version,
            num_edges=loaded.run.num_edges,
            num_arcs=comm.sum(weighed.num_arcs),
            weight_dtype=loaded.weight_dtype,
            files=MappingProxyType(comm.bcast(files)),
            weighed=weighed,
        )
        return cls(name, loaded, first, memory)

    # For every thread

    @property
    def num_vertices(self) -> int:
        """Vertices of the graph."""
        return self.loaded.num_vertices

    @property
    def maximum(self) -> bool:
        """Whether its forests are maximum forests."""
        return self.loaded.maximum

    @property
    def current(self) -> GraphVersion:
        """The newest version."""
        return self._held[0]

    @property
    def version(self) -> int:
        """The number of the newest version."""
        return self.current.number

    def check_sent(self, kind: str, version: int) -> None:
        """See `ServedVersions.check_sent`."""
        self.current.check_upload(self.name, kind, version)

    def held(self, number: int) -> GraphVersion:
        """Return the version of a ticket.

        Raises StaleVersionError if it is no longer held; the message names both
        versions.
        """
        held = self._held
        for version in held:
            if version.number == number:
                return version
        raise self.stale(number)

    def begin_read(self, number: int) -> GraphVersion:
        """Return the version of a ticket for a stream, which keeps it in memory.

        Raises StaleVersionError as `held`.
        """
        version = self.held(number).for_reads()
        with self._alive_lock:
            self._alive.add(version)
        return version

    def forest_name(self, number: int) -> str:
        """Return the name of the forest of a version."""
        return f"{self.name}.v{number}"

    def version_of_forest(self, forest: str) -> int | None:
        """Return the version that the name of a forest says, None for other names."""
        graph, _, number = forest.rpartition(".v")
        return int(number) if graph == self.name and number.isdecimal() else None

    def alive(self) -> list[GraphVersion]:
        """Return the versions in memory, including versions that open reads hold."""
        with self._alive_lock:
            return list(self._alive)

    # For the main thread of every rank: collective

    def read(self, fields: Request, sent: SentColumns) -> Batch:
        """See `ServedVersions.read`."""
        if "rule" in fields:
            raise InputError(f"rule is for points, and {self.name} is a graph")
        for upload in sent.values():
            self.check_upload("changes", upload)
        return replace(read_batch(sent), names=names_of_graph(self.loaded.run.graph))

    def check_replayed(self, batch: Batch) -> None:
        """Leave it to `apply`, which checks each change where its vertices are."""

    def prepare(self, progress: Progress, proceed: Callable[[], None]) -> None:
        """Index the forest; see `ServedVersions.prepare`. Collective."""
        self.with_view(progress, proceed)

    def apply(self, batch: Batch | MndmstError | None) -> Applied:
        """Change the indexed forest; see `ServedVersions.apply`. Collective."""
        if self._changing is None:
            self.loaded.check_in_memory()
            now = self.current
            assert now.weighed is not None
            index = None if now.view is None else now.view.forest.index
            self._changing = ChangingForest(
                self.loaded.comm, now.weighed.rows, now.weight_dtype, index, now.number,
                self.maximum,
            )  # fmt: skip
        return self._changing.apply(batch)

    def publish(self, applied: Applied) -> None:
        """Publish the version that a batch has made. Collective."""
        assert self._changing is not None
        old, forest = self.current, self._changing.forest
        num_arcs = self.loaded.comm.sum(self._changing.rows.num_arcs)
        # A new weight replaces parallel edges by one: then no edge comes or goes, but
        # the order of edges has fewer entries
        moved = applied.inserted or applied.deleted or num_arcs != old.num_arcs
        view = None
        if forest is not None:
            view = ForestView(applied.version, forest, self._memory)
            self.history.add(self._changing.difference)
        if moved:
            self._order = None
        new = GraphVersion(
            number=applied.version,
            edges_since=applied.version if moved else old.edges_since,
            num_edges=old.num_edges + applied.inserted - applied.deleted,
            num_arcs=num_arcs,
            weight_dtype=old.weight_dtype,
            files=MappingProxyType({}) if moved else old.files,
            columns=MappingProxyType({}) if moved else old.columns,
            indexed=True,
            view=view,
        )
        before = [v.for_reads() for v in self._held if v.ticketed][:1]
        self._publish(new, *before)
        self._announce()

    def answer_of(self, made: Applied) -> ServiceAnswer:
        """Return the version and the numbers of changed edges."""
        return {
            "version": made.version,
            "inserted": made.inserted,
            "deleted": made.deleted,
            "changed": made.changed,
        }

    def write_snapshot(self, path: Path) -> str:
        """Write the rows as shards; see `ServedVersions.write_snapshot`. Collective."""
        version, source = self.written(), self.loaded.run.graph
        named = self.uuid_of(version.number)
        with self.comm.raise_on_all():
            original = vertex_ids(source)
        write_rows(
            self.comm, path, _weighed(version).rows, version.weight_dtype, named,
            original, maximum=self.maximum,
        )  # fmt: skip
        return named

    def written(self) -> GraphVersion:
        """Return the current version with its rows. Collective."""
        now = self.current
        if now.weighed is not None:
            return now
        assert self._changing is not None
        self._make_room()
        rows = self._changing.rows.current()
        self._changing.rows = ChangingRows(rows)
        weighed = self.loaded.on_devices(rows)
        # Where no edge has come or gone, the arcs are at the same positions
        columns = {
            name: self.loaded.with_arc_keys(weighed, column.rows.keys, column.dtype)
            for name, column in now.columns.items()
        }
        if self._order is not None:
            self._order = self._order.over(weighed.rows)
        return self._now(
            weighed=weighed, columns=MappingProxyType(columns), order=self._order
        )

    def ordered(self, ticketed: bool = False) -> GraphVersion:
        """Return the current version with its order of edges. Collective.

        `ticketed` says that clients get tickets for its edges.
        """
        now = self.written()
        if now.order is None:
            self._order = self.loaded.order_of(_weighed(now))
            now = self._now(order=self._order)
        return self._ticketed() if ticketed else now

    def with_forest(
        self, progress: Progress, proceed: Callable[[], None], ticketed: bool = False
    ) -> GraphVersion:
        """Return the current version with its forest, in order. Collective."""
        now = self.current
        if now.forest is None:
            now = self._now(forest=self._forest(now, progress, proceed))
        return self._ticketed() if ticketed else now

    def _forest(
        self, now: GraphVersion, progress: Progress, proceed: Callable[[], None]
    ) -> SolvedForest:
        """Return the forest of the current version, in order. Collective."""
        loaded = self.loaded
        uuid = self.uuid_of(now.number)
        if self._changing is None:
            choice = EdgeChoice(self.maximum, digest=True)
            forest = loaded.solve(
                now.number, now.num_edges, _weighed(now), choice, progress, proceed
            )
            return forest.with_facts(graph_uuid=uuid)
        edges = loaded.no_edges if now.view is None else now.view.forest.edges()
        run = loaded.run_over(now.num_edges)
        forest = SolvedForest.of(run, now.number, [edges]).with_digest(run)
        return forest.with_facts(graph_uuid=uuid)

    def with_view(
        self, progress: Progress, proceed: Callable[[], None]
    ) -> GraphVersion:
        """Return the current version, which rank 0 can query. Collective.

        Raises ConfigError on every rank if the index does not fit the memory.
        """
        if self.current.indexed:
            return self.current
        forest = self.with_forest(progress, proceed).forest
        assert forest is not None and forest.edges is not None
        comm, edges, view = self.loaded.comm, forest.edges, None
        with ExitStack() as work:
            with comm.raise_on_all():
                if comm.rank == 0:
                    work.enter_context(hold_index(self._memory, self.num_vertices))
            u, v, key = comm.gatherv(edges.u, edges.v, edges.key)
            with comm.raise_on_all():
                if comm.rank == 0:
                    index = ForestIndex(
                        self.num_vertices, u, v, forest.weights(key), forest.maximum
                    )
                    current = CurrentForest.of(index)
                    view = ForestView(forest.version, current, self._memory)
        return self._now(indexed=True, view=view)

    def release_forest(self, number: int) -> bool:
        """Drop the forest of a held version; return whether there was one."""
        dropped = False
        held = []
        for version in self._held:
            if version.number == number and version.forest is not None:
                version, dropped = replace(version, forest=None), True
            held.append(version)
        self._publish(*held)
        return dropped

    def column(self, name: str) -> WeightedRows:
        """Return the current rows with the weights of a column. Collective.

        A column stays with the version, and with later ones until edges come or go.
        Raises ConfigError on every rank if there is no column of that name; InputError
        on every rank if its file is damaged.
        """
        if name == OWN:
            return _weighed(self.written())
        if name not in self.current.columns:
            self.store(name, self._read(name))
        return self.current.columns[name]

    def values(self, name: str) -> np.ndarray:
        """Return a column's weights of the edges that begin here. Collective."""
        if name != OWN and name not in self.current.columns:
            return self._read(name)
        weighed, order = self.column(name), _order(self.ordered())
        keys = order.of_edges(weighed.rows.keys)
        return keys_to_weights(keys, weighed.dtype, self.maximum)

    def weigh(self, weights: np.ndarray) -> WeightedRows:
        """Return the current rows with other weights. Collective."""
        now = self.ordered()
        return self.loaded.weigh(_weighed(now), _order(now), weights)

    def store(self, name: str, weights: np.ndarray) -> None:
        """Keep weights of the edges that begin here as a column. Collective."""
        with self.loaded.comm.raise_on_all():
            if name == OWN:
                raise ConfigError(f"{OWN!r} is the graph's own; give another name")
        weighed = self.weigh(weights)
        columns = {**self.current.columns, name: weighed}
        self._now(columns=MappingProxyType(columns))

    def _read(self, name: str) -> np.ndarray:
        """Return the weights in the file of a column. Collective."""
        files = self.current.files
        with self.loaded.comm.raise_on_all():
            if name not in files:
                raise ConfigError(
                    f"{self.name} has no column {name!r}; there are "
                    f"{', '.join(self.current.column_types)}. Columns end where edges "
                    "come or go."
                )
        order = _order(self.ordered())
        with self.loaded.comm.raise_on_all():
            return files[name].read(order.first, order.first + order.count)
        raise AssertionError("the block returns or raises")

    def _make_room(self) -> None:
        """Drop the older version if its rows and new ones do not fit. Collective."""
        older = self._held[1:]
        if not older:
            return
        needed = sum(version.nbytes for version in older)
        if self.loaded.comm.max(int(not self.loaded.run.budget.has(needed))):
            self._publish(self.current)

    def _ticketed(self) -> GraphVersion:
        """Return the current version as one that clients have tickets for."""
        return self.current if self.current.ticketed else self._now(ticketed=True)

    def _now(self, **parts: object) -> GraphVersion:
        """Publish the current version with more parts; return it. Collective."""
        now = replace(self.current, **parts)  # type: ignore[arg-type]
        self._publish(now, *self._held[1:])
        return now

    def _publish(self, *versions: GraphVersion) -> None:
        """Replace the held versions, the newest first. Collective.

        Rank 0, whose threads give tickets, is the last to hold a version with tickets:
        every other rank has it when a client comes with one.
        """
        with self._alive_lock:
            self._alive.update(versions)
        comm = self.loaded.comm
        if comm.rank:
            self._held = versions
        if versions[0].ticketed:
            comm.barrier()
        self._held = versions


def _weighed(version: GraphVersion) -> WeightedRows:
    assert version.weighed is not None
    return version.weighed


def _order(version: GraphVersion) -> EdgeOrder:
    assert version.order is not None
    return version.order
