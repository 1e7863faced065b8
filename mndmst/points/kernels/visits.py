"""How much of a tree a search of near points visits."""

from ...native.kernel import kernel
from .kd_tree import gap_to_point


@kernel
def count_visited(tree, queries, radius):
    """Return how many points lie in leaves that are near to queries, over all queries.

    Parameters
    ----------
    tree : PointTree
    queries : ndarray of float64, shape (queries, dimensions)
    radius : ndarray of float64, shape (queries,)
        Reduced distances: a leaf that is no nearer need not be visited.
    """
    visited = 0
    for i in range(len(queries)):
        for leaf in tree.leaves:
            if gap_to_point(tree, leaf, queries[i]) < radius[i]:
                visited += tree.end[leaf] - tree.begin[leaf]
    return visited
