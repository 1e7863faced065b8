"""The third program: the forest of a graph, after changes of the graph.

The graph is read, but not solved again: the new forest is computed from the old one,
and from the rows of the smaller pieces that deletions cut off.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from .changes.batch import Batch
from .changes.changing import ChangingForest
from .changes.edges import pairs_of
from .changes.forest_difference import EdgeDifference, TreeDifference, tree_difference
from .changes.table import read_changes
from .comm.communicator import Comm
from .comm.placement import locate
from .graph.model import EdgeList, Rows
from .host.errors import InputError
from .host.memory import Budget
from .host.progress import Progress, process_start
from .io.atomic_output import AtomicOutput, Output, check_on_all
from .io.names import IdRange, IntegerNames
from .io.output_kinds import FOREST_CHANGES, FOREST_OR_TABLE
from .io.partitioner.write_parts import check_new, graph_uuid, write_rows
from .io.results.digest_and_total import exact_total, forest_digest
from .io.results.forest_file import ForestHeader, NamesLocation, read_forest
from .io.results.graph_names import (
    GraphNames,
    names_location,
    names_of_graph,
    vertex_ids,
)
from .io.results.text_tables import COLUMNS, write_table
from .io.shards.sharded_graph import ShardedGraph, open_graph
from .kernels.edge_order import in_row_order
from .solver.read import balanced_vtxdist, begin_read, keep_to_host
from .solver.startup import compile_kernels
from .solver.write import Summary, write_forest_files
from .tree.index import ForestIndex


@dataclass(frozen=True)
class Files:
    """The inputs and outputs; a graph is written only on request.

    `forests_out` are files and tables of the forest; see `write_forest_files`.
    `forest_changes` is a table of the edges that leave and enter the forest, and
    `tree_changes` one of the trees that are joined and split. `overwrite` replaces
    files that are not earlier results, and a graph. `numbers` writes numbers of
    vertices to tables, although they have names.
    """

    graph: Path
    forest: Path
    changes: Path
    forests_out: Sequence[Path]
    graph_out: Path | None = None
    overwrite: bool = False
    numbers: bool = False
    forest_changes: Path | None = None
    tree_changes: Path | None = None

    @property
    def outputs(self) -> list[Output]:
        """All files that are written, but those of the graph."""
        forests: list[Output] = [(file, FOREST_OR_TABLE) for file in self.forests_out]
        changes = self.forest_changes, self.tree_changes
        return forests + [(file, FOREST_CHANGES) for file in changes]


def update(
    comm: Comm, files: Files, memory: int, threads: int, progress: Progress
) -> Summary:
    """Write the forest of a graph after changes. Collective.

    A rank may hold `memory` bytes (0: its share of the host), and reads its rows with a
    number of threads (0: its share of the cores). The result is the same on every rank.
    Raises MndmstError on every rank if an input, the memory or an output cannot be
    used.
    """
    inputs = files.graph, files.forest, files.changes
    check_on_all(comm, inputs, files.outputs, overwrite=files.overwrite)
    with comm.raise_on_all():
        if comm.rank == 0 and files.graph_out is not None:
            check_new(files.graph_out, comm.size, files.overwrite, files.graph)
        graph = open_graph(files.graph, check=comm.rank == 0)
    compile_kernels(comm, "update", graph.weight_dtype, progress)
    index, batch = None, None
    with comm.raise_on_all():
        if comm.rank == 0:
            index = read_index(files.forest, graph)
            names = names_of_graph(graph)
            given = None if graph.names is None else names
            batch = read_changes(files.changes, graph.weight_dtype, given)
            if given is None and names is not None:
                batch = _in_present_ids(batch, names)
            batch = replace(batch, names=names)
    progress.say("reading the rows")
    rows, num_edges = _read(comm, graph, memory, threads or locate(comm).share)
    progress.say("applying the changes")
    changing = ChangingForest(
        comm, rows, graph.weight_dtype, index, maximum=graph.maximum
    )
    applied = changing.apply(batch)
    num_edges += applied.inserted - applied.deleted
    progress.say("writing")
    return _write(comm, files, graph, changing, num_edges)


def read_index(path: Path, graph: ShardedGraph) -> ForestIndex:
    """Read the forest of a graph, and index it.

    Raises InputError if it is damaged, is not a forest, or is of another graph.
    """
    file = read_forest(path)
    if file.header.graph_uuid != graph.uuid:
        raise InputError(
            f"{path}: is the forest of graph {file.header.graph_uuid}, and "
            f"{graph.path} is {graph.uuid}. Give the graph it was solved from."
        )
    if file.header.maximum != graph.maximum:
        kinds = ("minimum", "maximum")
        raise InputError(
            f"{path}: is a {kinds[file.header.maximum]} spanning forest, and "
            f"{graph.path} is a graph for {kinds[graph.maximum]} forests. Solve again."
        )
    src, dst, weight = file.read(0, file.num_edges)
    if not ((src < dst).all() and in_row_order(src, dst)):
        raise InputError(f"{path}: its edges do not ascend. Verify it, or solve again.")
    try:
        return ForestIndex(graph.num_vertices, src, dst, weight, graph.maximum)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def _in_present_ids(batch: Batch, ids: GraphNames | IdRange) -> Batch:
    """Return changes with the ids of a graph's rows, given the ids of its file.

    Raises InputError for an id that no vertex of the graph had in the file.
    """
    ends = np.concatenate((batch.src, batch.dst))
    vertices = ids.find(IntegerNames(ends))
    if (vertices < 0).any():
        missing = int((vertices < 0).argmax())
        where = batch.where(missing % len(batch.src))
        if isinstance(ids, IdRange):
            raise InputError(
                f"{where}: names vertex {ends[missing]}, but ids run from {ids.first} "
                f"to {ids.last}. Leave it out."
            )
        raise InputError(
            f"{where}: the graph has no vertex {ends[missing]}. Leave the change out, "
            "or make the graph again with the vertex."
        )
    src, dst = np.split(vertices, 2)
    return replace(batch, src=src, dst=dst)


def _read(
    comm: Comm, graph: ShardedGraph, memory: int, threads: int
) -> tuple[Rows, int]:
    """Return this rank's rows, and the number of edges of the graph."""
    budget = Budget(memory)
    if not budget.given:
        budget = keep_to_host(comm, graph, budget, lambda: None)
    vtxdist = balanced_vtxdist(comm, graph)
    reading = begin_read(comm, graph, vtxdist, budget, threads)
    num_edges = reading.finish()
    if reading.stored:
        with comm.raise_on_all():
            raise reading.budget.exceeded(graph.path, "the rows of a rank", comm.size)
    return reading.rows, num_edges


