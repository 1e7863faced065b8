"""The Flight server of a rank: takes the columns sent to it, streams its share."""

import contextlib
import json
import os
import secrets
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from ..host.errors import ConfigError, InputError, MndmstError, optional
from ..io.file_access import first_line
from ..io.shards.sharded_graph import ShardedGraph
from .access import Access, own_socket
from .executor import Executor
from .graph_version import GraphVersion
from .jobs import CancelledError
from .limits import ClientLimitError, OpenRequests, client_of
from .metrics import FinishedRequest, TokenRefusals
from .protocol import (
    BATCH_ROWS,
    TABLE,
    UPLOAD,
    Field,
    Request,
    ServiceAnswer,
    read_request,
    read_version,
    to_bytes,
    versioned,
)
from .solved_forest import SolvedForest
from .uploads import UploadVersion
from .version_history import StaleVersionError

if TYPE_CHECKING:
    import pyarrow
    import pyarrow.flight

    # First a schema, then batches
    Streamed: TypeAlias = pyarrow.Schema | pyarrow.RecordBatch
    CallContext: TypeAlias = pyarrow.flight.ServerCallContext

arrow = optional("pyarrow", "serve", "The service needs")


def edge_schema(dtype: np.dtype) -> "pyarrow.Schema":
    """Return the names and types of the columns of an edge table."""
    weight = arrow.from_numpy_dtype(dtype)
    columns = [("src", arrow.int64()), ("dst", arrow.int64()), ("weight", weight)]
    return arrow.schema(columns)


def forest_batches(forest: SolvedForest) -> Iterator["pyarrow.RecordBatch"]:
    """Yield the edges of a forest that begin at this rank's rows, in order.

    The forest must have its edges in order.
    """
    assert forest.edges is not None
    schema, edges = edge_schema(forest.dtype), forest.edges
    for low in range(0, len(edges), BATCH_ROWS):
        part = slice(low, low + BATCH_ROWS)
        weights = forest.weights(edges.key[part])
        yield _batch(schema, edges.u[part], edges.v[part], weights)


def graph_batches(
    version: GraphVersion, graph: ShardedGraph
) -> Iterator["pyarrow.RecordBatch"]:
    """Yield the edges of a version that begin at this rank's rows, in order.

    The version must have its order of edges.
    """
    assert version.order is not None and version.weighed is not None
    schema, keys = edge_schema(version.weight_dtype), version.weighed.rows.keys
    for src, dst, key in version.order.batches(keys, BATCH_ROWS):
        yield _batch(schema, src, dst, graph.weights(key))


def _batch(
    schema: "pyarrow.Schema", src: np.ndarray, dst: np.ndarray, weight: np.ndarray
) -> "pyarrow.RecordBatch":
    columns = [arrow.array(ends.astype(np.int64)) for ends in (src, dst)]
    return arrow.record_batch([*columns, arrow.array(weight)], schema=schema)


def sent_batches(
    reader: "pyarrow.flight.MetadataRecordBatchReader",
) -> Iterator["pyarrow.RecordBatch"]:
    """Yield the record batches that a client sends.

    Raises InputError if a name of a column is not UTF-8, or a batch has more rows than
    values: Arrow would read memory of this process in place of those.
    """
    for chunk in reader:
        if chunk.data is None:  # a message of metadata alone
            continue
        try:
            chunk.data.validate(full=True)
            list(chunk.data.schema.names)
        except (arrow.ArrowException, UnicodeDecodeError) as error:
            why = first_line(error)
            raise InputError(
                f"a sent batch is damaged ({why}). Send it again."
            ) from error
        yield chunk.data


def cut_connections(port: int, path: Path | None) -> int:
    """Shut down the connections that this process has accepted; return their number.

    A client reached them at a TCP port, or at the socket `path`. Flight ends a server
    once all calls have ended, and offers no deadline, so a silent client would keep the
    process. A cut connection ends its calls as if the network had failed.
    """
    count = 0
    for name in os.listdir("/dev/fd"):  # noqa: PTH208 (names alone, not links)
        with contextlib.suppress(OSError), socket.socket(fileno=os.dup(int(name))) as s:
            if _accepted_at(s, port, path):
                s.shutdown(socket.SHUT_RDWR)
                count += 1
    return count


def _accepted_at(connection: socket.socket, port: int, path: Path | None) -> bool:
    """Return whether a socket is a connection that was accepted at an address."""
    if connection.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
        return False
    if connection.family == socket.AF_UNIX:
        return path is not None and connection.getsockname() == str(path)
    if path is None and connection.family in (socket.AF_INET, socket.AF_INET6):
        return bool(connection.getsockname()[1] == port)
    return False


