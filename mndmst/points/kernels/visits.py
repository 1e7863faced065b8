"""How much of a tree a search of near points visits."""

from ...native.kernel import kernel
from .kd_tree import gap_to_point


@kernel
def count_visited(tree, queries, radius, own, of_node):
    """Return how many points lie in leaves that are near to queries, over all queries.

    Parameters
    ----------
    tree : PointTree
    queries : ndarray of float64, shape (queries, dimensions)
    radius : ndarray of float64, shape (queries,)
        Reduced distances: a leaf that is no nearer need not be visited.
    own : ndarray of uint32, shape (queries,)
        The component of each query, whose leaves need not be visited.
    of_node : ndarray of uint32, shape (nodes,)
        The component of each node; of several, none that a query is in.
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
