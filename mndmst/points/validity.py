"""How well clusters are apart: DBCV, estimated from the spanning tree.

Moulavi, Jaskowiak, Campello, Zimek and Sander, SDM 2014. The estimate is hdbscan's: its
density sparseness and separation are those of the tree's edges.
"""

import numpy as np

from ..api.forest import Forest


def relative_validity(forest: Forest, labels: np.ndarray) -> float:
    """Return the validity of flat clusters, from -1 to 1.

    Where distances tie, it depends on which of the spanning trees the numbers of the
    points choose.

    Parameters
    ----------
    forest : Forest
        Of mutual reachability distances.
    labels : ndarray of int64, shape (points,)
        -1 is noise.
    """
    count = int(labels.max(initial=-1)) + 1
    if count == 0:
        return 0.0
    one, other = labels[forest.src], labels[forest.dst]
    distance = forest.weight
    largest = float(distance.max(initial=0))
    same = (one >= 0) & (one == other)
    between = (one >= 0) & (other >= 0) & (one != other)
    sparseness, separation = np.zeros(count), np.full(count, np.inf)
    np.maximum.at(sparseness, one[same], distance[same])
    for end in (one, other):
        np.minimum.at(separation, end[between], distance[between])
    away = (one < 0) != (other < 0)
    nearest = float(distance[away].min()) if away.any() else largest
    separation[np.isinf(separation)] = 2 * (largest if count > 1 else nearest)
    larger = np.maximum(separation, sparseness)
    validity = np.zeros(count)
    np.divide(separation - sparseness, larger, out=validity, where=larger > 0)
    sizes = np.bincount(labels[labels >= 0], minlength=count)
    return float((sizes * validity).sum() / len(labels))
