"""Rows of the graph, read in pieces and tested against the forest."""

from bisect import bisect_left
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..graph.model import Csr
from ..graph.order import weights_to_keys
from ..io.results.forest_file import ForestFile
from ..io.shards.row_reading import read_rows
from ..io.shards.sharded_graph import ShardedGraph
from .candidate import LIMIT, Candidate, weight
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
    """The findings of some rows of the graph about the forest."""

    problems: dict[str, list[str]]  # For each of `KINDS` the first problems
    distinct: int  # Undirected edges, without self-loops, parallel ones counted once
    balance: int  # Zero, modulo 2**64, over all rows of a symmetric graph


def merge(parts: list[Findings]) -> Findings:
    """Return the findings of consecutive rows as one."""
    problems = {
        kind: [text for part in parts for text in part.problems[kind]][:LIMIT]
        for kind in KINDS
    }
    balance = sum(part.balance for part in parts) % (1 << 64)
    return Findings(problems, sum(part.distinct for part in parts), balance)


def pieces(graph: ShardedGraph, part: int, parts: int) -> Iterator[tuple[int, int]]:
    """Yield row ranges of bounded size that make up one of some equal shares of arcs.

    Raises InputError if a part of the graph is damaged.
    """
    begin, end = (_row_at(graph, part + k, parts) for k in (0, 1))
    for low in range(begin, end, PIECE_ROWS):
        indptr = graph.read_indptr(low, min(low + PIECE_ROWS, end))
        row = 0
        while row < len(indptr) - 1:
            fit = int(np.searchsorted(indptr, indptr[row] + PIECE_ARCS, "right")) - 1
            stop = max(row + 1, fit)
            yield low + row, low + stop
            row = stop


def _row_at(graph: ShardedGraph, part: int, parts: int) -> int:
    """Return the first row of a share of the arcs; rows are never cut."""
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
        begin, indptr, indices, weights_to_keys(weights), graph.weight_dtype
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
        f"{rows.describe(arc)} joins two trees: the forest does not span its component"
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


class CheckedRows(NamedTuple):
    """Rows, and the weight type for messages."""

    first: int
    indptr: np.ndarray
    indices: np.ndarray
    keys: np.ndarray
    weight_dtype: np.dtype

    @property
    def csr(self) -> Csr:
        """The rows for a kernel."""
        return Csr(self.first, self.indptr, self.indices, self.keys)

    def ends(self, arc: int) -> np.ndarray:
        """Return the two vertices of an arc."""
        row = np.searchsorted(self.indptr, arc, "right") - 1
        return np.array([self.first + row, self.indices[arc]], self.indices.dtype)

    def describe(self, arc: int) -> str:
        """Return an arc in words."""
        u, v = self.ends(arc)
        return f"edge ({u}, {v}) weight {weight(self.keys[arc], self.weight_dtype)}"


def _absent_edges(
    rows: CheckedRows, candidate: Candidate
) -> Iterator[tuple[str, list[str]]]:
    """Yield the problems of forest edges that differ from these rows."""
    ends = rows.first, rows.first + len(rows.indptr) - 1
    low, high = (
        bisect_left(candidate.a, end, key=lambda node: int(candidate.ids(node)))
        for end in ends
    )
    src, dst = (candidate.ids(x[low:high]) for x in (candidate.a, candidate.b))
    keys = candidate.key[low:high]
    found, flaw = np.empty_like(keys), np.zeros(len(keys), np.uint8)
    match_edges(rows.csr, src, dst, keys, found, flaw)
    dtype = rows.weight_dtype
    missing, unequal = (
        np.flatnonzero(flaw == kind)[:LIMIT] for kind in (MISSING, UNEQUAL)
    )
    yield (
        "missing",
        [f"{candidate.describe(low + k, dtype)} is not in the graph" for k in missing],
    )
    yield (
        "unequal",
        [
            f"{candidate.describe(low + k, dtype)} has weight "
            f"{weight(found[k], dtype)} in the graph"
            for k in unequal
        ],
    )


def _lighter(rows: CheckedRows, candidate: Candidate, arc: int) -> str:
    """Return in words that an arc belongs into the forest instead of another edge."""
    ends = candidate.nodes(rows.ends(arc))
    last = candidate.edge[last_on_path(candidate.link, len(candidate.edge), *ends)]
    verb = "is lighter than" if rows.keys[arc] < candidate.key[last] else "precedes"
    return (
        f"{rows.describe(arc)} {verb} the tree "
        f"{candidate.describe(last, rows.weight_dtype)} on the path between its ends: "
        "the forest is not minimal"
    )


def _wrong_labels(
    labels: np.ndarray, candidate: Candidate, vertices: np.ndarray, heads: np.ndarray
) -> list[str]:
    least = candidate.ids(candidate.smallest[heads])
    if len(candidate.vertices):
        alone = heads == len(candidate.vertices) - 1
        least = np.where(alone, vertices, least)
    return [
        f"vertex {vertices[k]} has label {labels[k]}, but {least[k]} is the smallest "
        "vertex of its tree"
        for k in np.flatnonzero(labels != least)[:LIMIT]
    ]
