"""Edges of tables and of other packages' graphs as columns.

Names of columns and attributes follow the rule for files. A position in the columns is
a position in the source: in `G.edges` of NetworkX, `es` of igraph, `edge_indices()` of
rustworkx.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeGuard

from ..host.errors import (
    ConfigError,
    ConfigTypeError,
    InputError,
    InputTypeError,
    shown,
)
from ..io.formats.edge_attributes import (
    find_weight,
    kind_of_objects,
    unnested,
    values_of,
)
from ..io.formats.table_columns import (
    EMPTY,
    NUMBER,
    OTHER,
    TEXT,
    Column,
    ColumnNames,
    choose_columns,
)

if TYPE_CHECKING:
    import igraph
    import networkx
    import rustworkx


@dataclass(frozen=True)
class GraphColumns:
    """The edges of a graph, by the names of their ends."""

    src: object
    dst: object
    weight: object  # array-like of numbers, shape (edges,)
    # The names of all vertices; None if the edges have them all.
    nodes: object = None
    # The names of the three columns in messages.
    titles: tuple[str, str, str] = ("src", "dst", "weight")
    weight_name: str = ""  # the column or attribute that has the weights, if any


# Kinds of NumPy's types, which pandas has, too.
_OF_NUMPY = dict.fromkeys("iuf", NUMBER) | dict.fromkeys("UST", TEXT)
# The beginnings of the names of PyArrow's and Polars' types.
_OF_NUMBERS = ("int", "uint", "float", "half", "double", "decimal")
_OF_TEXT = ("string", "large_string", "str", "utf8", "categorical", "enum")


class TableColumn(Protocol):
    """A column of a table."""

    def __len__(self) -> int: ...

    def __getitem__(self, part: slice) -> Iterable[object]: ...


class Table(Protocol):
    """A table of pandas, Polars or PyArrow."""

    @property
    def columns(self) -> Iterable[object]:
        """The names of the columns; of PyArrow, `column_names` has them."""

    def __len__(self) -> int: ...

    def __getitem__(self, name: str) -> TableColumn: ...


def is_table(value: object) -> TypeGuard[Table]:
    """Return whether a value is a table of pandas, Polars or PyArrow."""
    if not hasattr(value, "__getitem__"):
        return False
    return hasattr(value, "column_names") or (
        # asked first, because a LazyFrame of Polars has costly `columns`
        hasattr(value, "to_numpy") and hasattr(value, "columns")
    )


def read_table(
    table: Table, source: object, target: object, weight: object, nodes: object = None
) -> GraphColumns:
    """Return the edges of a table, given the names of some of its columns.

    Columns that are not given are found by known names, as in files; see
    `io.formats.table_columns`. An empty `weight` gives each edge 1. `nodes` has the
    names of all vertices. Raises ConfigError if there is no such column; InputError if
    names are not known, or several columns may be meant.
    """
    names = _names_of(table)
    for role, name in (("source", source), ("target", target), ("weight", weight)):
        if name is not None and not isinstance(name, str):
            raise ConfigTypeError(
                f"{role} has type {type(name).__name__}; give the name of a column"
            )
    columns = [Column(name, _kind_of(table[name])) for name in names]
    asked = ColumnNames(source, target, weight, option="")  # type: ignore[arg-type]
    try:
        chosen = choose_columns("the table", columns, asked)
    except (ConfigError, InputError) as error:
        if _may_be_matrix(table, columns):
            error.remedy = (
                "If the table is a matrix of distances, give it without names to "
                "mndmst.single_linkage(table, metric='precomputed')."
            )
        raise
    src, dst = table[names[chosen.source]], table[names[chosen.target]]
    weights: object = [1] * len(src)
    weight_name = "weight"
    if chosen.weight is not None:
        weight_name = names[chosen.weight]
        weights = table[weight_name]
    titles = (names[chosen.source], names[chosen.target], weight_name)
    known = "" if chosen.weight is None else weight_name
    return GraphColumns(src, dst, weights, nodes, titles, known)


def _may_be_matrix(table: Table, columns: Sequence[Column]) -> bool:
    """Return whether a table is square and all numbers, besides names of its rows."""
    numbers = [column for column in columns if column.kind == NUMBER]
    names = [column for column in columns if column.kind == TEXT]
    return (
        len(numbers) == len(table)
        and len(names) <= 1 < len(numbers)
        and (len(numbers) + len(names) == len(columns))
    )


def _names_of(table: Table) -> list[str]:
    """Return the names of the columns, all of them text, each once."""
    names = list(getattr(table, "column_names", None) or table.columns)
    for name in names:
        if not isinstance(name, str):
            raise InputError(
                f"the table has a column named {shown(name)}; give text, or the "
                "columns one by one: minimum_spanning_forest(src, dst, weight); a "
                "matrix of distances goes to mndmst.single_linkage(table, "
                "metric='precomputed')"
            )
        if names.count(name) > 1:
            raise InputError(f"the table has the column {name!r} more than once")
    return names


def _kind_of(column: TableColumn) -> str:
    """Return the kind of a column's values, a constant of `table_columns`."""
    dtype = getattr(column, "dtype", getattr(column, "type", None))
    kind = getattr(dtype, "kind", "")
    if kind == "O":
        return kind_of_objects(column[:1000])
    if kind:
        return _OF_NUMPY.get(kind, OTHER)
    name = str(dtype).lower()
    if name.startswith(_OF_NUMBERS):
        return NUMBER
    if name in ("null", "empty"):
        return EMPTY
    return TEXT if name.startswith(_OF_TEXT) or "string" in name else OTHER


