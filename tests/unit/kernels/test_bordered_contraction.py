"""Components grow as Borůvka rounds with the border exception would let them."""

import numpy as np
import pytest

from mndmst.kernels import bordered_contraction
from mndmst.kernels.block_contraction import BLOCK_BITS, LEAST_BLOCKS, find_blocks
from mndmst.kernels.borders import ACCEPTED, PENDING
from mndmst.kernels.kruskal import HALF, PairEdgeList
from mndmst.kernels.threads import Threads


def rounds(
    key: np.ndarray, a: np.ndarray, b: np.ndarray, ghost: int, count: int
) -> tuple[np.ndarray, list[int]]:
    """Let components choose until none may: the definition, as slow as it is."""
    name = list(range(count))
    final = np.zeros(len(key), bool)
    moved = True
    while moved:
        moved = False
        lightest: dict[int, int] = {}
        for i in sorted(range(len(key)), key=lambda i: (key[i], i)):
            x, y = name[a[i]], name[b[i]]
            if x != y:
                lightest.setdefault(x, i)
                lightest.setdefault(y, i)
        for component, i in lightest.items():
            ends = name[a[i]], name[b[i]]
            if ghost in (component, *ends) or component not in ends:
                continue
            if ends[0] != ends[1]:
                final[i] = moved = True
                low, high = min(ends), max(ends)
                name = [low if x == high else x for x in name]
                break  # what others have chosen may be no more than that
    return final, name


@pytest.mark.parametrize("seed", range(40))
def test_growth_is_what_rounds_reach(seed: int) -> None:
    source = np.random.default_rng(seed)
    count = int(source.integers(2, 30))
    ghost = count - 1
    a, b = source.integers(0, count, (2, int(source.integers(0, 4 * count))))
    a, b = a[a != b], b[a != b]
    dtype = (np.uint32, np.uint64)[seed % 2]
    key = source.integers(0, (3, 1000)[seed % 3 > 0], len(a)).astype(dtype)
    pairs = (a.astype(np.uint64) << HALF) | b.astype(np.uint64)
    found = bordered_contraction.contract_except_borders(
        PairEdgeList(key, pairs), ghost, count, Threads(1 + seed % 2)
    )
    final, name = rounds(key, a, b, ghost, count)
    assert (found.fate == ACCEPTED).tolist() == final.tolist()
    assert found.parent.tolist() == name


@pytest.mark.parametrize("dtype", [np.uint32, np.uint64])
@pytest.mark.parametrize("distinct", [5, 1 << 30])
def test_blocks_change_nothing(dtype: type, distinct: int) -> None:
    """Many edges between close components, some of which are across the border."""
    source = np.random.default_rng(distinct % 11)
    own, count = 150_000, 153_000
    a = np.sort(source.integers(0, own - 40, LEAST_BLOCKS << BLOCK_BITS))
    b = a + source.integers(1, 40, len(a))
    b = np.where(source.random(len(a)) < 0.02, source.integers(own, count, len(a)), b)
    edges = PairEdgeList(
        source.integers(0, distinct, len(a)).astype(dtype),
        (a.astype(np.uint64) << HALF) | b.astype(np.uint64),
    )
    alone, several = (
        bordered_contraction.contract_except_borders(edges, own, count, Threads(n))
        for n in (1, 3)
    )
    assert find_blocks(edges.pairs, alone.parent, own) is not None
    np.testing.assert_array_equal(several.fate, alone.fate)
    np.testing.assert_array_equal(several.parent, alone.parent)
    assert {0, ACCEPTED, PENDING} == set(np.unique(alone.fate).tolist())
