"""The index over a forest, beside walks through the forest in plain Python."""

from collections import deque
from itertools import pairwise

import graphs
import numpy as np
import oracle
import pytest

from mndmst.graph.order import WEIGHT_DTYPES
from mndmst.host.errors import ConfigError, InputError
from mndmst.tree.index import ForestIndex

TIES = graphs.random(60, 200, 5).with_weights([2, 1, 2, 3], "float64")
SHAPES = {
    **{name: graph for name, graph in graphs.NASTY.items() if graph.n < 200},
    "sparse": graphs.random(150, 120, 3).with_weights([4, 4, 1], "uint32"),
    "ties": TIES,
    "comb": graphs.Graph(
        90, np.r_[np.arange(44), np.arange(45)], np.r_[np.arange(1, 45), 45:90],
        np.resize(np.array([5, 3, 9, 1], np.int64), 89),
    ),
}  # fmt: skip


class Walks:
    """The tree paths between all vertices, by breadth-first search."""

    def __init__(self, answer: oracle.Answer, n: int) -> None:
        self.answer, self.n = answer, n
        self.near: list[list[tuple[int, int]]] = [[] for _ in range(n)]
        ends = zip(answer.src.tolist(), answer.dst.tolist(), strict=True)
        for edge, (a, b) in enumerate(ends):
            self.near[a].append((b, edge))
            self.near[b].append((a, edge))

    def edge_order(self, edge: int) -> tuple:
        src, dst, weight = self.answer.src, self.answer.dst, self.answer.weight
        return weight[edge].item(), int(src[edge]), int(dst[edge])

    def from_vertex(self, u: int, kept=lambda edge: True) -> dict[int, list[int]]:
        """Return the path to every vertex that can be reached."""
        paths: dict[int, list[int]] = {u: []}
        waiting = deque([u])
        while waiting:
            x = waiting.popleft()
            for y, edge in self.near[x]:
                if y not in paths and kept(edge):
                    paths[y] = [*paths[x], edge]
                    waiting.append(y)
        return paths


def indexed(graph: graphs.Graph, seed: int = 0) -> tuple[ForestIndex, Walks]:
    """Return an index over a forest, its edges shuffled and turned, and the walks."""
    answer = oracle.kruskal(*graph)
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(answer.src))
    turned = rng.random(len(order)) < 0.5
    src, dst = answer.src[order], answer.dst[order]
    src, dst = np.where(turned, dst, src), np.where(turned, src, dst)
    shuffled = answer._replace(
        src=np.minimum(src, dst), dst=np.maximum(src, dst), weight=answer.weight[order]
    )
    index = ForestIndex(graph.n, src, dst, shuffled.weight)
    return index, Walks(shuffled, graph.n)


@pytest.mark.parametrize("name", SHAPES)
def test_all_pairs(name: str) -> None:
    index, walks = indexed(SHAPES[name])
    n = index.num_vertices
    u, v = (x.ravel() for x in np.meshgrid(range(n), range(n), indexing="ij"))
    paths = {a: walks.from_vertex(a) for a in range(n)}
    expected = [paths[a].get(b) for a, b in zip(u.tolist(), v.tolist(), strict=True)]
    heaviest = [max(p, key=walks.edge_order) if p else -1 for p in expected]
    assert index.bottleneck(u, v).tolist() == heaviest
    assert index.connected(u, v).tolist() == [p is not None for p in expected]
    offsets, edges = index.path(u, v)
    found = [edges[a:b].tolist() for a, b in pairwise(offsets)]
    assert found == [p or [] for p in expected]


