"""A run begins with the rows on their devices, each vertex a component of its own.

0 - 1 - 2 - 3 - 4 - 5    and twice 1 - 3, and a loop at 5
"""

from pathlib import Path

import graphs
import numpy as np
import pytest

from mndmst.comm.world import world
from mndmst.host.errors import InputError
from mndmst.host.progress import Progress
from mndmst.solver import read
from mndmst.solver.config import Config
from mndmst.solver.part_graph import part_graph
from mndmst.solver.run import Run
from mndmst.solver.run_report import Report

GRAPH = graphs.Graph(
    6,
    np.array([0, 1, 2, 3, 4, 1, 3, 5]),
    np.array([1, 2, 3, 4, 5, 3, 1, 5]),
    np.arange(8, dtype=np.int32),
)


def begin(path: Path, **options: object) -> Run:
    config = Config(backend="cpu", threads=1, **options)
    return part_graph(world(), path, config, Report(world(), Progress(False)))


def test_a_rank_alone_has_all_rows(tmp_path: Path) -> None:
    run = begin(graphs.write_graph(tmp_path / "graph", GRAPH, parts=3))
    (worker,) = run.workers
    assert worker.rows.complete and worker.on_device is not None
    # Each edge is in the rows of both ends, a loop in one.
    assert worker.rows.indptr.tolist() == [0, 1, 5, 7, 11, 13, 15]
    assert worker.rows.indices[1:5].tolist() == [0, 2, 3, 3]
    assert run.num_edges == 6  # distinct pairs
    assert len(run.stored) == 0 and run.one_host


def test_every_vertex_is_a_component(tmp_path: Path) -> None:
    run = begin(graphs.write_graph(tmp_path / "graph", GRAPH))
    assert run.directory.parent.tolist() == list(range(6))
    assert run.directory.vtxdist.tolist() == [0, 6]
    assert run.state.forest_edges == [] and run.state.done is None


def test_a_part_of_another_graph_is_refused_before_devices_start(
    tmp_path: Path,
) -> None:
    path = graphs.write_graph(tmp_path / "graph", GRAPH, parts=3)
    other = graphs.write_graph(tmp_path / "other", graphs.path(6), parts=3)
    (path / "part-00001.h5").write_bytes((other / "part-00001.h5").read_bytes())
    report = Report(world(), Progress(False))
    with pytest.raises(InputError, match=r"part-00001.*belongs to another graph"):
        part_graph(world(), path, Config(backend="cpu"), report)
    assert report.stages[-1]["stage"] == "start"


def test_rows_beyond_the_memory_stay_in_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read, "held_bytes", lambda: 0)
    graph = graphs.random(2000, 20_000, seed=4)
    path = graphs.write_graph(tmp_path / "graph", graph, parts=2)
    whole = begin(path)
    run = begin(path, memory=10_000_000, light_edges=0)
    assert sum(worker.rows.num_arcs for worker in run.workers) == 0
    pieces = list(run.stored)
    assert len(pieces) > 1
    assert pieces[0].first == 0 and pieces[-1].last == 2000
    joined = np.concatenate([piece.indices for piece in pieces])
    assert np.array_equal(joined, whole.workers[0].rows.indices)
    assert run.num_edges == whole.num_edges


@pytest.mark.parametrize(
    ("tails", "heads", "weights", "arc"),
    [
        ([0, 1, 1], [1, 0, 2], [4, 4, 7], r"\(1, 2\) of weight 7"),
        ([0, 1], [1, 0], [4, 5], r"\(0, 1\) of weight 4"),
    ],
)
def test_an_arc_without_its_reverse_is_refused(
    tmp_path: Path, tails: list, heads: list, weights: list, arc: str
) -> None:
    rows = graphs.Graph(3, np.array(tails), np.array(heads), np.array(weights))
    path = graphs.write_arcs(tmp_path / "graph", rows)
    with pytest.raises(InputError, match=f"the arc {arc} has no reverse"):
        begin(path)
