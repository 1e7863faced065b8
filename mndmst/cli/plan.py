"""The command `plan`."""

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING

from ..graph.order import WEIGHT_DTYPES
from ..host.errors import ConfigError
from ..host.formatting import counted, size_text
from ..host.memory_costs import MIB
from ..host.option_types import whole
from .parser import MOST_PARTS, MOST_VERTICES, Commands, size, threads

if TYPE_CHECKING:
    from ..solver.plan import GraphSize, RankPlan

# Numbers of ranks that are compared by default
RANKS = tuple(1 << power for power in range(11))
_UNITS = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_SIZES = re.compile(r"(\d+)([kKMGT]?),(\d+)([kKMGT]?)")


def add_plan(commands: Commands) -> None:
    """Add the command to the parser."""
    plan = commands.add_parser(
        "plan",
        help="say which memory, ranks and nodes a solve takes, before the run",
        description="Print for some numbers of ranks the --memory of a rank that "
        "suffices for any graph of the size, the nodes, and the seconds that the "
        "forest takes by the model of --backend auto, with the start of GPUs: reading, "
        "writing, messages and start-up come on top. The last line submits the best of "
        "them to Slurm: few nodes, of these plans the fastest. With --gpu-memory also "
        "for ranks with a GPU each.",
        epilog="Example: mndmst plan 24M,58M --node-memory 256GiB --node-cores 64",
    )
    plan.add_argument(
        "graph",
        metavar="GRAPH|N,M",
        help="directory of shards, or vertices and distinct edges, such as 24M,58M",
    )
    plan.add_argument(
        "--ranks",
        type=whole(1, MOST_PARTS),
        nargs="+",
        metavar="R",
        help="numbers of ranks (default: powers of two that make a difference)",
    )
    plan.add_argument(
        "--weights",
        choices=[dtype.name for dtype in WEIGHT_DTYPES],
        help="type of the weights of N,M (default: float64)",
    )
    plan.add_argument(
        "--node-cores",
        type=threads(1),
        metavar="N",
        help="cores of a node (default: all cores of this machine)",
    )
    plan.add_argument(
        "--node-memory",
        type=size,
        metavar="SIZE",
        help="memory of a node for the job (default: free memory of this machine)",
    )
    plan.add_argument(
        "--gpu-memory",
        type=size,
        metavar="SIZE",
        help="memory of each GPU; GPUs are planned with it alone",
    )
    plan.add_argument(
        "--node-gpus",
        type=threads(1),
        metavar="N",
        help="GPUs of a node (default: 1, with --gpu-memory)",
    )
    plan.set_defaults(process=_plan, one_process=True)


def _plan(arguments: argparse.Namespace) -> int:
    from ..host.cores import core_count
    from ..host.memory import free_bytes
    from ..solver.plan import Node, best_plan, plan_ranks

    wanted = _size(arguments)
    if arguments.node_gpus and not arguments.gpu_memory:
        raise ConfigError("--node-gpus: give the memory of a GPU, too: --gpu-memory")
    cores = arguments.node_cores or core_count()
    gpus = (arguments.node_gpus or 1) if arguments.gpu_memory else 0
    memory = arguments.node_memory or free_bytes()
    node = Node(cores, memory, gpus, arguments.gpu_memory or 0)
    planned = [
        plan_ranks(wanted, ranks, node, on_gpus)
        for ranks in arguments.ranks or RANKS
        for on_gpus in (False, True)[: 1 + bool(gpus)]
    ]
    plans = [plan for plan in planned if plan is not None]
    if not plans:
        raise ConfigError(
            f"{arguments.graph}: a node of {size_text(node.memory)} has too little "
            "memory for a rank. Give more --ranks, or nodes of more --node-memory."
        )
    best = best_plan(plans)
    if arguments.ranks is None:
        plans = [plan for plan in plans if plan.ranks <= 2 * max(best.ranks, cores)]
    with_gpus = ""
    if gpus:
        with_gpus = f", {counted(gpus, 'GPU')} of {size_text(node.gpu_memory)}"
    print(
        f"graph: {counted(wanted.num_vertices, 'vertex')}, "
        f"{counted(wanted.num_arcs // 2, 'edge')}, weights {wanted.weight_dtype}\n"
        f"node: {counted(node.cores, 'core')}, {size_text(node.memory)}{with_gpus}\n"
        " ranks  nodes  ranks a node  cores a rank  --memory of a rank     forest  "
        "device"
    )
    for plan in plans:
        print(
            f"{plan.ranks:6}  {plan.nodes:5}  {plan.ranks_per_node:12}  "
            f"{plan.cores:12}  {_mebibytes(plan.memory):15}MiB  {plan.seconds:7.3g} s  "
            f"{_device(plan)}"
        )
    if gpus and not any(plan.gpu_memory for plan in plans):
        print(
            "No rank of these runs suits a GPU: its rows and their neighbours exceed "
            f"{size_text(node.gpu_memory)}, or 2^30 vertices."
        )
    print(_sbatch(best, arguments.graph))
    return 0


def _size(arguments: argparse.Namespace) -> "GraphSize":
    """Return the size of the graph that is named, or given as N,M."""
    import numpy as np

    from ..io.shards.sharded_graph import open_graph
    from ..solver.plan import GraphSize

    given, path = _SIZES.fullmatch(arguments.graph), Path(arguments.graph)
    if given is None:
        if "," in path.name and not path.exists():
            raise ConfigError(
                f"{path}: give a graph, or whole numbers of vertices and edges, such "
                "as 24M,58M"
            )
        if arguments.weights is not None:
            raise ConfigError(
                f"--weights goes with N,M; {path} says the type of its weights"
            )
        graph = open_graph(path)
        return GraphSize(graph.num_vertices, graph.num_arcs, graph.weight_dtype)
    if path.exists():
        raise ConfigError(
            f"{path}: is the name of a file, and vertices and edges; give ./{path} for "
            "the file, or other digits, such as 1000k for 1M"
        )
    n, m = (int(given[i]) * _UNITS[given[i + 1]] for i in (1, 3))
    if not 0 < n <= MOST_VERTICES or m > 1 << 62:
        raise ConfigError(
            f"{arguments.graph}: give 1 to 2^48 vertices and at most 2^62 edges"
        )
    return GraphSize(n, 2 * m, np.dtype(arguments.weights or "float64"))


def _device(plan: "RankPlan") -> str:
    """Return the device of a rank, and the memory that a GPU needs."""
    if not plan.gpu_memory:
        return "CPU"
    rows = "streams" if plan.streamed else "holds"
    return f"GPU, {rows} the rows with {_mebibytes(plan.gpu_memory)}MiB"


def _mebibytes(nbytes: int) -> int:
    """Return bytes in MiB, rounded up."""
    return -(-nbytes // MIB)


def _sbatch(plan: "RankPlan", graph: str) -> str:
    """Return the line that submits a plan, from the top of the checkout."""
    name = "GRAPH" if _SIZES.fullmatch(graph) else graph
    script = "cpu" if plan.nodes == 1 else "nodes-srun"
    gpus = ""
    if plan.gpu_memory:
        script, gpus = "gpu", f"--gpus-per-node={plan.ranks_per_node} "
    memory = plan.ranks_per_node * plan.memory
    return (
        f"sbatch --nodes={plan.nodes} --ntasks-per-node={plan.ranks_per_node} "
        f"--cpus-per-task={plan.cores} {gpus}--mem={_mebibytes(memory)}M "
        f"slurm/{script}.sbatch {name} FOREST.h5"
    )
