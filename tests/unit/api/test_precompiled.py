"""The kernels that Python calls are compiled side by side before the first solve."""

import numpy as np
import pytest
from called_kernels import ARRAYS, FEW_POINTS, MATRICES, called_in_memory

from mndmst.native.precompile import listed_kernels


@pytest.mark.parametrize("dtype", ["int32", "float64"])
@pytest.mark.parametrize(
    ("user", "program"), [("arrays", ARRAYS), ("matrices", MATRICES)]
)
def test_solves_call_nothing_that_is_not_registered(
    user: str, program: str, dtype: str
) -> None:
    """A kernel that is missing would be compiled alone, while all others wait."""
    pytest.importorskip("scipy", reason="makes the matrices")
    program = {"arrays": ARRAYS, "matrices": MATRICES}[user]
    called = set(called_in_memory(program, dtype))
    assert called
    assert called <= set(listed_kernels(user, np.dtype(dtype)))


def test_clusters_of_few_points_call_nothing_that_is_not_registered() -> None:
    called = set(called_in_memory(FEW_POINTS, ""))
    few = set(listed_kernels("few-points"))
    assert called and called <= few <= set(listed_kernels("points"))
