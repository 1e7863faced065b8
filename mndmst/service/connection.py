"""A client's connections to the ranks of a service."""

import json
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from ..host import __version__
from ..host.errors import ConfigError, MndmstError, optional
from .protocol import PROTOCOL, Request, ServiceAnswer, batches_of, to_bytes

if TYPE_CHECKING:
    import pyarrow
    import pyarrow.flight


# gRPC prints failed handshakes to standard error; an exception reports them here.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")
flight = optional("pyarrow.flight", "serve", "The client of the service needs")
arrow = optional("pyarrow", "serve", "The client of the service needs")

# Bytes of the vertices of a query that are sent at a time
QUERY_BYTES = 16 << 20
# Repeated requests for a table whose tickets changes overtake
READ_TRIES = 20


class ServiceError(MndmstError):
    """An error of a service: it refuses a request, or no longer answers."""


class UnreachableError(ServiceError):
    """No service answers at an address, or no secure connection comes about."""

    def __init__(self, message: str, ended: bool) -> None:
        super().__init__(message)
        # Whether nothing listens there, so that the service has probably ended.
        self.ended = ended


class OtherVersionError(ServiceError):
    """A ticket or an upload belongs to another version than the service has."""


def check_protocol(url: str, listed: ServiceAnswer) -> None:
    """Refuse a service whose protocol differs in the first part of its number."""
    number = str(listed.get("protocol", "without a number"))[:20]
    if number.partition(".")[0] != PROTOCOL.partition(".")[0]:
        raise ServiceError(
            f"{url}: the protocol of the service is {number}, and that of mndmst "
            f"{__version__} is {PROTOCOL}. Use the mndmst that the service runs."
        )


