"""Reduced graphs: renamed, merged, and cut into segments."""

import numpy as np
from drawn import between, reduced, triples

from mndmst.backends.cpu.backend import CpuBackend
from mndmst.solver.contract import cycle_filter
from mndmst.solver.reduced_graphs import (
    drop_unused,
    merge,
    reduced_graph,
    rename,
    segment,
    without_segment,
)

# A square 0 - 1 - 2 - 3 with one diagonal; 3 is a ghost.
SQUARE = [(0, 1, 1), (1, 2, 2), (2, 3, 3), (0, 3, 4), (0, 2, 5)]


def square():
    return reduced(SQUARE, [0, 1, 2, 3], ghosts=(3,))


def test_components_of_one_name_become_one() -> None:
    renamed = rename(square(), np.array([0, 0, 2, 3]))
    assert renamed.labels.tolist() == [0, 2, 3]
    assert renamed.interior.tolist() == [True, True, False]
    # The edge inside is gone; the parallel edges (1, 2) and (0, 2) both stay.
    assert between(renamed) == [(0, 2, 2), (0, 2, 5), (0, 3, 4), (2, 3, 3)]
    assert triples(renamed.edges) == [(0, 2, 5), (0, 3, 4), (1, 2, 2), (2, 3, 3)]


def test_a_component_without_edges_is_finished() -> None:
    graph = square()
    graph = graph.take(np.array([0, 1]))  # the edges (0, 1) and (0, 2)
    assert drop_unused(graph).labels.tolist() == [0, 1, 2]


def test_a_union_has_an_edge_of_both_once() -> None:
    here = reduced([(0, 1, 1), (1, 2, 2)], [0, 1, 2], ghosts=(2,))
    there = reduced([(1, 2, 2), (2, 3, 3)], [1, 2, 3], ghosts=(1,))
    union = merge([here, there])
    assert triples(union.edges) == [(0, 1, 1), (1, 2, 2), (2, 3, 3)]
    assert union.labels.tolist() == [0, 1, 2, 3]
    assert union.interior.all()  # each is own on one side


def test_the_cycle_filter_drops_the_last_edge_of_each_cycle() -> None:
    kept = cycle_filter(CpuBackend(), square())
    assert triples(kept.edges) == [(0, 1, 1), (1, 2, 2), (2, 3, 3)]


def test_a_segment_and_the_rest_share_the_edges_between_them() -> None:
    graph = square()
    chosen = np.array([True, False, False, False])
    gone, rest = segment(graph, chosen), without_segment(graph, chosen)
    assert between(gone) == [(0, 1, 1), (0, 2, 5), (0, 3, 4)]
    assert gone.labels[gone.interior].tolist() == [0]
    # The edge from 0 to the ghost 3 leaves with 0.
    assert between(rest) == [(0, 1, 1), (0, 2, 5), (1, 2, 2), (2, 3, 3)]
    assert rest.labels[rest.interior].tolist() == [1, 2]


def test_components_in_the_range_are_complete_here() -> None:
    edges = reduced(SQUARE, [0, 1, 2, 3]).edges
    graph = reduced_graph(edges, (edges.u, edges.v), 1, 3)
    assert dict(zip(graph.labels.tolist(), graph.interior.tolist(), strict=True)) == {
        0: False, 1: True, 2: True, 3: False
    }  # fmt: skip
    assert between(graph) == sorted(SQUARE)
