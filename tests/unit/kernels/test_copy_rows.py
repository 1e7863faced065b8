"""Rows chosen from a CSR graph and copied side by side."""

import numpy as np
import pytest

from mndmst.kernels.edge_columns import copy_rows


@pytest.mark.parametrize("seed", range(10))
def test_chosen_rows_lie_side_by_side(seed: int) -> None:
    rng = np.random.default_rng(seed)
    degrees = rng.integers(0, 6, 50) * (rng.random(50) < 0.7)
    indptr = np.concatenate(([0], np.cumsum(degrees)))
    source = rng.integers(0, 1 << 32, indptr[-1], np.uint32)
    row = np.flatnonzero((rng.random(50) < 0.5) & (degrees > 0))
    row = row.astype(np.uint32)
    offset = np.concatenate(([0], np.cumsum(degrees[row])))
    expected = np.concatenate(
        [source[indptr[r] : indptr[r + 1]] for r in row] + [source[:0]]
    )
    for low in range(0, len(expected), 7):
        out = np.empty(min(7, len(expected) - low), np.uint32)
        copy_rows(source, indptr, row, offset, low, out)
        np.testing.assert_array_equal(out, expected[low : low + 7])
