"""Execute the requests that need all ranks: together, one request at a time."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..backends import ACCELERATORS
from ..comm.communicator import Comm
from ..host.errors import ConfigError, InputError, MndmstError, points_required
from ..host.memory import resident_bytes
from ..io.edge_file import supported_weights
from ..io.shards.weight_columns import OWN
from .control_channel import RankMemory
from .direction import THRESHOLD, check_words, given_of
from .expression import columns_of, evaluate
from .jobs import CancelledError, FatalError, JobProgress, QueuedJob
from .loaded_graph import EdgeChoice, WeightedRows
from .protocol import Request, ServiceAnswer
from .served_graph import ServedGraph
from .served_versions import SentColumns
from .solved_forest import SolvedForest
from .stall_watch import Activity
from .uploads import KINDS, Uploads

if TYPE_CHECKING:  # graphs do without points
    from .live_points.served_points import ServedPoints

# Number of forests of solves that are kept for clients to read.
KEPT_FORESTS = 8


class Executor:
    """The graphs and points of a rank; executes requests with all ranks.

    `uploads` has the columns that clients have sent to this rank. Points that clients
    load have their `journals` in a folder, and searches have `threads`.
    """

    def __init__(
        self,
        comm: Comm,
        graphs: dict[str, ServedGraph],
        uploads: Uploads,
        journals: Path | None = None,
        threads: int = 0,
    ) -> None:
        self.comm, self.graphs, self.uploads = comm, graphs, uploads
        self.journals, self.threads = journals, threads
        # Replaced as a whole, so a thread may read the mapping it has got
        self.points: Mapping[str, ServedPoints] = {}
        # The forests of solves, by name; the same names on all ranks. It is replaced as
        # a whole, so a thread may read the mapping it has got.
        self.forests: Mapping[str, SolvedForest] = {}
        self.busy = False  # Whether this rank executes a request
        self._solved = 0

    def activity(self) -> Activity:
        """Return the activity of the main thread of this rank; for any thread."""
        return Activity.of(self.comm, self.busy)

    def memory(self) -> RankMemory:
        """Return the memory of this rank; for any thread."""
        devices = (d for graph in self.graphs.values() for d in graph.loaded.backends)
        for device in devices:
            if device.name in ACCELERATORS:
                gpu = device.memory()
                return RankMemory(resident_bytes(), gpu.total, gpu.free)
        return RankMemory(resident_bytes())

    def served(self, name: str) -> "ServedGraph | ServedPoints":
        """Return the graph or the points of a name; for any thread.

        Raises ConfigError if there is none.
        """
        found = self.graphs.get(name) or self.points.get(name)
        if found is None:
            known = ", ".join([*self.graphs, *self.points])
            raise ConfigError(
                f"no graph or points are named {name!r}; there are {known}"
            )
        return found

    def graph(self, name: str) -> ServedGraph:
        """Return a graph as `served` does; ConfigError if the name is of points."""
        found = self.served(name)
        if not isinstance(found, ServedGraph):
            raise ConfigError(f"{name} are points, and this is for graphs")
        return found

    def execute(self, fields: Request, job: QueuedJob | None) -> ServiceAnswer:
        """Execute a request and return its result. Collective.

        On rank 0, `job` receives the progress. Raises MndmstError on every rank if the
        request fails.
        """
        actions = {
            "solve": self._solve,
            "forest": self._forest,
            "store": self._store,
            "release": self._release,
            "index": self._index,
            "order": self._order,
            "update": self._update,
            "load": self._load,
            "snapshot": self._snapshot,
        }
        return actions[fields["action"]](fields, job)

    def _proceed(self, job: QueuedJob | None) -> Callable[[], None]:
        """Return a function that raises on all ranks once the job is cancelled."""

        return lambda: self._unless(job is not None and job.cancelled)

    def _commit(self, job: QueuedJob | None) -> None:
        """Raise on all ranks if the job is cancelled; else commit the job."""
        self._unless(job is not None and not job.commit())

    def _unless(self, cancelled: bool) -> None:
        """Raise CancelledError on all ranks if rank 0 says so. Collective."""
        if self.comm.bcast(cancelled):
            error = CancelledError()
            error.ranks = self.comm.size
            raise error

    def _solve(self, fields: Request, job: QueuedJob | None) -> ServiceAnswer:
        graph = self.graphs[fields["graph"]]
        now = graph.written()
        choice = self._choice(graph, fields)
        with self.comm.raise_on_all():
            if choice.maximum != graph.maximum:
                _check_other_weights(fields.get("weights"), graph.maximum)
        weighed = self._weighed(graph, fields.get("weights"))
        proceed = self._proceed(job)
        proceed()  # to read a column takes a while
        forest = graph.loaded.solve(
            now.number, now.num_edges, weighed, choice, JobProgress(job), proceed
        )
        self._commit(job)
        self._solved += 1
        name = f"{graph.name}.{self._solved}"
        forests = [*self.forests.items(), (name, forest)][-KEPT_FORESTS:]
        self.forests = dict(forests)
        return {"forest": name, **forest.summary}

    def _forest(self, fields: Request, job: QueuedJob | None) -> ServiceAnswer:
        """Put a forest in order for clients: a named one, or the current version's."""
        graph = self.graphs[fields["graph"]]
        now = graph.current
        name = fields.get("forest", graph.forest_name(now.number))
        if graph.version_of_forest(name) == now.number:
            forest = graph.with_forest(
                JobProgress(job), self._proceed(job), ticketed=True
            ).forest
        else:
            with self.comm.raise_on_all():
                forest = self.find_forest(graph, name)
            if forest.edges is None:
                forest = forest.in_order(graph.loaded.run)
                self._replace_forest(name, forest)
        assert forest is not None
        return {"forest": name, **forest.summary}

    def find_forest(self, graph: ServedGraph, name: str) -> SolvedForest:
        """Return a forest of a graph, maybe not in order; for any thread.

        Raises ConfigError if no forest has the name any more.
        """
        number = graph.version_of_forest(name)
        forest = None
        if number is not None:
            forest = graph.held(number).forest
        elif name.rpartition(".")[0] == graph.name:
            forest = self.forests.get(name)
        if forest is None:
            raise ConfigError(f"no forest is named {name!r} any more; solve again")
        return forest

    def _replace_forest(self, name: str, forest: SolvedForest) -> None:
        """Publish a forest that is in order now; rank 0, last. Collective."""
        forests = {**self.forests, name: forest}
        if self.comm.rank:
            self.forests = forests
        self.comm.barrier()
        self.forests = forests

    def _release(self, fields: Request, job: QueuedJob | None) -> ServiceAnswer:
        name = fields["forest"]
        graph = self.graphs.get(name.rpartition(".v")[0])
        number = None if graph is None else graph.version_of_forest(name)
        if graph is not None and number is not None:
            return {"released": graph.release_forest(number)}
        released = name in self.forests
        self.forests = {n: f for n, f in self.forests.items() if n != name}
        return {"released": released}

    def _store(self, fields: Request, job: QueuedJob | None) -> ServiceAnswer:
        graph = self.graphs[fields["graph"]]
        weights = self._uploaded_weights(graph, fields["upload"])
        graph.store(fields["column"], weights)
        return {
            "column": fields["column"],
            "type": weights.dtype.name,
            "version": graph.version,
        }

    def _order(self, fields: Request, job: QueuedJob | None) -> ServiceAnswer:
        """Make the order of edges, and return how many edges each rank has."""
        version = self.graphs[fields["graph"]].ordered(ticketed=True)
        return version.order_facts

    def _index(self, fields: Request, job: QueuedJob | None) -> ServiceAnswer:
        """Index the forest of the current version on rank 0."""
        graph = self.graphs[fields["graph"]]
        version = graph.with_view(JobProgress(job), self._proceed(job))
        return {"version": version.number}

    def _update(self, fields: Request, job: QueuedJob | None) -> ServiceAnswer:
        sent: SentColumns = {}
        if self.comm.rank == 0:
            names = [name for name in (*KINDS, "remove") if name in fields]
            sent = {n: self.uploads.take(fields[n]) for n in names}  # type: ignore[literal-required]
        return self.served(fields["graph"]).update(
            fields,
            sent,
            JobProgress(job),
            self._proceed(job),
            lambda: self._commit(job),
        )

    def add_points(self, served: "ServedPoints") -> None:
        """Publish points that are served from now on."""
        self.points = {**self.points, served.name: served}

    def _load(self, fields: Request, job: QueuedJob | None) -> ServiceAnswer:
        """Keep points that a client has sent under a name."""
        JobProgress(job).stage("first version")
        name, upload = fields["graph"], self.uploads.take(fields["upload"])
        with self.comm.raise_on_all():
            if name in self.graphs or name in self.points:
                raise ConfigError(f"the name {name} is taken; give another one")
            # Imported here: a service of graphs does without `points`
            with points_required("load needs"):
                from .live_points.first_points import (
                    FirstPoints,
                    keep_first,
                    points_of_client,
                )
                from .live_points.served_points import ServedPoints
                from .live_points.shared_search import SharedSearch
        search = SharedSearch(self.comm, self.uploads.memory, self.threads)
        first = search.run(lambda: points_of_client(fields, upload, search))
        self._commit(job)

        def begin() -> FirstPoints:
            assert first is not None
            if self.journals is None:
                return first
            return keep_first(first, self.journals / name, search.memory)

        served = ServedPoints.first(search, name, begin)
        self.add_points(served)
        return {"version": served.version}

    def _snapshot(self, fields: Request, job: QueuedJob | None) -> ServiceAnswer:
        served, path, name = self.served(fields["graph"]), None, ""
        with self.comm.raise_on_all():
            if self.comm.rank == 0:
                if served.journal is None:
                    raise ConfigError("snapshots lie beside a journal; give --journal")
                if served.journal.base != served.version:
                    path = served.journal.snapshot_path(served.version)
        path = self.comm.bcast(path)
        if path is None:  # the journal is empty
            return {"snapshot": None, "version": served.version}
        uuid = served.write_snapshot(path)
        try:
            with self.comm.raise_on_all():
                if served.journal is not None:
                    name = served.journal.restart(served.version, uuid, path)
        except MndmstError as error:
            raise FatalError(f"{error} The service ends.") from error
        return {"snapshot": name, "version": served.version, "uuid": uuid}

    def _weighed(
        self, graph: ServedGraph, weights: dict[str, str] | None
    ) -> WeightedRows:
        if weights is None:
            return graph.column(OWN)
        ((kind, what),) = weights.items()
        if kind == "column":
            return graph.column(what)
        if kind == "upload":
            return graph.weigh(self._uploaded_weights(graph, what))
        with self.comm.raise_on_all():
            names = columns_of(what)
        columns = {name: graph.values(name) for name in names}
        order = graph.ordered().order
        assert order is not None
        with self.comm.raise_on_all():
            values = evaluate(what, columns, order.count)
        return graph.weigh(values)

    def _uploaded_weights(self, graph: ServedGraph, name: str) -> np.ndarray:
        """Return the weights that a client has sent to all ranks. Collective."""
        upload, weights = self.uploads.take(name), np.empty(0, np.float64)
        with self.comm.raise_on_all():
            graph.check_upload("weights", upload)
            if upload is None or list(upload.columns) != ["weight"]:
                raise InputError(
                    f"no weights {name} have come to rank {self.comm.rank}. Send each "
                    "rank the weights of its edges."
                )
            weights = supported_weights("the weights sent", upload.columns["weight"])
        kinds = self.comm.gather(weights.dtype.str) or []
        with self.comm.raise_on_all():
            if len(set(kinds)) > 1:
                raise InputError(f"the weights sent have types {', '.join(kinds)}")
        return weights

    def _choice(self, graph: ServedGraph, fields: Request) -> EdgeChoice:
        """Return the choice of the edges that a solve is to use. Collective."""
        without = vertices = None
        if "without_edges" in fields:
            src, dst = self._shared(fields["without_edges"], ("src", "dst"), graph)
            without = src, dst
        if "vertices" in fields:
            (vertices,) = self._shared(fields["vertices"], ("vertex",), graph)
        maximum = fields.get("maximum", graph.maximum)
        with self.comm.raise_on_all():
            check_words(fields, maximum)
        return EdgeChoice(
            maximum,
            given_of(THRESHOLD, fields),
            without,
            vertices,
            fields.get("digest", False),
        )

    def _shared(
        self, name: str, wanted: tuple[str, ...], graph: ServedGraph
    ) -> tuple[np.ndarray, ...]:
        """Return on all ranks the columns of vertices that rank 0 has got. Collective.

        Raises InputError on every rank if they have not come, or name vertices that
        the graph does not have.
        """
        columns = [np.empty(0, np.int64) for _ in wanted]
        with self.comm.raise_on_all():
            if self.comm.rank == 0:
                upload = self.uploads.take(name)
                kind = "vertices" if wanted == ("vertex",) else "edges"
                graph.check_upload(kind, upload)
                if upload is None or tuple(upload.columns) != wanted:
                    raise InputError(
                        f"no upload {name} of {', '.join(wanted)} has come to rank 0"
                    )
                columns = list(upload.columns.values())
                for column in columns:
                    check_vertices(column, graph.num_vertices)
        return tuple(map(self.comm.allgatherv, columns))


def _check_other_weights(weights: dict[str, str] | None, maximum: bool) -> None:
    """Refuse a forest of the other direction by the graph's own weights.

    A graph keeps only the lightest of parallel edges, or if `maximum` only the
    heaviest. Columns and sent weights have one value for each edge.
    """
    ((kind, what),) = (weights or {"column": OWN}).items()
    if (kind == "column" and what == OWN) or (
        kind == "expression" and OWN in columns_of(what)
    ):
        extreme, other = ("heaviest", "minimum") if maximum else ("lightest", "maximum")
        raise ConfigError(
            f"of parallel edges this graph keeps the {extreme} {OWN}, so its {other} "
            f'forest may be wrong. Serve a graph made with "mndmst partition --{other}"'
            ", or give other weights, one for each edge."
        )


def check_vertices(vertices: np.ndarray, num_vertices: int) -> None:
    """Raise an InputError if an id is not of a vertex."""
    wrong = vertices[(vertices < 0) | (vertices >= num_vertices)]
    if len(wrong):
        raise InputError(
            f"no vertex {wrong[0]}: ids run from 0 to {num_vertices - 1:,}"
        )
