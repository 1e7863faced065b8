"""The tree of merges of a forest.

0 -1- 1 -5- 2 -2- 3 -4- 4    5 -3- 6    7
"""

import numpy as np

from mndmst.tree.kruskal_tree import (
    heaviest_between,
    heaviest_rank,
    link_by_size,
    smallest_within,
)

A, B = np.uint32([0, 1, 2, 3, 5]), np.uint32([1, 2, 3, 4, 6])
WEIGHT = np.array([1, 5, 2, 4, 3])
ORDER = np.argsort(WEIGHT).astype(np.uint32)


def linked() -> np.ndarray:
    links = np.empty(8, np.uint64)
    assert link_by_size(ORDER, A, B, links) == len(ORDER)
    return links


def test_a_cycle_is_found_at_its_last_edge() -> None:
    a, b = np.uint32([0, 1, 0, 3]), np.uint32([1, 2, 2, 4])
    assert (
        link_by_size(np.arange(4, dtype=np.uint32), a, b, np.empty(5, np.uint64)) == 2
    )


def test_links_above_a_vertex_are_few_and_ascend() -> None:
    count = 1 << 10
    a, b = np.arange(count - 1, dtype=np.uint32), np.arange(1, count, dtype=np.uint32)
    order = np.random.default_rng(1).permutation(count - 1).astype(np.uint32)
    links = np.empty(count, np.uint64)
    link_by_size(order, a, b, links)
    rank, above = links >> np.uint64(32), links & np.uint64(0xFFFFFFFF)
    for vertex in range(count):
        climbed = []
        while above[vertex] != vertex:
            climbed.append(int(rank[vertex]))
            vertex = int(above[vertex])
        assert len(climbed) <= 10 and climbed == sorted(climbed)


def test_the_last_link_is_the_heaviest_edge_of_the_path() -> None:
    links = linked()
    rank = {weight: place for place, weight in enumerate(sorted(WEIGHT.tolist()))}
    for u, v, weight in ((0, 1, 1), (0, 4, 5), (2, 4, 4), (3, 2, 2), (6, 5, 3)):
        assert heaviest_rank(links, np.uint64(u), np.uint64(v)) == rank[weight]


def test_pairs_without_a_path_have_no_heaviest_edge() -> None:
    u, v = np.uint32([0, 0, 7, 5, 2]), np.uint32([4, 5, 7, 6, 7])
    position = np.empty(5, np.int64)
    heaviest_between(linked(), ORDER, u, v, position)
    assert position.tolist() == [1, -1, -1, 4, -1]


def test_clusters_are_joined_by_the_first_edges() -> None:
    links, label = linked(), np.empty(8, np.uint32)
    for count, expected in (
        (0, [0, 1, 2, 3, 4, 5, 6, 7]),
        (2, [0, 0, 2, 2, 4, 5, 6, 7]),
        (4, [0, 0, 2, 2, 2, 5, 5, 7]),
        (5, [0, 0, 0, 0, 0, 5, 5, 7]),
    ):
        smallest_within(links, np.uint64(count), label)
        assert label.tolist() == expected
