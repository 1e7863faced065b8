"""The steps of the backend on uploaded or streamed rows, and on reduced graphs."""

import cupy
import numpy as np

from ...graph.model import EdgeList, ReducedGraph
from ...kernels.arc_inspection import ArcFacts
from ...kernels.hooks import Hooks
from ..base import Band, ContractedComponents
from .device_rows import DeviceRows
from .kernels import NULL, TILE_THREADS, Kernels
from .row_solver import RowSolver
from .solver import DeviceEdges, Solver, Tools
from .streamed import StreamedRows, StreamSolver


def inspect(rows: DeviceRows, num_vertices: int, kernels: Kernels) -> ArcFacts | None:
    """See `Backend.inspect_arcs`; None if an id is wrong."""
    if rows.num_arcs == 0:
        return ArcFacts(0, 0)
    tile_row = kernels.tile_rows(rows.indptr, rows.num_rows, rows.num_arcs)
    counts = cupy.zeros(3, np.uint64)
    kernels.launch(
        "inspect_arcs", TILE_THREADS * (len(tile_row) - 1), rows.indptr,
        np.uint64(rows.num_arcs), np.uint32(rows.first), np.uint64(rows.num_rows),
        np.uint64(rows.first_global), NULL if rows.complete else rows.ghosts,
        np.uint64(num_vertices), rows.ends, rows.keys, tile_row, counts,
    )  # fmt: skip
    wrong, edges, balance = counts.tolist()
    return None if wrong else ArcFacts(edges, balance)


def msf(rows: DeviceRows | StreamedRows, tools: Tools) -> tuple[EdgeList, cupy.ndarray]:
    """Return the forest of `Backend.msf`, and its labels on the device."""
    solver: RowSolver | StreamSolver
    if isinstance(rows, StreamedRows):
        solver = StreamSolver.of(rows, tools)
        edges = solver.solve_rows(Band(), None)
    else:
        solver = RowSolver(tools, rows.vertices, rows, Band())
        edges = solver.solve_rows(labelled=False)
    label = rows.to_global(solver.labels())
    return edge_list(rows, tools, edges), label


def band_forest(
    rows: DeviceRows | StreamedRows, band: Band, label: np.ndarray | None, tools: Tools
) -> EdgeList:
    """See `Backend.band_forest`."""
    if isinstance(rows, StreamedRows):
        streamed = StreamSolver.of(rows, tools)
        return edge_list(rows, tools, streamed.solve_rows(band, label))
    if label is None:
        solver = RowSolver(tools, rows.vertices, rows, band)
    else:
        component, count = _components(rows, label, tools)
        solver = RowSolver(tools, count, rows, band)
        solver.start_from(component)
    return edge_list(rows, tools, solver.solve_rows(label is not None))


def _components(
    rows: DeviceRows, label: np.ndarray, tools: Tools
) -> tuple[cupy.ndarray, int]:
    """Return the component of each local vertex, and the number of component ids.

    `label` (int64, global ids) has the component of each row. A label that is a local
    vertex or ghost gets its local id, so that both are one component; other labels get
    ids after those of the vertices.
    """
    ids = tools.transfer.to_device(np.asarray(label, np.int64))
    local = rows.to_local(ids)
    is_local = rows.to_global(cupy.minimum(local, rows.vertices - 1)) == ids
    others = cupy.unique(ids[~is_local])
    number = cupy.where(is_local, local, rows.vertices + cupy.searchsorted(others, ids))
    count = rows.vertices + len(others)
    component = cupy.arange(count, dtype=np.uint32)
    component[rows.first : rows.first + rows.num_rows] = number
    return component, count


def list_hooks(rows: DeviceRows, band: Band, hooks: Hooks, tools: Tools) -> EdgeList:
    """Do `Backend.row_hooks`, and return all parallel edges, side by side."""
    solver = RowSolver(tools, rows.vertices, rows, Band())
    best, edges = solver.lightest_arcs(band.high)
    kernels, first = tools.kernels, np.uint32(rows.first)
    far, hook = (cupy.empty(rows.num_rows, np.uint32) for _ in range(2))
    key = cupy.empty(rows.num_rows, rows.keys.dtype)
    kernels.launch(
        "hook_rows", rows.num_rows, best, rows.ends, rows.keys, first,
        np.uint64(rows.num_rows), np.uint64(rows.first_global),
        NULL if rows.complete else rows.ghosts, far, hook, key,
    )  # fmt: skip
    count = np.uint64(len(edges.key))
    marks = cupy.empty(len(edges.key), np.uint8)
    kernels.launch(
        "mark_others", len(marks), edges.u, edges.v, count, first, far, marks
    )
    offsets = kernels.prefix_sums("marks", marks)
    others = DeviceEdges.empty(int(offsets[-1]), kernels.key)
    kernels.launch("select_edges", len(marks), marks, offsets, count, *edges, *others)
    here = slice(rows.first_global, rows.first_global + rows.num_rows)
    tools.transfer.fill((hook, key), [column[here] for column in hooks])
    return edge_list(rows, tools, others)


def forest(graph: ReducedGraph, tools: Tools) -> ContractedComponents:
    """See `Backend.forest`."""
    to_device, to_host = tools.transfer.to_device, tools.transfer.to_host
    a, b = (to_device(ends.astype(np.uint32)) for ends in (graph.a, graph.b))
    edges = DeviceEdges(a, b, to_device(graph.edges.key))
    solver = Solver(tools.kernels, len(graph.labels))
    in_forest = to_host(solver.solve(edges)).view(bool)
    return ContractedComponents(
        in_forest, to_host(solver.labels()).astype(graph.a.dtype)
    )


def edge_list(
    rows: DeviceRows | StreamedRows, tools: Tools, edges: DeviceEdges
) -> EdgeList:
    """Copy edges to the host, sorted by their ends."""
    order, count = edges.order(tools.kernels)
    u, v = (cupy.empty(count, rows.id_dtype) for _ in range(2))
    key = cupy.empty(count, edges.key.dtype)
    gather(rows, tools.kernels, edges, order, count, DeviceEdges(u, v, key))
    return EdgeList(*tools.transfer.all_to_host(u, v, key))


def gather(
    rows: DeviceRows | StreamedRows,
    kernels: Kernels,
    edges: DeviceEdges,
    order: cupy.ndarray,
    count: int,
    to: DeviceEdges,
) -> None:
    """Copy the first `count` edges in an order, with the global ids of their ends."""
    if isinstance(rows, DeviceRows) and not rows.complete:
        ghosts = rows.ghosts
        first, length, first_global = rows.first, rows.num_rows, rows.first_global
    else:  # local ids differ from global ones by a constant
        ghosts, first, length = NULL, 0, 0
        first_global = rows.first_global if isinstance(rows, DeviceRows) else 0
    kernels.launch(
        "gather_edges", count, order, np.uint64(count), *edges, np.uint32(first),
        np.uint64(length), np.uint64(first_global), ghosts,
        np.uint32(to.u.dtype.itemsize == 8), *to,
    )  # fmt: skip