def _write(
    comm: Comm,
    files: Files,
    graph: ShardedGraph,
    changing: ChangingForest,
    num_edges: int,
) -> Summary:
    """Write the forest, and on request the graph and the difference of the forests."""
    dtype, rows = graph.weight_dtype, changing.rows.current()
    with comm.raise_on_all():
        original = vertex_ids(graph)
    uuid = graph_uuid(comm, rows, dtype, original, graph.maximum)
    if files.graph_out is not None:
        write_rows(
            comm, files.graph_out, rows, dtype, uuid, original, files.overwrite,
            graph.maximum,
        )  # fmt: skip
    edges = EdgeList.empty(rows.indices.dtype, rows.keys.dtype)
    if changing.forest is not None:
        edges = changing.forest.edges()
    weights = graph.weights(edges.key)
    total, digest = exact_total(comm, weights), forest_digest(comm, edges.u, edges.v)
    names_file = names_location(graph)
    if names_file is not None and files.graph_out is not None:
        names_file = NamesLocation(uuid, str(files.graph_out))
    first = 0 if graph.id_range is None else graph.id_range.first
    header = ForestHeader(
        uuid,
        graph.num_vertices,
        total,
        digest,
        names=names_file,
        first_id=first,
        maximum=graph.maximum,
    )
    with AtomicOutput(comm, files.overwrite) as outputs:
        write_forest_files(
            outputs, files.forests_out, graph, edges, weights, lambda: header,
            files.numbers,
        )  # fmt: skip
        names = None if files.numbers else names_of_graph(graph)
        for path, titles, columns in _differences(files, changing, edges, uuid):
            write_table(outputs, path, titles, columns, names, FOREST_CHANGES)
    count = comm.sum(len(edges))
    seconds = comm.max(time.monotonic() - process_start())
    trees = graph.num_vertices - count
    return Summary(
        graph.num_vertices,
        num_edges,
        count,
        trees,
        total,
        digest,
        seconds,
        None,
        graph.maximum,
    )


def _differences(
    files: Files, changing: ChangingForest, edges: EdgeList, uuid: str
) -> Iterator[tuple[Path, Sequence[str], Sequence[np.ndarray]]]:
    """Yield the path, the header and the columns of each requested difference.

    `edges` are those of the forest on rank 0; other ranks have no rows. `uuid` is that
    of the changed graph.
    """
    difference, dtype = changing.difference, changing.weight_dtype
    if files.forest_changes is not None:
        versions = np.array([uuid])
        changes = EdgeDifference.of([difference], versions, dtype, changing.maximum)
        yield files.forest_changes, (*COLUMNS, "change", "version"), changes
    if files.tree_changes is not None:
        num_vertices = changing.rows.rows.num_vertices
        pairs = pairs_of(edges.u, edges.v)
        trees = tree_difference(num_vertices, pairs, difference, uuid)
        yield files.tree_changes, TreeDifference._fields, trees
