"""The Flight server of a rank: takes the columns sent to it, streams its share."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ..host.errors import ConfigError, MndmstError
from ..host.extras import optional
from .access import Access
from .executor import Executor, check_known
from .jobs import CancelledError
from .local_socket import own_socket
from .protocol import TABLE, UPLOAD, read_request, to_bytes
from .streams import edge_schema, forest_batches, graph_batches

flight = optional("pyarrow.flight", "serve", "The service needs")

# Told of each request: its name, its graph, how it ended, and its seconds.
Note = Callable[[str, str, str, float], None]


class TokenCheck(flight.ServerMiddlewareFactory):  # type: ignore[name-defined]
    """Refuses every request without the token."""

    def __init__(self, access: Access) -> None:
        super().__init__()
        self.access = access

    def start_call(self, info: Any, headers: dict[str, list[str]]) -> None:
        """Look at the headers of a request."""
        shown = headers.get("authorization", [])
        if len(shown) != 1 or not self.access.admits(str(shown[0])):
            raise flight.FlightUnauthenticatedError(
                "no valid token; show it in the header 'authorization: Bearer TOKEN'"
            )


class RankServer(flight.FlightServerBase):  # type: ignore[name-defined]
    """Answers what concerns one rank.

    Parameters
    ----------
    access : Access
    executor : Executor
        Of this rank.
    note : callable
        Told of each request.
    """

    def __init__(self, access: Access, executor: Executor, note: Note) -> None:
        pairs = [(access.certificate, access.key)] if access.certificate else None
        rank = executor.comm.rank
        with own_socket(access.socket_of(rank) if access.path else None) as socket:
            try:
                super().__init__(
                    access.location(rank),
                    middleware={"token": TokenCheck(access)},
                    tls_certificates=pairs,
                )
            except Exception as error:  # Arrow's own, or gRPC's text in an OSError
                where, reason = access.location(rank), str(error).splitlines()[0][:200]
                raise ConfigError(
                    f"cannot listen at {where} ({reason}). Give another address or "
                    "port."
                ) from error
        self.executor, self._note, self._socket = executor, note, socket

    def remove_socket(self) -> None:
        """Remove the socket in the file system that this rank has listened at."""
        self._socket.remove()

    @contextmanager
    def noted(self, request: str) -> Iterator[dict[str, Any]]:
        """Note how a request ends, and turn errors into Flight's.

        The block may put the request's fields into what it is given.
        """
        begin, status = time.monotonic(), "ok"
        fields: dict[str, Any] = {}
        try:
            yield fields
        except CancelledError as error:
            status = "cancelled"
            raise flight.FlightCancelledError(str(error)) from None
        except MndmstError as error:
            status = "refused"
            raise optional("pyarrow", "serve").ArrowInvalid(str(error)) from None
        except GeneratorExit:
            status = "left"
            raise
        except BaseException:
            status = "failed"
            raise
        finally:
            graph = fields.get("graph", "-")
            self._note(request, graph, status, time.monotonic() - begin)

    def do_put(self, context: Any, descriptor: Any, reader: Any, writer: Any) -> None:
        """Take columns, and do the action that is to follow."""
        with self.noted("put") as request:
            request |= read_request("put", descriptor.command or b"", UPLOAD)
            check_known(self.executor.graphs, request["graph"])
            batches = (chunk.data for chunk in reader)
            self.executor.uploads.receive(request["upload"], request["kind"], batches)
        if "then" in request:
            action = request["then"].pop("action")
            for event in self.events(action, to_bytes(request["then"])):
                writer.write(to_bytes(event))

    def events(self, action: str, body: bytes) -> Iterator[dict[str, Any]]:
        """Return what an action answers: here that only rank 0 takes them."""
        with self.noted("unknown"):
            raise ConfigError("actions are for rank 0; ask there")

    def do_get(self, context: Any, ticket: Any) -> Any:
        """Stream the share of a table."""
        with self.noted("get") as request:
            request |= read_request("get", ticket.ticket, TABLE)
            check_known(self.executor.graphs, request["graph"])
            return self.table(request)

    def table(self, request: dict[str, Any]) -> Any:
        """Return the stream of this rank's share.

        Raises
        ------
        ConfigError
            If there is no such table.
        """
        graph = self.executor.graphs[request["graph"]]
        if request["table"] == "forest":
            found = self.executor.forests.get(request.get("forest", ""))
            known = request.get("forest", "").startswith(f"{graph.name}.")
            if found is None or found.edges is None or not known:
                raise ConfigError(
                    "that forest is not there; ask for its flight info, or solve again"
                )
            batches = forest_batches(found.edges, found.dtype)
            return flight.GeneratorStream(edge_schema(found.dtype), batches)
        if request["table"] == "edges":
            resident = graph.resident
            schema = edge_schema(resident.weighed.dtype)
            return flight.GeneratorStream(schema, graph_batches(resident))
        raise ConfigError(f"no table is called {json.dumps(request['table'])} here")
