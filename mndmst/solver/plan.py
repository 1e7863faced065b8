"""The memory, ranks, nodes and time that a run takes, from the size of its graph."""

import math
from dataclasses import dataclass

import numpy as np

from ..backends.costs import COSTS
from ..host.memory import Budget
from ..host.memory_costs import RANK_PROCESS_BYTES
from .read import bytes_of_rows


@dataclass(frozen=True)
class GraphSize:
    """The size of a graph; every edge is two arcs."""

    num_vertices: int
    num_arcs: int
    weight_dtype: np.dtype


@dataclass(frozen=True)
class Node:
    """The memory and cores of each node, for the ranks on it."""

    cores: int
    memory: int  # bytes


@dataclass(frozen=True)
class RankPlan:
    """A run of some ranks on as few nodes as have the memory."""

    ranks: int
    nodes: int
    ranks_per_node: int
    cores: int  # of a rank
    memory: int  # bytes of a rank that suffice for any graph of the size
    seconds: float  # of the forest alone, as `backends.costs` predicts them


def plan_ranks(size: GraphSize, ranks: int, node: Node) -> RankPlan | None:
    """Return the plan of a run; None if a node has no memory for a rank of it."""
    rows, arcs = math.ceil(size.num_vertices / ranks), math.ceil(size.num_arcs / ranks)
    rows_alone = bytes_of_rows(size.num_vertices, size.weight_dtype, rows, arcs)
    memory = RANK_PROCESS_BYTES + Budget().for_rows(rows, arcs, rows_alone, ranks)
    most = min(ranks, node.cores, node.memory // memory)
    if most == 0:
        return None
    nodes = math.ceil(ranks / most)
    ranks_per_node = math.ceil(ranks / nodes)
    cores = node.cores // ranks_per_node
    seconds = COSTS.cpu_seconds(arcs, cores, ranks_per_node)
    return RankPlan(ranks, nodes, ranks_per_node, cores, memory, seconds)


def best_plan(plans: list[RankPlan]) -> RankPlan:
    """Return the plan of the fewest nodes, of these the fastest, then of few ranks."""
    return min(plans, key=lambda plan: (plan.nodes, plan.seconds, plan.ranks))
