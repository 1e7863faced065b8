"""The bytes of the arrays that an estimator holds after a batch, beside a fit."""

from functools import partial

import numpy as np
import pytest

from mndmst import HDBSCAN

POINTS = 20_000


def held_bytes(value: object, seen: dict[int, object]) -> int:
    """Return the bytes of all buffers that a value refers to, each counted once."""
    while isinstance(value, np.ndarray) and isinstance(value.base, np.ndarray):
        value = value.base
    if id(value) in seen:
        return 0
    seen[id(value)] = value  # so that no other object gets its id
    if isinstance(value, np.ndarray):
        return value.nbytes
    inner: list[object] = []
    if isinstance(value, dict):
        inner += value.values()
    elif isinstance(value, list | tuple):
        inner += value
    elif isinstance(value, partial):
        inner += [value.args, value.keywords]
    elif type(value).__module__.startswith("mndmst"):
        inner += getattr(value, "__dict__", {}).values()
    elif hasattr(value, "__self__"):
        inner.append(value.__self__)
    return sum(held_bytes(one, seen) for one in inner)


@pytest.mark.parametrize(("kind", "times"), [("f8", 1.48), ("f4", 1.41)])
def test_a_batch_leaves_little_more_in_memory_than_a_fit(
    kind: str, times: float
) -> None:
    random = np.random.default_rng(3)
    points = random.normal(size=(POINTS, 3)).astype(kind)
    estimator = HDBSCAN(min_samples=5, min_cluster_size=20).fit(points)
    after_fit = held_bytes(estimator, {})
    assert 66 <= (after_fit - points.nbytes) / POINTS <= 76
    for oldest in range(0, 100, 20):
        inserted = random.normal(size=(20, 3)).astype(kind)
        estimator.update(insert=inserted, remove=np.arange(oldest, oldest + 20))
        assert estimator._followed.version.followed is not None
        assert held_bytes(estimator, {}) <= times * after_fit
