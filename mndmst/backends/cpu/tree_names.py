"""The smallest vertex of every tree, known to all of its vertices."""

import numpy as np

from ...kernels.hooks import NUMBER
from ...kernels.intrinsics import choose
from ...kernels.threads import MANY, Threads
from ...native.kernel import kernel

LINE = 64  # names in some cache lines


def tree_names(
    component: np.ndarray, parent: np.ndarray, threads: Threads
) -> tuple[np.ndarray, np.ndarray]:
    """Return the smallest vertex of every vertex's tree, and of every tree.

    Parameters
    ----------
    component : ndarray of uint32, shape (vertices,)
        See `hooks.NUMBER`.
    parent : ndarray of uint32, shape (components,)
        The tree of each component, called after one of its components.

    Returns
    -------
    label : ndarray of uint32, shape (vertices,)
    smallest : ndarray of uint32, shape (components,)
        Of the vertices that name trees.
    """
    label = np.empty(len(component), np.uint32)
    # Several threads go over all vertices twice, which two of them could as well leave.
    several = threads.count >= MANY
    ranges = threads.ranges(len(component)) if several else [(0, len(component))]
    # Each thread has a line of its own, behind the trees, for unused names.
    spares = [len(parent) + LINE * (1 + i) for i in range(len(ranges))]
    smallest = np.empty(spares[-1] + LINE, np.uint32)
    none = len(component)
    filled = threads.ranges(len(smallest))
    threads.map(fill, [(smallest, *bounds, none) for bounds in filled])

    def share(spare: int, begin: int, end: int) -> tuple:
        return component, parent, smallest, spare, begin, end, label

    shares = [share(spare, *r) for spare, r in zip(spares, ranges, strict=True)]
    name_range(*share(len(parent), 0, min(threads.tuning.named_first, len(component))))
    threads.map(name_range, shares)
    # By now all vertices have been seen, but not in order; and of two threads that saw
    # a tree at once the later one may have left its name.
    if len(shares) > 1 and any(threads.map(name_range, shares)):
        name_range(*share(len(parent), 0, len(component)))
    return label, smallest[: len(parent)]


@kernel
def fill(names, begin, end, name):
    """Set the names in [begin, end) to one."""
    for i in range(np.uint64(begin), np.uint64(end)):
        names[i] = name


@kernel
def name_range(component, parent, smallest, spare, begin, end, label):
    """Label the vertices in [begin, end) with the smallest vertex of their tree.

    `smallest` holds for each component the smallest vertex seen; right answers need
    all vertices to be seen in ascending order, or to have been seen before. Returns
    whether there was a smaller one. Whether there is is a coin toss where many vertices
    are alone, so `smallest` is written in any case, if need be at `spare`.
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
