"""The Flight server of rank 0, which answers requests for all ranks."""

import json
import math
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import asdict
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from ..host.errors import ConfigError, optional
from ..io.names import IdRange
from ..io.results.graph_names import names_of_graph
from .access import Access
from .control_channel import ControlChannel, RankMemory
from .executor import Executor
from .forest_changes import CHANGE_TABLES, change_schema, held_changes
from .graph_version import ForestView, GraphVersion
from .jobs import ENDING, JobQueue
from .limits import UNLIMITED_ACTIONS, client_of
from .metrics import FinishedRequest, Gauges, Metrics, RequestLog, TokenRefusals
from .name_lookup import NAME_QUERIES, NameLookup
from .protocol import (
    ACTIONS,
    PROTOCOL,
    QUERY,
    TABLE,
    JsonObject,
    Request,
    ServiceAnswer,
    batches_of,
    to_bytes,
    versioned,
)
from .queries import answers, held_labels, label_schema
from .rank_server import RankServer, edge_schema, sent_batches
from .served_graph import ServedGraph

if TYPE_CHECKING:
    import pyarrow
    import pyarrow.flight

    from .rank_server import CallContext, Streamed

flight = optional("pyarrow.flight", "serve", "The service needs")
arrow = optional("pyarrow", "serve", "The service needs")

# Pairs of vertices in a batch of a query
MOST_PAIRS = 1 << 22
# Number of views of a graph that are kept for tickets of labels and clusters
TICKETED_VIEWS = 4
# Seconds between two messages to a client that waits for a version: a client hears an
# interrupt, and the service a lost client or its own end, at the next one
WAIT_SECONDS = 1.0


# Actions of the ranks that are not for graphs alone
ACTIONS_OF_POINTS = "update", "load", "snapshot"


# Answers a batch of a query with tables
Answers = Callable[["pyarrow.RecordBatch"], Iterator["pyarrow.Table"]]


