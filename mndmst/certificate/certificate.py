"""The certificate: a forest file is refuted, or it is the minimum spanning forest.

A set of edges of the graph without a cycle is a spanning forest if no edge of the graph
joins two of its trees. It is the minimum one if no edge of the graph precedes, in the
order, the last edge on the forest path between its ends: the cycle property (Tarjan
1983; tested with a tree of merges as in King 1997).
"""

import time
from bisect import bisect_left
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import starmap
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..comm.communicator import Comm
from ..graph.model import Csr
from ..graph.order import weights_to_keys
from ..host.errors import ConfigError, InputError
from ..host.formatting import one_line
from ..io.results.forest_file import ForestFile, read_forest
from ..io.results.graph_names import names_of_graph
from ..io.shards.row_reading import read_rows
from ..io.shards.sharded_graph import ShardedGraph
from .candidate import (
    LIMIT,
    Candidate,
    Examination,
    Problem,
    WeightOrder,
    examine,
    header_differences,
    in_words,
    load_on_machine,
)
from .kernels import (
    APART,
    LIGHTER,
    MISSING,
    UNEQUAL,
    Links,
    check_arcs,
    last_on_path,
    match_edges,
)

PIECE_ARCS = 1 << 21  # a piece is at least one row, however long
PIECE_ROWS = 1 << 20

# Kinds of problems in the rows, in the order of the report.
KINDS = ("missing", "unequal", "apart", "lighter", "label")


class Findings(NamedTuple):
    """The result of testing some rows of the graph against the forest."""

    problems: dict[str, list[Problem]]  # the first problems of each of `KINDS`
    distinct: int  # undirected edges, without self-loops, parallel ones counted once
    balance: int  # modulo 2**64; the sum over all rows of a symmetric graph is zero


@dataclass(frozen=True)
class Verdict:
    """The result of verifying a forest file.

    `weight` and `digest` are computed from the edges; they are None if the headers show
    that the forest is of another graph, because its edges are then not read.
    """

    n: int  # vertices of the graph
    edges: int  # of the forest
    problems: list[str]  # the reasons of a refutation, at most ten of each kind
    seconds: float
    # undirected edges of the graph, without self-loops, parallel ones counted once;
    # None if the forest was refuted before the graph was read
    m: int | None = None
    # trees of the forest; None if its edges have not been searched for cycles
    trees: int | None = None
    weight: int | float | None = None
    digest: str | None = None
    maximum: bool = False  # whether the graph is one for maximum forests

    @property
    def ok(self) -> bool:
        """Whether the file is the spanning forest of the graph."""
        return not self.problems

    def text(self) -> str:
        """Return the problems, one per line, and the line VERDICT."""
        m, trees, weight, digest = (
            "unknown" if fact is None else fact
            for fact in (self.m, self.trees, self.weight, self.digest)
        )
        summary = (
            f"VERDICT {'ok' if self.ok else 'refuted'} n={self.n} m={m} "
            f"edges={self.edges} trees={trees} weight={weight} "
            f"digest={digest} seconds={self.seconds:.3f}"
            + " order=maximum"
            * self.maximum
        )
        return "\n".join([*map(one_line, self.problems), summary])