@pytest.mark.parametrize("name", SHAPES)
def test_cuts_at_every_weight(name: str) -> None:
    index, walks = indexed(SHAPES[name])
    weights = [w.item() for w in index.weight]
    for below in (*set(weights), np.inf, -np.inf, 1.5, -(10**30), 10**30):
        parts = [
            walks.from_vertex(v, lambda edge, t=below: weights[edge] < t)
            for v in range(index.num_vertices)
        ]
        labels = index.cut(below)
        assert labels.tolist() == [min(part) for part in parts]
        assert index.component_sizes(labels).tolist() == [len(part) for part in parts]
        assert index.count_before(below) == sum(w < below for w in weights)
    assert index.num_trees == len(set(index.labels.tolist()))


def test_no_vertex_is_far_from_its_top() -> None:
    """A path of ties would be a path of links without sizes."""
    for graph in (graphs.path(1000), graphs.path(1000).with_weights([3, 1, 2], "u4")):
        index, _ = indexed(graph)
        for vertex in range(1000):
            steps, word = 0, int(index.links[vertex])
            while word >> 32 != 0xFFFFFFFF:
                steps, word = steps + 1, int(index.links[word & 0xFFFFFFFF])
            assert steps <= 9


@pytest.mark.parametrize("dtype", WEIGHT_DTYPES, ids=str)
def test_every_type_of_weights(dtype: np.dtype) -> None:
    graph = graphs.random(80, 300, 9).with_weights(graphs.extremes(dtype.name), dtype)
    index, walks = indexed(graph)
    for u in range(0, 80, 7):
        paths = walks.from_vertex(u)
        found = index.bottleneck([u] * 80, range(80)).tolist()
        for v, edge in enumerate(found):
            right = max(paths[v], key=walks.edge_order) if paths.get(v) else -1
            assert edge == right


def test_subtrees_are_ranges() -> None:
    index, walks = indexed(SHAPES["sparse"])
    rooted = index.rooted
    assert sorted(rooted.vertex.tolist()) == list(range(150))
    for place, vertex in enumerate(rooted.vertex.tolist()):
        assert rooted.position[vertex] == place
        root = int(rooted.vertex[rooted.position[index.labels[vertex]]])
        assert root == index.labels[vertex]
        up = walks.from_vertex(root)
        inside = set(rooted.vertex[place : rooted.end[place]].tolist())
        prefix = up[vertex]
        assert inside == {v for v in up if up[v][: len(prefix)] == prefix}
        if vertex != root:
            assert rooted.edge[place] == prefix[-1]
            assert rooted.parent[place] < place
            assert rooted.head[place] in (place, rooted.head[rooted.parent[place]])


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (([0, 1, 2], [1, 2, 0], [1.0, 2.0, 3.0]), r"\(2, 0\) closes a cycle"),
        (([1], [1], [1.0]), r"\(1, 1\) closes a cycle"),
        (([0, 3], [1, 2], [1.0, 2.0]), "no vertex 3"),
        (([0, -1], [1, 2], [1.0, 2.0]), "no vertex -1"),
        (([0, 1], [1, 2], [1.0, np.nan]), r"\(1, 2\) is NaN"),
        (([0, 1], [1, 2], [1.0]), "2 targets and 1 weights"),
        (([0.0], [1.0], [1.0]), "arrays of integers"),
    ],
)
def test_what_is_no_forest(columns: tuple, words: str) -> None:
    with pytest.raises(InputError, match=words):
        ForestIndex(3, *columns[:2], np.array(columns[2]))


def test_wrong_questions() -> None:
    index = ForestIndex(3, [0], [1], np.array([7], np.int32))
    with pytest.raises(InputError, match="no vertex 3"):
        index.bottleneck([0], [3])
    with pytest.raises(InputError, match="1 first vertices of pairs, 2 second"):
        index.connected([0], [1, 2])
    with pytest.raises(ConfigError, match="must not be NaN"):
        index.cut(float("nan"))
    with pytest.raises(InputError, match="bool"):
        ForestIndex(2, [0], [1], np.array([True]))
    with pytest.raises(InputError, match="4,294,967,296 vertices"):
        ForestIndex(1 << 32, [], [], np.empty(0))
    assert index.bottleneck([], []).tolist() == []
