"""The Python client of the service."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..host.errors import ConfigError, ConfigTypeError, shown
from .access import read_pem, read_token
from .connection import Connection
from .remote_graph import Graph


def connect(url: str, token: str | None = None, **options: Any) -> "Service":
    """Connect to a service.

    Parameters
    ----------
    url : str
        As `mndmst serve` prints it: ``grpc+tcp://HOST:PORT``, ``grpc+tls://HOST:PORT``
        or ``grpc+unix:///PATH``.
    token : str, optional
        What is in the token file.
    **options
        ``token_file``, a path, in place of a token, of a file that only the user can
        read; ``tls_root``, a path of a certificate (PEM) to trust in place of the
        system's.

    Raises
    ------
    MndmstError
        If the service cannot be reached, or does not take the token.
    MissingExtraError
        Without pyarrow (the extra `serve`).
    """
    if not isinstance(url, str):
        raise ConfigTypeError(f"url is {shown(url)}; give text, as mndmst serve prints")
    token_file, root = options.pop("token_file", None), options.pop("tls_root", None)
    if options:
        raise ConfigError(f"connect has no option {next(iter(options))!r}")
    if token is None and token_file is not None:
        token = read_token(Path(token_file))
    trusted = None if root is None else read_pem(Path(root))
    service = Service(Connection(url, token or "", trusted))
    service.list()
    return service


class Service:
    """A running service; ``service["city"]`` is one of its graphs."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def __getitem__(self, name: str) -> "Graph":
        graph = Graph(self.connection, name)
        graph.info()
        return graph

    def __iter__(self) -> Iterator[str]:
        return iter(graph["graph"] for graph in self.list()["graphs"])

    def list(self) -> dict[str, Any]:
        """Return the graphs and their versions, and the number of ranks."""
        return self.connection.ask("list")

    def metrics(self) -> str:
        """Return counters and times, as text in Prometheus's format."""
        return str(self.connection.ask("metrics")["text"])

    def cancel(self, request: str) -> bool:
        """End a request that waits or computes; return whether it was there."""
        return bool(self.connection.ask("cancel", request=request)["cancelled"])

    def shutdown(self) -> None:
        """End the service, once it has answered what was asked before."""
        self.connection.ask("shutdown")

    def close(self) -> None:
        """End the connections; the service stays."""
        self.connection.close()

    def __enter__(self) -> "Service":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
