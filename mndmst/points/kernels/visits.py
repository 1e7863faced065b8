"""How much of a tree a search of near points visits."""

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
    for i in range(len(queries)):
        for leaf in tree.leaves:
            if (
                of_node[leaf] != own[i]
                and gap_to_point(tree, leaf, queries[i]) < radius[i]
            ):
                visited += tree.end[leaf] - tree.begin[leaf]
    return visited