def verify(
    comm: Comm, graph: ShardedGraph, forest_path: str | Path, threads: int = 1
) -> Verdict:
    """Decide whether a forest file is the minimum spanning forest of a graph.

    Collective. The verdict is the same on every rank and for every number of ranks,
    with names of vertices if the graph has any. Each machine holds the forest once
    (`candidate.load`); each thread of a rank reads and tests a piece of rows
    (`pieces`). Raises InputError if a file is damaged, or the graph is not symmetric;
    ConfigError if the ranks of a machine lack memory to share the forest, or `threads`
    is below 1.
    """
    begin = time.perf_counter()
    with comm.raise_on_all():
        if threads < 1:
            raise ConfigError(f"--threads {threads}: give 1 or more")
        forest = read_forest(forest_path)
    differing = comm.bcast(header_differences(graph, forest))
    if differing:
        seconds = comm.max(time.perf_counter() - begin)
        return Verdict(
            graph.num_vertices,
            forest.num_edges,
            differing,
            seconds,
            maximum=graph.maximum,
        )
    with comm.raise_on_all():
        first = examine(graph, forest) if comm.rank == 0 else None
    examined: Examination = comm.bcast(first)
    problems: list[Problem] = [
        *examined.faults, *((text,) for text in examined.differences)
    ]  # fmt: skip
    m = trees = None
    if not examined.faults:
        node = comm.node()
        with comm.raise_on_all():  # all ranks of a machine raise the same error
            candidate = load_on_machine(node, forest)
        findings = _test_rows(comm, graph, forest, candidate, threads)
        m = findings.distinct
        trees = graph.num_vertices - forest.num_edges + len(candidate.closing)
        problems += [
            (*candidate.describe(edge, _order(graph)), " closes a cycle")
            for edge in candidate.closing[:LIMIT]
        ]
        problems += [each for kind in KINDS for each in findings.problems[kind]]
    with comm.raise_on_all():
        names = names_of_graph(graph) if problems else None
        texts = [in_words(problem, names) for problem in problems]
    seconds = comm.max(time.perf_counter() - begin)
    return Verdict(
        n=graph.num_vertices,
        edges=forest.num_edges,
        problems=texts,
        seconds=seconds,
        m=m,
        trees=trees,
        weight=examined.weight,
        digest=examined.digest,
        maximum=graph.maximum,
    )


def _test_rows(
    comm: Comm,
    graph: ShardedGraph,
    forest: ForestFile,
    candidate: Candidate,
    threads: int,
) -> Findings:
    """Test all rows of the graph against the forest; each rank tests a share."""
    check = partial(check_rows, graph, forest, candidate)
    with comm.raise_on_all():
        # The first call, without rows, compiles the kernels before threads use them.
        parts = [check(0, 0)]
        shares = pieces(graph, comm.rank, comm.size)
        if threads > 1:
            with ThreadPoolExecutor(threads) as pool:
                parts += pool.map(lambda rows: check(*rows), shares)
        else:
            parts += starmap(check, shares)
    collected = comm.gather(merge(parts))
    findings: Findings = comm.bcast(merge(collected) if collected else None)
    with comm.raise_on_all():
        if findings.balance:
            raise InputError(
                f"{graph.path}: some edge does not stand in the rows of both its ends "
                "with the same weight. Make the graph again."
            )
    return findings


def merge(parts: list[Findings]) -> Findings:
    """Combine the findings of consecutive rows."""
    problems = {
        kind: [each for part in parts for each in part.problems[kind]][:LIMIT]
        for kind in KINDS
    }
    balance = sum(part.balance for part in parts) % (1 << 64)
    return Findings(problems, sum(part.distinct for part in parts), balance)


def pieces(
    graph: ShardedGraph,
    part: int,
    parts: int,
    most_arcs: int = PIECE_ARCS,
    most_rows: int = PIECE_ROWS,
) -> Iterator[tuple[int, int]]:
    """Yield row ranges of bounded size in share `part` of `parts` equal shares of arcs.

    Raises InputError if a part of the graph is damaged.
    """
    begin, end = (_row_at(graph, part + k, parts) for k in (0, 1))
    for low in range(begin, end, most_rows):
        indptr = graph.read_indptr(low, min(low + most_rows, end))
        row = 0
        while row < len(indptr) - 1:
            fit = int(np.searchsorted(indptr, indptr[row] + most_arcs, "right")) - 1
            stop = max(row + 1, fit)
            yield low + row, low + stop
            row = stop


def _row_at(graph: ShardedGraph, part: int, parts: int) -> int:
    """Return the first row of a share of the arcs; rows are not divided."""
    arc = graph.num_arcs * part // parts
    if part in (0, parts):
        return graph.num_vertices if part else 0
    return bisect_left(
        range(graph.num_vertices),
        arc,
        key=lambda row: int(graph.read_indptr(row, row + 1)[0]),
    )


