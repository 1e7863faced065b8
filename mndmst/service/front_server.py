"""The Flight server of rank 0: it answers for all ranks."""

import json
import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..host.errors import ConfigError
from ..host.extras import optional
from .access import Access
from .asked import Asked
from .batches import batches_of
from .executor import Executor, check_known
from .jobs import Jobs
from .label_tables import label_schema
from .metrics import Metrics
from .protocol import ACTIONS, QUERY, TABLE, read_request, to_bytes
from .queries import Versions, answer, labels
from .rank_server import RankServer
from .streams import edge_schema

flight = optional("pyarrow.flight", "serve", "The service needs")
arrow = optional("pyarrow", "serve", "The service needs")

# Pairs of vertices in a batch of a query; an answer has as many rows.
MOST_PAIRS = 1 << 22


class FrontServer(RankServer):
    """Answers for all ranks.

    Parameters
    ----------
    jobs : Jobs
        Takes what all ranks must do.
    places : list of str
        Where clients reach each rank; set once all of them listen.
    quiet : bool
        No line for each request.
    """

    def __init__(
        self, access: Access, executor: Executor, jobs: Jobs, quiet: bool
    ) -> None:
        self.metrics, self.jobs, self.quiet = Metrics(), jobs, quiet
        self.places: list[str] = []
        self._versions = Versions(lambda graph: self._do("index", graph))
        super().__init__(access, executor, self._log)

    def _log(self, request: str, graph: str, status: str, seconds: float) -> None:
        self.metrics.add(request, status, seconds)
        if not self.quiet:
            now = time.strftime("%Y-%m-%dT%H:%M:%S%z")
            sys.stderr.write(
                f"{now} mndmst {request} graph={graph} status={status} "
                f"seconds={seconds:.6f} waiting={len(self.jobs)}\n"
            )

    def list_actions(self, context: Any) -> list[tuple[str, str]]:
        """Return the actions and what they do."""
        return [(name, meaning) for name, (meaning, _) in ACTIONS.items()]

    def list_flights(self, context: Any, criteria: Any) -> Iterator[Any]:
        """Yield the forest of every graph."""
        for name in list(self.executor.graphs):
            yield self._info({"graph": name, "table": "forest"})

    def do_action(self, context: Any, action: Any) -> Iterator[Any]:
        """Answer an action with JSON objects."""
        body = action.body.to_pybytes() if action.body is not None else b""
        for event in self.events(action.type, body):
            yield flight.Result(to_bytes(event))

    def events(self, action: str, body: bytes) -> Iterator[dict[str, Any]]:
        """Yield what an action answers."""
        name = action if action in ACTIONS else "unknown"
        with self.noted(name) as request:
            if name == "unknown":
                raise ConfigError(
                    f"no action is called {action[:80]!r}; there are "
                    f"{', '.join(ACTIONS)}"
                )
            request |= read_request(name, body, ACTIONS[name][1])
            if "graph" in request:
                check_known(self.executor.graphs, request["graph"])
            yield from self._answers(name, request)

    def _answers(self, name: str, request: dict[str, Any]) -> Iterator[dict[str, Any]]:
        at_once = {
            "list": self._list,
            "info": self._describe,
            "cancel": lambda r: {"cancelled": self.jobs.cancel(r["request"])},
            "metrics": lambda r: {"text": self._metrics()},
        }
        if name in at_once:
            yield at_once[name](request)
        elif name == "shutdown":
            yield from self.jobs.close().events()
        else:
            yield from self.jobs.submit({"action": name, **request}).events()

    def _do(self, action: str, graph: str, **more: str) -> dict[str, Any]:
        """Have all ranks do something, and return what comes of it."""
        return self.jobs.submit({"action": action, "graph": graph, **more}).result()

    def _list(self, request: dict[str, Any]) -> dict[str, Any]:
        graphs = self.executor.graphs.values()
        return {
            "graphs": [{"graph": g.name, "version": g.version} for g in graphs],
            "ranks": self.executor.comm.size,
        }

    def _describe(self, request: dict[str, Any]) -> dict[str, Any]:
        graph = self.executor.graphs[request["graph"]]
        run = graph.resident.run
        return {
            "graph": graph.name,
            "version": graph.version,
            "uuid": run.graph.uuid,
            "num_vertices": run.num_vertices,
            "num_edges": run.num_edges,
            "weight_type": graph.resident.weighed.dtype.name,
            "columns": graph.columns,
        }

    def _metrics(self) -> str:
        executor = self.executor
        gauges = {
            "jobs_waiting": len(self.jobs),
            "received_bytes": executor.uploads.received_bytes,
            "forests_kept": len(executor.forests),
        }
        versions = {name: graph.version for name, graph in executor.graphs.items()}
        return self.metrics.text(gauges, versions)

    def get_flight_info(self, context: Any, descriptor: Any) -> Any:
        """Say where a table can be read."""
        with self.noted("flight-info") as request:
            request |= read_request("flight info", descriptor.command or b"", TABLE)
            check_known(self.executor.graphs, request["graph"])
            return self._info(request)

    def _info(self, request: dict[str, Any]) -> Any:
        """Return the endpoints of a table; make what they stream, if it is missing."""
        graph = self.executor.graphs[request["graph"]]
        dtype, ranks = graph.resident.weighed.dtype, range(self.executor.comm.size)
        details: dict[str, Any] = {}
        if request["table"] == "forest":
            found = self.executor.forests.get(request.get("forest", ""))
            if found is not None and found.edges is not None:
                details = {"forest": request["forest"], **found.totals}
            else:
                named = {"forest": request["forest"]} if "forest" in request else {}
                details = self._do("forest", graph.name, **named)
                request |= {"forest": details["forest"]}
            schema = edge_schema(np.dtype(details["weight_type"]))
            rows = int(details["forest_edges"])
        elif request["table"] == "edges":
            details = self._do("order", graph.name)
            schema, rows = edge_schema(dtype), sum(details["counts"])
        elif request["table"] in ("labels", "clusters"):
            schema = label_schema(request, graph.num_vertices)
            rows, ranks = graph.num_vertices, range(1)
        else:
            raise ConfigError(f"no table is called {request['table']!r}")
        ticket = flight.Ticket(to_bytes(request))
        # No place: where this was asked for
        places = [[self.places[rank]] if rank else [] for rank in ranks]
        endpoints = [flight.FlightEndpoint(ticket, place) for place in places]
        descriptor = flight.FlightDescriptor.for_command(to_bytes(request))
        return flight.FlightInfo(
            schema, descriptor, endpoints, rows, -1, app_metadata=to_bytes(details)
        )

    def table(self, request: dict[str, Any]) -> Any:
        """Return the stream of rank 0's share, or of what it alone has."""
        if request["table"] not in ("labels", "clusters"):
            return super().table(request)
        index = self._newest(request["graph"]).index()
        return flight.RecordBatchStream(labels(index, request))

    def _newest(self, name: str) -> Asked:
        return self._versions.newest(self.executor.graphs[name])

    def do_exchange(
        self, context: Any, descriptor: Any, reader: Any, writer: Any
    ) -> None:
        """Answer batches of pairs of vertices, all from one version."""
        with self.noted("exchange") as request:
            request |= read_request("query", descriptor.command or b"", QUERY)
            check_known(self.executor.graphs, request["graph"])
            asked = self._newest(request["graph"])
            begun = False
            for chunk in reader:
                if chunk.data is None:
                    continue
                table = answer(asked, request["query"], *_pairs(chunk.data))
                if not begun:
                    writer.begin(table.schema)
                    begun = True
                note = json.dumps({"version": asked.version}).encode()
                for batch in batches_of(table, MOST_PAIRS):
                    writer.write_with_metadata(batch, note)


def _pairs(batch: Any) -> tuple[np.ndarray, np.ndarray]:
    if batch.num_rows > MOST_PAIRS:
        raise ConfigError(
            f"a batch of {batch.num_rows:,} pairs; send at most {MOST_PAIRS:,}"
        )
    names = batch.schema.names
    if names != ["u", "v"]:
        raise ConfigError(f"a query has the columns u and v, not {', '.join(names)}")
    u, v = (batch.column(place).to_numpy(zero_copy_only=False) for place in (0, 1))
    return u, v