class FrontServer(RankServer):
    """Rank 0's server; it submits to `jobs` the requests that all ranks execute."""

    def __init__(
        self,
        access: Access,
        executor: Executor,
        jobs: JobQueue,
        channel: ControlChannel,
        log: RequestLog,
        most_requests: int,
    ) -> None:
        self.metrics, self.jobs, self.log = Metrics(self._gauges), jobs, log
        # The addresses of the ranks for clients; set once all ranks listen.
        self.addresses: list[str] = []
        self._channel, self._begin = channel, time.monotonic()
        # By name of the graph. Rank 0 alone has views, so other ranks need not agree.
        self._ticketed: dict[str, tuple[ForestView, ...]] = {}
        self._lookups: dict[str, NameLookup] = {}
        self._lock = Lock()
        self._memory = executor.uploads.memory
        refusals = TokenRefusals(self._log)
        super().__init__(access, executor, self._log, refusals, most_requests)

    def _log(self, request: FinishedRequest) -> None:
        self.metrics.add(request)
        self.log.write(request, len(self.jobs))

    def list_actions(self, context: "CallContext") -> list[tuple[str, str]]:
        """Return the actions and their meanings."""
        return [(name, meaning) for name, (meaning, _) in ACTIONS.items()]

    def list_flights(
        self, context: "CallContext", criteria: bytes
    ) -> Iterator["pyarrow.flight.FlightInfo"]:
        """Yield the forest of every graph."""
        for name in list(self.executor.graphs):
            yield self._info({"graph": name, "table": "forest"})

    def do_action(
        self,
        context: "CallContext",
        action: "pyarrow.flight.Action",
    ) -> Iterator["pyarrow.flight.Result"]:
        """Answer an action with JSON objects."""
        body = action.body.to_pybytes() if action.body is not None else b""
        for event in self.events(action.type, body, client_of(context.peer())):
            yield flight.Result(to_bytes(event))

    def events(self, action: str, body: bytes, client: str) -> Iterator[ServiceAnswer]:
        """Yield the answers to an action."""
        name = action if action in ACTIONS else "unknown"
        with self.noted(name, client, name not in UNLIMITED_ACTIONS) as request:
            if name == "unknown":
                raise ConfigError(
                    f"no action is named {action[:80]!r} in protocol {PROTOCOL}; there "
                    f"are {', '.join(ACTIONS)}"
                )
            request |= self.read(name, body, ACTIONS[name][1])
            yield from self._answers(name, request)

    def _answers(self, name: str, request: Request) -> Iterator[ServiceAnswer]:
        at_once: dict[str, Callable[[Request], ServiceAnswer]] = {
            "list": self._list,
            "info": self._describe,
            "cancel": lambda r: {"cancelled": self.jobs.cancel(r["request"])},
            "metrics": lambda r: {"text": self.metrics.text()[0].decode()},
        }
        if name in at_once:
            yield at_once[name](request)
        elif name == "wait":
            yield from self._wait(request)
        elif name == "shutdown":
            yield from self.jobs.close().events()
        else:
            if name not in ACTIONS_OF_POINTS and "graph" in request:
                self.executor.graph(request["graph"])
            yield from self.jobs.submit({"action": name, **request}).events()

    def _wait(self, request: Request) -> Iterator[ServiceAnswer]:
        """Yield progress until there is a later version, or the time is over."""
        served, after = self.executor.served(request["graph"]), request["after"]
        served.check_reached(after)
        begin, timeout = time.monotonic(), request.get("seconds", math.inf)
        left = timeout
        while not served.wait(after, min(left, WAIT_SECONDS)) and left > 0:
            if self.jobs.closed:
                raise ConfigError(ENDING)
            seconds = time.monotonic() - begin
            left = timeout - seconds
            yield {
                "progress": f"no version after {after}",
                "seconds": round(seconds, 6),
            }
        yield {"version": served.version}

    def _execute(self, request: Request) -> ServiceAnswer:
        """Submit an action to all ranks, wait for it, and return its result."""
        return self.jobs.submit(request).result()

    def _list(self, request: Request) -> ServiceAnswer:
        graphs = self.executor.graphs.values()
        return {
            "graphs": [
                {"graph": g.name, "version": g.version, "maximum": g.maximum}
                for g in graphs
            ],
            "points_served": [p.facts() for p in self.executor.points.values()],
            "ranks": self.executor.comm.size,
            "protocol": PROTOCOL,
        }

    def _describe(self, request: Request) -> ServiceAnswer:
        graph = self.executor.served(request["graph"])
        if not isinstance(graph, ServedGraph):
            return graph.describe()
        version, names = graph.current, names_of_graph(graph.loaded.run.graph)
        return {
            "graph": graph.name,
            "version": version.number,
            "uuid": graph.loaded.run.graph.uuid,
            "num_vertices": graph.num_vertices,
            "num_edges": version.num_edges,
            "maximum": graph.maximum,
            "names": None if names is None else names.kind.value,
            "first_id": names.first if isinstance(names, IdRange) else None,
            "weight_type": version.weight_dtype.name,
            "columns": version.column_types,
            "edges_since": version.edges_since,
            "changes_since": graph.history.oldest,
            "versions_in_memory": [
                {"version": alive.number, "bytes": alive.nbytes}
                for alive in _versions_in_memory(graph)
            ],
        }

    def _gauges(self) -> Gauges:
        executor = self.executor
        graphs = executor.graphs
        alive = [v for graph in graphs.values() for v in _versions_in_memory(graph)]
        gauges = {
            "jobs_waiting": len(self.jobs),
            "received_bytes": executor.uploads.received_bytes,
            "forests_kept": len(executor.forests),
            "answer_bytes": self._memory.of_requests,
            "versions_in_memory": len(alive),
            "version_bytes": sum(version.nbytes for version in alive),
        }
        points = {name: each.facts() for name, each in executor.points.items()}
        memory = {str(rank): each for rank, each in self._memory_of_ranks().items()}
        devices = {rank: each for rank, each in memory.items() if each.gpu_total}
        return {name: {"": value} for name, value in gauges.items()} | {
            "client_requests": self.open_requests.counts(),
            "client_upload_bytes": executor.uploads.bytes_by_client(),
            "graph_version": {name: g.version for name, g in graphs.items()},
            "graph_changes_bytes": {n: g.history.nbytes for n, g in graphs.items()},
            "graph_maximum": {name: g.maximum for name, g in graphs.items()},
            "points_version": {name: p["version"] for name, p in points.items()},
            "points_count": {name: p["points"] for name, p in points.items()},
            "points_clusters": {name: p["clusters"] for name, p in points.items()},
            "points_noise": {name: p["noise"] for name, p in points.items()},
            "points_bytes": {n: p.current.nbytes for n, p in executor.points.items()},
            "rank_resident_bytes": {r: each.resident for r, each in memory.items()},
            "rank_gpu_bytes": {r: each.gpu_total for r, each in devices.items()},
            "rank_gpu_free_bytes": {r: each.gpu_free for r, each in devices.items()},
        }

    def _memory_of_ranks(self) -> dict[int, RankMemory]:
        """Return the memory of each rank, as far as ranks have reported it."""
        return {0: self.executor.memory(), **self._channel.memory}

    def status(self) -> JsonObject:
        """Return the data of the operators' page; for any thread."""
        graphs = [
            {
                "graph": graph.name,
                "version": graph.version,
                "num_vertices": graph.num_vertices,
                "num_edges": graph.current.num_edges,
                "maximum": graph.maximum,
                "journal_bytes": graph.journal and graph.journal.nbytes,
            }
            for graph in self.executor.graphs.values()
        ]
        ranks, memory = range(self.executor.comm.size), self._memory_of_ranks()
        job, now = self.jobs.running, time.monotonic()
        return {
            "ready": not self.jobs.closed,
            "uptime": now - self._begin,
            "running": job
            and {
                "action": job.fields["action"],
                "graph": job.fields.get("graph"),
                "stage": job.stage,
                "seconds": now - job.began,
            },
            "waiting": len(self.jobs),
            "graphs": graphs,
            "points": [each.status() for each in self.executor.points.values()],
            "memory": [
                {"rank": r, "bytes": memory[r].resident if r in memory else None}
                for r in ranks
            ],
            "clients": self._clients(),
            "stages": self.metrics.stage_seconds(),
            "requests": [asdict(r) for r in self.metrics.recent()],
            "errors": [asdict(r) for r in self.metrics.errors()],
        }

    def _clients(self) -> list[JsonObject]:
        """Return the open requests and the unused uploads of each client."""
        requests = self.open_requests.counts()
        uploads = self.executor.uploads.bytes_by_client()
        return [
            {"client": c, "requests": requests.get(c, 0), "bytes": uploads.get(c, 0)}
            for c in sorted({*requests, *uploads})
        ]

    def get_flight_info(
        self,
        context: "CallContext",
        descriptor: "pyarrow.flight.FlightDescriptor",
    ) -> "pyarrow.flight.FlightInfo":
        """Return the endpoints of a table."""
        with self.noted("flight-info", client_of(context.peer())) as request:
            request |= self.read("flight info", descriptor.command, TABLE)
            return self._info(request)

    def _info(self, request: Request) -> "pyarrow.flight.FlightInfo":
        """Return the endpoints of a table; all ranks first compute a missing one."""
        graph = self.executor.served(request["graph"])
        ranks = range(self.executor.comm.size)
        if not isinstance(graph, ServedGraph):
            schema, details = graph.ticket(request)
            rows, ranks = -1, range(1)
        elif request["table"] == "forest":
            details = self._forest_details(graph, request.get("forest"))
            request["forest"] = details["forest"]
            schema = edge_schema(np.dtype(details["weight_type"]))
            rows = int(details["forest_edges"])
        elif request["table"] == "edges":
            details = self._order_details(graph, request.get("version"))
            request["version"] = details["version"]
            schema = edge_schema(graph.loaded.weight_dtype)
            rows = sum(details["counts"])
        elif request["table"] in ("labels", "clusters"):
            schema = label_schema(request, graph.num_vertices, graph.maximum)
            view = self._view(graph, request.get("version"))
            self._keep_view(graph.name, view)
            request["version"] = view.version
            details = {"version": view.version}
            rows, ranks = graph.num_vertices, range(1)
        elif request["table"] in CHANGE_TABLES:
            schema, rows, ranks = change_schema(graph, request), -1, range(1)
            details = {"since": request["since"], "version": request["version"]}
        else:
            raise ConfigError(
                f"no table is named {request['table']!r} in protocol {PROTOCOL}"
            )
        ticket = flight.Ticket(to_bytes(request))
        # An endpoint without a location is read where its flight info came from
        locations = [[self.addresses[rank]] if rank else [] for rank in ranks]
        endpoints = [flight.FlightEndpoint(ticket, each) for each in locations]
        descriptor = flight.FlightDescriptor.for_command(to_bytes(request))
        schema = versioned(schema, details["version"], graph.name)
        return flight.FlightInfo(
            schema, descriptor, endpoints, rows, -1, app_metadata=to_bytes(details)
        )

    def _forest_details(self, graph: ServedGraph, name: str | None) -> ServiceAnswer:
        """Return the name and the summary of a forest whose edges ranks can send.

        Without a name it is the forest of the current version.
        """
        current = graph.current
        current_name = graph.forest_name(current.number)
        if name is None or name == current_name:
            forest = current.forest if current.ticketed else None
        else:
            forest = self.executor.find_forest(graph, name)
        if forest is not None and forest.edges is not None:
            return {"forest": name or current_name, **forest.summary}
        request: Request = {"action": "forest", "graph": graph.name}
        if name is not None:
            request["forest"] = name
        return self._execute(request)

    def _order_details(self, graph: ServedGraph, number: int | None) -> ServiceAnswer:
        """Return the facts of a version's edge order, which the ranks compute once."""
        version = graph.current if number is None else graph.held(number)
        if version.ticketed and version.order is not None:
            return version.order_facts
        if number not in (None, graph.version):
            raise graph.stale(version.number)
        details = self._execute({"action": "order", "graph": graph.name})
        if number not in (None, details["version"]):
            raise graph.stale(version.number)
        return details

    def share(self, request: Request) -> Iterator["Streamed"]:
        """Yield the share of rank 0, or a table that rank 0 alone has.

        The service's memory counts such a table until the stream has ended.
        """
        graph = self.executor.served(request["graph"])
        held: AbstractContextManager[pyarrow.Table]
        if not isinstance(graph, ServedGraph):
            held = graph.held_table(request)
        elif request["table"] in ("labels", "clusters"):
            view = self._view(graph, request.get("version"))
            request["version"] = view.version
            held = held_labels(view.index(), request, self._memory)
        elif request["table"] in CHANGE_TABLES:
            held = held_changes(graph, request, self._memory)
        else:
            yield from super().share(request)
            return
        with held as table:
            schema = versioned(table.schema, request["version"], graph.name)
            table = table.replace_schema_metadata(schema.metadata)
            yield schema
            yield from batches_of(table)

    def _view(self, graph: ServedGraph, number: int | None) -> ForestView:
        """Return the view of a version with tickets, by default of the current one."""
        if not graph.current.indexed:
            self._execute({"action": "index", "graph": graph.name})
        view = graph.current.view  # every version after an indexed one has a view
        assert view is not None
        if number is None or number == view.version:
            return view
        for ticketed in self._ticketed.get(graph.name, ()):
            if ticketed.version == number:
                return ticketed
        raise graph.stale(number)

    def _keep_view(self, graph: str, view: ForestView) -> None:
        """Keep a view for its tickets, and drop the oldest beyond `TICKETED_VIEWS`."""
        with self._lock:
            views = self._ticketed.get(graph, ())
            others = [each for each in views if each.version != view.version]
            self._ticketed[graph] = (*others, view)[-TICKETED_VIEWS:]

    def do_exchange(
        self,
        context: "CallContext",
        descriptor: "pyarrow.flight.FlightDescriptor",
        reader: "pyarrow.flight.MetadataRecordBatchReader",
        writer: "pyarrow.flight.FlightMetadataWriter",
    ) -> None:
        """Answer batches of pairs of vertices or of points, all from one version."""
        with self.noted("exchange", client_of(context.peer())) as request:
            request |= self.read("query", descriptor.command, QUERY)
            graph = self.executor.served(request["graph"])
            if isinstance(graph, ServedGraph):
                version, answer = self._graph_answers(graph, request["query"])
            else:
                version, answer = graph.answers(request)
            note = json.dumps({"version": version}).encode()
            begun = False
            for batch in sent_batches(reader):
                for table in answer(batch):
                    if not begun:
                        schema = versioned(table.schema, version, graph.name)
                        writer.begin(schema)
                        begun = True
                    for part in batches_of(table):
                        writer.write_with_metadata(part, note)

    def _graph_answers(self, graph: ServedGraph, query: str) -> tuple[int, Answers]:
        """Return the version of a query of a graph, and the function that answers."""
        version, answer = graph.version, self._name_answers(graph, query)
        if answer is None:
            view = self._view(graph, None)
            version, answer = view.version, self._path_answers(view, query)
        return version, answer

    def _path_answers(self, view: ForestView, query: str) -> Answers:
        return lambda batch: answers(view, query, *_pairs(batch), self._memory)

    def _name_answers(self, graph: ServedGraph, query: str) -> Answers | None:
        """Return the function that answers a query about names; None for others."""
        if query not in NAME_QUERIES:
            return None
        names = names_of_graph(graph.loaded.run.graph)
        if names is None:
            raise ConfigError(
                f"the vertices of {graph.name} have numbers alone, and no names; give "
                f"numbers from 0 to {graph.num_vertices - 1}"
            )
        with self._lock:
            if graph.name not in self._lookups:
                self._lookups[graph.name] = NameLookup(graph.name, names, self._memory)
            lookup = self._lookups[graph.name]
        return lambda batch: lookup.answers(query, batch)


def _versions_in_memory(graph: ServedGraph) -> list[GraphVersion]:
    """Return the newest value of each version that is in memory, oldest first."""
    known: dict[int, GraphVersion] = {}
    for version in graph.alive():
        other = known.get(version.number)
        if other is None or version.nbytes > other.nbytes:
            known[version.number] = version
    return [known[number] for number in sorted(known)]


def _pairs(batch: "pyarrow.RecordBatch") -> tuple[np.ndarray, np.ndarray]:
    if batch.num_rows > MOST_PAIRS:
        raise ConfigError(
            f"a batch of {batch.num_rows:,} pairs; send at most {MOST_PAIRS:,}"
        )
    names = batch.schema.names
    if names != ["u", "v"]:
        raise ConfigError(f"a query has the columns u and v, not {', '.join(names)}")
    u, v = (batch.column(number).to_numpy(zero_copy_only=False) for number in (0, 1))
    return u, v
