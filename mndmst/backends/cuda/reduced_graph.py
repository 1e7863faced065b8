"""The forest of a reduced graph."""

import numpy as np

from ...graph.model import ReducedGraph
from ..base import Growth
from .solver import DeviceEdges, Solver
from .tools import Tools


def forest(graph: ReducedGraph, tools: Tools) -> Growth:
    """See `Backend.forest`."""
    to_device, to_host = tools.transfer.to_device, tools.transfer.to_host
    a, b = (to_device(ends.astype(np.uint32)) for ends in (graph.a, graph.b))
    edges = DeviceEdges(a, b, to_device(graph.edges.key))
    solver = Solver(tools.kernels, len(graph.labels))
    in_forest = to_host(solver.solve(edges)).view(bool)
    return Growth(in_forest, to_host(solver.labels()).astype(graph.a.dtype))
