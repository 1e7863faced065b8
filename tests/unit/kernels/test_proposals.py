"""A Borůvka round by workers that propose edges, and owners that decide."""

import numpy as np
import pytest

from mndmst.kernels.proposals import (
    NOBODY,
    Proposable,
    Room,
    decide,
    find_places,
    left_apart,
    mark,
    propose,
)
from mndmst.kernels.shared import count_isolated, number_roots_apart, renumber

COMPONENTS, EDGES, WORKERS = 40, 300, 3


@pytest.mark.parametrize("keys", [np.uint32, np.uint64])
@pytest.mark.parametrize("positions", [np.uint32, np.int64])
@pytest.mark.parametrize("shift", [0, 2])
@pytest.mark.parametrize("idle", [NOBODY, 7])
def test_every_component_gets_its_lightest_edge(
    keys: type, positions: type, shift: int, idle: int
) -> None:
    random = np.random.default_rng(shift)
    top = np.iinfo(keys).max
    key = random.choice(np.array([0, 1, top], keys), EDGES)
    a, b = random.integers(0, COMPONENTS - 2, (2, EDGES)).astype(np.uint64)
    b[a == b] = COMPONENTS - 2
    a[0], b[0], key[0] = 0, COMPONENTS - 1, top  # whose only edge has the largest key
    pairs = a << np.uint64(32) | b
    blocks = -(-COMPONENTS // (1 << shift))
    owner = (np.arange(blocks) * WORKERS // blocks).astype(np.uint32)
    places = np.zeros((WORKERS, WORKERS + 2), np.int64)
    types = (np.uint32, np.uint32, keys, positions)
    room = Room(*(np.empty(2 * EDGES, dtype) for dtype in types))
    for worker in range(WORKERS):
        part = slice(worker * EDGES // WORKERS, (worker + 1) * EDGES // WORKERS)
        place = np.arange(part.start, part.stop, dtype=positions)
        find_places(pairs[part], shift, owner, idle, 2 * part.start, places[worker])
        edges = Proposable(key[part], pairs[part], place)
        propose(edges, shift, owner, idle, places[worker], room)
    hook = np.arange(COMPONENTS, dtype=np.uint32)
    chosen = np.zeros(EDGES, np.bool_)
    none = np.iinfo(positions).max
    for me in range(WORKERS):
        begin, end = np.searchsorted(owner, [me, me + 1]) << shift
        count = min(end, COMPONENTS) - begin
        best, least = np.full(count, top, keys), np.full(count, none, positions)
        decide(room, places, me, begin, best, least, hook)
        mark(least, chosen)
    lightest = {}
    for place in np.lexsort((np.arange(EDGES), key)).tolist():
        for near, far in ((a[place], b[place]), (b[place], a[place])):
            lightest.setdefault(int(near), (int(far), place))
    lightest.pop(idle, None)
    for component in range(COMPONENTS):
        expected = lightest.get(component, (component, None))
        assert hook[component] == expected[0]
    marked = {place for _, place in lightest.values()}
    assert set(np.flatnonzero(chosen).tolist()) == marked


def test_edges_inside_a_component_are_dropped() -> None:
    root = np.uint32(1 << 31)
    step = np.array([5, 5, 7, 7], np.uint32) | root
    pairs = np.array([0 << 32 | 1, 1 << 32 | 2, 3 << 32 | 0, 2 << 32 | 3], np.uint64)
    u, v, key, position = (
        np.arange(k, k + 4, dtype=np.uint32) for k in (0, 10, 20, 30)
    )
    assert left_apart(u, v, key, pairs, position, step) == 2
    assert pairs[:2].tolist() == [5 << 32 | 7, 7 << 32 | 5]
    assert (u[:2].tolist(), v[:2].tolist()) == ([1, 2], [11, 12])
    assert (key[:2].tolist(), position[:2].tolist()) == ([21, 22], [31, 32])


def test_finished_components_are_numbered_behind_the_others() -> None:
    root, number = np.uint32(1 << 31), np.uint32((1 << 31) - 1)
    hook = np.array([1, 0, 2, 1, 4], np.uint32)
    parent = np.array([root | 0, 0, root | 2, 1, root | 4], np.uint32)
    assert count_isolated(hook, 0, 5, NOBODY) == 2
    numbered = parent.copy()
    number_roots_apart(numbered, hook, 0, 5, NOBODY, 7, 100)
    assert (numbered & number).tolist() == [7, 0, 100, 1, 101]
    assert count_isolated(hook, 0, 5, 4) == 1
    number_roots_apart(parent, hook, 0, 5, 4, 7, 100)
    assert (parent & number).tolist() == [7, 0, 100, 1, 8]


def test_numbers_follow_those_that_have_finished() -> None:
    step = np.array([4, 0, 4], np.uint32) | np.uint32(1 << 31)
    number = np.array([2, 9, 1, 3, 0], np.uint32)
    renumber(number, step, 3, 2)
    assert number.tolist() == [4, 7, 0, 1, 4]
