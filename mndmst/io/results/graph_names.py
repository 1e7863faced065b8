"""The names, or first ids, of a graph's vertices, and the graph that a forest is of.

Names are read from the files of the graph; edges get them, and requests search them.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import numpy as np

from ...graph.order import id_dtype
from ...host.errors import InputError
from ...host.memory import FREE_MEMORY, Budget
from ...host.memory_costs import ORDERED_INTEGER_BYTES, ORDERED_NAME_BYTES
from .. import memory_limit
from ..edge_file import Edges, is_sparse
from ..memory_limit import check_room
from ..names import (
    PIECE,
    IdRange,
    IntegerNames,
    NameIndex,
    NameKind,
    Names,
    NameSource,
    distinct_names,
    joined_names,
)
from ..shards.shard_writer import OriginalIds, VertexIds
from ..shards.sharded_graph import ShardedGraph, open_graph
from .forest_file import NamesLocation, read_forest


class GraphNames(NameSource):
    """The names, or original ids, of a graph's vertices, read on demand."""

    def __init__(self, graph: ShardedGraph) -> None:
        self.graph = graph
        self.kind = graph.names or NameKind.INT64
        self._all: Names | None = None

    def __len__(self) -> int:
        return self.graph.num_vertices

    def take(self, positions: np.ndarray | slice) -> Names:
        """Return the names at some positions, in memory."""
        if self._all is not None:
            return self._all.take(positions)
        if isinstance(positions, slice):
            begin, end, _ = positions.indices(len(self))
            return self._read(begin, max(begin, end))
        wanted, ranks = np.unique(positions, return_inverse=True)
        pieces = [self._read(0, 0)]
        cuts = range(0, len(self), PIECE)
        for low in cuts:
            first, last = np.searchsorted(wanted, (low, low + PIECE)).tolist()
            if first < last:
                piece = self._read(low, min(low + PIECE, len(self)))
                pieces.append(piece.take(wanted[first:last] - low))
        return joined_names(pieces).take(ranks)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold all names in memory inside the block, if they fit."""
        if self.nbytes <= memory_limit.room(FREE_MEMORY) // 2:
            self._all = self._read(0, len(self))
        try:
            yield
        finally:
            self._all = None

    @property
    def nbytes(self) -> int:
        """Bytes of all names in memory."""
        if self.graph.names is None or self.kind.is_integer:
            return 8 * len(self)
        return self.graph.text_bytes() + 8 * (len(self) + 1)

    def find(self, wanted: Names) -> np.ndarray:
        """Return the vertices that have some names of the graph's kind; -1 for none."""
        return NameIndex.of(self._read(0, len(self))).find(wanted)

    def _read(self, begin: int, end: int) -> Names:
        if self.graph.names is not None:
            return self.graph.read_names(begin, end)
        return IntegerNames(self.graph.read_original_ids(begin, end))


def names_of_graph(graph: ShardedGraph) -> GraphNames | IdRange | None:
    """Return the names of a graph's vertices; None where they are their numbers."""
    if graph.id_range is not None:
        return graph.id_range
    return GraphNames(graph) if graph.has_names else None


def vertex_ids(graph: ShardedGraph) -> VertexIds | None:
    """Return the names or original ids to keep in a graph made of another one."""
    if graph.names is not None:
        return GraphNames(graph)
    if not graph.reordered:
        return graph.id_range
    ids = graph.read_original_ids(0, graph.num_vertices)
    bound = graph.original_vertices or graph.num_vertices
    return OriginalIds(ids, bound, graph.first_id)


def names_location(graph: ShardedGraph) -> NamesLocation | None:
    """Return a forest's reference to the graph's names; None if it needs none."""
    if not graph.has_names or graph.id_range is not None:
        return None
    return NamesLocation(graph.uuid, str(graph.location))


def graph_of_forest(forest: Path, graph: Path) -> ShardedGraph:
    """Open the graph that a forest is of, or the one that keeps its names."""
    opened, header = open_graph(graph), read_forest(forest).header
    known = {header.graph_uuid} | ({header.names.uuid} if header.names else set())
    if opened.uuid not in known:
        raise InputError(
            f"{forest}: is the forest of graph {header.graph_uuid}, and {graph} is "
            f"{opened.uuid}. Give the graph it was solved from."
        )
    return opened


