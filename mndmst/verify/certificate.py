"""The certificate: a forest file is refuted, or it is the minimum spanning forest.

A forest whose edges are all edges of the graph, without a cycle, whose trees no edge
of the graph joins, spans every component. It is the minimum one if no edge of the
graph precedes, in the order, the last edge on the forest path between its ends: the
cycle property (Tarjan 1983; tested with a tree of merges as in King 1997).
"""

import re
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import starmap
from pathlib import Path

import numpy as np

from ..comm.communicator import Comm
from ..host.errors import ConfigError, InputError
from ..io.names import NameSource, shown
from ..io.results.forest_file import ForestFile, read_forest
from ..io.shards.sharded_graph import ShardedGraph
from .candidate import (
    LIMIT,
    Candidate,
    Described,
    Examination,
    examine,
    load_on_machine,
    unlike,
)
from .rows import KINDS, Findings, check_rows, merge, pieces

# A vertex in a problem: an end of an edge (u, v), or a vertex with a wrong label
_VERTEX = re.compile(
    r"(?<=\()\d+(?=, \d+\))|(?<=, )\d+(?=\))"
    r"|(?<=^vertex )\d+(?= has label)|(?<= has label )\d+|(?<=, but )\d+(?= is the)"
)


@dataclass(frozen=True)
class Verdict:
    """The result of verifying a forest file; `weight` and `digest` are computed again.

    They are None if the headers show that the forest is of another graph, and its edges
    have not been read.
    """

    ok: bool  # whether it is the minimum spanning forest of the graph, in full
    n: int  # vertices of the graph
    # undirected edges of the graph, without self-loops, parallel ones counted once;
    # None if the forest was refuted before the graph was read
    m: int | None
    edges: int  # of the forest
    # of the forest; None if its edges have not been searched for cycles
    trees: int | None
    weight: int | float | None
    digest: str | None
    problems: list[str]  # why the forest is refuted; at most ten of each kind
    seconds: float

    @classmethod
    def of_headers(
        cls, graph: Described, forest: ForestFile, problems: list[str], seconds: float
    ) -> "Verdict":
        """Return the verdict on a forest whose header is that of another graph."""
        return cls(
            ok=False,
            n=graph.num_vertices,
            m=None,
            edges=forest.num_edges,
            trees=None,
            weight=None,
            digest=None,
            problems=problems,
            seconds=seconds,
        )

    def text(self) -> str:
        """Return the problems, a line each, and a line of all that was found."""
        m, trees, weight, digest = (
            "unknown" if found is None else found
            for found in (self.m, self.trees, self.weight, self.digest)
        )
        summary = (
            f"VERDICT {'ok' if self.ok else 'refuted'} n={self.n} m={m} "
            f"edges={self.edges} trees={trees} weight={weight} "
            f"digest={digest} seconds={self.seconds:.3f}"
        )
        return "\n".join([*self.problems, summary])

    def with_names(self, names: NameSource | None) -> "Verdict":
        """Return the verdict with names of vertices, where they have any."""
        if names is None:
            return self
        return replace(self, problems=[named(text, names) for text in self.problems])


def named(problem: str, names: NameSource) -> str:
    """Return a problem with the names of the vertices that it is about."""

    def name(number: re.Match[str]) -> str:
        vertex = int(number[0])
        if vertex >= len(names):
            return number[0]
        return f'"{shown(names.take(np.array([vertex])).texts()[0])}"'

    return _VERTEX.sub(name, problem)


def verify(
    comm: Comm, graph: ShardedGraph, forest_path: str | Path, threads: int = 1
) -> Verdict:
    """Decide whether a forest file is the minimum spanning forest of a graph.

    Every rank calls it and gets the same verdict, whatever their number. A machine
    holds the forest once (`candidate.load`); each thread of a rank reads and tests a
    piece of rows (`rows.pieces`). Raises InputError if a file is damaged, or the graph
    is not symmetric; ConfigError if the ranks of a machine have no room to share the
    forest, or `threads` is below 1.
    """
    begin = time.perf_counter()
    with comm.raise_on_all():
        if threads < 1:
            raise ConfigError(f"--threads {threads}: give 1 or more")
        forest = read_forest(forest_path)
    strange = comm.bcast(unlike(graph, forest))
    if strange:
        seconds = comm.max(time.perf_counter() - begin)
        return Verdict.of_headers(graph, forest, strange, seconds)
    with comm.raise_on_all():
        first = examine(graph, forest) if comm.rank == 0 else None
    seen: Examination = comm.bcast(first)
    problems, m, trees = [*seen.faults, *seen.differences], None, None
    if not seen.faults:
        candidate = _load(comm, forest)
        findings = _hold(comm, graph, forest, candidate, threads)
        m = findings.distinct
        trees = graph.num_vertices - forest.num_edges + len(candidate.closing)
        problems += [
            f"{candidate.describe(place, graph.weight_dtype)} closes a cycle"
            for place in candidate.closing[:LIMIT]
        ]
        problems += [text for kind in KINDS for text in findings.problems[kind]]
    seconds = comm.max(time.perf_counter() - begin)
    return Verdict(
        ok=not problems,
        n=graph.num_vertices,
        m=m,
        edges=forest.num_edges,
        trees=trees,
        weight=seen.weight,
        digest=seen.digest,
        problems=problems,
        seconds=seconds,
    )


def _load(comm: Comm, forest: ForestFile) -> Candidate:
    node = comm.node()
    with comm.raise_on_all():  # all ranks of a machine fail alike
        return load_on_machine(node, forest)


def _hold(
    comm: Comm,
    graph: ShardedGraph,
    forest: ForestFile,
    candidate: Candidate,
    threads: int,
) -> Findings:
    """Test all rows of the graph against the forest, each rank its share."""
    check = partial(check_rows, graph, forest, candidate)
    with comm.raise_on_all():
        # No row at first: the kernels are compiled before threads use them.
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
