"""Parts contract up to their borders: rows, reduced graphs, and pieces of rows.

The path 0 - 1 - 2 - 3 and others so small that each merge can be followed.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import graphs
import numpy as np
import pytest
from drawn import between, reduced, rows, triples
from oracle import kruskal

from mndmst import pipeline
from mndmst.backends.base import Band, LabelledForest
from mndmst.backends.cpu.backend import CpuBackend
from mndmst.comm.directory import Directory
from mndmst.comm.world import world
from mndmst.graph.model import ReducedGraph
from mndmst.host.progress import Progress
from mndmst.io.shards.row_reading import StoredRows
from mndmst.solver import contract as steps_contract
from mndmst.solver.config import Config
from mndmst.solver.contract import (
    ContractedPart,
    any_cut_edge,
    contract,
    contract_pieces,
    contract_rows,
    learn_names,
    lightest_cut_edge,
    merge_parts,
)
from mndmst.solver.part_graph import part_graph
from mndmst.solver.run import Run, State
from mndmst.solver.run_report import Report

WHOLE = Band()
PATH = [(0, 1, 5), (1, 2, 1), (2, 3, 2)]


def part(first: int, last: int, edges=PATH, band: Band = WHOLE) -> ContractedPart:
    backend = CpuBackend()
    here = rows(edges, 4, first, last)
    return contract_rows(backend, here, backend.upload(here), band)


def names(found: ContractedPart) -> dict[int, int]:
    return dict(zip(list(found.old), found.new.tolist(), strict=True))


def test_a_component_waits_if_its_lightest_edge_leads_to_a_ghost() -> None:
    found = part(0, 2)
    # 0 merges into 1; the lightest edge of both leads to the ghost 2.
    assert triples(found.forest_edges) == [(0, 1, 5)]
    assert names(found) == {0: 0, 1: 0}
    assert between(found.graph) == [(0, 2, 1)]
    assert found.graph.labels[found.graph.interior].tolist() == [0]


def test_a_part_merges_along_edges_lighter_than_its_border() -> None:
    found = part(2, 4, edges=[(0, 1, 5), (1, 2, 3), (2, 3, 2)])
    assert triples(found.forest_edges) == [(2, 3, 2)]
    assert between(found.graph) == [(1, 2, 3)]


def test_rows_of_a_whole_graph_leave_nothing() -> None:
    found = part(0, 4, edges=[*PATH, (0, 3, 9)])
    assert triples(found.forest_edges) == sorted(PATH)
    assert set(names(found).values()) == {0}
    assert len(found.graph) == 0


def test_a_vertex_without_an_edge_in_the_band_takes_part_with_its_lightest() -> None:
    found = part(0, 4, edges=[*PATH, (0, 3, 9)], band=Band(None, 2))
    assert triples(found.forest_edges) == sorted(PATH)


def test_merged_parts_have_no_border_between_them() -> None:
    parts = [part(0, 2), part(2, 4)]
    union = merge_parts(parts)
    assert union.interior.all()
    rest = contract(CpuBackend(), union)
    forest = [edge for p in (*parts, rest) for edge in triples(p.forest_edges)]
    assert sorted(forest) == sorted(PATH)
    assert len(rest.graph) == 0


def test_a_graph_without_ghosts_contracts_to_its_forest() -> None:
    square = [(0, 1, 1), (1, 2, 2), (2, 3, 3), (0, 3, 4)]
    found = contract(CpuBackend(), reduced(square, [0, 1, 2, 3]))
    assert triples(found.forest_edges) == square[:3]
    assert len(found.graph) == 0


def test_any_cut_edge_stops_no_component_inside() -> None:
    # 1 - 2 is lighter than 0 - 1, and 2 is a ghost.
    graph = reduced(PATH, [0, 1, 2, 3], ghosts=(2,))
    waits = contract(CpuBackend(), graph, lightest_cut_edge)
    grows = contract(CpuBackend(), graph, any_cut_edge)
    assert triples(grows.forest_edges) == [(0, 1, 5)]
    assert between(grows.graph) == [(0, 2, 1), (2, 3, 2)]
    assert triples(waits.forest_edges) == [(0, 1, 5)]
    # With an edge 0 - 3 that is the lightest of both, 3 may not merge over the border.
    more = reduced([(0, 3, 9), *PATH], [0, 1, 2, 3], ghosts=(2,))
    assert (0, 3, 9) not in triples(contract(CpuBackend(), more).forest_edges)
    assert (0, 3, 9) in triples(contract(CpuBackend(), more, any_cut_edge).forest_edges)


def test_all_components_may_have_new_names(run) -> None:
    steps = run(graphs.path(4))
    graph = reduced([(1, 3, 7), (1, 5, 8), (3, 5, 9)], [1, 3, 5], ghosts=(1, 3, 5))
    steps = replace(steps, state=State(Directory(steps.comm, np.array([0, 6]))))
    assert learn_names(steps, graph) is graph
    steps.directory.parent[[1, 3, 5]] = [0, 2, 4]
    assert between(learn_names(steps, graph)) == [(0, 2, 7), (0, 4, 8)]


@pytest.fixture
def run(tmp_path: Path) -> Callable[[graphs.Graph], Run]:
    def make(graph: graphs.Graph) -> Run:
        path = graphs.write_graph(tmp_path / "graph", graph)
        config = Config(backend="cpu", threads=1)
        return part_graph(world(), path, config, Report(world(), Progress(False)))

    return make


def stored(run: Run, bounds: list[int]) -> Run:
    """Return the run with its rows in pieces that stay in their file."""
    (worker,) = run.workers
    rows = worker.rows.cut(0, 0)
    worker = replace(worker, rows=rows, on_device=worker.backend.upload(rows))
    return replace(run, workers=(worker,), stored=StoredRows(run.graph, bounds))


def forest_of(run: Run) -> list[tuple[int, int]]:
    return sorted(
        (u, v) for part in run.state.forest_edges for u, v, _ in triples(part)
    )


def expected(graph: graphs.Graph) -> list[tuple[int, int]]:
    answer = kruskal(*graph)
    return sorted(zip(answer.src.tolist(), answer.dst.tolist(), strict=True))


@pytest.mark.parametrize("rows_each", [1, 2, 7, 60])
@pytest.mark.parametrize("exception", [lightest_cut_edge, any_cut_edge])
def test_pieces_of_rows_leave_the_forest_of_all(run, rows_each, exception) -> None:
    graph = graphs.random(60, 200, seed=3)
    made = stored(run(graph), [*range(0, 60, rows_each), 60])
    left = contract_pieces(made, Band(), exception)
    assert len(left) == 0
    edges = forest_of(made)
    if exception is lightest_cut_edge:
        assert edges == expected(graph)
    else:  # any forest that joins the same vertices
        assert len(edges) == len(expected(graph))
    made.directory.resolve()
    trees = len(np.unique(made.directory.parent))
    assert trees == 60 - len(edges)


def test_workers_leave_nothing_of_a_whole_graph(run) -> None:
    graph = graphs.random(60, 200, seed=4)
    made = run(graph)
    left = contract_pieces(made, Band(), lightest_cut_edge)
    assert len(left) == 0
    assert forest_of(made) == expected(graph)


def test_labels_of_a_whole_graph_wait_until_they_are_used(
    run: Callable[[graphs.Graph], Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    graph, asked = graphs.random(60, 200, seed=4), []
    made = run(graph)
    (worker,) = made.workers
    msf = worker.backend.msf

    def noted(rows: object) -> LabelledForest:
        forest = msf(rows)

        def labels() -> np.ndarray:
            asked.append(rows)
            return forest.labels()

        return LabelledForest(forest.edges, labels)

    monkeypatch.setattr(worker.backend, "msf", noted)
    pipeline.contract(made)
    assert not asked
    for _ in range(2):
        trees = len(np.unique(made.directory.parent))
        assert trees == 60 - len(forest_of(made))
    assert len(asked) == 1


@pytest.mark.parametrize(
    ("ratio", "first"), [(0.5, [0, 1]), (0.49, [0]), (1.0, [0, 1, 2, 3])]
)
def test_a_large_graph_is_dealt_to_two_devices_by_their_speeds(
    run: Callable[[graphs.Graph], Run],
    monkeypatch: pytest.MonkeyPatch,
    ratio: float,
    first: list[int],
) -> None:
    """The first device gets the first of the own components."""
    one, parts = run(graphs.path(4)), []

    def record(backend: object, graph: ReducedGraph, exception: object) -> object:
        parts.append(graph.labels[graph.interior].tolist())
        return contract(backend, graph, exception)

    monkeypatch.setattr(steps_contract, "contract", record)
    two = replace(
        one,
        workers=one.workers * 2,
        ratio=ratio,
        config=one.config.updated({"recursion_edges": 2}),
    )
    graph = reduced(PATH, [0, 1, 2, 3])
    steps_contract.contract_graph(two, graph, lightest_cut_edge)
    rest = [k for k in range(4) if k not in first]
    assert sorted(parts[:2]) == sorted([first, rest])  # both at once
    assert len(parts) == 3  # one device contracts the rest
    parts.clear()
    few = replace(two, config=one.config.updated({"recursion_edges": 3}))
    steps_contract.contract_graph(few, graph, lightest_cut_edge)
    assert parts == [[0, 1, 2, 3]]
