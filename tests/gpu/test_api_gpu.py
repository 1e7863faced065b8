"""The Python interface on arrays of the device: the same forest as from the host."""

import numpy as np
import pytest

import mndmst
from mndmst.backends.cuda import unavailable
from mndmst.host.errors import InputError

reason = unavailable()
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(reason is not None, reason=str(reason)),
]


def columns(m: int, dtype: str, seed: int) -> list[np.ndarray]:
    generator = np.random.default_rng(seed)
    src, dst = generator.integers(0, 500, (2, m))
    weight = generator.integers(-20, 20, m).astype(dtype)
    return [src, dst, weight]


@pytest.mark.parametrize("maximum", [False, True])
@pytest.mark.parametrize(
    "dtype", ["int32", "int64", "uint32", "uint64", "float32", "float64", "int16"]
)
@pytest.mark.parametrize("m", [0, 1, 400, 6000])
def test_as_from_the_host(m: int, dtype: str, maximum: bool) -> None:
    cupy = pytest.importorskip("cupy")
    host = columns(m, dtype, m)
    expected = mndmst.minimum_spanning_forest(*host, 600, maximum=maximum)
    found = mndmst.minimum_spanning_forest(
        *map(cupy.asarray, host), 600, maximum=maximum
    )
    assert found.edges.tolist() == expected.edges.tolist()
    assert found.weight.tolist() == expected.weight.tolist()
    assert found.weight.dtype == expected.weight.dtype
    assert found.labels.tolist() == expected.labels.tolist()


def test_bad_arrays_are_named() -> None:
    cupy = pytest.importorskip("cupy")
    src, dst, weight = map(cupy.asarray, columns(50, "float32", 1))
    with pytest.raises(InputError, match="not among the 10 vertices"):
        mndmst.minimum_spanning_forest(src, dst, weight, 10)
    weight[7] = cupy.nan
    with pytest.raises(InputError, match=r"entry 7 \(from 0\) is NaN"):
        mndmst.minimum_spanning_forest(src, dst, weight)
    with pytest.raises(InputError, match="give integers"):
        mndmst.minimum_spanning_forest(weight, dst, weight)
