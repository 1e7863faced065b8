"""Norms of differences between points, computed as reduced distances.

Searches compare reduced distances, which are cheaper than distances and ordered alike:
squares for the Euclidean norm, the distances themselves for the others. Terms are added
in the order of the dimensions, without fused instructions, so a distance has the same
bits wherever, and from whichever end, it is computed.

A new norm takes a branch in each function below, and one in `leaf_vectors_llvm`, which
adds the gaps of a leaf.
"""

import numpy as np

from ...native.kernel import kernel

MANHATTAN, EUCLIDEAN, CHEBYSHEV = 1, 2, 3
LARGEST = np.finfo(np.float64).max  # limits are finite


@kernel
def add_gap(norm, total, gap):
    """Return a reduced distance after adding the gap (0 or more) of one dimension."""
    if norm == EUCLIDEAN:
        return total + gap * gap
    if norm == MANHATTAN:
        return total + gap
    return max(total, gap)


@kernel
def distance_of(norm, reduced):
    """Return the distance of a reduced distance."""
    return np.sqrt(reduced) if norm == EUCLIDEAN else reduced


@kernel
def limit_of(norm, distance):
    """Return a reduced distance above that of every point within a distance."""
    reduced = distance * distance if norm == EUCLIDEAN else distance
    return min(reduced * (1 + 1e-15) + 1e-322, LARGEST)
