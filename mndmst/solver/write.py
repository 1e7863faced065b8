"""Step 8: every rank writes the forest edges that begin at its vertices.

Forest edges are on the ranks that computed them. Each edge goes to the owner of its
smaller end, so the forest is sorted over all ranks, the file is the same for every
number of ranks, and no rank holds all of it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

import numpy as np

from ..comm.directory import Directory
from ..graph.model import EdgeList, insertion_positions
from ..io.atomic_output import AtomicOutput
from ..io.names import IdRange
from ..io.output_kinds import FOREST_OR_TABLE
from ..io.results.digest_and_total import begin_digest, total_of_keys
from ..io.results.forest_file import ForestHeader
from ..io.results.forest_file import write_forest as write_forest_file
from ..io.results.graph_names import names_location, names_of_graph
from ..io.results.text_tables import COLUMNS, SEPARATORS, write_table
from ..io.shards.sharded_graph import ShardedGraph
from ..kernels.edge_columns import concatenate_columns, take_columns
from ..kernels.edge_order import in_order, is_in_order
from ..kernels.group_by_owner import group_by_owner
from ..kernels.threads import ALONE, Threads
from .run import Run
from .run_report import write_report


class _ForestFacts(TypedDict):
    """Facts of a forest for the summary, the report and the files."""

    num_vertices: int
    num_edges: int
    forest_edges: int
    trees: int
    weight: int | float
    digest: str  # empty until it has been computed


@dataclass(frozen=True, repr=False)
class Summary:
    """The result of a run; printed, it is the line RESULT."""

    num_vertices: int
    num_edges: int  # distinct undirected edges without self-loops
    forest_edges: int
    trees: int
    weight: int | float  # exact for integers, correctly rounded for floats
    digest: str  # SHA-256 over the forest's sorted (src, dst) pairs
    seconds: float
    report: dict[str, object] | None  # the run's report, on rank 0
    maximum: bool = False  # whether it is a maximum spanning forest

    def __repr__(self) -> str:
        return self.line()

    def line(self) -> str:
        """Return the line that `solve` ends with."""
        return (
            f"RESULT n={self.num_vertices} m={self.num_edges} "
            f"edges={self.forest_edges} trees={self.trees} weight={self.weight} "
            f"digest={self.digest} seconds={self.seconds:.3f}"
            + " order=maximum"
            * self.maximum
        )


def write_forest(
    run: Run,
    paths: Sequence[Path],
    with_labels: bool,
    record_path: Path | None,
    overwrite: bool = False,
    with_numbers: bool = False,
) -> Summary:
    """Sort the forest, compute its weight and digest, and write it. Collective.

    `paths` and `record_path` are the files of the forest and the report; see
    `write_forest_files`. `with_labels` adds each vertex's tree. With `overwrite` the
    outputs may replace files that are not earlier results.
    """
    comm, graph = run.comm, run.graph
    with run.report.stage("sort"):
        edges = send_to_owners(run.directory, run.state.forest_edges, run.threads)
        count = comm.sum(len(edges))
    with run.report.stage("digest"):
        finish_digest = begin_digest(comm, edges.u, edges.v)
        weights = graph.weights(edges.key)
        keys, dtype = [edges.key], graph.weight_dtype
        weight = total_of_keys(comm, keys, dtype, run.threads, graph.maximum)
    results: _ForestFacts = {
        "num_vertices": graph.num_vertices,
        "num_edges": run.num_edges,
        "forest_edges": count,
        "trees": graph.num_vertices - count,
        "weight": weight,
        "digest": "",
    }
    config = run.config.as_dict()
    kind = {"maximum": True} if graph.maximum else {}

    def header() -> ForestHeader:
        results["digest"] = results["digest"] or finish_digest()
        record = run.report.gather(config=config, **results, **kind) or {}
        return ForestHeader(
            graph.uuid,
            graph.num_vertices,
            weight,
            results["digest"],
            config,
            record,
            names_location(graph),
            graph.maximum,
            _ids(graph).first,
        )

    with AtomicOutput(comm, overwrite) as outputs:
        if paths:
            with run.report.stage("write"):
                labels = smallest_vertices(run.directory) if with_labels else None
                write_forest_files(
                    outputs, paths, graph, edges, weights, header, with_numbers,
                    labels, run.threads,
                )  # fmt: skip
        if not results["digest"]:
            with run.report.stage("digest"):
                results["digest"] = finish_digest()
        final = run.report.gather(config=config, **results, **kind)
        if record_path is not None:
            write_report(outputs, record_path, final)
    seconds = comm.max(run.report.seconds)
    return Summary(**results, seconds=seconds, report=final, maximum=graph.maximum)


def write_forest_files(
    outputs: AtomicOutput,
    paths: Sequence[Path],
    graph: ShardedGraph,
    edges: EdgeList,
    weights: np.ndarray,
    header: Callable[[], ForestHeader],
    with_numbers: bool,
    labels: np.ndarray | None = None,
    threads: Threads = ALONE,
) -> None:
    """Write the forest of a graph to each of some files. Collective.

    A file is a table if its suffix is that of one, with the names of vertices unless
    `with_numbers`. Others are forest files; see `io.results.forest_file.write_forest`.
    """
    for path in paths:
        if path.suffix in SEPARATORS:
            names = None if with_numbers else names_of_graph(graph)
            table = edges.u, edges.v, weights
            write_table(outputs, path, COLUMNS, table, names, FOREST_OR_TABLE)
        else:
            ids = _ids(graph)
            write_forest_file(
                outputs, path, edges, weights, header, ids, labels, threads
            )


def _ids(graph: ShardedGraph) -> IdRange:
    return graph.id_range or IdRange(0, graph.num_vertices)


def send_to_owners(
    directory: Directory, lists: list[EdgeList], threads: Threads = ALONE
) -> EdgeList:
    """Send every edge to the owner of its smaller end; return this rank's in order.

    Collective. Empties `lists`. The longest list is not copied if it is in order and
    this rank owns its smaller ends, as after a solve by one GPU or in pieces of rows.
    """
    longest = max(lists, key=len)
    none = longest.take(np.empty(0, np.int64))
    others = [none, *(edges for edges in lists if edges is not longest)]
    lists.clear()
    if not _is_final(directory, longest, threads):
        longest, others = none, [longest, *others]
    received = owned_edges(directory, others, threads)
    if len(longest) == 0 or len(received) == 0:
        return longest if len(longest) else received
    positions = insertion_positions(longest, received)
    columns, more = ([edges.u, edges.v, edges.key] for edges in (longest, received))
    del longest, others, received
    merged = []
    while columns:  # frees each column after its merge
        merged.append(np.insert(columns.pop(0), positions, more.pop(0)))
    return EdgeList(*merged)


def _is_final(directory: Directory, edges: EdgeList, threads: Threads) -> bool:
    """Return whether edges are in order, and this rank owns their smaller ends."""
    u = edges.u
    if len(u) == 0 or u[0] < directory.first or u[-1] >= directory.last:
        return False
    return is_in_order(edges, threads)


def owned_edges(
    directory: Directory, lists: list[EdgeList], threads: Threads
) -> EdgeList:
    """Return the edges of all ranks whose smaller end this rank owns, in order.

    Collective. Of parallel edges only the lightest stays.
    """
    none = lists[0].take(np.empty(0, np.int64))
    owned = [edges for edges in lists if _owns_all(directory, edges.u)]
    others = [edges for edges in lists if not _owns_all(directory, edges.u)]
    if directory.comm.size == 1:
        return in_order(EdgeList(*_concatenated([*owned, none], threads)), threads)
    columns = _concatenated([*others, none], threads)
    order, counts = group_by_owner(columns[0], directory.vtxdist)
    _, received = directory.comm.alltoallv(
        counts, *take_columns(columns, order, threads)
    )
    every = _concatenated([*owned, EdgeList(*received)], threads)
    return in_order(EdgeList(*every), threads)


def _owns_all(directory: Directory, u: np.ndarray) -> bool:
    """Return whether this rank owns all of some vertices."""
    return len(u) == 0 or bool(u.min() >= directory.first and u.max() < directory.last)


def _concatenated(lists: Sequence[EdgeList], threads: Threads) -> list[np.ndarray]:
    """Return the columns of the edges of all lists; a single list is not copied."""
    occupied = [edges.columns for edges in lists if len(edges)]
    return concatenate_columns(occupied or [lists[0].columns], threads)


def smallest_vertices(directory: Directory) -> np.ndarray:
    """Return the smallest vertex in the tree of each owned vertex. Collective."""
    directory.resolve()
    names, first = np.unique(directory.parent, return_index=True)
    names = names.astype(np.int64)
    _, (name, vertex) = directory.comm.alltoallv(
        directory.count_by_owner(names), names, first + directory.first
    )
    smallest = np.full(len(directory.parent), directory.vtxdist[-1])
    np.minimum.at(smallest, name - directory.first, vertex)
    representatives = Directory(directory.comm, directory.vtxdist)
    representatives.parent = smallest
    return representatives.lookup_any(directory.parent.astype(np.int64))