flight = optional("pyarrow.flight", "serve", "The service needs")
# Calls whose connections are cut end at once, unless they compute. They are waited for;
# after an error of this rank only shortly, for the other ranks wait meanwhile.
CUT_SECONDS, FAILED_SECONDS = 60.0, 2.0

# Receives each request that has ended.
Note = Callable[[FinishedRequest], None]


class TokenCheck(flight.ServerMiddlewareFactory):  # type: ignore[name-defined]
    """Refuses every request without the token."""

    def __init__(self, access: Access, refusals: TokenRefusals) -> None:
        super().__init__()
        self.access, self.refusals = access, refusals

    def start_call(
        self, info: "pyarrow.flight.CallInfo", headers: dict[str, list[str]]
    ) -> None:
        """Look at the headers of a request."""
        shown = headers.get("authorization", [])
        if len(shown) != 1 or not self.access.admits(str(shown[0])):
            self.refusals.add(bool(shown))
            raise flight.FlightUnauthenticatedError(
                "no valid token; show it in the header 'authorization: Bearer TOKEN'"
            )


class RankServer(flight.FlightServerBase):  # type: ignore[name-defined]
    """Answers the requests that concern one rank.

    gRPC calls its methods on threads of its own. They read versions and forests, which
    are immutable, and never communicate with other ranks. `note` receives the end of
    each request, and `refusals` those without the token. A client has at most
    `most_requests` at once; 0 for no limit.
    """

    def __init__(
        self,
        access: Access,
        executor: Executor,
        note: Note,
        refusals: TokenRefusals,
        most_requests: int,
    ) -> None:
        pairs = [(access.certificate, access.key)] if access.certificate else None
        rank, self.refusals = executor.comm.rank, refusals
        with own_socket(access.socket_of(rank) if access.path else None) as socket:
            try:
                super().__init__(
                    access.location(rank),
                    middleware={"token": TokenCheck(access, self.refusals)},
                    tls_certificates=pairs,
                )
            except Exception as error:  # Arrow's own, or gRPC's text in an OSError
                where, reason = access.location(rank), str(error).splitlines()[0][:200]
                raise ConfigError(
                    f"cannot listen at {where} ({reason}). Give another address or "
                    "port."
                ) from error
        self.executor, self._note, self._access = executor, note, access
        self.open_requests = OpenRequests(most_requests)
        self._socket = socket

    def remove_socket(self) -> None:
        """Remove the socket in the file system that this rank has listened at."""
        self._socket.remove()

    def end(self, patience: float) -> bool:
        """End the server: wait for calls of clients for a while, then cut them off.

        `patience` is in seconds, and 0 after an error of this rank. Returns whether all
        calls have ended.
        """
        path = None
        if self._access.path is not None:
            path = self._access.socket_of(self.executor.comm.rank)
        port = self.port
        ending = Thread(target=self.shutdown, name="mndmst-ending", daemon=True)
        ending.start()
        ending.join(patience)
        if ending.is_alive():
            cut_connections(port, path)
            ending.join(CUT_SECONDS if patience else FAILED_SECONDS)
        return not ending.is_alive()

    @contextmanager
    def noted(
        self, request: str, client: str, limited: bool = True
    ) -> Iterator[Request]:
        """Record how a request of a client ends, and turn errors into Flight's.

        The block may put the fields of the request into the mapping that it gets. The
        request counts towards the limit of the client, if it is `limited`.
        """
        begin, status, reason = time.monotonic(), "ok", ""
        fields: Request = {}
        try:
            with self.open_requests.request(client) if limited else nullcontext():
                yield fields
        except CancelledError as error:
            status = "cancelled"
            raise flight.FlightCancelledError(str(error)) from None
        except StaleVersionError as error:
            status, reason = "stale", str(error)
            raise arrow.ArrowKeyError(str(error)) from None
        except MndmstError as error:
            beyond = isinstance(error, ClientLimitError)
            status, reason = "limited" if beyond else "refused", str(error)
            raise arrow.ArrowInvalid(str(error)) from None
        except arrow.ArrowMemoryError:  # see `arrow_memory`
            status = "refused"
            reason = (
                "a batch does not fit the memory of the service. Send less at a time, "
                "or use a larger --memory."
            )
            raise arrow.ArrowInvalid(reason) from None
        except GeneratorExit:
            status = "left"
            raise
        except BaseException as error:
            status, reason = "failed", f"{type(error).__name__}: {error}"
            raise
        finally:
            graph = fields.get("graph", "-")
            identifier = fields.get("request") or secrets.token_hex(8)
            seconds = round(time.monotonic() - begin, 6)
            error_line = reason.partition("\n")[0][:500]
            self._note(
                FinishedRequest(
                    identifier, request, graph, status, seconds, error_line, client
                )
            )

    def read(
        self, what: str, body: bytes | None, fields: Mapping[str, Field]
    ) -> Request:
        """Return a request that has the fields it should have, and an existing graph.

        Raises ConfigError as `read_request`, or if no graph has the name.
        """
        request = read_request(what, body or b"", fields)
        if "graph" in request and fields["graph"].kind == "name":
            self.executor.served(request["graph"])
        return request

    def do_put(
        self,
        context: "CallContext",
        descriptor: "pyarrow.flight.FlightDescriptor",
        reader: "pyarrow.flight.MetadataRecordBatchReader",
        writer: "pyarrow.flight.FlightMetadataWriter",
    ) -> None:
        """Take columns, and do the action that is to follow."""
        client = client_of(context.peer())
        with self.noted("put", client) as request:
            request |= self.read("put", descriptor.command, UPLOAD)
            self._receive(request, reader, client)
            if context.is_cancelled():  # the client has gone in the middle
                self.executor.uploads.take(request["upload"])
                raise ConfigError("the upload was cut off; send it again")
        if "then" in request:
            action = request["then"].pop("action")
            for event in self.events(action, to_bytes(request["then"]), client):
                writer.write(to_bytes(event))

    def _receive(
        self,
        request: Request,
        reader: "pyarrow.flight.MetadataRecordBatchReader",
        client: str,
    ) -> None:
        """Keep an upload, unless it belongs to another version than the present one."""
        name, kind = request["upload"], request["kind"]
        version, belongs_to = read_version(reader.schema), None
        if version is not None:
            if "graph" not in request:
                raise ConfigError("the upload names a version, but no graph; give both")
            served = self.executor.served(request["graph"])
            # This rank may be a moment behind rank 0: a later version is compared later
            if version <= served.version:
                served.check_sent(kind, version)
            belongs_to = UploadVersion(served.name, version)
        batches = sent_batches(reader)
        self.executor.uploads.receive(name, kind, batches, client, belongs_to)

    def events(self, action: str, body: bytes, client: str) -> Iterator[ServiceAnswer]:
        """Refuse an action: rank 0 alone takes them."""
        with self.noted("unknown", client, limited=False):
            raise ConfigError("actions are for rank 0; ask there")

    def do_get(
        self,
        context: "CallContext",
        ticket: "pyarrow.flight.Ticket",
    ) -> "pyarrow.flight.GeneratorStream":
        """Stream the share of a table."""
        client = client_of(context.peer())
        # The stream counts towards the limit, and not its beginning
        with self.noted("get", client, limited=False) as request:
            request |= self.read("get", ticket.ticket, TABLE)
            share = self._while_streaming(request, client)
            schema = next(share)  # from here on the end of the stream ends the request
            return flight.GeneratorStream(schema, share)

    def _while_streaming(self, request: Request, client: str) -> Iterator["Streamed"]:
        """Yield the schema of a share, then its batches, as one request of a client."""
        with self.open_requests.request(client):
            yield from self.share(request)

    def share(self, request: Request) -> Iterator["Streamed"]:
        """Yield the schema of this rank's share of a table, then its batches.

        Raises ConfigError if there is no such table, or its version is no longer held.
        """
        graph = self.executor.graph(request["graph"])
        if request["table"] == "forest":
            forest = self.executor.find_forest(graph, request.get("forest", ""))
            if forest.edges is None:
                raise ConfigError(
                    "that forest is not in order; ask for its flight info first"
                )
            schema = versioned(edge_schema(forest.dtype), forest.version, graph.name)
            batches = forest_batches(forest)
        elif request["table"] == "edges":
            if "version" not in request:
                raise ConfigError("the ticket names no version; ask for flight info")
            version = graph.begin_read(request["version"])
            if version.order is None:
                raise graph.stale(version.number)
            schema = edge_schema(version.weight_dtype)
            schema = versioned(schema, version.number, graph.name)
            batches = graph_batches(version, graph.loaded.run.graph)
        else:
            raise ConfigError(f"no table is named {json.dumps(request['table'])} here")
        yield schema
        yield from batches
