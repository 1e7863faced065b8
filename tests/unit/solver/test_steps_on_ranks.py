"""Steps of several ranks, which are threads of one process."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import graphs
import numpy as np
import pytest
from drawn import edge_list
from thread_ranks import expected, forest, on_ranks

from mndmst.backends.cpu.backend import CpuBackend
from mndmst.comm.communicator import Comm
from mndmst.comm.directory import Directory
from mndmst.comm.world import world
from mndmst.graph.tuning import Tuning
from mndmst.host.memory import Budget
from mndmst.host.progress import Progress
from mndmst.io.shards.sharded_graph import open_graph
from mndmst.pipeline import contract
from mndmst.solver import heavier, part_graph, read
from mndmst.solver.bands import cut_share, giant_component
from mndmst.solver.config import Config
from mndmst.solver.read import balanced_vtxdist, keep_to_host
from mndmst.solver.run import Run
from mndmst.solver.run_report import Report
from mndmst.solver.write import send_to_owners

GRAPH = graphs.random(60, 400, seed=1)


def begin(comm: Comm, path: Path, tuning: Tuning | None = None, **options: Any) -> Run:
    config = Config(backend="cpu", threads=1, tuning=tuning or Tuning.default)
    config = config.updated(options)
    return part_graph.part_graph(comm, path, config, Report(comm, Progress(False)))


@pytest.mark.parametrize(
    ("vertices", "ranks", "bounds"),
    [(0, 3, [0, 0, 0, 0]), (6, 2, [0, 3, 6]), (2, 3, [0, 1, 2, 2])],
)
def test_ranks_have_equal_shares_of_a_path(
    tmp_path: Path, vertices: int, ranks: int, bounds: list[int]
) -> None:
    graph = graphs.random(0, 0, seed=1) if vertices == 0 else graphs.path(vertices)
    path = graphs.write_graph(tmp_path / "path", graph)
    for found in on_ranks(ranks, lambda comm: balanced_vtxdist(comm, open_graph(path))):
        assert found.tolist() == bounds


@pytest.mark.parametrize(("missing", "limited"), [(0, False), (1, True)])
@pytest.mark.parametrize(("vertices", "id_bytes"), [(1 << 32, 4), (1 << 33, 8)])
def test_rows_keep_to_the_host_if_they_and_half_their_work_do_not_fit(
    monkeypatch: pytest.MonkeyPatch,
    missing: int,
    limited: bool,
    vertices: int,
    id_bytes: int,
) -> None:
    arcs, budget, started = 10 * vertices, Budget(0), []
    rows = 8 * (vertices + 1) + arcs * (4 + id_bytes)
    work = budget.for_rows(vertices, arcs, rows, 1) - rows
    share = rows + work // 2 - missing
    graph: Any = SimpleNamespace(
        num_vertices=vertices, num_arcs=arcs, weight_dtype=np.dtype(np.float32)
    )
    monkeypatch.setattr(read, "free_bytes", lambda: share)
    monkeypatch.setattr(read, "held_bytes", lambda: 7)
    kept = keep_to_host(world(), graph, budget, lambda: started.append(True))
    assert kept.shared == limited and kept.limit == (7 + share if limited else 0)
    assert budget == Budget(0)
    assert started  # devices take memory first: there is none to spare


def test_devices_start_later_where_memory_is_plenty(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    graph: Any = SimpleNamespace(
        num_vertices=10, num_arcs=20, weight_dtype=np.dtype(np.int32)
    )
    monkeypatch.setattr(read, "free_bytes", lambda: 1 << 40)
    kept = keep_to_host(world(), graph, Budget(0), lambda: pytest.fail("started"))
    assert kept == Budget(0)


def test_a_bit_of_every_vertex_says_whether_it_is_outside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = graphs.write_graph(tmp_path / "graph", GRAPH)

    def program(comm: Comm) -> np.ndarray:
        run = begin(comm, path)
        assert cut_share(run) > heavier.ASKED_SHARE
        assert run.directory.vtxdist[1] % 8 != 0  # ranks share a byte
        run.directory.parent[::3] = 0
        bits = heavier._outside_bitmap(run, 0)
        outside = comm.allgatherv(run.directory.parent != 0)
        marked = np.unpackbits(bits, bitorder="little")
        assert marked[:60].tolist() == outside.tolist()
        assert not marked[60:].any()
        monkeypatch.setattr(heavier, "BITMAP_SHARE", 0.0)
        comm.barrier()
        assert len(heavier._outside_bitmap(run, 0)) == 0  # too large
        return outside

    assert any(on_ranks(2, program)[0])


def test_the_giant_component_is_that_of_all_ranks(tmp_path: Path) -> None:
    path = graphs.write_graph(tmp_path / "graph", GRAPH)

    def program(comm: Comm) -> tuple[int | None, int | None]:
        run = begin(comm, path)
        here = run.directory.parent
        before = giant_component(run, here)
        here[:] = np.where(
            np.arange(run.directory.first, run.directory.last) < 45, 3, 9
        )
        return before, giant_component(run, here)

    assert on_ranks(3, program) == [(None, 3)] * 3


def test_every_edge_goes_to_the_owner_of_its_smaller_end() -> None:
    edges = [(0, 5, 1), (1, 2, 2), (2, 3, 3), (3, 4, 4), (4, 5, 5)]

    def program(comm: Comm) -> list[tuple[int, int, int]]:
        directory = Directory(comm, np.array([0, 3, 6]))
        mine = edges[1:4] if comm.rank == 0 else [edges[0], edges[4]]
        found = [edge_list(mine[:1]), edge_list(mine[1:])]
        arrived = send_to_owners(directory, found)
        assert found == []
        return list(zip(*(column.tolist() for column in arrived.columns), strict=True))

    assert on_ranks(2, program) == [edges[:3], edges[3:]]


@pytest.mark.parametrize("recursion_edges", [0, 10**9])
def test_two_devices_of_each_rank_contract_large_graphs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recursion_edges: int
) -> None:
    backends = lambda *_: ([CpuBackend(1), CpuBackend(1)], 1)  # noqa: E731
    monkeypatch.setattr(part_graph, "make_backends", backends)
    path = graphs.write_graph(tmp_path / "graph", GRAPH)
    options = {"ratio": 0.5, "merge": "ring", "recursion_edges": recursion_edges}

    def program(comm: Comm) -> Run:
        run = begin(comm, path, **options)
        contract(run)
        return run

    assert forest(on_ranks(2, program)) == expected(GRAPH)


def test_a_rank_without_arcs_does_not_keep_others_from_contracting_all(
    tmp_path: Path,
) -> None:
    """Of 90 vertices the last 60 have no edge."""
    graph = graphs.random(30, 300, seed=2)._replace(n=90)
    path = graphs.write_graph(tmp_path / "graph", graph)
    tuning = Tuning(near_share=1.0, locality_share=1.0, giant_share=0.0)

    def program(comm: Comm) -> Run:
        run = begin(comm, path, merge="messages", tuning=tuning)
        contract(run)
        return run

    runs = on_ranks(3, program)
    assert forest(runs) == expected(graph)
    assert runs[-1].workers[0].rows.num_arcs == 0
    for run in runs:
        assert [entry["stage"] for entry in run.report.stages].count("indComp") == 1
