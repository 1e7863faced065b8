"""Labels of vertices: the smallest vertex of each vertex's tree."""

import numpy as np

from ...kernels.hooks import NUMBER
from ...kernels.intrinsics import choose
from ...kernels.team import (
    Team,
    barrier,
    member_range,
    post_count,
    prefix_and_total,
)
from ...kernels.threads import MANY, Threads
from ...native.kernel import kernel

LINE = 64  # names in some cache lines


def tree_names(
    component: np.ndarray, parent: np.ndarray, threads: Threads
) -> tuple[np.ndarray, np.ndarray]:
    """Return the smallest vertex of every vertex's tree, and of every tree.

    `component` is as in `Contraction`; `parent` has the tree of each component, named
    by one of its components.
    """
    label = np.empty(len(component), np.uint32)
    team = Team(threads)
    # Several threads pass over all vertices twice, which does not pay with two threads.
    work = len(component) if threads.count >= MANY else 0
    # Each member has a separate line behind the trees for unused names.
    smallest = np.empty(len(parent) + LINE * (team.most + 1), np.uint32)
    first = min(threads.tuning.serial_vertices, len(component))
    team.run(name_trees, work, component, parent, smallest, label, first)
    return label, smallest[: len(parent)]


@kernel
def name_trees(member, component, parent, smallest, label, first):
    """Label all vertices, after one member has labelled the first ones."""
    spare = len(parent) + LINE * (1 + member.number)
    begin, end = member_range(member, len(smallest))
    for i in range(np.uint64(begin), np.uint64(end)):
        smallest[i] = len(component)
    barrier(member)
    if member.number == 0:
        name_range(component, parent, smallest, spare, 0, first, label)
    barrier(member)
    begin, end = member_range(member, len(component))
    name_range(component, parent, smallest, spare, begin, end, label)
    if member.size == 1:
        return
    barrier(member)
    # All vertices have been visited, but not in order; and if two members visited a
    # tree at the same time, the larger vertex may have been stored last.
    lowered = name_range(component, parent, smallest, spare, begin, end, label)
    post_count(member, np.int64(lowered))
    barrier(member)
    if member.number == 0 and prefix_and_total(member, member.size)[1]:
        name_range(component, parent, smallest, spare, 0, len(component), label)


@kernel
def name_range(component, parent, smallest, spare, begin, end, label):
    """Label the vertices in [begin, end) with the smallest vertex of their tree.

    `smallest` has the smallest visited vertex of each component. The labels are right
    if all vertices are visited in ascending order, or have been visited before. Returns
    whether a smallest vertex changed. If many trees are single vertices, that branch is
    unpredictable, so the store is unconditional; unused names go to `spare`.
    """
    lowered = False
    for vertex in range(np.uint64(begin), np.uint64(end)):
        tree = np.uint64(parent[component[vertex] & NUMBER])
        least = smallest[tree]
        lower = vertex < least
        smallest[choose(lower, tree, np.uint64(spare))] = vertex
        label[vertex] = choose(lower, np.uint32(vertex), least)
        lowered |= lower
    return lowered
