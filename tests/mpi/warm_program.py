"""Solve graphs, in ways of all kinds; print the kernels the warm-up had left out.

Arguments: the paths of the graphs. Whatever Numba compiles then, every rank compiles,
and nobody is told.
"""

import json
import pkgutil
import sys
from importlib import import_module

from numba.core.registry import CPUDispatcher

from mndmst import kernels
from mndmst.backends import cpu
from mndmst.backends.cpu.backend import CpuBackend
from mndmst.backends.warmup import warm_up_kernels
from mndmst.comm.communicator import world
from mndmst.graph.order import id_dtype, key_dtype
from mndmst.host.progress import Progress
from mndmst.io import kernels as io_kernels
from mndmst.io.shards import open_graph
from mndmst.pipeline import Targets, solve
from mndmst.run.config import Config

OPTIONS: list[dict] = [
    {},
    {"light_edges": 0.0, "merge": "ring"},
    {"merge": "messages"},
    {"merge": "ring", "leader_edges": 0},
    {"merge": "boruvka"},
    {"threads": 4},
]


def compiled() -> set[tuple[str, str]]:
    """Return the kernels there are, and for which types."""
    found = set()
    for package in (kernels, cpu, io_kernels):
        for _, name, _ in pkgutil.iter_modules(package.__path__):
            for kernel in vars(import_module(f"{package.__name__}.{name}")).values():
                if isinstance(kernel, CPUDispatcher):
                    name = f"{kernel.py_func.__module__}.{kernel.py_func.__name__}"
                    found |= {(name, str(types)) for types in kernel.signatures}
    return found


def solve_all(graph: str) -> None:
    """Solve a graph in every way."""
    for options in OPTIONS:
        config = Config(**{"backend": "cpu", **options})
        solve(comm, graph, config, Targets(), Progress(False))


comm = world()
late: list[tuple[str, str]] = []
for graph in sys.argv[1:]:
    stored = open_graph(graph)
    types = id_dtype(stored.num_vertices), key_dtype(stored.weight_dtype)
    warm_up_kernels(CpuBackend(1), *types, str)
    before = compiled()
    solve_all(graph)
    # What checks files exists once for every type of weights, not of keys
    late += [kernel for kernel in compiled() - before if ".checks." not in kernel[0]]
if comm.rank == 0:
    print(json.dumps(late))
