"""How much of a tree a search of near points visits."""

import numpy as np

from ...native.kernel import kernel
from .kd_tree import gap_to_point


@kernel
def count_visited(tree, queries, radius, own, of_node):
    """Return how many points lie in leaves that are near to queries, over all queries.

    A leaf that is no nearer than the query's `radius` (a reduced distance) need not be
    visited, nor leaves of its component `own`. `of_node` is the component of each node;
    of several, none that a query is in.
    """
    visited = 0
    stack = np.empty(tree.depth + 1, np.int64)
    for i in range(len(queries)):
        stack[0], top = 0, 1
        while top:
            top -= 1
            node = stack[top]
            if (
                of_node[node] == own[i]
                or gap_to_point(tree, node, queries[i]) >= (radius[i])
            ):
                continue
            left = tree.left[node]
            if left < 0:
                visited += tree.end[node] - tree.begin[node]
            else:
                stack[top], stack[top + 1] = left + 1, left
                top += 2
    return visited
