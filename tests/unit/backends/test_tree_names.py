"""Names of trees, by one thread and by several that see them in any order."""

import numpy as np
import pytest

from mndmst.backends.cpu.tree_names import LINE, name_range, tree_names
from mndmst.graph.tuning import Tuning
from mndmst.kernels.threads import Threads


def trees(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return components and their trees: a giant one, small ones, lone vertices."""
    rng = np.random.default_rng(seed)
    parent = np.arange(900, dtype=np.uint32)
    parent[rng.random(900) < 0.5] = 7
    parent[7] = 7
    parent[800:] = parent[800:] // 3 * 3
    parent[parent[parent] != parent] = 7
    return rng.integers(0, 900, 3000).astype(np.uint32), parent


def smallest_of(component: np.ndarray, parent: np.ndarray) -> list[int]:
    tree = parent[component].tolist()
    first = {name: place for place, name in reversed(list(enumerate(tree)))}
    return [first[name] for name in tree]


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("seed", range(5))
def test_every_vertex_knows_the_smallest_of_its_tree(seed: int, threads: int) -> None:
    component, parent = trees(seed)
    label, smallest = tree_names(
        component, parent, Threads(threads, Tuning(grain=16, serial_vertices=3))
    )
    assert label.tolist() == smallest_of(component, parent)
    assert smallest[parent[component]].tolist() == label.tolist()


def test_a_name_that_another_thread_wrote_over_is_noticed() -> None:
    component, parent = trees(9)
    smallest = np.full(len(parent) + LINE, len(component), np.uint32)
    label = np.empty(len(component), np.uint32)
    name = component, parent, smallest, len(parent)
    for begin, end in ((1500, 3000), (0, 1500)):
        assert name_range(*name, begin, end, label)
    smallest[7] = 2000  # as if both had seen the giant tree at once
    assert name_range(*name, 0, len(component), label)
    assert not name_range(*name, 0, len(component), label)
    assert label.tolist() == smallest_of(component, parent)