class Connection:
    """Connections to rank 0, and to other ranks where they stream.

    `trusted` is a certificate to trust in place of the system's.
    """

    def __init__(self, url: str, token: str, trusted: bytes | None = None) -> None:
        self.url, self._token, self._trusted = url, token, trusted
        self._headers = [(b"authorization", f"Bearer {token}".encode())]
        self._options = flight.FlightCallOptions(headers=self._headers)
        self._clients: dict[str, pyarrow.flight.FlightClient] = {}
        # The version of the edges of each graph that was read last
        self.versions_read: dict[str, int] = {}

    def close(self) -> None:
        """End all connections."""
        for client in self._clients.values():
            client.close()
        self._clients.clear()

    def ask(
        self,
        action: str,
        progress: Callable[[str, float], None] | None = None,
        timeout: float | None = None,
        **fields: object,
    ) -> ServiceAnswer:
        """Request an action and return its result.

        `progress` receives the name of every stage and the seconds so far. The call is
        given up after `timeout` seconds. Raises ServiceError if the service refuses it,
        is gone, or does not answer in time.
        """
        options = self._options
        if timeout is not None:
            options = flight.FlightCallOptions(timeout, headers=self._headers)
        result: ServiceAnswer = {}
        if progress is not None:
            fields["progress"] = True
        with self._errors():
            body = flight.Action(action, to_bytes(fields))
            # Python hears an interrupt between two answers; closing them ends the call
            with closing(self._client(self.url).do_action(body, options)) as answers:
                for answer in answers:
                    result = json.loads(answer.body.to_pybytes())
                    if "progress" in result and progress is not None:
                        progress(result["progress"], result["seconds"])
        return result

    def info(self, request: Request) -> "pyarrow.flight.FlightInfo":
        """Return the flight info of a table, which has its endpoints."""
        with self._errors():
            descriptor = flight.FlightDescriptor.for_command(to_bytes(request))
            return self._client(self.url).get_flight_info(descriptor, self._options)

    @staticmethod
    def metadata(info: "pyarrow.flight.FlightInfo") -> ServiceAnswer:
        """Return the description of a table, and of the endpoints to read it from."""
        details: ServiceAnswer = json.loads(info.app_metadata)
        return details

    def read(self, request: Request) -> "pyarrow.Table":
        """Return a table of one version, from all ranks that have a share of it.

        A service holds the version of a ticket for a while. If changes overtake the
        tickets, the table is asked for again. Raises OtherVersionError if changes
        always overtake them, or the request names a version or a forest.
        """
        fixed = not request.keys().isdisjoint(("forest", "version", "since"))
        for _ in range(1 if fixed else READ_TRIES):
            try:
                return self._read_once(request)
            except OtherVersionError as error:
                stale = error
        raise stale

    def _read_once(self, request: Request) -> "pyarrow.Table":
        endpoints = self.info(request).endpoints
        if len(endpoints) == 1:
            return self.share(endpoints[0])
        with ThreadPoolExecutor(len(endpoints), "mndmst-read") as pool:
            return arrow.concat_tables(pool.map(self.share, endpoints))

    def share(self, endpoint: "pyarrow.flight.FlightEndpoint") -> "pyarrow.Table":
        """Return the table that an endpoint streams."""
        with self._errors():
            client = self._client(self._address(endpoint))
            return client.do_get(endpoint.ticket, self._options).read_all()

    def put(
        self,
        command: Request,
        batches: list["pyarrow.RecordBatch"],
        endpoint: "pyarrow.flight.FlightEndpoint | None",
    ) -> ServiceAnswer:
        """Send batches to the rank of an endpoint, or to rank 0.

        Returns the result of the action that follows; an empty one without an action.
        """
        result: ServiceAnswer = {}
        descriptor = flight.FlightDescriptor.for_command(to_bytes(command))
        with self._errors():
            client = self._client(self._address(endpoint) if endpoint else self.url)
            schema = batches[0].schema
            writer, reader = client.do_put(descriptor, schema, self._options)
            with writer:
                for batch in batches:
                    writer.write_batch(batch)
                writer.done_writing()
                while (answer := reader.read()) is not None:
                    result = json.loads(answer.to_pybytes())
        return result

    def exchange(self, request: Request, table: "pyarrow.Table") -> "pyarrow.Table":
        """Send a table in batches, and return the answers to them as a table."""
        descriptor = flight.FlightDescriptor.for_command(to_bytes(request))
        answers = []
        with self._errors():
            client = self._client(self.url)
            writer, reader = client.do_exchange(descriptor, self._options)
            with writer:
                writer.begin(table.schema)
                for batch in batches_of(table, QUERY_BYTES):
                    writer.write_batch(batch)
                    answers.append(reader.read_chunk().data)
                    missing = batch.num_rows - answers[-1].num_rows
                    while missing > 0:
                        answers.append(reader.read_chunk().data)
                        missing -= answers[-1].num_rows
                writer.done_writing()
            schema = reader.schema  # names the version
        return arrow.Table.from_batches(answers, schema)

    def _client(self, address: str) -> "pyarrow.flight.FlightClient":
        if address not in self._clients:
            more = {"tls_root_certs": self._trusted} if self._trusted else {}
            try:
                self._clients[address] = flight.connect(address, **more)
            except (arrow.ArrowException, TypeError) as error:
                raise ConfigError(
                    f"{address}: is not an address of a service ({error}); write "
                    "grpc+tcp://HOST:PORT, grpc+tls://HOST:PORT or grpc+unix:///PATH"
                ) from error
        return self._clients[address]

    def _address(self, endpoint: "pyarrow.flight.FlightEndpoint") -> str:
        if not endpoint.locations:
            return self.url
        return str(endpoint.locations[0].uri.decode())

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Turn Flight's errors into one line."""
        try:
            yield
        except flight.FlightUnauthenticatedError as error:
            reason = "refused the token" if self._token else "wants a token"
            raise ServiceError(
                f"{self.url}: {reason}. Give the token file of the service: "
                "--token-file, in Python token_file=."
            ) from error
        except flight.FlightUnavailableError as error:
            reason = _tls_reason(str(error))
            ended = not reason
            reason = reason or (
                f"no service answers there ({_line(error)}). It has ended, or the "
                "address is wrong."
            )
            raise UnreachableError(f"{self.url}: {reason}", ended) from error
        except flight.FlightCancelledError as error:
            line = _line(error)
            if line.endswith("CANCELLED"):  # by gRPC, for the server has ended
                line = "the service ends, and does not wait for this call"
            raise ServiceError(f"{self.url}: {line}") from error
        except arrow.ArrowKeyError as error:
            raise OtherVersionError(f"{self.url}: {_line(error)}") from error
        except arrow.ArrowException as error:
            raise ServiceError(f"{self.url}: {_line(error)}") from error


def _tls_reason(text: str) -> str:
    """Return the failure of TLS that gRPC's text reports; empty if it reports none."""
    if "certificate verify failed" in text or "CERTIFICATE_VERIFY_FAILED" in text:
        return (
            "its certificate is not trusted. Give the certificate that signed it: "
            "--tls-root, in Python tls_root=."
        )
    if "peer certificate" in text:
        return (
            "its certificate names other hosts than this address. Use a name that the "
            "certificate has, or one that is made for this address."
        )
    if "wrong version number" in text or "WRONG_VERSION_NUMBER" in text:
        return "the service there has no TLS. Write grpc+tcp:// in place of grpc+tls://"
    return ""


def _line(error: Exception | str) -> str:
    """Return the text of an error without the details that gRPC adds."""
    text = str(error).partition(". gRPC client debug context")[0]
    text = text.partition(" Detail:")[0]
    line = text.splitlines()[0] if text else type(error).__name__
    return line.removesuffix(".")
