"""Rooted trees: parents, depths, distances, sizes and an order, for chosen roots."""

from collections import Counter

import numpy as np
import pytest

from mndmst.host.errors import ConfigError, InputError
from mndmst.tree.rooted_trees import CENTRE, LARGEST_DEGREE, RULES, root_trees

# A tree 0-1-2-3-4 with 5 at 3, the edge (6, 7), and the vertex 8
SRC, DST = np.array([0, 1, 2, 3, 3, 6]), np.array([1, 2, 3, 4, 5, 7])
WEIGHT = np.array([4, 1, 2, 7, 3, 5])


def drawn(seed: int) -> tuple[int, np.ndarray, np.ndarray, np.ndarray]:
    """Return a random forest: each vertex hangs from an earlier one, or from none."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 60))
    below = 1 + np.flatnonzero(rng.random(n - 1) < rng.uniform(0.3, 1.2))
    reach = rng.choice([1, 3, n])
    above = np.maximum(below - rng.integers(1, reach + 1, len(below)), 0)
    ends = np.sort(rng.permutation(n)[np.stack((below, above))], axis=0)
    src, dst = ends[:, np.lexsort(ends[::-1])]
    return n, src, dst, rng.integers(-9, 9, len(below))


def neighbours(n: int, src: np.ndarray, dst: np.ndarray) -> list[dict[int, int]]:
    """Return for each vertex its neighbours, and the edges to them."""
    near: list[dict[int, int]] = [{} for _ in range(n)]
    for edge, (u, v) in enumerate(zip(src.tolist(), dst.tolist(), strict=True)):
        near[u][v] = near[v][u] = edge
    return near


def depths(near: list[dict[int, int]], root: int) -> dict[int, int]:
    """Return the depth of each vertex of a tree, by a search from the root."""
    found, todo = {root: 0}, [root]
    for vertex in todo:
        for other in near[vertex]:
            if other not in found:
                found[other] = found[vertex] + 1
                todo.append(other)
    return found


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("seed", range(25))
def test_drawn_forests_are_rooted_as_a_search_from_each_root_finds(
    seed: int, rule: str
) -> None:
    n, src, dst, weight = drawn(seed)
    near = neighbours(n, src, dst)
    found = root_trees(n, src, dst, weight, rule=rule)
    value = {
        "smallest": lambda vertex: 0,
        LARGEST_DEGREE: lambda vertex: -len(near[vertex]),
        CENTRE: lambda vertex: max(depths(near, vertex).values()),
    }[rule]
    sizes: Counter[int] = Counter()
    for root in found.roots.tolist():
        tree = depths(near, root)
        assert root == min(tree, key=lambda vertex: (value(vertex), vertex))
        for vertex in tree:
            assert found.root[vertex] == root
            assert found.depth[vertex] == tree[vertex]
            above, edge, distance = vertex, found.edge[vertex].item(), 0
            sizes[vertex] += 1
            while above != root:
                assert near[above][found.parent[above].item()] == found.edge[above]
                distance += weight[found.edge[above]]
                above = found.parent[above].item()
                sizes[above] += 1
            assert found.distance[vertex] == distance
            assert (edge == -1) == (found.parent[vertex] == vertex) == (vertex == root)
    assert found.size.tolist() == [sizes[vertex] for vertex in range(n)]
    assert sorted(found.order.tolist()) == list(range(n))
    for vertex in range(n):
        begin, parent = found.order[vertex], found.parent[vertex]
        end = begin + found.size[vertex]
        assert found.order[parent] <= begin
        assert end <= found.order[parent] + found.size[parent]


def test_the_child_with_the_largest_subtree_comes_first() -> None:
    found = root_trees(9, SRC, DST, WEIGHT, np.array([1]))
    assert found.vertices.tolist()[:3] == [1, 2, 3]
    assert found.parent.tolist() == [1, 1, 1, 2, 3, 3, 6, 6, 8]
    assert found.distance.tolist() == [4, 0, 1, 3, 10, 6, 0, 5, 0]


def test_given_roots_are_those_of_their_trees_and_the_rule_chooses_the_others() -> None:
    found = root_trees(9, SRC, DST, WEIGHT, np.array([7]), LARGEST_DEGREE)
    assert sorted(found.roots.tolist()) == [3, 7, 8]


def test_the_same_forest_in_another_order_of_edges_has_the_same_parents() -> None:
    found = root_trees(9, SRC, DST, WEIGHT, rule=CENTRE)
    turned = root_trees(9, DST[::-1], SRC[::-1], WEIGHT[::-1], rule=CENTRE)
    assert found.parent.tolist() == turned.parent.tolist()
    assert found.distance.tolist() == turned.distance.tolist()


@pytest.mark.parametrize(
    ("weight", "distance"),
    [
        (np.array([1 << 40, 1], np.int64), (1 << 40) + 1),
        (np.array([(1 << 64) - 1, (1 << 64) - 1], np.uint64), 2.0**65),
        (np.array([1 << 62, 1 << 62], np.int64), 2.0**63),
        (np.array([0.5, -2], np.float32), -1.5),
        (np.array([np.inf, 1]), np.inf),
    ],
)
def test_distances_are_exact_integers_or_float64(
    weight: np.ndarray, distance: float
) -> None:
    found = root_trees(3, np.array([0, 1]), np.array([1, 2]), weight)
    assert found.distance[2] == distance
    assert found.distance.dtype == np.array(distance).dtype


def test_no_vertex_and_no_edge() -> None:
    none = np.empty(0, np.int64)
    assert len(root_trees(0, none, none, none, rule=CENTRE).root) == 0
    assert root_trees(2, none, none, none, rule=CENTRE).roots.tolist() == [0, 1]


def test_two_roots_of_one_tree_are_refused_by_their_names() -> None:
    with pytest.raises(ConfigError, match="vertices e and b are in the same tree"):
        root_trees(
            9, SRC, DST, WEIGHT, np.array([4, 7, 1]), name="abcdefghi".__getitem__
        )
    found = root_trees(9, SRC, DST, WEIGHT, np.array([4, 4]))
    assert found.root[0] == 4


def test_what_cannot_be_rooted_is_refused() -> None:
    with pytest.raises(InputError, match="no vertex 9: ids run from 0 to 8"):
        root_trees(9, SRC, DST, WEIGHT, np.array([9]))
    with pytest.raises(InputError, match="no vertex -1"):
        root_trees(9, SRC, DST, WEIGHT, np.array([-1]))
    with pytest.raises(ConfigError, match="smallest, largest-degree, centre"):
        root_trees(9, SRC, DST, WEIGHT, rule="center")
    with pytest.raises(InputError, match="close a cycle"):
        root_trees(3, np.array([0, 0, 1]), np.array([1, 2, 2]), np.ones(3))
