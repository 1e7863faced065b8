"""The Python client of the service."""

import json
import secrets
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import accumulate, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from ..api.forest import Forest, NamedForest, labels_of
from ..api.inputs import as_column, as_count, as_flag, warn_of_similarity
from ..api.vertex_names import VertexNames
from ..host.errors import (
    ConfigTypeError,
    InputError,
    InputTypeError,
    MndmstError,
    optional,
    shown,
)
from ..host.formatting import counted
from ..io.file_access import read_small
from ..io.names import IdRange, NameKind
from .access import read_pem, read_token
from .connection import (
    Connection,
    OtherVersionError,
    ServiceError,
    UnreachableError,
    check_protocol,
)
from .name_lookup import RemoteNames
from .points_client import Points, load_points
from .protocol import Request, ServiceAnswer, to_number, version_of
from .remote_versions import RemoteVersions, of_version

if TYPE_CHECKING:
    import pyarrow
    import pyarrow.flight

arrow = optional("pyarrow", "serve", "The client of the service needs")

# The ends of edges: arrays, columns of tables or lists
Pairs = tuple[object, object]
Weighted = tuple[object, object, object]


def connect(
    address: str | Path,
    token: str | None = None,
    *,
    token_file: str | Path | None = None,
    tls_root: str | Path | None = None,
) -> "Service":
    """Connect to a running service.

    Parameters
    ----------
    address : str or Path
        The file of `serve --address-file`, which also names the token file; or an
        address as `mndmst serve` prints it: ``grpc+tcp://HOST:PORT``,
        ``grpc+tls://HOST:PORT`` or ``grpc+unix:///PATH``.
    token : str, optional
        The token itself, in place of a token file.
    token_file : str or Path, optional
        File of the token. No other user may be able to read it.
    tls_root : str or Path, optional
        Certificate (PEM) to trust in place of the system's certificates.

    Raises
    ------
    MndmstError
        If the service cannot be reached, refuses the token, or has another protocol.
    MissingExtraError
        Without pyarrow (the extra `serve`).
    """
    if not isinstance(address, str | Path):
        raise ConfigTypeError(
            f"address is {shown(address)}; give the text that mndmst serve prints, or "
            "the path of its address file"
        )
    url, file = str(address), None
    if "://" not in url:
        file = Path(address)
        url, known = read_address(file)
        if token is None and token_file is None:
            token_file = known
    if token is None and token_file is not None:
        if file is not None and not Path(token_file).exists():
            raise _ended(file, f"its token file {token_file} is gone")
        token = read_token(Path(token_file))
    trusted = None if tls_root is None else read_pem(Path(tls_root))
    service = Service(Connection(url, token or "", trusted))
    try:
        check_protocol(url, service.list())
    except UnreachableError as error:
        service.close()
        if file is None or not error.ended:
            raise
        raise _ended(file, f"no service answers at {url}") from error
    except BaseException:
        service.close()
        raise
    return service


def read_address(file: Path) -> tuple[str, str | None]:
    """Return the address and the token file that a service has written to a file.

    Raises InputError if there is no such file, or it is not an address file.
    """
    try:
        address = json.loads(read_small(file))
        url, token_file = address["url"], address["token_file"]
        if isinstance(url, str) and isinstance(token_file, str | None):
            return url, token_file
        reason = "it names no address"
    except FileNotFoundError:
        host, _, port = str(file).rpartition(":")
        if host and "/" not in host and port.isdecimal():
            raise InputError(
                f"{file}: there is no such file. If it is a host and its port, give "
                f"grpc+tcp://{file} or grpc+tls://{file}."
            ) from None
        raise InputError(
            f"{file}: there is no such file. The service has ended, or is not ready "
            "yet: give the file of serve --address-file."
        ) from None
    except MndmstError:
        raise
    except (OSError, ValueError, LookupError, TypeError) as error:
        reason = str(error)
    raise InputError(
        f"{file}: is not the address file of a service ({reason}). Give the file of "
        "serve --address-file."
    )


def _ended(file: Path, reason: str) -> ServiceError:
    return ServiceError(
        f"{file}: is left from a service that has ended ({reason}). Start the service "
        "again."
    )