def names_of_forest(forest: Path, graph: Path | None = None) -> NameSource | None:
    """Return the names of a forest's vertices; None where they are their numbers.

    `graph` has them, by default where the forest says it is; InputError if it is not
    there.
    """
    if graph is not None:
        return names_of_graph(graph_of_forest(forest, graph))
    file = read_forest(forest)
    location = file.header.names
    if location is None:
        return file.header.id_range or file.read_names()
    for directory in (forest.parent / location.relative, Path(location.path)):
        with suppress(InputError):
            opened = open_graph(directory, check=False)
            if opened.uuid == location.uuid:
                return names_of_graph(opened)
    raise InputError(
        f"{forest}: its vertices have names, which the graph {location.uuid} keeps, "
        f"and {location.path} is not that graph any more. Say where it is with "
        "--graph, or give --numbers for numbers."
    )


def with_vertex_ids(
    edges: Edges, graph: ShardedGraph, budget: Budget = FREE_MEMORY
) -> Edges:
    """Return edges, each once, with the names or original ids of a graph's vertices.

    Under original ids they are sorted by (src, dst), src < dst.
    """
    if graph.names is not None:
        is_integer = graph.names.is_integer
        per_name = ORDERED_INTEGER_BYTES if is_integer else ORDERED_NAME_BYTES
        nbytes = per_name * graph.num_vertices
        if not is_integer:
            nbytes += graph.text_bytes()
        check_room(budget, graph.path, nbytes, "the list of its vertices' names")
        return with_names(edges, graph.read_names(0, graph.num_vertices), graph.path)
    edges = replace(edges, first_id=graph.first_id)
    if not graph.reordered:
        return edges
    original = graph.read_original_ids(0, graph.num_vertices) - graph.first_id
    bound = graph.original_vertices or graph.num_vertices
    return _renumbered(edges, original, bound)


def with_listed_ids(edges: Edges, graph: ShardedGraph | None = None) -> Edges:
    """Return edges for a format that lists all vertices.

    The edges of a graph have been through `with_vertex_ids`. Ids that are far apart
    become names: the list has the vertices of the graph, or without a graph the ends of
    edges, and not each number up to the largest id.
    """
    is_list = graph is None or (graph.names is None and graph.reordered)
    if not is_list or not is_sparse(edges.num_vertices, len(edges)):
        return edges
    if graph is None:
        ids = np.unique(np.concatenate((edges.src, edges.dst)))
    else:
        ids = np.sort(graph.read_original_ids(0, graph.num_vertices)) - graph.first_id
    dtype = id_dtype(len(ids))
    src, dst = (
        np.searchsorted(ids, ends).astype(dtype) for ends in (edges.src, edges.dst)
    )
    names = IntegerNames(ids.astype(np.int64) + edges.first_id)
    return replace(
        edges, num_vertices=len(ids), src=src, dst=dst, names=names, first_id=0
    )


def with_names(edges: Edges, names: Names, path: Path) -> Edges:
    """Return edges with names, numbered in the order of these; `path` is for errors."""
    if names.ascend():
        return replace(edges, names=names)
    ordered, numbers = distinct_names(names)
    if len(ordered) < len(names):
        raise InputError(
            f"{path}: two vertices have the same name. Make the graph again."
        )
    return replace(_renumbered(edges, numbers, len(names)), names=ordered)


def _renumbered(edges: Edges, numbers: np.ndarray, bound: int) -> Edges:
    """Return edges under other numbers, src < dst, sorted by (src, dst)."""
    ends = numbers[np.stack((edges.src, edges.dst))].astype(id_dtype(bound))
    src, dst = np.sort(ends, axis=0)
    order = np.lexsort((dst, src))
    return Edges(
        bound, src[order], dst[order], edges.weight[order], edges.directed,
        first_id=edges.first_id,
    )  # fmt: skip
