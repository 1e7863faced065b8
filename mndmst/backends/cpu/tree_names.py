"""The smallest vertex of every tree, known to all of its vertices."""

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

    `component` is as in `hooks.NUMBER`; `parent` has the tree of each component, named
    by one of its components.
    """
    label = np.empty(len(component), np.uint32)
    team = Team(threads)
    # Several threads go over all vertices twice, which does not pay with two threads.
    work = len(component) if threads.count >= MANY else 0
    # Each member has a line of its own, behind the trees, for unused names.
    smallest = np.empty(len(parent) + LINE * (team.most + 1), np.uint32)
    first = min(threads.tuning.named_first, len(component))
    team.run(name_trees, work, component, parent, smallest, label, first)
    return label, smallest[: len(parent)]


@kernel
def name_trees(member, component, parent, smallest, label, first):
    """Label all vertices; one member alone labels the first ones before."""
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
    # By now all vertices have been seen, but not in order; and of two members that saw
    # a tree at once the later one may have left its name.
    lowered = name_range(component, parent, smallest, spare, begin, end, label)
    post_count(member, np.int64(lowered))
    barrier(member)
    if member.number == 0 and prefix_and_total(member, member.size)[1]:
        name_range(component, parent, smallest, spare, 0, len(component), label)


@kernel
def name_range(component, parent, smallest, spare, begin, end, label):
    """Label the vertices in [begin, end) with the smallest vertex of their tree.

    `smallest` holds for each component the smallest vertex seen; right answers need
    all vertices to be seen in ascending order, or to have been seen before. Returns
    whether there was a smaller one. That branch is unpredictable where many trees are
    single vertices, so the store is unconditional; `spare` takes unused names.
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