class Service:
    """A running service; ``service["city"]`` is one of its graphs."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def __repr__(self) -> str:
        return f"Service({self.connection.url!r})"

    def __getitem__(self, name: str) -> "Graph":
        graph = Graph(self.connection, name)
        if "points" in graph.info():
            raise InputError(
                f"{name} are points, and this is for graphs; in Python take "
                f"service.points({name!r})"
            )
        return graph

    def points(self, name: str) -> Points:
        """Return points that the service keeps, by their name.

        Raises ServiceError if there are none; InputError if the name is of a graph.
        """
        points = Points(self.connection, name)
        if "points" not in points.info():
            raise InputError(
                f"{name} is a graph, and this is for points; in Python take "
                f"service[{name!r}]"
            )
        return points

    def load_points(
        self,
        name: str,
        points: object,
        ids: object = None,
        *,
        coordinates: Sequence[str] = (),
        metric: str = "euclidean",
        **parameters: object,
    ) -> Points:
        """Keep points at the service, whose clusters then follow their changes.

        With a journal the service keeps them on disk, too: a service that starts again
        with this journal has them.

        Parameters
        ----------
        name : str
            A name that no graph and no points have.
        points : table or array-like of numbers, shape (points, dimensions)
        ids : array-like of integers, optional
            Ids of the points; by default 0, 1, ...
        coordinates : sequence of str
            The columns of a table that are coordinates; of an array names of the
            dimensions, or none.
        metric : str
            euclidean, manhattan, chebyshev, cosine, correlation, or haversine of
            latitude and longitude in radians.
        **parameters
            Those of `HDBSCAN`, such as ``min_cluster_size=20``.

        Raises
        ------
        MndmstError
            If the service refuses the points, the name or a parameter.
        """
        return load_points(
            self.connection, name, points, ids, coordinates, metric, parameters
        )

    def __iter__(self) -> Iterator[str]:
        return iter(graph["graph"] for graph in self.list()["graphs"])

    def list(self) -> ServiceAnswer:
        """Return the graphs, the points, their versions, and the number of ranks."""
        return self.connection.ask("list")

    def metrics(self) -> str:
        """Return counters and times, as text in Prometheus's format."""
        return str(self.connection.ask("metrics")["text"])

    def cancel(self, request: str) -> bool:
        """Cancel a request; return whether it will have no effect.

        False says that it has ended, or that it is too late: a batch is being made.
        """
        return bool(self.connection.ask("cancel", request=request)["cancelled"])

    def shutdown(self) -> None:
        """End the service, once it has answered earlier requests."""
        self.connection.ask("shutdown")

    def close(self) -> None:
        """End the connections; the service stays."""
        self.connection.close()

    def __enter__(self) -> "Service":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class RemoteColumns:
    """Facts and columns of a forest whose edges stay at the service until needed."""

    details: ServiceAnswer  # As the service sends them: edges, trees, weight, version
    numbers: "RemoteForest"  # The forest with vertices as numbers
    table: "pyarrow.Table"  # Columns src, dst and weight

    def __len__(self) -> int:
        return int(self.details["forest_edges"])

    @property
    def num_vertices(self) -> int:
        """Number of vertices of the graph."""
        return int(self.details["num_vertices"])

    @property
    def maximum(self) -> bool:
        """Whether it is a maximum spanning forest."""
        return bool(self.details["maximum"])

    @property
    def graph_uuid(self) -> str:
        """The graph as a snapshot of the version has it; empty for other edges."""
        return str(self.details.get("graph_uuid", ""))

    @property
    def total_weight(self) -> int | float:
        """The sum of the weights: exact for integers, else correctly rounded."""
        return to_number(self.details["weight"])

    @cached_property
    def src(self) -> np.ndarray:
        """The ends with smaller numbers."""
        return _aligned(self.table["src"])

    @cached_property
    def dst(self) -> np.ndarray:
        """The ends with larger numbers."""
        return _aligned(self.table["dst"])

    @cached_property
    def weight(self) -> np.ndarray:
        """The weights."""
        return _aligned(self.numbers.table["weight"])


def _aligned(column: "pyarrow.ChunkedArray") -> np.ndarray:
    """Return a column as an array for kernels; Flight does not align its buffers."""
    return np.require(column.to_numpy(), requirements="A")


