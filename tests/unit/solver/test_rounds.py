"""A global round merges each component with the neighbour across its lightest edge.

0 -1- 1 -5- 2 -2- 3 -6- 4 -3- 5
 \\________7________/
"""

from pathlib import Path

import graphs
import numpy as np
import pytest
from drawn import between, reduced, triples

from mndmst.comm.world import world
from mndmst.host.progress import Progress
from mndmst.solver.config import Config
from mndmst.solver.merging.rounds import agree, first_round, global_round
from mndmst.solver.part_graph import part_graph
from mndmst.solver.run import Run
from mndmst.solver.run_report import Report

EDGES = [(0, 1, 1), (0, 3, 7), (1, 2, 5), (2, 3, 2), (3, 4, 6), (4, 5, 3)]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    path = graphs.write_graph(tmp_path / "graph", graphs.path(6))
    config = Config(backend="cpu", threads=1)
    return part_graph(world(), path, config, Report(world(), Progress(False)))


@pytest.mark.parametrize("all_own", [True, False])
def test_each_component_takes_its_lightest_edge(run: Run, all_own: bool) -> None:
    graph = reduced(EDGES, list(range(6)), () if all_own else tuple(range(6)))
    left = first_round(run, graph, None) if all_own else global_round(run, graph)
    (found,) = run.state.forest_edges
    assert triples(found) == [(0, 1, 1), (2, 3, 2), (4, 5, 3)]
    assert run.directory.parent.tolist() == [0, 0, 2, 2, 4, 4]
    # The names of the pairs are their smaller vertices; 5 is lighter than 7.
    assert between(left) == [(0, 2, 5), (2, 4, 6)]
    assert not left.interior.any()  # edges of a component may be on several ranks now


def test_rounds_end_with_one_component(run: Run) -> None:
    graph = global_round(run, reduced(EDGES, list(range(6)), tuple(range(6))))
    graph = global_round(run, graph)
    assert len(graph) == 0
    found = run.state.forest_edges[0].followed_by(*run.state.forest_edges[1:])
    assert triples(found) == [edge for edge in sorted(EDGES) if edge[2] != 7]
    run.directory.resolve()
    assert len(set(run.directory.parent.tolist())) == 1


def test_of_equal_weights_the_smaller_vertices_decide(run: Run) -> None:
    ring = [(0, 1, 4), (1, 2, 4), (2, 3, 4), (3, 4, 4), (4, 5, 4), (0, 5, 4)]
    global_round(run, reduced(ring, list(range(6)), tuple(range(6))))
    (found,) = run.state.forest_edges
    # 0 and 1 choose (0, 1), 5 chooses (0, 5); the others the edge before them.
    assert triples(found) == sorted(edge for edge in ring if edge[:2] != (4, 5))


def test_a_rank_that_owns_both_ends_keeps_its_edges(run: Run) -> None:
    graph = reduced(EDGES, list(range(6)))
    assert between(agree(run, graph, giant=2)) == between(graph)
    kept = agree(run, graph, None)
    assert between(kept) == sorted(edge for edge in EDGES if edge[2] != 7)
    assert np.array_equal(kept.interior, graph.interior)
