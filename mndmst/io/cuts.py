"""Cut vertices into contiguous parts of about equal cost."""

import numpy as np


def balanced_cuts(load: np.ndarray, num_parts: int) -> np.ndarray:
    """Return where to cut so that all parts carry about the same load.

    Parameters
    ----------
    load : ndarray of int64, shape (places,)
        The load before each place at which a cut may be; from 0, ascending.
    num_parts : int

    Returns
    -------
    ndarray of int64, shape (num_parts + 1,)
        Positions in `load`, from the first to the last.
    """
    total = int(load[-1])
    shares = np.array([total * part // num_parts for part in range(num_parts + 1)])
    cuts = np.searchsorted(load, shares)
    cuts[-1] = len(load) - 1
    return cuts