def check_rows(
    graph: ShardedGraph, forest: ForestFile, candidate: Candidate, begin: int, end: int
) -> Findings:
    """Test the rows [begin, end) against the forest.

    Raises InputError if a file is damaged.
    """
    indptr, indices, weights = read_rows(graph, begin, end)
    rows = CheckedRows(
        begin,
        indptr,
        indices,
        weights_to_keys(weights, graph.maximum),
        _order(graph),
    )
    problems = dict(_absent_edges(rows, candidate))
    flaw = np.zeros(len(indices), np.uint8)
    vertices = np.arange(begin, end, dtype=indices.dtype)
    heads, nodes = candidate.nodes(vertices), candidate.nodes(indices)
    links = Links(
        candidate.a, candidate.b, candidate.ranked, candidate.edge, candidate.link
    )
    distinct, balance = check_arcs(rows.csr, heads, nodes, links, flaw)
    problems["apart"] = [
        (
            *rows.describe(arc),
            " joins two trees: the forest does not span its component",
        )
        for arc in np.flatnonzero(flaw == APART)[:LIMIT]
    ]
    problems["lighter"] = [
        _lighter(rows, candidate, arc)
        for arc in np.flatnonzero(flaw == LIGHTER)[:LIMIT]
    ]
    problems["label"] = []
    if forest.has_labels:
        labels = forest.read_labels(begin, end)
        problems["label"] = _wrong_labels(labels, candidate, vertices, heads)
    return Findings(problems, distinct, balance)


def _order(graph: ShardedGraph) -> WeightOrder:
    return WeightOrder(graph.weight_dtype, graph.maximum)


class CheckedRows(NamedTuple):
    """Rows of a graph, and the order of their weights for messages."""

    first: int
    indptr: np.ndarray
    indices: np.ndarray
    keys: np.ndarray
    order: WeightOrder

    @property
    def csr(self) -> Csr:
        """The rows for a kernel."""
        return Csr(self.first, self.indptr, self.indices, self.keys)

    def ends(self, arc: int) -> np.ndarray:
        """Return the two vertices of an arc."""
        row = np.searchsorted(self.indptr, arc, "right") - 1
        return np.array([self.first + row, self.indices[arc]], self.indices.dtype)

    def describe(self, arc: int) -> Problem:
        """Return the text of an arc."""
        return self.order.edge(self.ends(arc), self.keys[arc])


def _absent_edges(
    rows: CheckedRows, candidate: Candidate
) -> Iterator[tuple[str, list[Problem]]]:
    """Yield the problems of forest edges that differ from these rows."""
    ends = rows.first, rows.first + len(rows.indptr) - 1
    low, high = (
        bisect_left(candidate.a, end, key=lambda node: int(candidate.ids(node)))
        for end in ends
    )
    src, dst = (candidate.ids(x[low:high]) for x in (candidate.a, candidate.b))
    keys = candidate.key[low:high]
    lightest, flaw = np.empty_like(keys), np.zeros(len(keys), np.uint8)
    match_edges(rows.csr, src, dst, keys, lightest, flaw)
    order = rows.order
    missing, unequal = (
        np.flatnonzero(flaw == kind)[:LIMIT] for kind in (MISSING, UNEQUAL)
    )
    yield (
        "missing",
        [
            (*candidate.describe(low + k, order), " is not in the graph")
            for k in missing
        ],
    )
    yield (
        "unequal",
        [
            (
                *candidate.describe(low + k, order),
                f" has weight {order.weight(lightest[k])} in the graph",
            )
            for k in unequal
        ],
    )


def _lighter(rows: CheckedRows, candidate: Candidate, arc: int) -> Problem:
    """Return the problem of an arc that should replace an edge of the forest."""
    ends = candidate.nodes(rows.ends(arc))
    last = candidate.edge[last_on_path(candidate.link, len(candidate.edge), *ends)]
    words = ("heavier", "maximal") if rows.order.maximum else ("lighter", "minimal")
    before = rows.keys[arc] < candidate.key[last]
    verb = f"is {words[0]} than" if before else "precedes"
    return (
        *rows.describe(arc),
        f" {verb} the tree ",
        *candidate.describe(last, rows.order),
        f" on the path between its ends: the forest is not {words[1]}",
    )


def _wrong_labels(
    labels: np.ndarray, candidate: Candidate, vertices: np.ndarray, heads: np.ndarray
) -> list[Problem]:
    least = candidate.ids(candidate.smallest[heads])
    if len(candidate.vertices):
        isolated = heads == len(candidate.vertices) - 1
        least = np.where(isolated, vertices, least)
    return [
        (
            "vertex ",
            int(vertices[k]),
            " has label ",
            int(labels[k]),
            ", but ",
            int(least[k]),
            " is the smallest vertex of its tree",
        )
        for k in np.flatnonzero(labels != least)[:LIMIT]
    ]