# The attribute that NetworkX and igraph weigh edges by.
WEIGHT = "weight"


def package_of(value: object) -> str:
    """Return the name of the package that defines a value's class, or a base of it."""
    for kind in type(value).__mro__:
        package = kind.__module__.partition(".")[0]
        if package in READERS:
            return package
    return ""


def is_edge_list(value: object) -> TypeGuard[list[tuple[object, ...]]]:
    """Return whether a value is a list of tuples."""
    return isinstance(value, list) and all(isinstance(edge, tuple) for edge in value)


def read_graph(graph: object, weight: object) -> GraphColumns:
    """Return the edges of a graph of NetworkX, igraph or rustworkx.

    `weight` is the attribute of edges that is their weight; by default ``"weight"``,
    else an attribute with a known name, as in files. If no edge has an attribute that
    is a number, each weighs 1. Raises ConfigError if `weight` is not an attribute of
    the edges; InputError if an edge lacks a weight, or attributes of unknown meaning
    are numbers.
    """
    if weight is None or isinstance(weight, str):
        return READERS[package_of(graph)](graph, weight)
    raise ConfigError("of a graph, weight is the name of an attribute of its edges")


def read_edge_list(edges: list[tuple[object, ...]]) -> GraphColumns:
    """Return the edges of a list of (source, target, weight).

    Raises InputError if an edge is not such a tuple.
    """
    for position, edge in enumerate(edges):
        if len(edge) != 3:
            raise InputError(
                f"edge {position} of the list is {shown(edge)}; give (source, target, "
                "weight)"
            )
    src, dst, weights = map(list, zip(*edges, strict=True)) if edges else ([], [], [])
    return GraphColumns(src, dst, weights, None)


def _read_networkx(graph: "networkx.Graph", weight: str | None) -> GraphColumns:
    src, dst, attributes = [], [], []
    for u, v, data in graph.edges(data=True):
        src.append(u)
        dst.append(v)
        attributes.append(data)
    weights, name = _weights(attributes, weight, lambda i: shown((src[i], dst[i])))
    return GraphColumns(src, dst, weights, list(graph), weight_name=name)


def _read_igraph(graph: "igraph.Graph", weight: str | None) -> GraphColumns:
    ends = graph.get_edgelist()
    names: Sequence[object] = range(graph.vcount())
    if "name" in graph.vs.attributes():
        names = graph.vs["name"]
    attributes = [edge.attributes() for edge in graph.es]
    weights, name = _weights(attributes, weight, lambda i: f"{i} {ends[i]}")
    src, dst = [names[u] for u, _ in ends], [names[v] for _, v in ends]
    return GraphColumns(src, dst, weights, list(names), weight_name=name)


def _read_rustworkx(graph: "rustworkx.PyGraph", weight: str | None) -> GraphColumns:
    edges = graph.weighted_edge_list()
    src, dst = [u for u, _, _ in edges], [v for _, v, _ in edges]
    payloads = [payload for _, _, payload in edges]
    nodes = list(graph.node_indices())
    if weight is None and not any(isinstance(one, Mapping) for one in payloads):
        alone = all(payload is None for payload in payloads)
        return GraphColumns(src, dst, [1] * len(edges) if alone else payloads, nodes)
    for position, payload in enumerate(payloads):
        if not isinstance(payload, Mapping):
            raise InputTypeError(
                f"edge {position} ({src[position]}, {dst[position]}) has a payload of "
                f"type {type(payload).__name__}, without attributes; give dicts"
            )
    weights, name = _weights(payloads, weight, lambda i: f"{i} ({src[i]}, {dst[i]})")
    return GraphColumns(src, dst, weights, nodes, weight_name=name)


READERS: dict[str, Callable[..., GraphColumns]] = {
    "networkx": _read_networkx,
    "igraph": _read_igraph,
    "rustworkx": _read_rustworkx,
}


def _weights(
    attributes: Sequence[Mapping[str, object]],
    weight: str | None,
    name_of: Callable[[int], str],
) -> tuple[list[object], str]:
    """Return the weights of edges and the name of their attribute; see `read_graph`."""
    attributes = unnested("the graph", attributes, weight)
    if weight is None and any(WEIGHT in data for data in attributes):
        weight = WEIGHT
    elif weight is None:
        weight = find_weight("the graph", attributes, None, option="")
    elif weight and not any(weight in data for data in attributes):
        known = sorted({name for data in attributes for name in data})
        raise ConfigError(
            f"no edge has an attribute {weight!r}; known: {', '.join(known) or 'none'}"
        )
    values = values_of("the graph", attributes, weight or None, name_of, option="")
    return values, weight or ""
