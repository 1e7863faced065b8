"""Linear-time kernels on the edges of a reduced graph: relabel, mark, lightest."""

import numpy as np

from ..native.kernel import kernel


@kernel
def edges_between_names(a, b, names):
    """Return the positions of edges between two names, and the names at their ends."""
    alive = np.empty(len(a), np.int64)
    end_a, end_b = np.empty(len(a), names.dtype), np.empty(len(a), names.dtype)
    written = np.uint64(0)
    for i in range(np.uint64(len(a))):
        name_a, name_b = names[a[i]], names[b[i]]
        alive[written], end_a[written], end_b[written] = i, name_a, name_b
        written += np.uint64(name_a != name_b)
    return alive[:written], end_a[:written], end_b[:written]


@kernel
def carry_marks(mark, a, b, alive, new_a, new_b, count):
    """Return a mark per new component: whether an old component in it was marked.

    `mark` is by old component, at the ends `a` and `b`. The edges `alive` remain; their
    ends are now `new_a` and `new_b`, of `count` components.
    """
    result = np.zeros(count, np.bool_)
    for i in range(len(alive)):
        result[new_a[i]] |= mark[a[alive[i]]]
        result[new_b[i]] |= mark[b[alive[i]]]
    return result


@kernel
def renumber_ends(a, b, count):
    """Return a mask of components with edges, and new numbers of the ends.

    Components without edges are left out; the others keep their order.
    """
    used = np.zeros(count, np.bool_)
    for i in range(np.uint64(len(a))):
        used[a[i]] = used[b[i]] = True
    number = np.empty(count, np.uint32)
    next_number = np.uint64(0)
    for component in range(np.uint64(count)):
        number[component] = next_number
        next_number += np.uint64(used[component])
    new_a, new_b = np.empty(len(a), np.uint32), np.empty(len(b), np.uint32)
    for i in range(np.uint64(len(a))):
        new_a[i], new_b[i] = number[a[i]], number[b[i]]
    return used, new_a, new_b


@kernel
def lightest_edges(a, b, key, count):
    """Return for each of `count` components, all with edges, its lightest edge.

    The edges are in (u, v) order, so the first of equal keys is the lightest.
    """
    best = np.full(count, -1, np.int64)
    for i in range(len(key)):
        if best[a[i]] < 0 or key[i] < key[best[a[i]]]:
            best[a[i]] = i
        if best[b[i]] < 0 or key[i] < key[best[b[i]]]:
            best[b[i]] = i
    return best
