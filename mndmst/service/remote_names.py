"""Names of a graph's vertices for a client, looked up at the service."""

from typing import Any

import numpy as np

from ..api.inputs import as_array
from ..host.errors import InputError, optional
from ..io.file_access import first_line
from ..io.names import NameKind, Names, shown
from .connection import Connection
from .name_lookup import column_of_names, names_of_column

arrow = optional("pyarrow", "serve", "The client of the service needs")


class RemoteNames:
    """The names of the vertices of one graph.

    Names are integers, or texts as tables show them: JSON where the kind is that.
    """

    def __init__(self, connection: Connection, graph: str, kind: NameKind) -> None:
        self.kind = kind
        self._connection, self._graph = connection, graph

    def find(self, wanted: Names) -> np.ndarray:
        """Return the vertices that have some names; -1 for none."""
        return np.asarray(self._ask("vertices", "name", column_of_names(wanted)))

    def numbers(self, names: Any) -> np.ndarray:
        """Return the vertices that have some names.

        Raises InputError if the names are of another kind, or no vertex has one of
        them.
        """
        column = _column(names)
        if len(column) == 0:
            return np.empty(0, np.int64)
        vertices = self.find(names_of_column(self._graph, self.kind, column))
        if (vertices < 0).any():
            name = str(column[int((vertices < 0).argmax())].as_py())
            raise InputError(
                f'no vertex of {self._graph} is named "{shown(name)}"; give a name of '
                "the graph, or ask its `numbers` (--numbers)"
            )
        return vertices

    def of(self, vertices: Any) -> Any:
        """Return the names of vertices in an Arrow array, null where that is null."""
        coded = vertices.cast(arrow.int64()).dictionary_encode()
        return self._ask("names", "vertex", coded.dictionary).take(coded.indices)

    def of_edges(self, table: Any) -> Any:
        """Return a table whose columns src and dst are names in place of vertices."""
        for end in ("src", "dst"):
            names = self.of(table[end].combine_chunks())
            table = table.set_column(table.column_names.index(end), end, names)
        return table

    def of_paths(self, paths: Any) -> Any:
        """Return a column of paths whose ends are names in place of vertices."""
        paths = paths.combine_chunks()
        edges = arrow.Table.from_struct_array(paths.flatten())
        named = self.of_edges(edges).to_struct_array().combine_chunks()
        lists = arrow.LargeListArray.from_arrays(paths.offsets, named)
        return arrow.chunked_array([lists])

    def _ask(self, query: str, column: str, values: Any) -> Any:
        table = arrow.table({column: values})
        found = self._connection.exchange({"graph": self._graph, "query": query}, table)
        answer = found.column(0).combine_chunks()
        return answer.fill_null(-1) if query == "vertices" else answer


def _column(names: Any) -> Any:
    """Return names as an Arrow array."""
    if isinstance(names, arrow.Array):
        return names
    if isinstance(names, arrow.ChunkedArray):
        return names.combine_chunks()
    array = as_array(names, "names")
    values = array.tolist() if array.dtype == object else array
    try:
        try:
            return arrow.array(values)
        except OverflowError:
            return arrow.array(values, arrow.uint64())
    except (arrow.ArrowException, OverflowError) as error:
        raise InputError(
            f"names of several types, or beyond 64 bits ({first_line(error)}); give "
            "integers or texts"
        ) from error