class RemoteForest(RemoteColumns, Forest):  # type: ignore[override, misc]
    """A `Forest` whose columns stay at the service until they are needed."""

    def __init__(
        self, connection: Connection, graph: str, details: ServiceAnswer
    ) -> None:
        self.details = details
        self._connection, self._graph = connection, graph

    @property
    def numbers(self) -> "RemoteForest":  # type: ignore[override]
        """The forest with vertices as numbers: itself."""
        return self

    @cached_property
    def table(self) -> "pyarrow.Table":
        """The edges as an Arrow table: src, dst, weight."""
        name = self.details["forest"]
        request: Request = {"table": "forest", "graph": self._graph, "forest": name}
        return self._connection.read(request)

    @cached_property
    def labels(self) -> np.ndarray:  # type: ignore[override]
        """For each vertex the smallest vertex of its tree."""
        return labels_of(self.num_vertices, self.src, self.dst)


class NamedRemoteForest(RemoteColumns, NamedForest):  # type: ignore[override, misc]
    """A forest at a service whose vertices have names; see `RemoteForest`.

    The names of all vertices are fetched when a query needs them.
    """

    def __init__(self, numbers: RemoteForest, graph: "Graph") -> None:
        self.details, self._of_numbers, self._graph = numbers.details, numbers, graph

    @property
    def numbers(self) -> RemoteForest:  # type: ignore[override]
        """The forest with vertices as numbers, which are positions in `nodes`."""
        return self._of_numbers

    @cached_property
    def table(self) -> "pyarrow.Table":
        """The edges as an Arrow table: src, dst (names), weight."""
        return self._graph.with_names(self.numbers.table)

    @cached_property
    def labels(self) -> np.ndarray:  # type: ignore[override]
        """For each vertex the first vertex of its tree."""
        return np.asarray(self.nodes[self.numbers.labels])

    @cached_property
    def _vertex_names(self) -> VertexNames:  # type: ignore[override]
        return VertexNames(self._graph.nodes)


class ForestChanges:
    """The changes of a graph's forest from one version to a later one.

    Attributes
    ----------
    since, version : int
        Both versions of the graph.
    edges : pyarrow.Table
        The edges that left and entered the forest, by their ends: source, target,
        weight, change ("left" or "entered"), and the version in which they did. An
        edge whose weight has changed leaves with the old weight, and then enters with
        the new one.
    """

    def __init__(self, graph: "Graph", since: int) -> None:
        self.since, self._graph = since, graph
        self.edges = self._read({"table": "forest_changes"})
        self.version = version_of(self.edges)

    def __repr__(self) -> str:
        return (
            f"ForestChanges({counted(self.edges.num_rows, 'edge')} of "
            f"{self._graph.name!r}, versions {self.since} to {self.version})"
        )

    @cached_property
    def trees(self) -> "pyarrow.Table":
        """The changed trees as an Arrow table, fetched when it is first looked at.

        A tree is named by its smallest vertex. A row has the number of vertices that
        the tree `before` and the tree `after` share: all of the tree before ("joined"),
        all of the tree after ("split"), or a part of both ("moved"). Other columns are
        vertices_before and vertices_after, the sizes of the trees, and version, that
        of the trees after.
        """
        return self._read({"table": "tree_changes", "version": self.version})

    def _read(self, request: Request) -> "pyarrow.Table":
        """Return a table of changes, whose first two columns are vertices."""
        graph = self._graph
        request = {"graph": graph.name, "since": self.since, **request}
        table = graph.connection.read(request)
        return graph.with_names(table, table.column_names[:2])


