"""What clients do with graphs and with points: facts, waiting, snapshots, uploads."""

from typing import TYPE_CHECKING

from ..api.inputs import as_count, as_number
from .connection import Connection
from .protocol import Request, ServiceAnswer, batches_of, versioned

if TYPE_CHECKING:
    import pyarrow
    import pyarrow.flight


class RemoteVersions:
    """A graph, or points, that a service keeps in versions."""

    def __init__(self, connection: Connection, name: str) -> None:
        self.connection, self.name = connection, name

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r} at {self.connection.url!r})"

    def info(self) -> ServiceAnswer:
        """Return facts: sizes, version, columns."""
        return self.connection.ask("info", graph=self.name)

    def wait(self, after: int, timeout: float | None = None) -> int:
        """Wait until there is a version later than `after`; return the newest one.

        After `timeout` seconds return the present version, which then is `after`. An
        interrupt (Ctrl-C) is heard within a second.

        Raises
        ------
        ServiceError
            If the service ends meanwhile, or the version `after` has not been reached.
        """
        fields: dict[str, object] = {
            "graph": self.name,
            "after": as_count(after, "after"),
        }
        if timeout is not None:
            fields["seconds"] = as_number(timeout, "timeout")
        answer = self.connection.ask("wait", None, None, **fields)
        return int(answer["version"])

    def snapshot(self) -> ServiceAnswer:
        """Write the present version where the service keeps its journal."""
        return self.connection.ask("snapshot", graph=self.name)

    def _put(
        self,
        kind: str,
        name: str,
        table: "pyarrow.Table",
        endpoint: "pyarrow.flight.FlightEndpoint | None",
        then: Request | None = None,
    ) -> ServiceAnswer:
        command: Request = {"upload": name, "graph": self.name, "kind": kind}
        if then is not None:
            command["then"] = then
        return self.connection.put(command, batches_of(table), endpoint)


def of_version(table: "pyarrow.Table", version: int | None) -> "pyarrow.Table":
    """Return a table whose schema names the version it belongs to, if there is one."""
    if version is None:
        return table
    return table.replace_schema_metadata(versioned(table.schema, version).metadata)
