"""Behind a band only edges count that leave the giant component.

0 - 1 - 2 - 3     light: 1, 2, 3
 \\9 |8   /10
   4 - 5          7
"""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import graphs
import numpy as np
import pytest
from drawn import between, rows, triples

from mndmst.backends.base import Band
from mndmst.comm.directory import Directory
from mndmst.comm.world import world
from mndmst.graph.order import weights_to_keys
from mndmst.host.progress import Progress
from mndmst.kernels.heavier_arcs import GiantComponent
from mndmst.solver import heavier
from mndmst.solver.bands import bands, cut_share, giant_component
from mndmst.solver.config import Config
from mndmst.solver.contract import contract_pieces, lightest_cut_edge
from mndmst.solver.heavier import (
    band_edges,
    contract_heavier,
    heavier_edges,
    walk_outside,
)
from mndmst.solver.part_graph import part_graph
from mndmst.solver.run import Run, State
from mndmst.solver.run_report import Report

EDGES = [(0, 1, 1), (1, 2, 2), (2, 3, 3), (0, 4, 9), (1, 4, 8), (2, 5, 10), (4, 5, 7)]
FOREST = [(0, 1), (1, 2), (1, 4), (2, 3), (4, 5)]


def key(weight: int) -> int:
    return int(weights_to_keys(np.array([weight], np.int32))[0])


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """The graph; its edges up to 3 are contracted."""
    src, dst, weight = (np.array(column) for column in zip(*EDGES, strict=True))
    graph = graphs.Graph(6, src, dst, weight.astype(np.int32))
    path = graphs.write_graph(tmp_path / "graph", graph)
    config = Config(backend="cpu", threads=1)
    return part_graph(world(), path, config, Report(world(), Progress(False)))


def contract_light(run: Run):
    """Contract 0, 1, 2, 3 along the light edges, as a part of other ranks would."""
    run.directory.parent[:4] = 0


def test_rows_outside_are_read_up_to_their_lightest_arc_into_the_giant(run) -> None:
    contract_light(run)
    rows = run.workers[0].rows
    component = run.directory.parent
    components = GiantComponent.of_rows(component, 0)
    tail, head, *_ = walk_outside(run, rows, components, key(3))
    arcs = sorted(zip(tail.tolist(), head.tolist(), strict=True))
    # 4 meets 5, then 1; the arc to 0 is behind. 5 meets 4, then 2.
    assert arcs == [(4, 1), (4, 5), (5, 2), (5, 4)]


def test_heavier_edges_are_the_forest_of_the_arcs_outside(run) -> None:
    contract_light(run)
    found = heavier_edges(run, 0, key(3))
    assert found.giant == 0
    assert [(u, v) for u, v, _ in triples(found.graph.edges)] == [(1, 4), (4, 5)]
    assert [edge[:2] for edge in between(found.graph)] == [(0, 4), (4, 5)]
    own = dict(
        zip(found.graph.labels.tolist(), found.graph.interior.tolist(), strict=True)
    )
    assert own == {0: False, 4: True, 5: True}  # the giant one lacks its edges


def test_without_a_giant_component_the_next_band_follows(run) -> None:
    contract_light(run)
    found = band_edges(run, Band(key(3), key(8)))
    assert [(u, v) for u, v, _ in triples(found.graph.edges)] == [(1, 4), (4, 5)]
    assert band_edges(run, Band(key(8), key(9))).graph.edges.u.tolist() == [0]
    assert len(band_edges(run, Band(None, key(3))).graph) == 0


def test_a_rank_contracts_all_its_edges_by_itself(run) -> None:
    left = contract_pieces(run, Band(None, key(3)), lightest_cut_edge)
    rest = contract_heavier(run, left, key(3), lightest_cut_edge)
    assert rest is not None
    assert len(rest) == 0
    found = [(u, v) for part in run.state.forest_edges for u, v, _ in triples(part)]
    assert sorted(set(found)) == FOREST


def test_the_giant_component_has_most_arcs(run) -> None:
    assert giant_component(run, run.directory.parent) is None
    contract_light(run)
    assert giant_component(run, run.directory.parent) == 0


def test_the_giant_component_of_rows_has_most_of_their_arcs(run) -> None:
    star = rows([(4, leaf, 1) for leaf in range(10) if leaf != 4], 10)
    component = np.arange(10)
    component[4:] = 4  # 9 arcs of the centre and 5 of leaves, of 18
    assert heavier._giant(run, star, component) == 4
    component[4:] = np.arange(4, 10)
    component[0] = 4  # the centre and a leaf
    assert heavier._giant(run, star, component) == 4
    component[0] = 0
    assert heavier._giant(run, star, component) is None


def test_a_rank_alone_has_one_band_and_no_cut_arcs(run) -> None:
    assert list(bands(run, 1.3)) == [Band()]
    assert cut_share(run) == 0.0


def test_a_rank_of_several_has_cut_arcs(run) -> None:
    directory = Directory(run.comm, np.array([0, 4, 6]))
    parted = replace(run, state=State(directory))
    # 14 arcs; those to 4 and 5, which this rank does not own, are cut.
    assert cut_share(parted) == 5 / 14


def test_a_resumed_run_begins_behind_the_bands_that_are_done(tmp_path: Path) -> None:
    """A ring of 20 vertices, each joined with the next 4: 4 edges for each vertex."""
    src, dst = (end.ravel() for end in np.indices((20, 4)))
    ring = graphs.Graph(20, src, (src + dst + 1) % 20, np.arange(80, dtype=np.int32))
    path = graphs.write_graph(tmp_path / "ring", ring)
    config = Config(backend="cpu", threads=1)
    alone = part_graph(world(), path, config, Report(world(), Progress(False)))
    assert list(bands(alone, 0.5)) == [Band()]  # its kernel has bands of its own
    run = replace(alone, workers=alone.workers * 2)
    assert list(bands(run, 0)) == [Band()]
    first, *others = bands(run, 0.5)
    assert first.low is None and others
    for band, following in pairwise([first, *others]):
        assert band.high == following.low
    assert others[-1].high is None
    run.state.done = first.high
    assert list(bands(run, 0.5)) == others
    run.state.done = first.high + 1
    assert next(iter(bands(run, 0.5))) == Band(first.high + 1, others[0].high)
