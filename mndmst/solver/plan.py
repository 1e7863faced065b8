"""The memory, ranks, nodes and time that a run takes, from the size of its graph."""

import math
import sys
from dataclasses import dataclass

import numpy as np

from ..backends.costs import COSTS, MAX_DEVICE_VERTICES, RowsSize, StreamingNeed
from ..graph.tuning import Tuning
from ..host.memory import Budget
from ..host.memory_costs import RANK_PROCESS_BYTES, STARTED_DEVICES_RESERVE
from .devices import DEVICE_SHARE
from .read import bytes_of_rows


@dataclass(frozen=True)
class GraphSize:
    """The size of a graph; every edge is two arcs."""

    num_vertices: int
    num_arcs: int
    weight_dtype: np.dtype


@dataclass(frozen=True)
class Node:
    """The memory, cores and GPUs of each node, for the ranks on it."""

    cores: int
    memory: int  # bytes
    gpus: int = 0
    gpu_memory: int = 0  # bytes of each GPU


@dataclass(frozen=True)
class RankPlan:
    """A run of some ranks on as few nodes as have the memory."""

    ranks: int
    nodes: int
    ranks_per_node: int
    cores: int  # of a rank
    memory: int  # bytes of a rank that suffice for any graph of the size
    # Of the forest, and of the start of GPUs, as `backends.costs` predicts them
    seconds: float
    # Bytes of each rank's GPU that hold its rows, or that suffice to stream them; 0 for
    # ranks without a GPU
    gpu_memory: int = 0
    streamed: bool = False


def plan_ranks(
    size: GraphSize, ranks: int, node: Node, gpus: bool = False
) -> RankPlan | None:
    """Return the plan of a run on CPUs, or with a GPU for each rank.

    Returns None if a node, or a GPU, has no memory for a rank of the run.
    """
    rows, arcs = math.ceil(size.num_vertices / ranks), math.ceil(size.num_arcs / ranks)
    rows_alone = bytes_of_rows(size.num_vertices, size.weight_dtype, rows, arcs)
    memory = RANK_PROCESS_BYTES + Budget().for_rows(rows, arcs, rows_alone, ranks)
    memory += STARTED_DEVICES_RESERVE if gpus else 0
    most = min(ranks, node.gpus if gpus else node.cores, node.memory // memory)
    needed, streamed = _on_gpu(size, rows, arcs, node) if gpus else (0, False)
    if most == 0 or needed > node.gpu_memory:
        return None
    nodes = math.ceil(ranks / most)
    ranks_per_node = math.ceil(ranks / nodes)
    cores = max(1, node.cores // ranks_per_node)
    seconds = COSTS.cpu_seconds(arcs, cores, ranks_per_node)
    if gpus:
        seconds = COSTS.gpu_seconds(arcs, streamed)
    return RankPlan(
        ranks, nodes, ranks_per_node, cores, memory, seconds, needed, streamed
    )


def _on_gpu(size: GraphSize, rows: int, arcs: int, node: Node) -> tuple[int, bool]:
    """Return the GPU memory that a rank needs, and whether its rows are streamed.

    A GPU that cannot hold the rows streams them, if that needs less.
    """
    ids, keys = 8 if size.num_vertices > 1 << 32 else 4, size.weight_dtype.itemsize
    on_gpu = RowsSize(size.num_vertices, rows, arcs, ids, keys)
    held = int(on_gpu.held_nbytes / DEVICE_SHARE)
    if on_gpu.device_vertices > MAX_DEVICE_VERTICES:
        return sys.maxsize, False
    if held <= node.gpu_memory or size.num_vertices > MAX_DEVICE_VERTICES:
        return held, False
    piece = Tuning.default.streamed_bytes // (ids + keys)
    longest = min(piece + min(arcs, size.num_vertices), arcs)
    need = StreamingNeed.of(on_gpu, longest)
    return int(need.nbytes / DEVICE_SHARE), True


def best_plan(plans: list[RankPlan]) -> RankPlan:
    """Return the plan of the fewest nodes, of these the fastest, then of few ranks."""
    return min(plans, key=lambda plan: (plan.nodes, plan.seconds, plan.ranks))
