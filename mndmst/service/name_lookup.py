"""Names of a graph's vertices: in memory on rank 0, and as a client looks them up.

No batch of changes adds or removes a vertex, so every version has the same names.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ..api.inputs import as_array
from ..host.errors import InputError, optional
from ..host.memory_costs import (
    ANSWER_LETTER_BYTES,
    ANSWER_NAME_BYTES,
    FOUND_NAME_BYTES,
    FOUND_NAME_COPIES,
    ORDERED_NAME_BYTES,
    READ_NAMES_COPIES,
)
from ..io.file_access import first_line
from ..io.names import (
    IdRange,
    IntegerNames,
    NameIndex,
    NameKind,
    Names,
    TextNames,
    escaped,
)

if TYPE_CHECKING:  # loads HDF5, which clients spare
    import pyarrow

    from ..io.results.graph_names import GraphNames
    from .connection import Connection
    from .limits import ServiceMemory

arrow = optional("pyarrow", "serve", "The service needs")

# The queries about names, and the column that each takes
NAME_QUERIES = {"vertices": "name", "names": "vertex"}
# Largest number of names in one table of an answer
ANSWER_NAMES = 1 << 14


class NameLookup:
    """The vertices of names, and the names of vertices; immutable.

    `graph` is the name of the graph in errors; `names` is read as a whole. Raises
    ConfigError if the names do not fit the `memory`, which then counts them.
    """

    def __init__(
        self, graph: str, names: "GraphNames | Names", memory: "ServiceMemory"
    ) -> None:
        self._graph, self._kind, self._memory = graph, names.kind, memory
        what = f"the names of the vertices of {graph}"
        with memory.hold(READ_NAMES_COPIES * names.nbytes, what):
            self._names = names.take(slice(None))
        held = self._names.nbytes
        if self._names.ascend():
            self._index = NameIndex(self._names)
        else:  # of a reordered graph
            with memory.hold(held + ORDERED_NAME_BYTES * len(names), what):
                self._index = NameIndex.of(self._names)
            held += self._index.nbytes
        memory.add_graph(held)

    def answers(
        self, query: str, batch: "pyarrow.RecordBatch"
    ) -> Iterator["pyarrow.Table"]:
        """Yield tables that together have a row for each row of a batch.

        Raises InputError if the batch has another column, or there is no such vertex;
        ConfigError if a table does not fit the memory.
        """
        wanted = NAME_QUERIES[query]
        if batch.schema.names != [wanted]:
            raise InputError(f"the query {query} has one column, {wanted}")
        column = batch.column(0)
        if query == "vertices":
            nbytes = FOUND_NAME_BYTES * len(column) + FOUND_NAME_COPIES * column.nbytes
            what = f"the vertices of {len(column):,} names"
            with self._memory.hold_table(
                nbytes, what, lambda: self._vertices(column)
            ) as t:
                yield t
            return
        if column.null_count or not arrow.types.is_integer(column.type):
            raise InputError(
                f"the column vertex has type {column.type}, or null; give integers"
            )
        vertices = column.to_numpy(zero_copy_only=False)
        wrong = (vertices < 0) | (vertices >= len(self._names))
        if wrong.any():
            raise InputError(
                f"{vertices[wrong.argmax()]} is not a vertex of {self._graph}; they "
                f"are numbered from 0 to {len(self._names) - 1}"
            )
        for low in range(0, max(len(vertices), 1), ANSWER_NAMES):
            some = vertices[low : low + ANSWER_NAMES]
            nbytes = ANSWER_NAME_BYTES * len(some)
            nbytes += ANSWER_LETTER_BYTES * self._names.letters(some)
            what = f"the names of {len(some):,} vertices"
            named = partial(self._named, some)
            with self._memory.hold_table(nbytes, what, named) as table:
                yield table

    def _named(self, vertices: np.ndarray) -> "pyarrow.Table":
        """Return a table with the names of some vertices."""
        return arrow.table({"name": column_of_names(self._names.take(vertices))})

    def _vertices(self, column: "pyarrow.Array") -> "pyarrow.Table":
        """Return a table with the vertices that have some names; null for none."""
        wanted = names_of_column(self._graph, self._kind, column)
        vertices = self._index.find(wanted)
        return arrow.table({"vertex": arrow.array(vertices, mask=vertices < 0)})


def column_of_names(names: Names) -> "pyarrow.Array":
    """Return names as an Arrow array: integers, or texts as tables show them."""
    columns = names.columns()
    if names.kind.is_integer:
        return arrow.array(columns["integers"])
    begins, text = columns["begins"], columns["text"]
    buffers = [arrow.py_buffer(np.ascontiguousarray(c)) for c in (begins, text)]
    return arrow.LargeStringArray.from_buffers(len(names), *buffers)


def names_of_column(graph: str, kind: NameKind, column: "pyarrow.Array") -> Names:
    """Return the names in an Arrow array, if they are of the kind of a graph's names.

    Raises InputError if the array has other values.
    """
    types = arrow.types
    try:
        if kind.is_integer and types.is_integer(column.type) and not column.null_count:
            return IntegerNames(column.cast(kind.value).to_numpy(zero_copy_only=False))
    except arrow.ArrowInvalid:  # beyond 64 bits of the kind
        pass
    text = types.is_string(column.type) or types.is_large_string(column.type)
    if kind.is_integer or not text or column.null_count:
        what = f"integers of type {kind}" if kind.is_integer else "texts"
        raise InputError(
            f"the vertices of {graph} are named by {what}, not by values of type "
            f"{column.type}; give names, or ask the graph's `numbers` (--numbers)"
        )
    column = column.cast(arrow.large_string())
    _, begins, letters = column.buffers()
    first = column.offset
    begins_of_names = np.frombuffer(begins, np.int64)[first : first + len(column) + 1]
    return TextNames(kind, np.frombuffer(letters or b"", np.uint8), begins_of_names)


class RemoteNames:
    """The names of the vertices of one graph.

    Names are integers, or texts as tables show them: JSON where the kind is that.
    `id_range` has the same names, where they are consecutive integers.
    """

    def __init__(
        self,
        connection: "Connection",
        graph: str,
        kind: NameKind,
        id_range: IdRange | None = None,
    ) -> None:
        self.kind = kind
        self._connection, self._graph, self._id_range = connection, graph, id_range

    def find(self, wanted: Names) -> np.ndarray:
        """Return the vertices that have some names; -1 for none."""
        return np.asarray(self._ask("vertices", "name", column_of_names(wanted)))

    def numbers(self, names: object) -> np.ndarray:
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
            if self._id_range is not None:
                raise InputError(
                    f"no vertex {escaped(name)}: the ids of {self._graph} run from "
                    f"{self._id_range.first} to {self._id_range.last:,}"
                )
            raise InputError(
                f'no vertex of {self._graph} is named "{escaped(name)}"; give a name '
                "of the graph, or ask its `numbers` (--numbers)"
            )
        return vertices

    def of(self, vertices: "pyarrow.Array") -> "pyarrow.Array":
        """Return the names of vertices in an Arrow array, null where that is null."""
        coded = vertices.cast(arrow.int64()).dictionary_encode()
        return self._ask("names", "vertex", coded.dictionary).take(coded.indices)

    def of_columns(
        self, table: "pyarrow.Table", columns: Sequence[str]
    ) -> "pyarrow.Table":
        """Return a table with names in place of vertices in some columns."""
        for column in columns:
            names = self.of(table[column].combine_chunks())
            table = table.set_column(table.column_names.index(column), column, names)
        return table

    def of_paths(self, paths: "pyarrow.ChunkedArray") -> "pyarrow.ChunkedArray":
        """Return a column of paths whose ends are names in place of vertices."""
        paths = paths.combine_chunks()
        edges = arrow.Table.from_struct_array(paths.flatten())
        named = (
            self.of_columns(edges, ("src", "dst")).to_struct_array().combine_chunks()
        )
        lists = arrow.LargeListArray.from_arrays(paths.offsets, named)
        return arrow.chunked_array([lists])

    def _ask(self, query: str, column: str, values: "pyarrow.Array") -> "pyarrow.Array":
        sent = arrow.table({column: values})
        table = self._connection.exchange({"graph": self._graph, "query": query}, sent)
        answer = table.column(0).combine_chunks()
        return answer.fill_null(-1) if query == "vertices" else answer


def _column(names: object) -> "pyarrow.Array":
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