class Graph(RemoteVersions):
    """A graph that a service keeps.

    Vertices are given and answered by their names, if the graph was made of names: as
    integers, or as texts as tables show them. `numbers` is the graph with numbers, and
    has `with_numbers`.
    """

    def __init__(
        self, connection: Connection, name: str, with_numbers: bool = False
    ) -> None:
        super().__init__(connection, name)
        self._with_numbers = with_numbers

    @cached_property
    def num_vertices(self) -> int:
        """Number of vertices."""
        return int(self.info()["num_vertices"])

    @cached_property
    def maximum(self) -> bool:
        """Whether the forests of the graph are maximum spanning forests."""
        return bool(self.info()["maximum"])

    @property
    def numbers(self) -> "Graph":
        """The graph with vertices as numbers: itself, unless vertices have names."""
        return self if self.names is None else Graph(self.connection, self.name, True)

    @cached_property
    def names(self) -> RemoteNames | None:
        """The names of vertices; None where vertices are given by number."""
        info = {} if self._with_numbers else self.info()
        kind, first = info.get("names"), info.get("first_id")
        if kind is None:
            return None
        ids = None if first is None else IdRange(first, info["num_vertices"])
        return RemoteNames(self.connection, self.name, NameKind(kind), ids)

    @property
    def nodes(self) -> np.ndarray:
        """All vertices in the order of `components`: names, or numbers."""
        numbers = np.arange(self.num_vertices)
        if self.names is None:
            return numbers
        return np.asarray(
            self.names.of(arrow.array(numbers)).to_numpy(zero_copy_only=False)
        )

    def with_names(
        self, table: "pyarrow.Table", columns: Sequence[str] = ("src", "dst")
    ) -> "pyarrow.Table":
        """Return a table with names for vertices in columns, where there are names."""
        return table if self.names is None else self.names.of_columns(table, columns)

    def edges(self) -> "pyarrow.Table":
        """Return all edges as an Arrow table: src, dst, weight, in the order of edges.

        The table is one version of the graph, and the metadata of its schema has the
        number. Weights that are sent to `solve` or `store` are in the same order. The
        connection remembers the version of the table it has read last, and sends it
        with weights.
        """
        table = self.connection.read({"graph": self.name, "table": "edges"})
        self.connection.versions_read[self.name] = version_of(table)
        return self.with_names(table)

    @property
    def forest(self) -> RemoteForest | NamedRemoteForest:
        """The forest of the present version, by the graph's own weights."""
        info = self.connection.info({"graph": self.name, "table": "forest"})
        return self._forest(self.connection.metadata(info))

    def _forest(self, details: ServiceAnswer) -> RemoteForest | NamedRemoteForest:
        forest = RemoteForest(self.connection, self.name, details)
        return forest if self.names is None else NamedRemoteForest(forest, self)

    def solve(
        self,
        weights: object = None,
        *,
        maximum: bool | None = None,
        below: float | None = None,
        above: float | None = None,
        without_edges: Pairs | None = None,
        vertices: object = None,
        version: int | None = None,
        progress: Callable[[str, float], None] | None = None,
    ) -> RemoteForest | NamedRemoteForest:
        """Compute a forest with other weights, or of fewer edges.

        Parameters
        ----------
        weights : str or array-like, optional
            The name of a column; an expression of columns, such as
            ``"length / speed"``; or a weight for each edge, in the order of `edges`.
        maximum : bool, optional
            Compute the maximum spanning forest (True) or the minimum one (False); by
            default the one that the graph was made for. The other one is computed by a
            column or weights that are sent, and refused by the graph's own weights: of
            parallel edges the graph keeps one alone. In a graph for minimum forests a
            column named as a similarity gets a warning, unless it is given.
        below : number, optional
            Of a minimum forest: use edges of a smaller weight only.
        above : number, optional
            Of a maximum forest: use edges of a larger weight only.
        without_edges : pair of array-like of vertices, optional
            Ends of edges to leave out.
        vertices : array-like of vertices, optional
            Use edges between these vertices only; the others are trees by themselves.
        version : int, optional
            The version whose order of edges `weights` follow; by default that of the
            table which this connection has read last by `edges`.
        progress : callable, optional
            Receives the name of every stage, and the seconds so far.

        Returns
        -------
        Forest
            Fetched when it is first looked at.

        Raises
        ------
        OtherVersionError
            If edges have come or gone since the version of the weights.
        MndmstError
            If the service cannot do it; the message says why.
        """
        fields: dict[str, object] = {"graph": self.name}
        if version is not None and (weights is None or isinstance(weights, str)):
            raise InputError("a version is for weights that are sent; leave it out")
        if isinstance(weights, str) and not self.maximum:
            warn_of_similarity(weights, maximum)
        if weights is not None:
            fields["weights"] = self._weights(weights, version)
        if maximum is not None:
            fields["maximum"] = as_flag(maximum, "maximum")
        fields |= _given(below=below, above=above)
        if without_edges is not None:
            src, dst = without_edges
            fields["without_edges"] = self._send("edges", {"src": src, "dst": dst})
        if vertices is not None:
            fields["vertices"] = self._send("vertices", {"vertex": vertices})
        return self._forest(self.connection.ask("solve", progress, None, **fields))

    def store(self, name: str, weights: object, *, version: int | None = None) -> None:
        """Keep weights as a column for later calls of `solve`; see there."""
        upload = self._send_weights(weights, version)
        self.connection.ask("store", graph=self.name, column=name, upload=upload)

    def insert(self, src: object, dst: object, weight: object) -> int:
        """Insert edges that are not there yet; return the new version."""
        return self.update(insert=(src, dst, weight))

    def delete(self, src: object, dst: object) -> int:
        """Delete edges; return the new version."""
        return self.update(delete=(src, dst))

    def set_weights(self, src: object, dst: object, weight: object) -> int:
        """Change weights of edges; return the new version."""
        return self.update(set_weights=(src, dst, weight))

    def update(
        self,
        *,
        insert: Weighted | None = None,
        delete: Pairs | None = None,
        set_weights: Weighted | None = None,
        version: int | None = None,
    ) -> int:
        """Apply insertions, deletions and new weights as a whole; return the version.

        Parameters
        ----------
        insert : (src, dst, weight), optional
        delete : (src, dst), optional
        set_weights : (src, dst, weight), optional
        version : int, optional
            The version that the changes are for: the service refuses them if the graph
            has another.

        Raises
        ------
        OtherVersionError
            If the graph has another version than the one given.
        """
        kinds = {"insert": insert, "delete": delete, "set_weights": set_weights}
        changes = {kind: given for kind, given in kinds.items() if given is not None}
        if not changes:
            raise InputError("no changes; give insert, delete or set_weights")
        then: Request = {"action": "update", "graph": self.name}
        result: ServiceAnswer = {}
        for kind, columns in changes.items():
            names = ("src", "dst", "weight")[: len(columns)]
            sent = "changes" if len(columns) == 3 else "edges"
            upload = secrets.token_hex(16)
            then |= cast(Request, {kind: upload})
            last = then if len(then) == len(changes) + 2 else None
            given = dict(zip(names, columns, strict=True))
            table = of_version(self._table(given), version)
            result = self._put(sent, upload, table, None, last)
        return int(result["version"])

    def changes(self, since: int) -> ForestChanges:
        """Return the changes of the forest from a version to the newest one.

        An edge that has entered and left again meanwhile is not in them. The service
        keeps the changes of the last versions; ``info()["changes_since"]`` is the
        oldest version to compare with.

        Raises
        ------
        OtherVersionError
            If the service no longer keeps the changes since that version. Read `forest`
            as a whole.
        MndmstError
            If there is no such version yet.
        """
        return ForestChanges(self, as_count(since, "since"))

    def connected(self, u: object, v: object) -> bool | np.ndarray:
        """Return whether the vertices of pairs are connected; bool.

        Two vertices in place of two arrays are one pair: the answer is that of the
        pair, as Python has it.
        """
        answer = self._query("connected", u, v)["connected"]
        return answer[0].as_py() if _are_one(u, v) else np.asarray(answer.to_numpy())

    def path_max(self, u: object, v: object) -> "pyarrow.Table | dict[str, object]":
        """Return the heaviest edge of each path in the forest, as an Arrow table.

        Its columns are src, dst and weight; null where there is no path or no edge. For
        one pair of vertices it is a dictionary; see `connected`. The service refuses it
        in a graph for maximum forests.
        """
        return self._bottlenecks("path_max", u, v)

    def path_min(self, u: object, v: object) -> "pyarrow.Table | dict[str, object]":
        """Return the lightest edge of each path in a maximum forest; see `path_max`.

        The service refuses it in a graph for minimum forests.
        """
        return self._bottlenecks("path_min", u, v)

    def _bottlenecks(
        self, query: str, u: object, v: object
    ) -> "pyarrow.Table | dict[str, object]":
        edges = self.with_names(self._query(query, u, v))
        return edges.to_pylist()[0] if _are_one(u, v) else edges

    def path(
        self, u: object, v: object
    ) -> "pyarrow.ChunkedArray | list[dict[str, object]]":
        """Return the edges of each path in the forest, from u to v.

        They are an Arrow column of lists of (src, dst, weight), empty where there is no
        path; for one pair of vertices a list of dictionaries: see `connected`.
        """
        paths = self._query("path", u, v)["path"]
        paths = paths if self.names is None else self.names.of_paths(paths)
        return paths[0].as_py() if _are_one(u, v) else paths

    def components(
        self, below: float | None = None, *, above: float | None = None
    ) -> np.ndarray:
        """Return for each vertex of `nodes` the first one of its component.

        With `below`, only edges of a smaller weight join components; with `above`, in a
        graph for maximum forests, only edges of a larger weight.
        """
        request: Request = {"graph": self.name, "table": "labels"}
        request |= _given(below=below, above=above)
        labels = self.connection.read(request)["label"].combine_chunks()
        labels = labels if self.names is None else self.names.of(labels)
        return np.asarray(labels.to_numpy(zero_copy_only=False))

    def clusters(
        self,
        *,
        count: int | None = None,
        threshold: float | None = None,
        min_weight: float | None = None,
        min_size: int | None = None,
    ) -> np.ndarray:
        """Return the cluster of each vertex of `nodes`, from 0 on; -1 is noise.

        Exactly one rule is given.

        Parameters
        ----------
        count : int, optional
            Number of single-linkage clusters.
        threshold : number, optional
            Largest weight of an edge inside a single-linkage cluster.
        min_weight : number, optional
            In place of `threshold` in a graph for maximum forests: smallest weight of
            an edge inside a single-linkage cluster.
        min_size : int, optional
            Smallest number of vertices of an HDBSCAN* cluster. The service refuses it
            in a graph for maximum forests, whose weights are not distances.
        """
        rule = _given(
            count=count, threshold=threshold, min_weight=min_weight, min_size=min_size
        )
        request: Request = {"graph": self.name, "table": "clusters", **rule}
        return np.asarray(self.connection.read(request)["label"].to_numpy())

    def _weights(self, weights: object, version: int | None) -> dict[str, str]:
        if isinstance(weights, str):
            column = weights in self.info()["columns"]
            return {"column" if column else "expression": weights}
        return {"upload": self._send_weights(weights, version)}

    def _send_weights(self, weights: object, version: int | None) -> str:
        """Send every rank the weights of its edges; return the name of the upload."""
        values, name = as_column(weights, "weights"), secrets.token_hex(16)
        info = self.connection.info({"graph": self.name, "table": "edges"})
        details = self.connection.metadata(info)
        counts = details["counts"]
        now = details["version"]
        if version is None:
            version = self.connection.versions_read.get(self.name, now)
        if not details["edges_since"] <= version <= now:
            raise OtherVersionError(
                f"the weights belong to version {version} of {self.name}, and the "
                f"graph has version {now}, whose order of edges is another. Read the "
                "edges again."
            )
        if len(values) != sum(counts):
            raise InputError(
                f"there are {len(values):,} weights and {sum(counts):,} edges in "
                f"version {now}; give one for each, in the order of Graph.edges()"
            )

        def send(
            endpoint: "pyarrow.flight.FlightEndpoint", bounds: tuple[int, int]
        ) -> None:
            part = arrow.table({"weight": values[slice(*bounds)]})
            self._put("weights", name, of_version(part, version), endpoint)

        shares = pairwise(accumulate(counts, initial=0))
        with ThreadPoolExecutor(len(counts), "mndmst-send") as pool:
            list(pool.map(send, info.endpoints, shares))
        return name

    def _send(self, kind: str, columns: dict[str, object]) -> str:
        """Send columns to rank 0; return the name of the upload."""
        name = secrets.token_hex(16)
        self._put(kind, name, self._table(columns), None)
        return name

    def _query(self, query: str, u: object, v: object) -> "pyarrow.Table":
        if _are_one(u, v):
            u, v = [u], [v]
        table = self._table({"u": u, "v": v})
        return self.connection.exchange({"graph": self.name, "query": query}, table)

    def _table(self, columns: dict[str, object]) -> "pyarrow.Table":
        """Return a table of vertices as numbers, and of weights."""
        arrays = {
            name: as_column(column, name)
            if name == "weight"
            else self._vertices(column, name)
            for name, column in columns.items()
        }
        if len(set(map(len, arrays.values()))) > 1:
            lengths = ", ".join(f"{len(array):,}" for array in arrays.values())
            raise InputError(
                f"{', '.join(arrays)} have {lengths} entries; give as many of each"
            )
        return arrow.table(arrays)

    def _vertices(self, asked: object, name: str) -> np.ndarray:
        """Return the numbers of vertices that are given by name or number."""
        if self.names is not None:
            return self.names.numbers(asked)
        try:
            column = as_column(asked, name)
        except InputTypeError as error:
            raise InputTypeError(
                f"{error}: the vertices of {self.name} have numbers alone"
            ) from error
        # An empty list is of floats, which are not vertices
        return column if len(column) else column.astype(np.int64)


def _given(**fields: float | None) -> Request:
    """Return the fields of a request that are not None."""
    given = {name: value for name, value in fields.items() if value is not None}
    return cast(Request, given)


def _are_one(u: object, v: object) -> bool:
    """Return whether a query is about one pair of vertices, not about arrays."""
    return isinstance(u, str | int | np.integer) and isinstance(
        v, str | int | np.integer
    )
