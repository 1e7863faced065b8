"""The CPU backend: Numba kernels, with plain threads that share the arcs."""

import os

import numpy as np

from ...graph.model import EdgeColumns, EdgeList, ReducedGraph, Rows
from ...graph.order import weights_to_keys
from ...graph.tuning import Tuning
from ...host.errors import ConfigError
from ...host.formatting import counted
from ...host.memory import free_bytes
from ...kernels.bordered_contraction import contract_except_borders
from ...kernels.borders import ACCEPTED
from ...kernels.hooks import Hooks
from ...kernels.kruskal import PairEdgeList
from ...kernels.spanning_forest import pack_ends, spanning_edges
from ...kernels.threads import Threads
from ...native.precompile import compile_for
from ..base import (
    Backend,
    Band,
    ContractedComponents,
    ContractedRows,
    LabelledForest,
    Memory,
)
from .band_forest import band_forest, row_hooks
from .edge_forest import FEW_EDGES, forest_of_edges, forest_without_kernels
from .msf import msf
from .row_contraction import contract_rows

# Rows and ghosts together are numbered with 32 bits.
MAX_ROWS = 1 << 31


class CpuBackend(Backend[Rows, np.ndarray]):
    """A CPU worker with a number of threads."""

    name = "cpu"

    def __init__(self, threads: int = 1, tuning: Tuning | None = None) -> None:
        self.threads = Threads(threads, tuning)

    def describe(self) -> str:
        """Return the number of threads."""
        return f"cpu, {counted(self.threads.count, 'thread')}"

    def memory(self) -> Memory:
        """Return the memory of the machine, and the free part of it."""
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        return Memory(total, free_bytes())

    def rows_nbytes(self, rows: Rows) -> int:
        """Return the bytes the steps on rows need beyond the rows themselves.

        About 1.3 light edges a vertex, of 40 bytes each while they are sorted, and
        20 bytes a vertex for components; sparse graphs have at most 3 edges a
        vertex.
        """
        ids, keys = rows.indices.itemsize, rows.keys.itemsize
        edges = min(rows.num_arcs, 3 * len(rows))
        return edges * (2 * ids + keys + 24) + 20 * len(rows)

    def upload(self, rows: Rows) -> Rows:
        """Return the rows themselves, which the CPU reads in host memory.

        Raises ConfigError for more than `MAX_ROWS` rows.
        """
        if len(rows) > MAX_ROWS:
            raise ConfigError(
                f"a CPU worker takes at most {MAX_ROWS:,} rows, not {len(rows):,}; "
                "use more ranks"
            )
        return rows

    def msf(self, rows: Rows) -> LabelledForest:
        """See `Backend.msf`."""
        return msf(rows, self.threads)

    def msf_of_edges(
        self,
        num_vertices: int,
        src: np.ndarray,
        dst: np.ndarray,
        weight: np.ndarray,
        maximum: bool,
    ) -> LabelledForest:
        """See `Backend.msf_of_edges`."""
        if len(weight) > FEW_EDGES:  # fewer need one kernel, or none
            compile_for("arrays", weight.dtype)
        keys = weights_to_keys(weight.copy(), descending=maximum)
        u, v = (np.ascontiguousarray(end, np.uint32) for end in (src, dst))
        return forest_of_edges(num_vertices, u, v, keys, self.threads)

    def band_forest(self, rows: Rows, band: Band, label: np.ndarray | None) -> EdgeList:
        """See `Backend.band_forest`."""
        return band_forest(rows, band, label, self.threads)

    def contract_rows(self, rows: Rows, band: Band) -> ContractedRows:
        """See `Backend.contract_rows`."""
        return contract_rows(rows, band, self.threads)

    def row_hooks(self, rows: Rows, band: Band, hooks: Hooks) -> EdgeList:
        """See `Backend.row_hooks`."""
        return row_hooks(rows, band, hooks, self.threads)

    def forest(self, graph: ReducedGraph) -> ContractedComponents:
        """See `Backend.forest`."""
        root = np.arange(len(graph.labels), dtype=np.uint32)
        key, a, b = graph.edges.key, graph.a, graph.b
        return ContractedComponents(spanning_edges(key, a, b, root, self.threads), root)

    def contract(self, graph: ReducedGraph) -> ContractedComponents:
        """See `Backend.contract`."""
        count = len(graph.labels)
        order = np.argsort(~graph.interior, kind="stable")  # interior components first
        number = np.empty(count, np.uint32)
        number[order] = np.arange(count)
        pairs = pack_ends(number[graph.a], number[graph.b], self.threads)
        interior = int(np.count_nonzero(graph.interior))
        fate, parent = contract_except_borders(
            PairEdgeList(graph.edges.key, pairs), interior, count, self.threads
        )
        root = np.empty(count, np.uint32)
        root[order] = order[parent]
        return ContractedComponents(fate == ACCEPTED, root)


class FewArcsBackend(CpuBackend):
    """A CPU worker for rows of few arcs, whose forest needs no kernel."""

    def msf(self, rows: Rows) -> LabelledForest:
        """See `Backend.msf`."""
        tails = np.repeat(np.arange(len(rows)), np.diff(rows.indptr))
        upward = tails < rows.indices
        tails, heads = tails[upward].astype(rows.id_dtype), rows.indices[upward]
        edges = EdgeColumns(tails, heads, rows.keys[upward])
        return forest_without_kernels(len(rows), edges)
