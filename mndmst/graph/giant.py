"""Find a giant component in a sample of arcs."""

import numpy as np


def most_frequent(sample: np.ndarray, share: float) -> int | None:
    """Return the most frequent value, if it is more than a share of all, else None.

    Parameters
    ----------
    sample : ndarray of integers
    share : float
    """
    values, counts = np.unique(sample, return_counts=True)
    if counts.max(initial=0) <= share * len(sample):
        return None
    return int(values[counts.argmax()])
