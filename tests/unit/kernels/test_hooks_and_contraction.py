"""The first Borůvka step, and the contraction that follows it, on a graph one can draw.

    0 --1-- 1 --5-- 2 --2-- 3       4

Along its lightest edge each vertex hooks: 0 and 1 to each other, 2 and 3 likewise.
"""

import numpy as np
import pytest

from mndmst.graph.model import EdgeColumns
from mndmst.kernels.contraction import Contraction
from mndmst.kernels.edge_columns import EdgePieces
from mndmst.kernels.hooks import (
    MEMBER,
    NUMBER,
    ROOT,
    ROOT_OF_TREE,
    SINGLE,
    compress,
    count_roots,
    find_roots,
    hooked_edges,
    keep_cross_edges,
    number_roots,
    record_root_vertices,
    vertices_outside,
)
from mndmst.kernels.kruskal import HALF
from mndmst.kernels.team import Team
from mndmst.kernels.threads import Threads
from mndmst.native.call_columns import calls_of

HOOK = np.array([1, 0, 3, 2, 4], np.uint32)
BEST = np.array([1, 1, 2, 2, 0], np.uint32)
EDGES = [(0, 1, 1), (1, 2, 5), (2, 3, 2)]


def columns(edges: list[tuple[int, int, int]]) -> list[np.ndarray]:
    return [np.array(column, np.uint32) for column in zip(*edges, strict=True)]


def pieces(edges: list[tuple[int, int, int]]) -> EdgePieces:
    return EdgePieces.of(EdgeColumns(*columns(edges)), np.array([0, len(edges)]))


def numbered() -> np.ndarray:
    """The hooks after the roots got their numbers."""
    parent, kind = HOOK.copy(), np.empty(5, np.uint8)
    find_roots(parent, 0, 5, kind)
    number_roots(parent, 0, 5, kind, 0, 2)
    return parent


def test_the_smaller_of_two_mutual_hooks_is_the_root() -> None:
    kind = np.empty(5, np.uint8)
    assert find_roots(HOOK, 0, 5, kind) == (2, 1)
    assert kind.tolist() == [ROOT_OF_TREE, MEMBER, ROOT_OF_TREE, MEMBER, SINGLE]


def test_trees_are_numbered_before_single_vertices() -> None:
    parent = numbered()
    assert parent.tolist() == [ROOT | 0, 0, ROOT | 1, 2, ROOT | 2]
    assert count_roots(parent, 0, 5) == 3
    names = np.empty(3, np.uint32)
    record_root_vertices(parent, 0, 5, names)
    assert names.tolist() == [0, 2, 4]


def test_every_member_gives_the_edge_of_its_hook() -> None:
    out = EdgeColumns(*(np.empty(2, np.uint32) for _ in range(3)))
    hooked_edges(numbered(), BEST, 0, 0, 5, out)
    assert [c.tolist() for c in out] == [[0, 2], [1, 3], [1, 2]]


def test_a_chain_of_hooks_is_compressed_to_its_root() -> None:
    length = 1000
    chain = np.arange(-1, length - 1).astype(np.uint32)
    chain[0] = ROOT | 7
    compress(chain, 0, length)
    assert set(chain.tolist()) == {ROOT | 7}


@pytest.mark.parametrize("threads", [1, 3])
def test_contraction_unites_trees_along_the_lightest_edge(threads: int) -> None:
    team = Team(Threads(threads))
    components = Contraction(team, 5, (0, 5), named=True)
    components.component[:] = HOOK
    out = EdgeColumns(*(np.empty(5, np.uint32) for _ in range(3)))
    assert components.link(BEST, out) == 2
    assert components.alive == 2
    assert (components.component & NUMBER).tolist() == [0, 0, 1, 1, 2]
    crossing = components.cross_edges(pieces(EDGES))
    (left,) = calls_of(crossing.edges, 1)
    assert (left.u.tolist(), left.v.tolist(), left.key.tolist()) == ([1], [2], [5])
    assert crossing.pairs[:1].tolist() == [1]  # components 0 and 1, in one word
    assert components.cycle_filter(crossing)[0].tolist() == [True]
    assert components.parent.tolist() == [0, 1, 2]  # the filter unites nothing
    crossing = components.cross_edges(pieces(EDGES))
    assert components.contract(crossing)[0].tolist() == [True]
    components.update_components()
    assert components.component.tolist() == [0, 0, 0, 0, 2]


def test_parallel_edges_between_two_components_leave_the_lightest() -> None:
    components = Contraction(Team(Threads(1)), 4, (0, 4))
    components.component[:] = HOOK[:4]
    components.link()
    left = components.cross_edges(pieces([(0, 2, 9), (0, 3, 6), (1, 2, 6)]))
    assert components.contract(left)[0].tolist() == [
        False,
        True,
        False,
    ]  # of equal keys the first


def test_cross_edges_move_to_the_front() -> None:
    parent = numbered()
    compress(parent, 0, 5)
    u, v, key = columns(EDGES)
    pairs = np.empty(4, np.uint64)
    count = keep_cross_edges(EdgeColumns(u, v, key), parent, key, pairs)
    assert (count, u[0], v[0], key[0]) == (1, 1, 2, 5)
    assert pairs[0] == (np.uint64(0) << HALF) | np.uint64(1)


def test_vertices_outside_the_giant_component_have_edges() -> None:
    component = np.array([0, 0, 1, 1, 2], np.uint32)
    indptr = np.array([0, 1, 3, 5, 6, 6])
    assert vertices_outside(0, component, indptr, 0, 5).tolist() == [2, 3]
