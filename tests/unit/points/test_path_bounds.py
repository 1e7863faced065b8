"""Bounds of unlisted edges from the paths of an old forest."""

import numpy as np
import pytest

from mndmst.points.kernels.path_bounds import OldEdges, bound_unlisted_edges


def heaviest(old, component, start):
    """Return the least of the largest weights from a vertex out of its component."""
    reached, best = {start: -np.inf}, np.inf
    for _ in component:  # a path has fewer edges than there are vertices
        for a, b, weight, is_lost in zip(*old, strict=True):
            for one, other in ((a, b), (b, a)):
                if one not in reached:
                    continue
                most = max(reached[one], weight)
                if component[other] == component[start]:
                    reached[other] = min(most, reached.get(other, np.inf))
                elif is_lost:
                    best = min(best, most)
    return best


@pytest.mark.parametrize("seed", range(30))
def test_bounds_are_those_of_all_paths(seed):
    random = np.random.default_rng(seed)
    vertices, edges = 12, 14
    a = random.integers(0, vertices, edges)
    b = (a + random.integers(1, vertices, edges)) % vertices
    old = OldEdges(
        a.astype(np.uint32),
        b.astype(np.uint32),
        np.sort(random.integers(0, 9, edges)).astype(np.float64),
        random.random(edges) < 0.5,
    )
    component = random.integers(0, 1 + seed % 4, vertices).astype(np.uint32)
    bound = np.full(vertices, np.nan)
    bound_unlisted_edges(old, component, bound)
    expected = [heaviest(old, component, vertex) for vertex in range(vertices)]
    np.testing.assert_array_equal(bound, expected)
