"""The forest is sorted over the owners of smaller ends, whoever found its edges."""

import numpy as np
import pytest
from drawn import edge_list, triples

from mndmst.comm.communicator import world
from mndmst.comm.directory import Directory
from mndmst.kernels.threads import ALONE
from mndmst.steps.write import owned_edges, send_to_owners, smallest_vertices

SORTED = [(0, 3, 5), (1, 2, 9), (2, 5, 1), (4, 5, 2)]


@pytest.fixture
def directory() -> Directory:
    return Directory(world(), np.array([0, 6]))


def in_order(edges) -> list:
    columns = (column.tolist() for column in (edges.u, edges.v, edges.key))
    return list(zip(*columns, strict=True))


@pytest.mark.parametrize(
    "lists",
    [
        [SORTED],
        [SORTED[::-1]],
        [SORTED[2:], SORTED[:2]],
        [SORTED[::2], SORTED[1::2]],
        [[edge] for edge in SORTED[::-1]],
    ],
)
def test_lists_in_any_order_become_one_in_order(directory, lists) -> None:
    found = [edge_list(edges) for edges in lists]
    assert in_order(send_to_owners(directory, found)) == SORTED
    assert found == []  # the edges were taken out of it


def test_of_parallel_edges_the_lightest_is_left(directory) -> None:
    lists = [edge_list([(0, 3, 7), (1, 2, 9)]), edge_list([(0, 3, 5)])]
    assert triples(owned_edges(directory, lists, ALONE)) == [(0, 3, 5), (1, 2, 9)]


def test_a_tree_is_labelled_by_its_smallest_vertex(directory) -> None:
    # Trees {0, 3}, {1, 2, 5}, {4}; representatives are 3, 5 and 4.
    directory.parent[:] = [3, 5, 1, 3, 4, 5]
    assert smallest_vertices(directory).tolist() == [0, 1, 1, 0, 4, 1]
