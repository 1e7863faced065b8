"""Blocks of close components contract first, and only along edges of the forest."""

import numpy as np
import pytest

from mndmst.graph.tuning import Tuning
from mndmst.kernels import block_contraction as module
from mndmst.kernels.block_contraction import contract_blocks, edges_between, find_blocks
from mndmst.kernels.kruskal import HALF, PairEdgeList
from mndmst.kernels.spanning_forest import forest_by_blocks, spanning_forest
from mndmst.kernels.team import Team
from mndmst.kernels.threads import Threads

EDGES = 5 << module.BLOCK_BITS
COMPONENTS, REACH = EDGES // 2, 40


def kruskal(key: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Mark the forest of edges; a slow search that knows nothing of blocks."""
    root = list(range(COMPONENTS))

    def find(x: int) -> int:
        while root[x] != x:
            root[x] = root[root[x]]
            x = root[x]
        return x

    kept = np.zeros(len(key), bool)
    for i in np.argsort(key, kind="stable").tolist():
        x, y = find(int(a[i])), find(int(b[i]))
        if x != y:
            root[max(x, y)] = min(x, y)
            kept[i] = True
    return kept


def close_edges(source: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    a = np.sort(source.integers(0, COMPONENTS - REACH, EDGES))
    return a, a + source.integers(1, REACH, EDGES)


def pairs_of(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (a.astype(np.uint64) << HALF) | b.astype(np.uint64)


@pytest.mark.parametrize("members", [1, 3])
@pytest.mark.parametrize(
    ("dtype", "distinct"),
    [(np.uint32, 1 << 32), (np.uint32, 1), (np.uint64, 1 << 63), (np.uint64, 9)],
)
def test_the_forest_is_found(dtype: type, distinct: int, members: int) -> None:
    source = np.random.default_rng(members + distinct % 7)
    a, b = close_edges(source)
    key = source.integers(0, distinct, EDGES, np.uint64).astype(dtype)
    parent = np.arange(COMPONENTS, dtype=np.uint32)
    # Some components have been joined before.
    joined = source.choice(EDGES, EDGES // 20, replace=False)
    for i in joined.tolist():
        if parent[b[i]] == b[i]:
            parent[b[i]] = parent[a[i]]
    while not np.array_equal(parent, parent[parent]):
        parent = parent[parent]
    expected = kruskal(key, parent[a], parent[b])
    before = parent.copy()

    team, pairs = Team(Threads(members, Tuning(grain=1))), pairs_of(a, b)
    blocks = find_blocks(pairs, parent, COMPONENTS)
    assert blocks is not None
    inside = contract_blocks(team, PairEdgeList(key, pairs), parent, blocks)
    assert not (inside & ~expected).any()
    # All keys alike tell 64-bit edges apart by nothing, so few may contract.
    assert inside.sum() > (0.95 if distinct > 9 else 0.3) * expected.sum()
    (_, named), position = edges_between(
        PairEdgeList(key, pairs), parent, blocks, team.threads
    )
    apart = parent[a] != parent[b]
    assert position.tolist() == np.flatnonzero(apart).tolist()
    assert named.tolist() == pairs_of(parent[a], parent[b])[apart].tolist()

    found = spanning_forest(team, key, pairs, before)
    np.testing.assert_array_equal(found, expected)


def test_edges_lie_in_pieces_with_gaps() -> None:
    source = np.random.default_rng(5)
    a, b = close_edges(source)
    key = source.integers(1, 1 << 32, EDGES, np.uint32)
    parent = np.arange(COMPONENTS, dtype=np.uint32)
    expected = kruskal(key, a, b)
    cuts = np.array([0, EDGES // 3, EDGES // 3, EDGES // 2, EDGES])
    begin = cuts[:-1] + 100 * np.arange(4)
    pieces = begin, begin + np.diff(cuts)
    keys, pairs = np.zeros(EDGES + 300, np.uint32), np.zeros(EDGES + 300, np.uint64)
    places = np.concatenate([np.arange(*piece) for piece in zip(*pieces, strict=True)])
    keys[places], pairs[places] = key, pairs_of(a, b)
    found = forest_by_blocks(Team(Threads(3)), keys, pairs, parent, pieces)
    assert found is not None
    np.testing.assert_array_equal(found[places], expected)


def test_distant_ends_make_no_blocks() -> None:
    source = np.random.default_rng(1)
    a, b = source.integers(0, COMPONENTS, (2, EDGES))
    parent = np.arange(COMPONENTS, dtype=np.uint32)
    assert find_blocks(pairs_of(np.sort(a), b), parent, COMPONENTS) is None
    assert find_blocks(pairs_of(a[:1000], a[:1000] + 1), parent, COMPONENTS) is None


def test_blocks_of_components_do_not_overlap() -> None:
    a, b = close_edges(np.random.default_rng(2))
    parent = np.arange(COMPONENTS, dtype=np.uint32)
    unsorted = np.r_[EDGES // 2 : EDGES, 0 : EDGES // 2]
    assert find_blocks(pairs_of(a, b)[unsorted], parent, COMPONENTS) is None
    blocks = find_blocks(pairs_of(a, b), parent, COMPONENTS)
    assert blocks is not None
    assert (np.diff(blocks.component) >= 0).all() and blocks.component[0] == 0
    assert (blocks.end - blocks.begin).max() <= 1 << module.BLOCK_BITS
