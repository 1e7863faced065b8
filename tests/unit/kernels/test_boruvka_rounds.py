"""Borůvka rounds by a team find the forest that Kruskal's algorithm finds."""

import numpy as np
import pytest

from mndmst.graph.tuning import Tuning
from mndmst.kernels.boruvka_rounds import forest_by_rounds
from mndmst.kernels.spanning_forest import spanning_forest
from mndmst.kernels.team import Team
from mndmst.kernels.threads import Threads

COMPONENTS, EDGES = 3000, 9000
ORDERS = ("random", "equal", "few", "ascending", "descending", "largest")
SHAPES = ("random", "star", "path", "two", "none")


def ends_of(shape: str, source: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    a = source.integers(0, COMPONENTS, EDGES)
    b = source.integers(0, COMPONENTS, EDGES)
    if shape == "star":
        b = np.where(source.random(EDGES) < 0.9, 7, b)
    elif shape == "path":
        a = source.permutation(COMPONENTS - 1)
        b = a + 1
    elif shape == "two":
        a, b = a % 2, np.ones_like(b) - a % 2
    apart = (a != b) & (shape != "none")
    return a[apart], b[apart]


def keys_of(order: str, count: int, dtype: type, source: np.random.Generator):
    top = np.iinfo(dtype).max
    return {
        "random": source.integers(0, top, count, dtype, endpoint=True),
        "equal": np.zeros(count, dtype),
        "few": source.integers(0, 3, count).astype(dtype),
        "ascending": np.arange(count, dtype=dtype),
        "descending": np.arange(count, 0, -1).astype(dtype),
        "largest": np.full(count, top, dtype),
    }[order]


def team_of(members: int) -> Team:
    """Return a team whose members all wake for little work."""
    return Team(Threads(members, Tuning(grain=1)))


@pytest.mark.parametrize("members", [1, 2, 5])
@pytest.mark.parametrize("dtype", [np.uint32, np.uint64])
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("shape", SHAPES)
def test_rounds_find_the_forest(
    shape: str, order: str, dtype: type, members: int
) -> None:
    source = np.random.default_rng(len(shape) + 10 * len(order))
    a, b = ends_of(shape, source)
    key = keys_of(order, len(a), dtype, source)
    # Components have been joined before, so some are called after others.
    before = np.arange(COMPONENTS, dtype=np.uint32)
    joined = source.integers(0, COMPONENTS, 200)
    before[joined] = joined.min()
    pairs = a.astype(np.uint64) << np.uint64(32) | b.astype(np.uint64)
    expected_parent = before.copy()
    expected = spanning_forest(team_of(1), key, pairs, expected_parent)

    parent = before.copy()
    kept = forest_by_rounds(team_of(members), key, pairs, parent)
    assert (kept == expected).all()
    assert (parent == expected_parent).all()


@pytest.mark.parametrize("dtype", [np.uint32, np.uint64])
@pytest.mark.parametrize("order", ORDERS)
def test_light_edges_first_leave_the_forest_the_same(order: str, dtype: type) -> None:
    source = np.random.default_rng(5)
    a, b = (end % 60 for end in ends_of("random", source))
    apart = a != b
    pairs = a[apart].astype(np.uint64) << np.uint64(32) | b[apart].astype(np.uint64)
    key = keys_of(order, len(pairs), dtype, source)
    found = []
    for many in (1, len(pairs)):
        alone = Threads(1, Tuning(many_edges=many))
        parent = np.arange(60, dtype=np.uint32)
        found.append((spanning_forest(Team(alone), key, pairs, parent), parent))
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)
